#!/bin/sh
# Puts patched Arduino core libraries in the place of the stock ones. With --revert, as revert.sh calls it: puts the
# stock ones back.
#
# The names are those of the tool (cargo xtask install): 3.3.12 is active, 3.3.12.stock is the kept original, .xip/new is
# where work is done. A run may be cut off anywhere: the next one sees by these folders how far it came. Stock libraries
# are only ever renamed between their two names.
set -u

# >>> package: filled in by build-libs
CHIP='esp32s3'
CORE='3.3.12'
SUFFIX='xip-ecc'
# SHA-256 of the zip; where it is empty, the .sha256 file beside the zip tells.
ZIP_SHA256=''
# SHA-256 of libs-manifest.json in the zip. That file lists all others with their hashes: it stands for the whole package.
MANIFEST_SHA256=''
# What to choose in the IDE's menu Tools > PSRAM.
PSRAM='OPI PSRAM'
# <<< package

: "${HOME:=}"
NAME="$CHIP-libs-$CORE-$SUFFIX"
MANIFEST=libs-manifest.json
WORK=.xip/new
OLD=.xip/old.script

say() { printf '%s\n' "$@"; }

fail() {
    printf '\nNot done: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" >&2
    exit 1
}

# Whether anything has this name, a dangling link too.
there() { [ -e "$1" ] || [ -L "$1" ]; }

# mv would put the one folder into the other where the new name is taken.
rename() { ! there "$2" && mv "$1" "$2"; }

# --- what stands there ------------------------------------------------------------------------------------------------

# The settings of all memory variants of a libraries folder.
settings() { cat "$1"/*_*/include/sdkconfig.h 2>/dev/null; }

# What a folder holds: absent, stock, patched, or other, which is never touched.
kind() {
    if ! there "$1"; then
        echo absent
    elif [ -L "$1" ] || [ ! -d "$1/flags" ] || [ ! -d "$1/include" ] || [ ! -d "$1/lib" ]; then
        echo other
    elif [ -z "$(settings "$1")" ]; then
        echo other
    elif [ -e "$1/$MANIFEST" ] || settings "$1" | grep -q '^#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1'; then
        echo patched
    elif [ -e "$1/dependencies.lock" ] || [ -e "$1/pioarduino-build.py" ]; then
        # Upstream's build leaves these, and no release has them: somebody built this.
        echo patched
    else
        echo stock
    fi
}

# What a patched folder is called when it is set aside.
suffix_of() {
    suffix=$(sed -n 's/^ *"suffix": "\([a-z0-9-]*\)".*/\1/p' "$1/$MANIFEST" 2>/dev/null | head -n 1)
    if [ -n "$suffix" ]; then
        echo "$suffix"
    elif settings "$1" | grep -q '^#define CONFIG_SPIRAM_ECC_ENABLE 1'; then
        echo xip-ecc
    else
        echo by-hand
    fi
}

