#include <stdint.h>

static uint32_t s_stub_entry[4] = { 0xFEEDBEEF };

uint32_t esp_dbg_stubs_entry(unsigned index);

uint32_t esp_dbg_stubs_entry(unsigned index)
{
    return s_stub_entry[index % 4];
}
