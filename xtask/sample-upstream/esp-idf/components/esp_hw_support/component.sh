SRCS="cpu.c sleep_modes.c"
INCLUDE_DIRS="include mspi_timing_tuning/include"
if [ "$IDF_TARGET" = esp32s3 ]; then SRCS="$SRCS mspi_timing_tuning/mspi_timing_tuning.c"; fi
