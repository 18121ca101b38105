SRCS="mbedtls/library/sha256.c"
INCLUDE_DIRS="mbedtls/include"
PRIV_INCLUDE_DIRS="mbedtls/framework/include"
