#pragma once
#include "esp_err.h"
typedef uint32_t esp_paddr_t;
typedef enum { MMU_TARGET_FLASH0 = 1 << 0, MMU_TARGET_PSRAM0 = 1 << 1 } mmu_target_t;
extern "C" esp_err_t esp_mmu_vaddr_to_paddr(void *vaddr, esp_paddr_t *out_paddr, mmu_target_t *out_target);
