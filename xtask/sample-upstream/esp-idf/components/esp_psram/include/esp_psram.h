#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "esp_err.h"

esp_err_t esp_psram_chip_init(void);
esp_err_t esp_psram_init(void);
bool esp_psram_is_initialized(void);
size_t esp_psram_get_size(void);
