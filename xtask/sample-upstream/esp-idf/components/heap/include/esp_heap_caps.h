#pragma once
#include <stddef.h>
#include <stdint.h>
#include "esp_err.h"

#define MALLOC_CAP_INTERNAL 0x1u
#define MALLOC_CAP_SPIRAM 0x2u

void *heap_caps_malloc(size_t size, uint32_t caps);
esp_err_t heap_caps_add_region(void *start, size_t size, uint32_t caps);
void heap_caps_malloc_extmem_enable(size_t limit);
