#pragma once
#include "esp_err.h"

esp_err_t esp_camera_init(void);
