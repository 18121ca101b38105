#pragma once
#include <stdint.h>

typedef enum { CACHE_IBUS, CACHE_DBUS } cache_array_t;

/* Functions of the chip's ROM: declared here, defined by its linker script. */
uint32_t Cache_Count_Flash_Pages(uint32_t bus, uint32_t *page0_mapped);
uint32_t Cache_Flash_To_SPIRAM_Copy(uint32_t bus, uint32_t bus_start, uint32_t page, uint32_t *page0_page);
void Cache_Set_IDROM_MMU_Info(uint32_t instr_pages, uint32_t rodata_pages, uintptr_t rodata_start, uintptr_t rodata_end,
                              int instr_offset, int rodata_offset);
