#pragma once
#include <stdint.h>

void esp_cpu_stall(int core);
void esp_cpu_unstall(int core);
