#pragma once
#include <stdarg.h>
#include <stdint.h>

void esp_rom_printf(const char *format, ...);
void esp_rom_vprintf(const char *format, va_list arguments);
void esp_rom_delay_us(uint32_t microseconds);
