#pragma once
#include <cstdint>
extern "C" uint32_t esp_random(void);
