#pragma once
#include "sdkconfig.h"

#define ESP_CLK_INTERNAL_MHZ CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ
