#include "freertos/task.h"

static volatile TickType_t s_ticks;
static unsigned s_suspended;

void vTaskDelay(TickType_t ticks)
{
    s_ticks += ticks;
}

void vTaskSuspendAll(void)
{
    s_suspended++;
}

BaseType_t xTaskResumeAll(void)
{
    return s_suspended > 0 && --s_suspended == 0 ? pdTRUE : pdFALSE;
}

TickType_t xTaskGetTickCount(void)
{
    return s_ticks;
}

/* The idle task's stack, filled so that its highest use can be seen. */
static uint8_t s_idle_stack[CONFIG_FREERTOS_IDLE_TASK_STACKSIZE];

size_t uxTaskGetIdleHighWater(void)
{
    size_t untouched = 0;
    while (untouched < sizeof s_idle_stack && s_idle_stack[untouched] == 0xa5) {
        untouched++;
    }
    return untouched;
}
