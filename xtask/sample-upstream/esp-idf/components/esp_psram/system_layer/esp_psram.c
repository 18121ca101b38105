#include "sdkconfig.h"
#include "esp_heap_caps.h"
#include "esp_log.h"
#include "esp_mmu_map.h"
#include "hal/mmu_hal.h"
#include "esp_psram.h"
#include "esp_private/esp_psram_extram.h"
#include "esp_private/esp_psram_impl.h"
#include "esp_private/mmu_psram_flash.h"

typedef struct {
    bool chip_ready;
    bool mapped;
    uint32_t size;
    uint32_t used_pages;
} psram_ctx_t;

static const char TAG[] = "esp_psram";
static psram_ctx_t s_ctx;

esp_err_t esp_psram_chip_init(void)
{
    esp_err_t error = esp_psram_impl_enable();
    if (error != ESP_OK) {
#if CONFIG_SPIRAM_IGNORE_NOTFOUND
        ESP_EARLY_LOGE(TAG, "%s: going on without PSRAM", esp_err_to_name(error));
#else
        ESP_EARLY_LOGE(TAG, "%s", esp_err_to_name(error));
#endif
        return error;
    }
    s_ctx.chip_ready = true;
    return esp_psram_impl_get_available_size(&s_ctx.size);
}

#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS || CONFIG_SPIRAM_RODATA
/* The program comes first; what is left of the PSRAM stands behind it. */
static esp_err_t load_program(void)
{
    uint32_t pages = 0;
#if CONFIG_SPIRAM_RODATA
    ESP_ERROR_CHECK(mmu_config_psram_rodata_segment(s_ctx.used_pages, s_ctx.size, &pages));
    s_ctx.used_pages += pages;
#endif
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
    ESP_ERROR_CHECK(mmu_config_psram_text_segment(s_ctx.used_pages, s_ctx.size, &pages));
    s_ctx.used_pages += pages;
#endif
    return ESP_OK;
}
#endif

esp_err_t esp_psram_init(void)
{
    if (s_ctx.mapped || !s_ctx.chip_ready) {
        return ESP_ERR_INVALID_STATE;
    }
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS || CONFIG_SPIRAM_RODATA
    esp_err_t error = load_program();
    if (error != ESP_OK) {
        return error;
    }
#endif
    s_ctx.mapped = true;
    return ESP_OK;
}

bool esp_psram_is_initialized(void)
{
    return s_ctx.mapped;
}

size_t esp_psram_get_size(void)
{
    return s_ctx.size - (size_t)s_ctx.used_pages * CONFIG_MMU_PAGE_SIZE;
}

esp_err_t esp_psram_extram_add_to_heap_allocator(void)
{
    const void *start = NULL;
    ESP_ERROR_CHECK(esp_mmu_paddr_to_vaddr(s_ctx.used_pages * CONFIG_MMU_PAGE_SIZE, MMU_TARGET_PSRAM0, &start));
#if CONFIG_SPIRAM_USE_MALLOC
    heap_caps_malloc_extmem_enable(CONFIG_SPIRAM_MALLOC_ALWAYSINTERNAL);
#endif
    return heap_caps_add_region((void *)start, esp_psram_get_size(), MALLOC_CAP_SPIRAM);
}

bool esp_psram_extram_test(void)
{
    return mmu_hal_bytes_to_pages(s_ctx.size) > s_ctx.used_pages;
}
