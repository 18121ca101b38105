#include "sdkconfig.h"
#include "esp_log.h"
#include "esp_rom_sys.h"
#include "esp_private/esp_psram_impl.h"
#include "esp_private/mspi_timing_tuning.h"
#include "esp_quad_psram_defs_ap.h"

static const char TAG[] = "quad_psram";
static uint32_t s_psram_size;

static void send(uint8_t command)
{
    esp_rom_printf("%02x", command);
    esp_rom_delay_us(CONFIG_SPIRAM_SPEED);
}

esp_err_t esp_psram_impl_enable(void)
{
    send(PSRAM_RESET_EN);
    send(PSRAM_RESET);
    send(PSRAM_DEVICE_ID);
    mspi_timing_psram_tuning();
    s_psram_size = 2 * 1024 * 1024;
    ESP_LOGI(TAG, "found");
    return ESP_OK;
}

esp_err_t esp_psram_impl_get_physical_size(uint32_t *out_size_bytes)
{
    *out_size_bytes = s_psram_size;
    return s_psram_size ? ESP_OK : ESP_ERR_INVALID_STATE;
}

esp_err_t esp_psram_impl_get_available_size(uint32_t *out_size_bytes)
{
    return esp_psram_impl_get_physical_size(out_size_bytes);
}
