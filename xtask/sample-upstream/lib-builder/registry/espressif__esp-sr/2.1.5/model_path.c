#include <stddef.h>
#include "sdkconfig.h"
#include "model_path.h"

const char *esp_srmodel_wake_word(void)
{
#if CONFIG_SR_WN_WN9_HIESP
    return "wn9_hiesp";
#else
    return NULL;
#endif
}
