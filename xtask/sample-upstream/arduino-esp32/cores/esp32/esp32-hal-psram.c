#include "sdkconfig.h"
#include "esp32-hal-psram.h"
#if CONFIG_SPIRAM
#include "esp_heap_caps.h"
#include "esp_psram.h"
#endif

bool psramFound(void)
{
#if CONFIG_SPIRAM
    return esp_psram_is_initialized();
#else
    return false;
#endif
}

void *ps_malloc(size_t size)
{
#if CONFIG_SPIRAM
    return psramFound() ? heap_caps_malloc(size, MALLOC_CAP_SPIRAM) : NULL;
#else
    (void)size;
    return NULL;
#endif
}
