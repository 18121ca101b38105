#include "esp_timer.h"
#include "freertos/task.h"

int64_t esp_timer_get_time(void)
{
    return (int64_t)xTaskGetTickCount() * 1000000 / configTICK_RATE_HZ;
}
