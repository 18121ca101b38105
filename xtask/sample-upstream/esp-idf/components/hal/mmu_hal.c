#include "hal/cache_hal.h"
#include "hal/mmu_hal.h"

volatile uint32_t mmu_table[128];
volatile unsigned cache_suspended[2];

uint32_t mmu_hal_pages_used(void)
{
    uint32_t pages = 0;
    for (uint32_t entry = 0; entry < sizeof mmu_table / sizeof *mmu_table; entry++) {
        pages += mmu_ll_read_entry(entry) != 0;
    }
    return pages;
}
