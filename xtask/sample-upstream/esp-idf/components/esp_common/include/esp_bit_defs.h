#pragma once

#define BIT(n) (1UL << (n))
#define ALIGN_UP_BY(value, unit) (((value) + ((unit) - 1)) & ~(uintptr_t)((unit) - 1))
