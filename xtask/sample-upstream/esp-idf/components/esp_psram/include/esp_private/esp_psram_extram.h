#pragma once
#include <stdbool.h>
#include "esp_err.h"

esp_err_t esp_psram_extram_add_to_heap_allocator(void);
bool esp_psram_extram_test(void);
