#include <stddef.h>
#include "esp_err.h"

static const struct {
    esp_err_t code;
    const char *name;
} s_names[] = {
    { ESP_OK, "ESP_OK" },
    { ESP_FAIL, "ESP_FAIL" },
    { ESP_ERR_NO_MEM, "ESP_ERR_NO_MEM" },
    { ESP_ERR_INVALID_ARG, "ESP_ERR_INVALID_ARG" },
    { ESP_ERR_INVALID_STATE, "ESP_ERR_INVALID_STATE" },
    { ESP_ERR_NOT_FOUND, "ESP_ERR_NOT_FOUND" },
};

const char *esp_err_to_name(esp_err_t code)
{
    for (size_t i = 0; i < sizeof s_names / sizeof *s_names; i++) {
        if (s_names[i].code == code) {
            return s_names[i].name;
        }
    }
    return "UNKNOWN ERROR";
}
