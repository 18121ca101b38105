#include <stddef.h>
#include <stdint.h>
#include "sdkconfig.h"
#include "esp_attr.h"
#include "esp_cpu.h"
#include "freertos/task.h"
#include "hal/cache_hal.h"
#include "soc/extmem_reg.h"
#include "spi_flash_defs.h"
#include "esp_private/cache_utils.h"
#if CONFIG_SPIRAM
#include "esp_private/mmu_psram_flash.h"
#endif

static volatile bool s_cache_enabled = true;
static uint32_t s_wrap_sizes[2][2]; /* flash and PSRAM; instructions and data */

/* Called from two places: whether it is inlined is one of this file's own flags. */
static void other_cpu(bool stall)
{
    for (int core = 1; core < CONFIG_SOC_CPU_CORES_NUM; core++) {
        if (stall) {
            esp_cpu_stall(core);
        } else {
            esp_cpu_unstall(core);
        }
    }
}

IRAM_ATTR void spi_flash_disable_interrupts_caches_and_other_cpu(void)
{
    vTaskSuspendAll();
    other_cpu(true);
    cache_hal_suspend(1);
    s_cache_enabled = false;
}

IRAM_ATTR void spi_flash_enable_interrupts_caches_and_other_cpu(void)
{
    s_cache_enabled = true;
    cache_hal_resume(1);
    other_cpu(false);
    xTaskResumeAll();
}

bool spi_flash_cache_enabled(void)
{
    return s_cache_enabled;
}

static uint32_t wrap_size(void)
{
#if CONFIG_ESP32S3_DATA_CACHE_LINE_16B
    return FLASH_WRAP_SIZE_16B;
#elif CONFIG_ESP32S3_DATA_CACHE_LINE_64B
    return FLASH_WRAP_SIZE_64B;
#else
    return FLASH_WRAP_SIZE_32B;
#endif
}

/* A wrap belongs to the memory that the cache is filled from. */
void esp_enable_cache_wrap(bool icache_wrap_enable, bool dcache_wrap_enable)
{
    uint32_t instructions = 0, rodata = 0;
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
    instructions = esp_spiram_instruction_access_enabled();
#endif
#if CONFIG_SPIRAM_RODATA
    rodata = esp_spiram_rodata_access_enabled();
#endif
    s_wrap_sizes[instructions != 0][0] = icache_wrap_enable ? wrap_size() : 0;
    s_wrap_sizes[rodata != 0][1] = dcache_wrap_enable ? wrap_size() : 0;
    *(volatile uint32_t *)(uintptr_t)EXTMEM_CACHE_WRAP_AROUND_CTRL_REG = s_wrap_sizes[0][0] | s_wrap_sizes[1][0];
}
