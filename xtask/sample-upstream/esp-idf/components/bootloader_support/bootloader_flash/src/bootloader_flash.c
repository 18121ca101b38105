#include "sdkconfig.h"
#include "bootloader_flash.h"

unsigned bootloader_flash_clock(void)
{
#if CONFIG_ESPTOOLPY_FLASHFREQ_120M
    return 120;
#elif CONFIG_ESPTOOLPY_FLASHFREQ_80M
    return 80;
#else
    return 40;
#endif
}
