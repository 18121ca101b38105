#pragma once
#include "esp_err.h"
typedef struct esp_flash_t esp_flash_t;
extern "C" esp_err_t esp_flash_get_size(esp_flash_t *chip, uint32_t *out_size);
