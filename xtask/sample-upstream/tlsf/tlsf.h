#pragma once
#include <stddef.h>
#include <stdint.h>

/* A pool that is handed out from its start; nothing is given back in this sample. */
typedef struct {
    uint8_t *next;
    size_t left;
} tlsf_t;

int tlsf_add_pool(tlsf_t *tlsf, void *memory, size_t size);
void *tlsf_malloc(tlsf_t *tlsf, size_t size);
