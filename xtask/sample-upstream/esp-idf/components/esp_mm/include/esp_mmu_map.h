#pragma once
#include <stddef.h>
#include <stdint.h>
#include "esp_err.h"

typedef enum { MMU_TARGET_FLASH0, MMU_TARGET_PSRAM0 } mmu_target_t;

void esp_mmu_map_init(void);
esp_err_t esp_mmu_vaddr_to_paddr(const void *vaddr, uint32_t *out_paddr, mmu_target_t *out_target);
esp_err_t esp_mmu_paddr_to_vaddr(uint32_t paddr, mmu_target_t target, const void **out_vaddr);
