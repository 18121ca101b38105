#pragma once
#include <cstddef>
extern "C" bool esp_psram_is_initialized(void);
extern "C" size_t esp_psram_get_size(void);
