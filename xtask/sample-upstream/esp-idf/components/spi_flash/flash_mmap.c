#include "sdkconfig.h"
#include "esp_err.h"
#include "esp_mmu_map.h"
#include "spi_flash_mmap.h"
#if CONFIG_SPIRAM
#include "esp_private/mmu_psram_flash.h"
#endif

#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS || CONFIG_SPIRAM_RODATA
static bool between(uint32_t page, uint32_t first, uint32_t last)
{
    return page >= first && page <= last;
}
#endif

size_t spi_flash_cache2phys(const void *cached)
{
    uint32_t address = 0;
    mmu_target_t target = MMU_TARGET_FLASH0;
    int offset = 0;
    if (cached == NULL || esp_mmu_vaddr_to_paddr(cached, &address, &target) != ESP_OK) {
        return SPI_FLASH_CACHE2PHYS_FAIL;
    }
    /* A page that was copied stands in PSRAM; the caller asks where it is in flash. */
#if CONFIG_SPIRAM_RODATA
    if (target == MMU_TARGET_PSRAM0) {
        offset = rodata_flash2spiram_offset();
    }
#endif
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
    if (target == MMU_TARGET_PSRAM0 &&
        between((uint32_t)((int)(address / CONFIG_MMU_PAGE_SIZE) + instruction_flash2spiram_offset()),
                instruction_flash_start_page_get(), instruction_flash_end_page_get())) {
        offset = instruction_flash2spiram_offset();
    }
#endif
    return (size_t)((int)address + offset * CONFIG_MMU_PAGE_SIZE);
}

const void *spi_flash_phys2cache(size_t phys_offs, spi_flash_mmap_memory_t memory)
{
    const void *result = NULL;
    mmu_target_t target = MMU_TARGET_FLASH0;
    uint32_t address = (uint32_t)phys_offs;
    (void)memory;
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
    if (between(address / CONFIG_MMU_PAGE_SIZE, instruction_flash_start_page_get(), instruction_flash_end_page_get())) {
        target = MMU_TARGET_PSRAM0;
        address -= (uint32_t)(instruction_flash2spiram_offset() * CONFIG_MMU_PAGE_SIZE);
    }
#endif
#if CONFIG_SPIRAM_RODATA
    if (between(address / CONFIG_MMU_PAGE_SIZE, rodata_flash_start_page_get(), rodata_flash_end_page_get())) {
        target = MMU_TARGET_PSRAM0;
        address -= (uint32_t)(rodata_flash2spiram_offset() * CONFIG_MMU_PAGE_SIZE);
    }
#endif
    return esp_mmu_paddr_to_vaddr(address, target, &result) == ESP_OK ? result : NULL;
}
