#include "esp_private/mspi_timing_tuning.h"
#include "esp_rom_sys.h"
#include "sdkconfig.h"

#if CONFIG_SPIRAM_SPEED_120M || CONFIG_ESPTOOLPY_FLASHFREQ_120M
#define TUNING_POINTS 14
#elif CONFIG_SPIRAM_MODE_OCT || CONFIG_ESPTOOLPY_OCT_FLASH
#define TUNING_POINTS 8
#else
#define TUNING_POINTS 1
#endif

static uint32_t s_best_point;
static mspi_timing_speed_mode_t s_mode;

void mspi_timing_enter_mode(mspi_timing_speed_mode_t mode)
{
    s_mode = mode;
    esp_rom_delay_us(1);
}

void mspi_timing_psram_tuning(void)
{
    for (uint32_t point = 0; point < TUNING_POINTS; point++) {
        if (point % 3 == 1) {
            s_best_point = point;
        }
    }
}
