SRCS="src/esp_timer.c"
INCLUDE_DIRS="include"
