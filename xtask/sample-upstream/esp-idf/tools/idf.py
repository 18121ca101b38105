#!/bin/sh
# idf.py -DIDF_TARGET=<chip> -DSDKCONFIG_DEFAULTS=<file;file...> <idf-libs|srmodels_bin|copy-bootloader|mem-variant>
# A shell script under the real one's name: it configures and compiles the project in the current folder, into build/.

set -u
cd "$(pwd -P)" || exit 1

# Lists are newline-separated, so that a path may hold a space; no list is ever a pattern.
newline='
'
IFS="$newline"
set -f

fail() {
    echo "$*" 1>&2
    exit 1
}

IDF_TARGET="" SDKCONFIG_DEFAULTS="" action=""
for argument; do
    case $argument in
        -DIDF_TARGET=*) IDF_TARGET="${argument#*=}" ;;
        -DSDKCONFIG_DEFAULTS=*) SDKCONFIG_DEFAULTS="${argument#*=}" ;;
        -*) fail "idf.py: unknown option $argument" ;;
        *) action="$argument" ;;
    esac
done
case $action in
    idf-libs | srmodels_bin | copy-bootloader | mem-variant) ;;
    *) fail "idf.py: unknown action '$action'" ;;
esac
export IDF_TARGET
CHIP_VARIANT="${CHIP_VARIANT:-$IDF_TARGET}"
echo "Executing action: $action"

. "$IDF_PATH/tools/idf/components.sh"
. "$IDF_PATH/tools/idf/compile.sh"

case $IDF_TARGET in
    esp32s3) ARCH=xtensa TOOLCHAIN=xtensa-esp32s3-elf ;;
    esp32c3) ARCH=riscv TOOLCHAIN=riscv32-esp-elf ;;
    *) fail "idf.py: target '$IDF_TARGET' is not supported" ;;
esac
export IDF_TARGET_ARCH="$ARCH"

idf_version
resolve_components
find_components
configure

if [ "$action" = srmodels_bin ]; then
    make_speech_models
    exit 0
fi
. ./project.sh
flags
if [ "$action" = copy-bootloader ]; then build_bootloader; else build_libraries; fi
"./tools/$action_script" "$IDF_TARGET" "$CHIP_VARIANT" "${script_arguments%%|*}" "${script_arguments#*|}" || exit 1
