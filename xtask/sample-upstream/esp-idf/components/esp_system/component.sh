SRCS="startup.c debug_stubs.c port/cpu_start.c port/cache_err_int.c port/arch/$ARCH/debug_stubs.c"
INCLUDE_DIRS="include port/include/private"
PRIV_INCLUDE_DIRS="port/include port"
own_flags port/cpu_start.c -fno-stack-protector
