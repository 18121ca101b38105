SRCS="arduino-lib-builder-gcc.c"
