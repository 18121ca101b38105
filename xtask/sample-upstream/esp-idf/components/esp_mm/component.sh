SRCS="esp_mmu_map.c"
INCLUDE_DIRS="include"
