#pragma once
#include <stdint.h>
#include "esp_err.h"

esp_err_t esp_psram_impl_enable(void);
esp_err_t esp_psram_impl_get_physical_size(uint32_t *out_size_bytes);
esp_err_t esp_psram_impl_get_available_size(uint32_t *out_size_bytes);
