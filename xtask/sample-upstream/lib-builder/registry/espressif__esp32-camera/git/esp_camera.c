#include "esp_camera.h"
#include "esp_log.h"

esp_err_t esp_camera_init(void)
{
    ESP_LOGE("camera", "no sensor was found");
    return ESP_ERR_NOT_FOUND;
}
