#include <stddef.h>
#include "sdkconfig.h"
#include "esp_attr.h"
#include "esp_clk_internal.h"
#include "esp_err.h"
#include "esp_log.h"
#include "esp_mmu_map.h"
#include "esp_rom_sys.h"
#include "esp_private/cache_err_int.h"
#include "esp_private/cache_utils.h"
#include "esp_private/startup_internal.h"
#if CONFIG_SPIRAM
#include "esp32s3/rom/cache.h"
#include "hal/mmu_hal.h"
#include "esp_psram.h"
#include "esp_private/esp_psram_extram.h"
#include "esp_private/mmu_psram_flash.h"
#endif

static const char TAG[] = "cpu_start";

/* Says the clock without printf. The array is what a stack protector would guard: this file is compiled without one. */
static void say_clock(unsigned megahertz)
{
    char digits[12];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + megahertz % 10);
        megahertz /= 10;
    } while (megahertz > 0);
    esp_rom_printf("%s: %s MHz, IDF %s\n", TAG, &digits[at], IDF_VER);
}

#if CONFIG_SPIRAM
static void start_psram(void)
{
#if CONFIG_SPIRAM_BOOT_HW_INIT
    if (esp_psram_chip_init() != ESP_OK) {
        ESP_EARLY_LOGE(TAG, "Failed to init external RAM");
    }
#endif
#if CONFIG_SPIRAM_BOOT_INIT
    if (esp_psram_init() != ESP_OK) {
        ESP_EARLY_LOGE(TAG, "Failed to map external RAM");
    }
#endif
#if CONFIG_SPIRAM_MEMTEST
    if (esp_psram_is_initialized() && !esp_psram_extram_test()) {
        ESP_EARLY_LOGE(TAG, "External RAM failed memory test!");
    }
#endif
}

/* The ROM's own flash functions must know which pages moved to PSRAM. */
static void tell_rom(uint32_t instruction_bytes, uint32_t rodata_bytes)
{
    int instruction_offset = 0, rodata_offset = 0;
#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS
    instruction_offset = instruction_flash2spiram_offset();
#endif
#if CONFIG_SPIRAM_RODATA
    rodata_offset = rodata_flash2spiram_offset();
#endif
    Cache_Set_IDROM_MMU_Info(mmu_hal_bytes_to_pages(instruction_bytes), mmu_hal_bytes_to_pages(rodata_bytes), 0,
                             rodata_bytes, instruction_offset, rodata_offset);
}
#endif

NOINLINE_ATTR void call_start_cpu0(void)
{
    say_clock(ESP_CLK_INTERNAL_MHZ);
    esp_mmu_map_init();
    esp_cache_err_int_init();
#if CONFIG_SPIRAM
    start_psram();
    tell_rom(0x80000, 0x40000);
#endif
#if CONFIG_ESP32S3_DATA_CACHE_LINE_64B
    esp_enable_cache_wrap(false, true);
#else
    esp_enable_cache_wrap(false, false);
#endif
    start_cpu0();
}