has() { command -v "$1" >/dev/null 2>&1; }
sum() { if has sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
sha256() { sum <"$1" | cut -c 1-64; }

# Whether a run died in a tool folder while no stock libraries were kept in it.
is_cut_off() { there "$1/$WORK" && there "$1/$CORE.$SUFFIX"; }

# Goes into the folder of this chip's libraries.
enter_tools() {
    if [ -n "${ARDUINO_DIRECTORIES_DATA:-}" ]; then
        set -- "$ARDUINO_DIRECTORIES_DATA"
    else
        [ -n "$HOME" ] || fail "the variable HOME is not set."
        set -- "$HOME/Library/Arduino15" "$HOME/.arduino15" \
            "$HOME"/snap/arduino*/current/.arduino15 "$HOME"/.var/app/cc.arduino.*/.arduino15
    fi
    TOOLS='' first=''
    for data; do
        folder=$(cd "$data/packages/esp32/tools/$CHIP-libs" 2>/dev/null && pwd -P) || continue
        there "$folder/$CORE" || there "$folder/$CORE.stock" || is_cut_off "$folder" || continue
        if [ -n "$TOOLS" ] && [ "$TOOLS" != "$folder" ]; then
            fail "core esp32 $CORE is installed more than once:" "  $first" "  $data" \
                "Say which one is meant: ARDUINO_DIRECTORIES_DATA=FOLDER sh $0"
        fi
        TOOLS=$folder first=$data
    done
    [ -n "$TOOLS" ] || fail "core esp32 $CORE is not installed." \
        "Install esp32 $CORE in the Boards Manager, then run this again. Looked in:" "$(printf '  %s\n' "$@")"
    say "Libraries: $TOOLS"
    cd "$TOOLS" || fail "this folder cannot be opened."
}

# --- the package ------------------------------------------------------------------------------------------------------

# Finds the zip by its content; browsers and file managers change its name. Sets ZIP.
find_zip() {
    set -- "$HERE" "$HOME/Downloads"
    # The folder has another name in other languages. Where none is set, this is the home folder.
    ! has xdg-user-dir || set -- "$@" "$(xdg-user-dir DOWNLOAD)"
    expected=$ZIP_SHA256
    ZIP='' wrong='' hint=''
    for folder; do
        if [ -z "$expected" ] && [ -f "$folder/$NAME.zip.sha256" ]; then
            expected=$(cut -c 1-64 <"$folder/$NAME.zip.sha256")
        fi
    done
    [ -n "$expected" ] || fail "nothing says what SHA-256 the package must have." \
        "Put $NAME.zip.sha256 beside this script."
    for folder; do
        for file in "$folder"/*"$NAME"*.zip; do
            [ -f "$file" ] || continue
            say "Checking:  $file"
            if [ "$(sha256 "$file")" = "$expected" ]; then
                ZIP=$file
                return
            fi
            wrong="$wrong
  $file"
        done
        for file in "$folder"/*"$NAME"*.zip.*; do
            case $file in *.part | *.crdownload | *.download) hint="It seems to be downloading still: $file" ;; esac
        done
        [ ! -e "$folder/$CORE/$MANIFEST" ] ||
            hint="A browser seems to have unpacked it into $folder/$CORE; download it as a file."
    done
    [ -z "$wrong" ] || fail "the package is not what it should be; its SHA-256 is wrong:$wrong" \
        "Download it again, and this script too if the package is newer.${hint:+ $hint}"
    fail "there is no $NAME.zip, neither beside this script nor among the downloads. Looked in:" \
        "$(printf '  %s\n' "$@")" ${hint:+"$hint"}
}

# Unpacks a zip with whatever can.
unpack() {
    case $UNPACKER in
    unzip) unzip -q "$1" ;;
    python3) python3 -m zipfile -e "$1" . ;;
    *) "$UNPACKER" -xf "$1" ;;
    esac </dev/null
}

# What the work needs of this machine. Sets UNPACKER.
find_programs() {
    has sha256sum || has shasum || fail "neither sha256sum nor shasum is here to check the package with."
    for UNPACKER in unzip bsdtar python3; do
        ! has "$UNPACKER" || return 0
    done
    UNPACKER=tar
    tar --version 2>/dev/null | grep -q bsdtar || fail "nothing here can unpack a zip; install unzip."
}

# Unpacks ZIP into WORK and holds every file against the manifest.
stage() {
    say "Unpacking"
    ln -s "$ZIP" "$WORK/package.zip" || return 1
    (cd "$WORK" && unpack package.zip) || return 1
    say "Verifying"
    new="$WORK/$CORE"
    [ "$(kind "$new")" = patched ] || return 1
    [ -z "$MANIFEST_SHA256" ] || [ "$(manifest_of "$new")" = "$MANIFEST_SHA256" ] || return 1
    awk -F '"' '$2 == "path" { path = $4 } $2 == "sha256" { print $4 "  " path }' "$new/$MANIFEST" >"$WORK/sums" || return 1
    listed=$(wc -l <"$WORK/sums") unpacked=$(find "$new" -type f | wc -l)
    [ $((unpacked)) -eq $((listed + 1)) ] || return 1
    (cd "$new" && sum -c ../sums >/dev/null) || return 1
    sync
}

# --- the change -------------------------------------------------------------------------------------------------------

# Takes the lock, which is the system's and the same that the tool takes; it ends with the process.
lock() {
    exec 9>>.xip/lock || return 1
    if has flock; then
        flock -n 9
    elif has perl; then
        perl -e 'use Fcntl ":flock"; open(F, ">>&=9") && flock(F, LOCK_EX | LOCK_NB) or exit 1'
    fi
}

# Removes what was given up, unless no unpatched libraries stand in one of their two places: then it may be the only ones.
drop_old() {
    case $(kind "$CORE")/$(kind "$CORE.stock") in
    stock/* | */stock) rm -rf "$OLD" ;;
    *) ! there "$OLD" || say "Kept, for no stock libraries stand beside it: $TOOLS/$OLD" ;;
    esac
}

