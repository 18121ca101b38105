#include <stdarg.h>
#include "esp_log.h"
#include "esp_rom_sys.h"

static unsigned s_lines[ESP_LOG_INFO + 1];

void esp_log_write(esp_log_level_t level, const char *tag, const char *format, ...)
{
    va_list arguments;
    s_lines[level]++;
    va_start(arguments, format);
    esp_rom_printf("%s: ", tag);
    esp_rom_vprintf(format, arguments);
    va_end(arguments);
}
