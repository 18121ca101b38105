#pragma once

void esp_restart(void) __attribute__((noreturn));
const char *esp_get_idf_version(void);
