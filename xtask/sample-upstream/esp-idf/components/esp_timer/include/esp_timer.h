#pragma once
#include <stdint.h>

/* Microseconds since start-up. */
int64_t esp_timer_get_time(void);
