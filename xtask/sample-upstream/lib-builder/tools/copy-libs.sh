#!/bin/sh
# copy-libs.sh <target> <chip variant> <flash mode> <y where PSRAM is octal>
# Lays the libraries' tree out: lib, ld, include, flags, sdkconfig, and the memory variant of this build.

export IDF_TARGET="$1" CHIP_VARIANT="$2"
if [ "$4" = y ]; then OCT_PSRAM="opi"; else OCT_PSRAM="qspi"; fi
MEMCONF="${3}_$OCT_PSRAM"

. ./tools/config.sh

echo "IDF_TARGET: $IDF_TARGET, CHIP_VARIANT: $CHIP_VARIANT, MEMCONF: $MEMCONF, PWD: $PWD, OUT: $AR_SDK"

cd "$AR_SDK" 2>/dev/null && rm -rf sdkconfig lib ld include flags "$MEMCONF" dependencies.lock
cd "$AR_ROOT" || exit 1
mkdir -p "$AR_SDK/lib" "$AR_SDK/ld" "$AR_SDK/include" "$AR_SDK/flags"

# Prints the flags of file $1 on one line, but for those that concern this build alone.
exported() {
    while IFS= read -r flag; do
        case $flag in
            -Wall | -Werror=all | -Wextra | -O* | -fmacro-prefix-map=* | -fdebug-prefix-map=*) ;;
            *) printf '%s ' "$flag" ;;
        esac
    done < "$1"
}

# Copies the headers below folder $1 to folder $2.
copy_headers() {
    for entry in "$1"/*; do
        if [ -d "$entry" ]; then copy_headers "$entry" "$2/${entry##*/}"; fi
    done
    # The recursion has changed no positional parameter of this call, so they can take the list.
    from="$1" to="$2"
    set --
    for entry in "$from"/*.h "$from"/*.hpp "$from"/*.inc; do
        if [ -f "$entry" ]; then set -- "$@" "$entry"; fi
    done
    if [ $# -gt 0 ]; then
        mkdir -p "$to"
        cp "$@" "$to/" || exit 1
    fi
}

exported build/flags/c > "$AR_SDK/flags/c_flags"
exported build/flags/cpp > "$AR_SDK/flags/cpp_flags"
exported build/flags/S > "$AR_SDK/flags/S_flags"
exported build/flags/defines > "$AR_SDK/flags/defines"
exported build/flags/ld > "$AR_SDK/flags/ld_flags"
exported build/flags/ld_scripts > "$AR_SDK/flags/ld_scripts"

# Each line: component, folder inside it, folder on disk.
while IFS='|' read -r component sub folder; do
    case $component in
        main | arduino) continue ;;
    esac
    printf '%s ' -iwithprefixbefore "$component${sub:+/$sub}"
    copy_headers "$folder" "$AR_SDK/include/$component${sub:+/$sub}"
done < build/flags/include_dirs > "$AR_SDK/flags/includes"

# Each line: component, archive.
set --
while IFS='|' read -r component archive; do
    case $component in
        main | arduino) continue ;;
    esac
    printf '%s ' "-l$component"
    set -- "$@" "$archive"
done < build/flags/archives > "$AR_SDK/flags/ld_libs"
cp "$@" "$AR_SDK/lib/" || exit 1

cp build/esp-idf/esp_system/ld/*.ld "$AR_SDK/ld/" || exit 1
cp -f sdkconfig "$AR_SDK/sdkconfig"
cp -f dependencies.lock "$AR_SDK/dependencies.lock"

mkdir -p "$AR_SDK/$MEMCONF/include"
mv build/config/sdkconfig.h "$AR_SDK/$MEMCONF/include/sdkconfig.h"
while read -r key file _ out targets; do
    case "$key| $targets " in
        "file|"*" $CHIP_VARIANT "*) mv "$AR_SDK/$out" "$AR_SDK/$MEMCONF/$file" || exit 1 ;;
    esac
done < "$AR_HOST/builds.list"

echo "#define CONFIG_ARDUINO_IDF_COMMIT \"$IDF_COMMIT\"" >> "$AR_SDK/$MEMCONF/include/sdkconfig.h"
echo "#define CONFIG_ARDUINO_IDF_BRANCH \"$IDF_BRANCH\"" >> "$AR_SDK/$MEMCONF/include/sdkconfig.h"
