#include <stdint.h>
#include "sdkconfig.h"
#include "bootloader_common.h"
#include "bootloader_flash.h"

static uint8_t s_header[24];

int call_start_bootloader(void);

int call_start_bootloader(void)
{
    s_header[3] = (uint8_t)(bootloader_flash_clock() / 10);
#if CONFIG_ESPTOOLPY_FLASHMODE_QIO
    s_header[2] = 0;
#elif CONFIG_ESPTOOLPY_FLASHMODE_DIO
    s_header[2] = 2;
#else
    s_header[2] = 4;
#endif
    return bootloader_common_checksum(s_header, sizeof s_header) == 0;
}
