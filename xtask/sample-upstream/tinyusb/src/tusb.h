#pragma once
#include <stdbool.h>
#include <stdint.h>

bool tusb_init(uint8_t port);
