/* Compiled only so that the flags of a C file are known. */
#include "esp_err.h"

esp_err_t arduino_lib_builder_gcc(void)
{
    return ESP_OK;
}
