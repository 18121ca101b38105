#pragma once
#include <stddef.h>
#include <stdint.h>

#define SPI_FLASH_CACHE2PHYS_FAIL UINT32_MAX

typedef enum { SPI_FLASH_MMAP_DATA, SPI_FLASH_MMAP_INST } spi_flash_mmap_memory_t;

size_t spi_flash_cache2phys(const void *cached);
const void *spi_flash_phys2cache(size_t phys_offs, spi_flash_mmap_memory_t memory);
