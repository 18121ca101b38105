#include "sdkconfig.h"
#include "esp_err.h"

esp_err_t esp_psram_mspi_register_level(int level);

static int s_level;

esp_err_t esp_psram_mspi_register_level(int level)
{
    s_level = level;
    return ESP_OK;
}
