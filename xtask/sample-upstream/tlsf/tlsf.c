#include "tlsf.h"

int tlsf_add_pool(tlsf_t *tlsf, void *memory, size_t size)
{
    if (memory == NULL || size < sizeof(void *)) {
        return 0;
    }
    tlsf->next = memory;
    tlsf->left = size;
    return 1;
}

void *tlsf_malloc(tlsf_t *tlsf, size_t size)
{
    size_t whole = (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    void *block = tlsf->next;
    if (whole > tlsf->left) {
        return NULL;
    }
    tlsf->next += whole;
    tlsf->left -= whole;
    return block;
}
