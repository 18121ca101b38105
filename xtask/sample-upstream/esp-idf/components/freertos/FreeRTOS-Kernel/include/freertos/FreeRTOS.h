#pragma once
#include <stddef.h>
#include <stdint.h>
#include "sdkconfig.h"

typedef int BaseType_t;
typedef uint32_t TickType_t;

#define configTICK_RATE_HZ CONFIG_FREERTOS_HZ
#define portMAX_DELAY ((TickType_t)0xffffffffu)
#define pdTRUE 1
#define pdFALSE 0
