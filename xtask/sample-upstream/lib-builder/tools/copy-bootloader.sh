#!/bin/sh
# copy-bootloader.sh <target> <chip variant> <flash mode> <flash frequency>

export IDF_TARGET="$1" CHIP_VARIANT="$2"
BOOTCONF="${3}_$4"

. ./tools/config.sh

echo "Copying bootloader: $AR_SDK/bin/bootloader_$BOOTCONF.elf"

mkdir -p "$AR_SDK/bin"
cp build/bootloader/bootloader.elf "$AR_SDK/bin/bootloader_$BOOTCONF.elf"
