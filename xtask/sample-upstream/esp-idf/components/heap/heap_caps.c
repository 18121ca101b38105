#include "esp_heap_caps.h"
#include "sdkconfig.h"
#include "tlsf.h"

static tlsf_t s_regions[2];
static size_t s_external_from = SIZE_MAX;

static tlsf_t *region(uint32_t caps)
{
    return &s_regions[(caps & MALLOC_CAP_SPIRAM) != 0];
}

esp_err_t heap_caps_add_region(void *start, size_t size, uint32_t caps)
{
    return tlsf_add_pool(region(caps), start, size) ? ESP_OK : ESP_ERR_INVALID_ARG;
}

void heap_caps_malloc_extmem_enable(size_t limit)
{
    s_external_from = limit;
}

void *heap_caps_malloc(size_t size, uint32_t caps)
{
#if CONFIG_HEAP_POISONING_LIGHT
    size += 2 * sizeof(uint32_t);
#endif
    return tlsf_malloc(region(size >= s_external_from ? caps | MALLOC_CAP_SPIRAM : caps), size);
}
