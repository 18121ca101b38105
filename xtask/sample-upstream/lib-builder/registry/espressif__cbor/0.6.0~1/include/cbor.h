#pragma once
#include <stddef.h>
#include <stdint.h>

/* Writes `value` as an unsigned integer; returns the bytes used, 0 where they do not fit. */
size_t cbor_encode_uint(uint8_t *out, size_t room, uint32_t value);
