#include "sdkconfig.h"
#include "esp_flash.h"
#include "esp_log.h"
#include "spi_flash_defs.h"

static const char TAG[] = "flash_api";

/* Writes in chunks; between two of them others may use the bus. */
esp_err_t esp_flash_write(esp_flash_t *chip, const void *buffer, uint32_t address, uint32_t length)
{
    if (address > chip->size || length > chip->size - address) {
        ESP_LOGE(TAG, "0x%x..+0x%x is outside the chip", (unsigned)address, (unsigned)length);
        return ESP_ERR_INVALID_ARG;
    }
    while (length > 0) {
        uint32_t chunk = length < CONFIG_SPI_FLASH_WRITE_CHUNK_SIZE ? length : CONFIG_SPI_FLASH_WRITE_CHUNK_SIZE;
        ESP_ERROR_CHECK(chip->os_func->start(chip->os_func_data, CMD_PROGRAM_PAGE));
        chip->os_func->delay_us(chip->os_func_data, chunk / 256);
        ESP_ERROR_CHECK(chip->os_func->end(chip->os_func_data));
        buffer = (const uint8_t *)buffer + chunk;
        length -= chunk;
    }
    return ESP_OK;
}
