#pragma once
#include <stdint.h>
#include "soc/ext_mem_defs.h"

/* The memory management unit's table, one word a page. */
extern volatile uint32_t mmu_table[128];

static inline uint32_t mmu_ll_read_entry(uint32_t entry)
{
    return mmu_table[entry] & SOC_MMU_VALID_VAL_MASK;
}
