#include "sdkconfig.h"
#include "esp_err.h"

esp_err_t esp_opiflash_init(uint32_t chip_id);

/* Only flash of one maker is known to run in octal mode. */
esp_err_t esp_opiflash_init(uint32_t chip_id)
{
#if CONFIG_ESPTOOLPY_OCT_FLASH
    return (chip_id >> 16) == 0xC2 ? ESP_OK : ESP_ERR_NOT_FOUND;
#else
    (void)chip_id;
    return ESP_ERR_INVALID_STATE;
#endif
}
