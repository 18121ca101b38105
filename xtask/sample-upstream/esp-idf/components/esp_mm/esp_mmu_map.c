#include "esp_mmu_map.h"
#include "hal/mmu_hal.h"

static uint32_t s_pages_at_start;

void esp_mmu_map_init(void)
{
    s_pages_at_start = mmu_hal_pages_used();
}

esp_err_t esp_mmu_vaddr_to_paddr(const void *vaddr, uint32_t *out_paddr, mmu_target_t *out_target)
{
    uintptr_t address = (uintptr_t)vaddr;
    uint32_t page = mmu_ll_read_entry((uint32_t)(address / CONFIG_MMU_PAGE_SIZE) % 128);
    if (page == 0) {
        return ESP_ERR_NOT_FOUND;
    }
    *out_paddr = page * CONFIG_MMU_PAGE_SIZE + (uint32_t)(address % CONFIG_MMU_PAGE_SIZE);
    *out_target = page < s_pages_at_start ? MMU_TARGET_FLASH0 : MMU_TARGET_PSRAM0;
    return ESP_OK;
}

esp_err_t esp_mmu_paddr_to_vaddr(uint32_t paddr, mmu_target_t target, const void **out_vaddr)
{
    uint32_t first = target == MMU_TARGET_FLASH0 ? 0 : s_pages_at_start;
    for (uint32_t entry = first; entry < 128; entry++) {
        if (mmu_ll_read_entry(entry) == paddr / CONFIG_MMU_PAGE_SIZE) {
            *out_vaddr = (const void *)(uintptr_t)(entry * CONFIG_MMU_PAGE_SIZE + paddr % CONFIG_MMU_PAGE_SIZE);
            return ESP_OK;
        }
    }
    return ESP_ERR_NOT_FOUND;
}
