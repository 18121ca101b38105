#include <stddef.h>
#include "sdkconfig.h"
#include "esp_attr.h"
#include "esp_heap_caps.h"
#include "esp_log.h"
#include "esp_system.h"
#include "esp_private/startup_internal.h"

static const char TAG[] = "startup";
static uint8_t s_main_stack[CONFIG_ESP_MAIN_TASK_STACK_SIZE];

const char *esp_get_idf_version(void)
{
    return IDF_VER;
}

void esp_restart(void)
{
    for (;;) {
    }
}

void _esp_error_check_failed(esp_err_t code, const char *file, int line)
{
    ESP_EARLY_LOGE(TAG, "%s in %s:%d", esp_err_to_name(code), file, line);
    esp_restart();
}

void start_cpu0(void)
{
    ESP_ERROR_CHECK(heap_caps_add_region(s_main_stack, sizeof s_main_stack, MALLOC_CAP_INTERNAL));
}
