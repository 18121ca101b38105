SRCS="cores/esp32/esp32-hal-psram.c"
INCLUDE_DIRS="cores/esp32"
