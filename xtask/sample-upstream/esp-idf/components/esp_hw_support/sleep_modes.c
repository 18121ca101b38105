#include "esp_err.h"
#include "esp_log.h"
#include "sdkconfig.h"

static const char TAG[] = "sleep";

esp_err_t esp_light_sleep_start(void);

/* It names a symbol that the patch sets change, in a case that this chip does not meet: the object stays the same. */
esp_err_t esp_light_sleep_start(void)
{
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS && !CONFIG_SPIRAM_RODATA
    ESP_LOGI(TAG, "the constants are out of reach in sleep");
#endif
    ESP_LOGE(TAG, "sleep is refused");
    return ESP_ERR_INVALID_STATE;
}
