SRCS="bootloader_start.c"
