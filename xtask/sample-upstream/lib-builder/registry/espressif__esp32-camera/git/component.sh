SRCS="esp_camera.c"
INCLUDE_DIRS="include"
