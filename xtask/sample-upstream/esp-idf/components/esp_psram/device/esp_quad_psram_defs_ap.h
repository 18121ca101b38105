#pragma once

#define PSRAM_DEVICE_ID 0x9F
#define PSRAM_RESET_EN 0x66
#define PSRAM_RESET 0x99
