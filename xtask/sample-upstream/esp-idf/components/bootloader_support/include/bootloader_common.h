#pragma once
#include <stdint.h>

uint32_t bootloader_common_checksum(const uint8_t *data, uint32_t length);
