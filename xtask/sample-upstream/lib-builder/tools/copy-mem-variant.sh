#!/bin/sh
# copy-mem-variant.sh <target> <chip variant> <flash mode> <y where PSRAM is octal>

export IDF_TARGET="$1" CHIP_VARIANT="$2"
if [ "$4" = y ]; then OCT_PSRAM="opi"; else OCT_PSRAM="qspi"; fi
MEMCONF="${3}_$OCT_PSRAM"

. ./tools/config.sh

echo "IDF_TARGET: $IDF_TARGET, CHIP_VARIANT: $CHIP_VARIANT, MEMCONF: $MEMCONF"

echo "#define CONFIG_ARDUINO_IDF_COMMIT \"$IDF_COMMIT\"" >> build/config/sdkconfig.h
echo "#define CONFIG_ARDUINO_IDF_BRANCH \"$IDF_BRANCH\"" >> build/config/sdkconfig.h

rm -rf "${AR_SDK:?}/$MEMCONF"
mkdir -p "$AR_SDK/$MEMCONF/include"
mv build/config/sdkconfig.h "$AR_SDK/$MEMCONF/include/sdkconfig.h"
while read -r key file src _ targets; do
    case "$key| $targets " in
        "file|"*" $CHIP_VARIANT "*) cp "$src" "$AR_SDK/$MEMCONF/$file" || exit 1 ;;
    esac
done < "$AR_HOST/builds.list"
