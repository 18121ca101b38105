#pragma once
#include <stdint.h>

typedef int esp_err_t;

#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_NOT_FOUND 0x105

const char *esp_err_to_name(esp_err_t code);
void _esp_error_check_failed(esp_err_t code, const char *file, int line) __attribute__((noreturn));

#define ESP_ERROR_CHECK(expression)                              \
    do {                                                         \
        esp_err_t error_ = (expression);                         \
        if (error_ != ESP_OK) {                                  \
            _esp_error_check_failed(error_, __FILE__, __LINE__); \
        }                                                        \
    } while (0)
