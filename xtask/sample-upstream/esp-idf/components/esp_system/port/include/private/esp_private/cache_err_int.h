#pragma once

void esp_cache_err_int_init(void);
