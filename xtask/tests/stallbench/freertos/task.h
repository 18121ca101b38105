#pragma once
#include "FreeRTOS.h"
typedef struct tskTaskControlBlock *TaskHandle_t;
typedef void (*TaskFunction_t)(void *arg);
extern "C" BaseType_t xTaskCreatePinnedToCore(TaskFunction_t pxTaskCode, const char *const pcName, const uint32_t ulStackDepth, void *const pvParameters, UBaseType_t uxPriority, TaskHandle_t *const pxCreatedTask, const BaseType_t xCoreID);
// Not extern "C": the stand-in leaves the thread by an exception, as the real one never returns.
void vTaskDelete(TaskHandle_t xTaskToDelete);
extern "C" void vTaskDelay(const TickType_t xTicksToDelay);
extern "C" void vTaskSuspendAll(void);
extern "C" BaseType_t xTaskResumeAll(void);
extern "C" TaskHandle_t xTaskGetCurrentTaskHandle(void);
extern "C" BaseType_t xTaskNotifyGive(TaskHandle_t xTaskToNotify);
extern "C" uint32_t ulTaskNotifyTake(BaseType_t xClearCountOnExit, TickType_t xTicksToWait);