# Begins work in the folder: one run at a time, and what an earlier run left is put in order.
begin() {
    [ ! -L .xip ] || fail "$TOOLS/.xip is a link, not the folder that this script makes; move it away."
    mkdir -p .xip 2>/dev/null || fail "$TOOLS cannot be written to."
    [ -w . ] || fail "$TOOLS cannot be written to."
    lock || fail "another run is at work in this folder; wait for it."
    if ! there "$CORE"; then
        if [ "$(kind "$CORE.stock")" = stock ]; then
            kept=$CORE.stock
        else
            kept=$CORE.$SUFFIX
        fi
        rename "$kept" "$CORE" || fail "an earlier run was cut off, and $kept could not be renamed to $CORE."
        say "An earlier run was cut off: $kept is $CORE again."
    fi
    rm -rf "$WORK"
    drop_old
    mkdir "$WORK" || fail "$TOOLS/.xip cannot be written to."
    trap 'rm -rf "$WORK"; exit 130' HUP INT TERM
}

# What follows the renames; the next run does it again where this one is cut off.
finish() {
    clear_caches
    rm -rf "$WORK"
    drop_old
}

# Makes the name of the active folder free: stock libraries become CORE.stock, patched ones get their own name, and an
# older patched folder of that name makes room. Sets ASIDE to the new name.
set_aside() {
    if [ "$(kind "$CORE")" = stock ]; then
        ASIDE=$CORE.stock
    else
        ASIDE=$CORE.$(suffix_of "$CORE")
    fi
    if [ "$(kind "$ASIDE")" = patched ]; then
        rename "$ASIDE" "$OLD" || return 1
    fi
    rename "$CORE" "$ASIDE" && return
    ! there "$ASIDE" || say "$TOOLS/$ASIDE is in the way."
    there "$ASIDE" || ! there "$OLD" || rename "$OLD" "$ASIDE"
    return 1
}

# Removes what the IDE and arduino-cli compiled with this core; they would go on linking it.
clear_caches() {
    removed=0
    set -- "${ARDUINO_BUILD_CACHE_PATH:-}" "${XDG_CACHE_HOME:-$HOME/.cache}/arduino" "$HOME/.cache/arduino" \
        "$HOME/Library/Caches/arduino" "${TMPDIR:-/tmp}/arduino" \
        "$HOME"/snap/arduino*/*/.cache/arduino "$HOME"/.var/app/cc.arduino.*/cache/arduino
    for cache; do
        if [ -z "$cache" ] || [ -L "$cache/cores" ] || [ -L "$cache/sketches" ]; then continue; fi
        for entry in "$cache"/cores/* "$cache"/sketches/*; do
            if [ -L "$entry" ] || ! is_ours "$entry"; then
                continue
            elif rm -rf "$entry"; then
                removed=$((removed + 1))
            else
                say "Remove this yourself, it was compiled with the libraries before: $entry"
            fi
        done
    done
    say "Compiled cores and sketches removed from the IDE's cache: $removed"
}

# Whether a cache entry is of this core: by its name, or, where that was too long and is a hash, by what it holds.
is_ours() {
    case ${1##*/} in
    esp32_esp32_*) return 0 ;;
    *_*) return 1 ;;
    esac
    grep -q '"fqbn": *"esp32:esp32:' "$1/build.options.json" 2>/dev/null ||
        grep -q 'esp32-hal-' "$1/core.a" 2>/dev/null
}

