#include "bootloader_common.h"
#include "bootloader_config.h"

uint32_t bootloader_common_checksum(const uint8_t *data, uint32_t length)
{
    uint32_t sum = BOOTLOADER_CHECKSUM_INITIAL;
    for (uint32_t i = 0; i < length; i++) {
        sum ^= data[i];
    }
    return sum;
}
