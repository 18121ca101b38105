#include <stdint.h>

extern uint32_t esp_dbg_stubs_entry(unsigned index);
uint32_t esp_dbg_stub_core(void);

uint32_t esp_dbg_stub_core(void)
{
    return esp_dbg_stubs_entry(0);
}
