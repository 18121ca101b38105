#pragma once
#include <stdbool.h>
#include <stddef.h>

bool psramFound(void);
void *ps_malloc(size_t size);
