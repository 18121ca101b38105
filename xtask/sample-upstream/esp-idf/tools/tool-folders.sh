# shellcheck shell=sh disable=SC2034 # settings, read by the scripts that source this file

# Where the tools stand, as in the real one: <tool>/<version>/<its own folder>/bin.
IDF_TOOLS_PATH="${IDF_TOOLS_PATH:-$HOME/.espressif}"
XTENSA_BIN="$IDF_TOOLS_PATH/tools/xtensa-esp-elf/esp-14.2.0_20260121/xtensa-esp-elf/bin"
RISCV_BIN="$IDF_TOOLS_PATH/tools/riscv32-esp-elf/esp-14.2.0_20260121/riscv32-esp-elf/bin"
KCONF_BIN="$IDF_TOOLS_PATH/tools/kconf/5.5.5"
