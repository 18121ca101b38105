#pragma once
#include "sdkconfig.h"

typedef enum { ESP_LOG_NONE, ESP_LOG_ERROR, ESP_LOG_WARN, ESP_LOG_INFO } esp_log_level_t;

void esp_log_write(esp_log_level_t level, const char *tag, const char *format, ...);

#define ESP_LOG_LEVEL_LOCAL(level, tag, ...)          \
    do {                                              \
        if (CONFIG_LOG_DEFAULT_LEVEL >= (level)) {    \
            esp_log_write(level, tag, __VA_ARGS__);   \
        }                                             \
    } while (0)

#define ESP_LOGE(tag, ...) ESP_LOG_LEVEL_LOCAL(ESP_LOG_ERROR, tag, __VA_ARGS__)
#define ESP_LOGI(tag, ...) ESP_LOG_LEVEL_LOCAL(ESP_LOG_INFO, tag, __VA_ARGS__)
#define ESP_EARLY_LOGE(tag, ...) ESP_LOGE(tag, __VA_ARGS__)
