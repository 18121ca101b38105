SRCS="src/esp_err_to_name.c"
INCLUDE_DIRS="include"
