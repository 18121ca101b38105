#pragma once
#include "freertos/FreeRTOS.h"

void vTaskDelay(TickType_t ticks);
void vTaskSuspendAll(void);
BaseType_t xTaskResumeAll(void);
TickType_t xTaskGetTickCount(void);
size_t uxTaskGetIdleHighWater(void);
