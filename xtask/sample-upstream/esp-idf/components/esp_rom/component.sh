INCLUDE_DIRS="include"
if [ "$IDF_TARGET" = esp32s3 ]; then INCLUDE_DIRS="$INCLUDE_DIRS esp32s3/include"; fi
