#pragma once
#include <stdint.h>
#include "sdkconfig.h"
#include "hal/mmu_ll.h"

static inline uint32_t mmu_hal_bytes_to_pages(uint32_t bytes)
{
    return (bytes + CONFIG_MMU_PAGE_SIZE - 1) / CONFIG_MMU_PAGE_SIZE;
}

uint32_t mmu_hal_pages_used(void);
