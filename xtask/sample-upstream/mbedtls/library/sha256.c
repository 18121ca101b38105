#include "mbedtls/sha256.h"
#include "framework/rotate.h"

uint32_t mbedtls_sha256_mix(const uint8_t *input, size_t length)
{
    uint32_t state = 0x6a09e667;
    for (size_t i = 0; i < length; i++) {
        state = ROTATE(state, 6) + input[i];
    }
    return state;
}
