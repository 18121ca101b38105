#include "sdkconfig.h"
#include "esp_attr.h"
#include "esp_bit_defs.h"
#include "esp_log.h"
#include "esp32s3/rom/opi_flash.h"
#include "esp_private/esp_psram_impl.h"
#include "esp_private/mspi_timing_tuning.h"

#define OCT_PSRAM_READ_REG 0x4040
#define OCT_PSRAM_WRITE_REG 0xC0C0
#define OCT_PSRAM_ADDRESS_OF_MODE 8

static const char TAG[] = "octal_psram";
static uint32_t s_psram_size;

#if CONFIG_SPIRAM_ECC_ENABLE
static uint32_t s_ecc_regions;

/* The correction codes of each region stand behind its data. */
static void configure_psram_ecc(void)
{
    for (uint32_t region = 0; region < 8; region++) {
        s_ecc_regions |= (uint32_t)BIT(region);
        esp_rom_opiflash_exec_cmd(1, OCT_PSRAM_WRITE_REG, region, &s_ecc_regions, 8);
    }
}
#endif

static IRAM_ATTR uint8_t read_mode(void)
{
    uint8_t mode[2];
    esp_rom_opiflash_read_cmd(1, OCT_PSRAM_READ_REG, OCT_PSRAM_ADDRESS_OF_MODE, mode, 16);
    return mode[0];
}

esp_err_t esp_psram_impl_enable(void)
{
    uint8_t density = read_mode() & 0x7;
    switch (density) {
        case 1: s_psram_size = 4 * 1024 * 1024; break;
        case 3: s_psram_size = 8 * 1024 * 1024; break;
        case 5: s_psram_size = 16 * 1024 * 1024; break;
        default:
            ESP_EARLY_LOGE(TAG, "PSRAM chip not found, density %d", density);
            return ESP_ERR_NOT_FOUND;
    }
#if CONFIG_SPIRAM_ECC_ENABLE
    configure_psram_ecc();
#endif
    mspi_timing_psram_tuning();
    return ESP_OK;
}

esp_err_t esp_psram_impl_get_physical_size(uint32_t *out_size_bytes)
{
    *out_size_bytes = s_psram_size;
    return s_psram_size ? ESP_OK : ESP_ERR_INVALID_STATE;
}

/* With ECC a sixteenth is taken for the codes. */
esp_err_t esp_psram_impl_get_available_size(uint32_t *out_size_bytes)
{
#if CONFIG_SPIRAM_ECC_ENABLE
    *out_size_bytes = s_psram_size / 16 * 15;
#else
    *out_size_bytes = s_psram_size;
#endif
    return s_psram_size ? ESP_OK : ESP_ERR_INVALID_STATE;
}