# SHA-256 of the manifest in a libraries folder; nothing where there is none.
manifest_of() { [ ! -f "$1/$MANIFEST" ] || sha256 "$1/$MANIFEST"; }

# Ends a run that could not do its work, with everything as it was.
give_up() {
    rm -rf "$WORK"
    fail "$1" "Nothing was changed. $2"
}

install() {
    case $(kind "$CORE")/$(kind "$CORE.stock") in
    other/*) fail "$TOOLS/$CORE is no libraries folder; it is left as it is." ;;
    stock/stock) fail "both $CORE and $CORE.stock hold unpatched libraries." \
        "Run this again. If it says the same, keep both, and move $CORE.stock to another place." ;;
    absent/patched | absent/other | stock/patched | stock/other)
        fail "$TOOLS/$CORE.stock does not hold stock libraries; rename it and run this again." ;;
    esac
    find_programs
    if [ -n "$MANIFEST_SHA256" ] && [ "$(manifest_of "$CORE")" = "$MANIFEST_SHA256" ]; then
        ! there "$WORK" || begin
        already
        return
    fi
    find_zip
    begin
    stage || give_up "the package could not be unpacked whole." "Is the disk full?"
    if [ "$(manifest_of "$CORE")" = "$(manifest_of "$WORK/$CORE")" ]; then
        already
        return
    fi
    # From here to the last rename nothing but a kill interrupts.
    trap '' HUP INT TERM
    set_aside || give_up "$CORE could not be renamed." "Close the Arduino IDE and try again."
    if ! rename "$WORK/$CORE" "$CORE"; then
        rename "$ASIDE" "$CORE" || fail "no libraries could be put in place of $CORE. Run this again."
        give_up "the new libraries could not be put in place." "Close the Arduino IDE and try again."
    fi
    finish
    say '' "Installed: core $CORE builds for the $CHIP with the patched libraries ($SUFFIX) now." \
        "Those that it had before are kept in $ASIDE." '' \
        "Next: start the Arduino IDE again.${PSRAM:+ For your board choose Tools > PSRAM: $PSRAM.}" \
        "The first compile takes longer, since the core is compiled anew. To go back, run revert.sh."
}

# The end of a run that found its package in place; one that was cut off after that is finished.
already() {
    ! there "$WORK" || finish
    say '' "Already installed: these very libraries ($SUFFIX) are in place."
}

revert() {
    case $(kind "$CORE")/$(kind "$CORE.stock") in
    other/*) fail "$TOOLS/$CORE is no libraries folder; it is left as it is." ;;
    stock/*)
        if there "$WORK"; then begin && finish; fi
        say '' "Nothing to revert: the stock libraries are in place."
        return
        ;;
    */stock) ;;
    *)
        fail "there are no stock libraries to go back to: $TOOLS/$CORE.stock. Nothing was changed." \
            "To have them again: close the IDE, delete $TOOLS/$CORE," \
            "and in the Boards Manager remove and install esp32 $CORE."
        ;;
    esac
    begin
    if [ "$(kind "$CORE")" != stock ]; then
        trap '' HUP INT TERM
        set_aside || give_up "$CORE could not be renamed." "Close the Arduino IDE and try again."
        if ! rename "$CORE.stock" "$CORE"; then
            rename "$ASIDE" "$CORE" || fail "no libraries could be put in place of $CORE. Run this again."
            give_up "$CORE.stock could not be renamed." "Close the Arduino IDE and try again."
        fi
        say "The patched libraries are kept in $ASIDE; delete that folder if you do not want them again."
    fi
    finish
    say '' "Reverted: the stock libraries of core $CORE are back. Start the Arduino IDE again."
}

HERE=$(cd "$(dirname "$0")" && pwd) || exit 1
case ${1:-} in
'') say "esp32 core $CORE, $CHIP: install the libraries with $SUFFIX" && enter_tools && install ;;
--revert) say "esp32 core $CORE, $CHIP: put the stock libraries back" && enter_tools && revert ;;
*) fail "unknown argument $1; there is --revert and nothing else." ;;
esac
