/* Copies the program's pages from flash to PSRAM. Without the two options nothing of it is left. */
#include "sdkconfig.h"
#include "esp_log.h"
#include "soc/ext_mem_defs.h"
#include "esp32s3/rom/cache.h"
#include "hal/mmu_hal.h"
#include "esp_private/mmu_psram_flash.h"

#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS || CONFIG_SPIRAM_RODATA
static const char TAG[] = "mmu_psram";
static uint32_t s_page0_mapped;
static uint32_t s_page0_page = 0xffff;

typedef struct {
    uint32_t first_page;
    uint32_t last_page;
    int offset;
    uint32_t in_psram;
} segment_t;

static esp_err_t copy_segment(segment_t *segment, uint32_t bus, uint32_t bus_start, uint32_t start_page,
                              uint32_t psram_size, uint32_t *out_page)
{
    uint32_t pages = Cache_Count_Flash_Pages(bus, &s_page0_mapped);
    if (pages + start_page > mmu_hal_bytes_to_pages(psram_size)) {
        ESP_EARLY_LOGE(TAG, "%d pages of flash do not fit behind page %d of PSRAM", (int)pages, (int)start_page);
        return ESP_FAIL;
    }
    segment->first_page = mmu_ll_read_entry(bus);
    segment->last_page = segment->first_page + pages - 1;
    segment->offset = (int)segment->first_page - (int)start_page;
    segment->in_psram = 1;
    *out_page = Cache_Flash_To_SPIRAM_Copy(bus, bus_start, start_page, &s_page0_page) - start_page;
    return ESP_OK;
}
#endif

#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
static segment_t s_instructions;

esp_err_t mmu_config_psram_text_segment(uint32_t start_page, uint32_t psram_size, uint32_t *out_page)
{
    return copy_segment(&s_instructions, CACHE_IBUS, SOC_IRAM0_CACHE_ADDRESS_LOW, start_page, psram_size, out_page);
}

uint32_t esp_spiram_instruction_access_enabled(void)
{
    return s_instructions.in_psram;
}

int instruction_flash2spiram_offset(void)
{
    return s_instructions.offset;
}

uint32_t instruction_flash_start_page_get(void)
{
    return s_instructions.first_page;
}

uint32_t instruction_flash_end_page_get(void)
{
    return s_instructions.last_page;
}
#endif

#if CONFIG_SPIRAM_RODATA
static segment_t s_rodata;

esp_err_t mmu_config_psram_rodata_segment(uint32_t start_page, uint32_t psram_size, uint32_t *out_page)
{
    return copy_segment(&s_rodata, CACHE_DBUS, SOC_DRAM0_CACHE_ADDRESS_LOW, start_page, psram_size, out_page);
}

uint32_t esp_spiram_rodata_access_enabled(void)
{
    return s_rodata.in_psram;
}

int rodata_flash2spiram_offset(void)
{
    return s_rodata.offset;
}

uint32_t rodata_flash_start_page_get(void)
{
    return s_rodata.first_page;
}

uint32_t rodata_flash_end_page_get(void)
{
    return s_rodata.last_page;
}
#endif
