#!/bin/sh
# Makes the stand-ins for the compilers, and the program that evaluates Kconfig, in $IDF_TOOLS_PATH.

set -eu

IDF_PATH=$(cd "$(dirname "$0")" && pwd -P)
export IDF_PATH
. "$IDF_PATH/tools/tool-folders.sh"

echo "INFO: Using IDF_PATH '$IDF_PATH' for installation."
for program in cc ar; do
    if ! command -v "$program" >/dev/null 2>&1; then
        echo "ERROR: $program is not installed or not in PATH! A C compiler with its archiver is all that this sample needs."
        exit 1
    fi
done

mkdir -p "$IDF_TOOLS_PATH"
work="$IDF_TOOLS_PATH/probe.$$"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
echo 'int probe(void) { return 0; }' > "$work/probe.c"

# The host's compiler need not know every flag of Espressif's: those that it refuses are found by trying.
accepts() {
    cc -Werror "$@" -c "$work/probe.c" -o "$work/probe.o" >/dev/null 2>&1
}
dropped="-"
set -- -fstrict-volatile-bitfields -freorder-blocks -fno-jump-tables -fno-tree-switch-conversion -Wno-old-style-declaration \
    -fno-inline-functions -fno-inline-small-functions -fno-inline-functions-called-once -fno-stack-protector -gdwarf-4 -ggdb
if ! accepts "$@"; then
    for flag; do
        accepts "$flag" || dropped="$dropped|$flag"
    done
fi
deterministic=""
cc -c "$work/probe.c" -o "$work/probe.o"
if ar qcD "$work/probe.a" "$work/probe.o" >/dev/null 2>&1; then deterministic="D"; fi

echo "Installing ESP-IDF tools"
cc -O1 -DDROPPED="\"$dropped\"" -o "$work/gcc" "$IDF_PATH/tools/stand-in.c"
cc -O1 -o "$work/kconf" "$IDF_PATH/tools/kconf.c"
printf '#!/bin/sh\n# No time, owner or mode of this machine gets into an archive.\noperation="$1"\nshift\nZERO_AR_DATE=1 exec ar "${operation}%s" "$@"\n' \
    "$deterministic" > "$work/ar"
chmod +x "$work/ar"
mkdir -p "$XTENSA_BIN" "$RISCV_BIN" "$KCONF_BIN"
for program in gcc ar; do
    cp "$work/$program" "$XTENSA_BIN/xtensa-esp32s3-elf-$program"
    cp "$work/$program" "$RISCV_BIN/riscv32-esp-elf-$program"
done
cp "$work/kconf" "$KCONF_BIN/kconf"

echo "All done! You can now run:"
echo ""
echo "  . $IDF_PATH/export.sh"
echo ""
