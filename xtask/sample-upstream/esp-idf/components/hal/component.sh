SRCS="mmu_hal.c"
INCLUDE_DIRS="include $IDF_TARGET/include"
