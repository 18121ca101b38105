#pragma once
#include <stddef.h>
#include <stdint.h>
#include "esp_err.h"

/* What the operating system does around an operation on the flash chip. */
typedef struct {
    esp_err_t (*start)(void *arg, uint32_t flags);
    esp_err_t (*end)(void *arg);
    esp_err_t (*delay_us)(void *arg, uint32_t us);
} esp_flash_os_functions_t;

typedef struct {
    const esp_flash_os_functions_t *os_func;
    void *os_func_data;
    uint32_t size;
} esp_flash_t;

esp_err_t esp_flash_write(esp_flash_t *chip, const void *buffer, uint32_t address, uint32_t length);
esp_err_t esp_flash_app_init_os_functions(esp_flash_t *chip);
