SRCS="heap_caps.c tlsf/tlsf.c"
INCLUDE_DIRS="include"
PRIV_INCLUDE_DIRS="tlsf"
