#!/bin/sh
# Builds the Arduino libraries of one chip or of all, into out/tools/esp32-arduino-libs/<chip>.

if ! command -v cc >/dev/null 2>&1; then
    echo "ERROR: cc is not installed or not in PATH! Please install a C compiler first."
    exit 1
fi

export IDF_COMPONENT_OVERWRITE_MANAGED_COMPONENTS=1

TARGET="all"
BUILD_DEBUG="default"
SKIP_ENV=0

print_help() {
    echo "Usage: build.sh [-s] [-t <target>]"
    echo "       -s     Skip installing/updating of ESP-IDF and all components"
    echo "       -t     Set the build target(chip) ex. 'esp32s3' or select multiple targets(chips) by separating them with comma ex. 'esp32c3,esp32s3'"
    exit 1
}

while getopts ":st:" opt; do
    case $opt in
        s) SKIP_ENV=1 ;;
        t) TARGET="$OPTARG" ;;
        :)
            echo "Invalid option: -$OPTARG requires an argument" 1>&2
            print_help
            ;;
        *)
            echo "Invalid option: -$OPTARG" 1>&2
            print_help
            ;;
    esac
done
shift $((OPTIND - 1))
if [ $# -gt 0 ]; then print_help; fi

echo "TARGET(s): $TARGET"

mkdir -p dist

if [ $SKIP_ENV -eq 0 ]; then
    echo "* Installing/Updating ESP-IDF and all components..."
    echo "ERROR: would clone by branch, which this sample does not do: lay the sources out and call build.sh with -s"
    exit 1
fi
. ./tools/config.sh

if ! command -v idf.py >/dev/null 2>&1; then
    echo "ERROR: idf.py is not in PATH! Please run esp-idf/install.sh and source esp-idf/export.sh first."
    exit 1
fi

# true where chip $1 was asked for
wanted() {
    case ",$TARGET," in
        ,all,) [ "$2" != 1 ] ;;
        *",$1,"*) true ;;
        *) false ;;
    esac
}

# appends configs/defconfig.<name> for each further argument to the list in $1
layers() {
    list="$1"
    shift
    for name; do list="$list;configs/defconfig.$name"; done
    echo "$list"
}

build() {
    rm -rf build sdkconfig
    echo "idf.py -DIDF_TARGET=\"$target\" -DSDKCONFIG_DEFAULTS=\"$1\" $2"
    idf.py -DIDF_TARGET="$target" -DSDKCONFIG_DEFAULTS="$1" "$2" || exit 1
}

rm -rf build sdkconfig out
mkdir -p "$AR_TOOLS/esp32-arduino-libs" "$AR_HOST"
cc -O1 -o "$AR_HOST/builds" tools/builds.c || exit 1
"$AR_HOST/builds" configs/builds.json > "$AR_HOST/builds.list" || exit 1

built=0
active=0
while read -r key first rest <&3; do
    if [ "$key" = target ]; then
        target="$first"
        # The two words behind the target are the chip variant and the skip mark.
        export CHIP_VARIANT="${rest% *}"
        if wanted "$CHIP_VARIANT" "${rest#* }"; then
            active=1
            built=$((built + 1))
            echo "* Target: '$target', Variant: '$CHIP_VARIANT'"
            main_configs=$(layers "configs/defconfig.common" "$CHIP_VARIANT" "debug_$BUILD_DEBUG")
        else
            active=0
            echo "* Skipping Target: $CHIP_VARIANT"
        fi
        continue
    fi
    [ $active -eq 1 ] || continue
    # shellcheck disable=SC2086 # a list of words
    case $key in
        features)
            for name in $first $rest; do main_configs="$main_configs;configs/defconfig.$name"; done
            ;;
        idf_libs)
            configs=$(layers "$main_configs" $first $rest)
            echo "* Build IDF-Libs: $configs"
            build "$configs" idf-libs
            if [ "$target" = esp32s3 ]; then
                idf.py -DIDF_TARGET="$target" -DSDKCONFIG_DEFAULTS="$configs" srmodels_bin || exit 1
                AR_SDK="$AR_TOOLS/esp32-arduino-libs/$CHIP_VARIANT"
                if [ -f build/srmodels/srmodels.bin ]; then
                    echo "$AR_SDK/esp_sr"
                    mkdir -p "$AR_SDK/esp_sr"
                    cp -f build/srmodels/srmodels.bin partitions.csv "$AR_SDK/esp_sr/"
                fi
            fi
            ;;
        bootloader)
            configs=$(layers "$main_configs" $first $rest)
            echo "* Build BootLoader: $configs"
            build "$configs" copy-bootloader
            ;;
        mem_variant)
            configs=$(layers "$main_configs" $first $rest)
            echo "* Build Memory Variant: $configs"
            build "$configs" mem-variant
            ;;
    esac
done 3< "$AR_HOST/builds.list"

if [ $built -eq 0 ]; then
    echo "ERROR: configs/builds.json has no target '$TARGET'"
    exit 1
fi

# Versions of all that went in: above the chips' folders, as upstream writes it.
versions="$AR_TOOLS/esp32-arduino-libs/versions.txt"
rm -f "$versions"
# shellcheck disable=SC2046 # an empty ref leaves no second space
{
    echo "lib-builder:" $(git_ref "$AR_ROOT") $(git_short "$AR_ROOT")
    echo "esp-idf:" $(git_ref "$IDF_PATH") $(git_short "$IDF_PATH")
    for component in "$AR_COMPS"/*; do
        if [ -d "$component/.git" ]; then
            echo "${component##*/}:" $(git_ref "$component") $(git_short "$component")
        fi
    done
    echo "tinyusb:" $(git_ref "$AR_COMPS/arduino_tinyusb/tinyusb") $(git_short "$AR_COMPS/arduino_tinyusb/tinyusb")
    for component in "$AR_MANAGED_COMPS"/*; do
        if [ -f "$component/idf_component.yml" ]; then
            echo "${component##*/}:" $(yaml_version "$component/idf_component.yml")
        fi
    done
} > "$versions"
