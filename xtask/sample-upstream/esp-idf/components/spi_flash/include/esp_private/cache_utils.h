#pragma once
#include <stdbool.h>

void spi_flash_disable_interrupts_caches_and_other_cpu(void);
void spi_flash_enable_interrupts_caches_and_other_cpu(void);
bool spi_flash_cache_enabled(void);
void esp_enable_cache_wrap(bool icache_wrap_enable, bool dcache_wrap_enable);
