#include "cbor.h"

size_t cbor_encode_uint(uint8_t *out, size_t room, uint32_t value)
{
    size_t tail = value < 24 ? 0 : value <= 0xff ? 1 : value <= 0xffff ? 2 : 4;
    if (room < tail + 1) {
        return 0;
    }
    out[0] = tail == 0 ? (uint8_t)value : tail == 1 ? 24 : tail == 2 ? 25 : 26;
    for (size_t i = 0; i < tail; i++) {
        out[1 + i] = (uint8_t)(value >> (8 * (tail - 1 - i)));
    }
    return tail + 1;
}
