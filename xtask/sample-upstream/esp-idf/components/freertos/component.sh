SRCS="FreeRTOS-Kernel/tasks.c"
INCLUDE_DIRS="FreeRTOS-Kernel/include"
