#pragma once
#include <stdint.h>

/* Sends one octal command of the chip's ROM. */
void esp_rom_opiflash_exec_cmd(int spi, uint32_t command, uint32_t address, const void *data, uint32_t bits);
void esp_rom_opiflash_read_cmd(int spi, uint32_t command, uint32_t address, void *data, uint32_t bits);
