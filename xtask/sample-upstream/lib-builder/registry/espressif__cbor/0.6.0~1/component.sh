SRCS="cborencoder.c"
INCLUDE_DIRS="include"
