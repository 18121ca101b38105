if [ "${CONFIG_SOC_SPIRAM_SUPPORTED-}" = y ]; then
    SRCS="system_layer/esp_psram_mspi.c"
    INCLUDE_DIRS="include device/include xip_impl/include"
    if [ "${CONFIG_SPIRAM-}" = y ]; then
        SRCS="$SRCS system_layer/esp_psram.c xip_impl/mmu_psram_flash.c"
        if [ "${CONFIG_SPIRAM_MODE_OCT-}" = y ]; then
            SRCS="$SRCS esp32s3/esp_psram_impl_octal.c"
        else
            SRCS="$SRCS device/esp_psram_impl_ap_quad.c"
        fi
    fi
fi
