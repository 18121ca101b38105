#include "esp_private/cache_err_int.h"

static unsigned s_enabled;

void esp_cache_err_int_init(void)
{
    s_enabled |= 1;
}
