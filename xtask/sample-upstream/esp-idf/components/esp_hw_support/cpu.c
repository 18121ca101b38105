#include "esp_cpu.h"
#include "sdkconfig.h"

static volatile uint8_t s_stalled[CONFIG_SOC_CPU_CORES_NUM];

void esp_cpu_stall(int core)
{
    if (core < CONFIG_SOC_CPU_CORES_NUM) {
        s_stalled[core] = 1;
    }
}

void esp_cpu_unstall(int core)
{
    if (core < CONFIG_SOC_CPU_CORES_NUM) {
        s_stalled[core] = 0;
    }
}
