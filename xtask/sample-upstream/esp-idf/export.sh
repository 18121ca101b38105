# shellcheck shell=sh
# This script should be sourced, not executed.

# A shell that does not say which file it sources (dash) is helped by IDF_PATH, or by where it stands.
if [ -n "${BASH_SOURCE-}" ]; then
    # shellcheck disable=SC3028 # set in bash alone
    IDF_PATH=$(cd "$(dirname "$BASH_SOURCE")" && pwd -P)
elif [ -z "${IDF_PATH-}" ]; then
    for idf_path in . ./esp-idf; do
        if [ -f "$idf_path/tools/kconf.c" ]; then IDF_PATH=$(cd "$idf_path" && pwd -P); fi
    done
    unset idf_path
fi
if [ ! -f "${IDF_PATH-}/tools/tool-folders.sh" ]; then
    echo "Could not find ESP-IDF. Please go to its folder and run: . ./export.sh"
    return 1
fi
export IDF_PATH
. "$IDF_PATH/tools/tool-folders.sh"

if [ ! -x "$KCONF_BIN/kconf" ]; then
    echo "ERROR: the tools are not in $IDF_TOOLS_PATH. Please run $IDF_PATH/install.sh first."
    return 1
fi
export IDF_TOOLS_PATH
export PATH="$XTENSA_BIN:$RISCV_BIN:$KCONF_BIN:$IDF_PATH/tools:$PATH"
