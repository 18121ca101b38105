SRCS="src/bootloader_common.c bootloader_flash/src/bootloader_flash.c"
INCLUDE_DIRS="include bootloader_flash/include"
PRIV_INCLUDE_DIRS="private_include"
