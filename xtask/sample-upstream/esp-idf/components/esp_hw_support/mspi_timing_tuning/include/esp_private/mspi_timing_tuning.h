#pragma once
#include <stdint.h>

typedef enum { MSPI_TIMING_SPEED_MODE_LOW, MSPI_TIMING_SPEED_MODE_HIGH } mspi_timing_speed_mode_t;

void mspi_timing_enter_mode(mspi_timing_speed_mode_t mode);
void mspi_timing_psram_tuning(void);
