#include "tusb_config.h"
#include "tusb.h"

static uint8_t s_ports;

bool tusb_init(uint8_t port)
{
    if (port >= CFG_TUD_CDC) {
        return false;
    }
    s_ports |= (uint8_t)(1u << port);
    return true;
}
