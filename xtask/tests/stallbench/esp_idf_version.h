#pragma once
extern "C" const char *esp_get_idf_version(void);
