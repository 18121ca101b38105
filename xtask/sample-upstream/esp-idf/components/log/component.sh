SRCS="src/log_write.c"
INCLUDE_DIRS="include"
