#pragma once
#include <stddef.h>
#include <stdint.h>

/* Writes `value` as an unsigned integer; returns the bytes used, 0 where they do not fit. */
/* Writes `value` as a negative integer: -1 - value. */
size_t cbor_encode_negative(uint8_t *out, size_t room, uint32_t value);

size_t cbor_encode_uint(uint8_t *out, size_t room, uint32_t value);
