#include <stddef.h>
#include <sys/lock.h>
#include "sdkconfig.h"
#include "esp_attr.h"
#include "esp_flash.h"
#include "esp_rom_sys.h"
#include "esp_timer.h"
#include "freertos/task.h"
#include "esp_private/cache_utils.h"

/* Where neither instructions nor constants come from flash, the cache may stay on while flash is written. */
#define SPI_FLASH_CACHE_NO_DISABLE (CONFIG_SPIRAM_FETCH_INSTRUCTIONS && CONFIG_SPIRAM_RODATA)

typedef struct {
    int64_t acquired_since_us;
    int64_t released_since_us;
} app_func_arg_t;

static app_func_arg_t s_main_chip;

#if SPI_FLASH_CACHE_NO_DISABLE
static _lock_t s_spi1_flash_mutex;
#else
static IRAM_ATTR void cache_disable(void *arg)
{
    (void)arg;
    spi_flash_disable_interrupts_caches_and_other_cpu();
}

static IRAM_ATTR void cache_enable(void *arg)
{
    (void)arg;
    spi_flash_enable_interrupts_caches_and_other_cpu();
}
#endif

static IRAM_ATTR esp_err_t spi1_start(void *arg, uint32_t flags)
{
    (void)flags;
#if SPI_FLASH_CACHE_NO_DISABLE
    _lock_acquire(&s_spi1_flash_mutex);
#else
    cache_disable(NULL);
#endif
    ((app_func_arg_t *)arg)->acquired_since_us = esp_timer_get_time();
    return ESP_OK;
}

static IRAM_ATTR esp_err_t spi1_end(void *arg)
{
    ((app_func_arg_t *)arg)->released_since_us = esp_timer_get_time();
#if SPI_FLASH_CACHE_NO_DISABLE
    _lock_release(&s_spi1_flash_mutex);
#else
    cache_enable(NULL);
#endif
    return ESP_OK;
}

static esp_err_t delay_us(void *arg, uint32_t us)
{
    (void)arg;
#if CONFIG_SPI_FLASH_YIELD_DURING_ERASE
    if (us > CONFIG_SPI_FLASH_ERASE_YIELD_DURATION_MS * 1000) {
        vTaskDelay(CONFIG_SPI_FLASH_ERASE_YIELD_TICKS);
        return ESP_OK;
    }
#endif
    esp_rom_delay_us(us);
    return ESP_OK;
}

static const esp_flash_os_functions_t s_spi1_functions = {
    .start = spi1_start,
    .end = spi1_end,
    .delay_us = delay_us,
};

esp_err_t esp_flash_app_init_os_functions(esp_flash_t *chip)
{
    chip->os_func = &s_spi1_functions;
    chip->os_func_data = &s_main_chip;
    return ESP_OK;
}
