cache_srcs="cache_utils.c flash_mmap.c spi_flash_os_func_app.c esp_flash_api.c"
SRCS="$cache_srcs"
if [ "${CONFIG_SOC_SPI_MEM_SUPPORT_FLASH_OPI_MODE-}" = y ]; then
    SRCS="$IDF_TARGET/spi_flash_oct_flash_init.c $SRCS"
fi
INCLUDE_DIRS="include"
PRIV_INCLUDE_DIRS="include/spi_flash"
for source in $cache_srcs; do
    own_flags "$source" -fno-inline-functions -fno-inline-small-functions -fno-inline-functions-called-once
done
