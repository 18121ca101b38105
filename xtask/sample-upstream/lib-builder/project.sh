# shellcheck shell=sh disable=SC2034 # read by idf.py, as the real one reads CMakeLists.txt
# For the action at hand: the components that it needs (none named: all), the script that takes what was built, and its arguments.

only=""
psram="${CONFIG_SPIRAM_MODE_OCT-}"
case $action in
    idf-libs)
        action_script=copy-libs.sh
        script_arguments="$CONFIG_LIB_BUILDER_FLASHMODE|$psram"
        ;;
    copy-bootloader)
        action_script=copy-bootloader.sh
        script_arguments="$CONFIG_LIB_BUILDER_FLASHMODE|$CONFIG_LIB_BUILDER_FLASHFREQ"
        ;;
    mem-variant)
        # The archives that builds.json wants of a memory variant; all others would be thrown away.
        action_script=copy-mem-variant.sh
        script_arguments="$CONFIG_LIB_BUILDER_FLASHMODE|$psram"
        while IFS=' ' read -r key _ src _ targets; do
            case "$key| $targets " in
                "file|"*" $CHIP_VARIANT "*)
                    name="${src#build/esp-idf/}"
                    only="$only${name%%/*} "
                    ;;
            esac
        done < out/host/builds.list
        ;;
esac
