# shellcheck shell=sh
# Flags, objects and archives. Sourced by idf.py: lists are newline-separated.

# Writes build/flags/*, one flag a line: what every object is compiled with, and what copy-libs.sh hands on.
flags() {
    mkdir -p build/flags
    if [ "$ARCH" = xtensa ]; then chip_flags="-mlongcalls"; else chip_flags="-march=rv32imc_zicsr_zifencei"; fi
    {
        echo "$chip_flags"
        echo "-Wno-frame-address"
        for name in memcpy memset bzero; do echo "-fno-builtin-$name"; done
        if [ "$ARCH" = xtensa ]; then echo "-mdisable-hardware-atomics"; fi
        for flag in -ffunction-sections -fdata-sections -Wall -Werror=all -Wextra -Wwrite-strings -Wno-unused-parameter -gdwarf-4 -ggdb; do echo "$flag"; done
        echo "-Os"
        echo "-freorder-blocks"
        echo "-fmacro-prefix-map=$PWD=."
        echo "-fmacro-prefix-map=$IDF_PATH=/IDF"
        echo "-fdebug-prefix-map=$PWD=/IDF_PROJECT"
        echo "-fdebug-prefix-map=$IDF_PATH=/IDF"
        if [ "${CONFIG_COMPILER_STACK_CHECK_MODE_NORM-}" = y ]; then echo "-fstack-protector"; fi
        for flag in -fstrict-volatile-bitfields -fno-jump-tables -fno-tree-switch-conversion; do echo "$flag"; done
    } > build/flags/common
    { cat build/flags/common && echo "-std=gnu17" && echo "-Wno-old-style-declaration"; } > build/flags/c
    { cat build/flags/common && echo "-std=gnu++2a" && echo "-fno-exceptions" && echo "-fno-rtti"; } > build/flags/cpp
    cat build/flags/common > build/flags/S
    {
        echo "-DESP32_ARDUINO_LIB_BUILDER"
        echo "-DESP_PLATFORM"
        echo "-DIDF_VER=\"$IDF_VER\""
        echo "-DSOC_MMU_PAGE_SIZE=CONFIG_MMU_PAGE_SIZE"
        echo "-DSOC_XTAL_FREQ_MHZ=CONFIG_XTAL_FREQ"
        for name in _GLIBCXX_HAVE_POSIX_SEMAPHORE _GLIBCXX_USE_POSIX_SEMAPHORE _GNU_SOURCE _POSIX_READER_WRITER_LOCKS; do echo "-D$name"; done
    } > build/flags/compile_defines
    # The exported file is read as a response file, where a quote needs a backslash.
    while IFS= read -r define; do
        case $define in
            *\"*\"*)
                value="${define#*\"}"
                printf '%s\\"%s\\"%s\n' "${define%%\"*}" "${value%%\"*}" "${value#*\"}"
                ;;
            *) echo "$define" ;;
        esac
    done < build/flags/compile_defines > build/flags/defines
    {
        echo "$chip_flags"
        for flag in -Wl,--cref -Wl,--gc-sections -fno-lto "-Wl,--undefined=uxTopUsedPriority"; do echo "$flag"; done
    } > build/flags/ld
    printf '%s\n' -T memory.ld -T sections.ld > build/flags/ld_scripts
}

# Called by a component's description: file $1 is compiled with the further flags too.
own_flags() {
    OWN_FLAGS="$OWN_FLAGS$*$newline"
}

# Sets `lines` to the words of $1, a line each. (A subshell would be shorter; thousands of them take seconds.)
to_lines() {
    lines=""
    IFS=' '
    for word in $1; do lines="$lines$word$newline"; done
    IFS="$newline"
}

# Reads component $1 (`name|folder`): its lists are words there, and lines here.
read_component() {
    name="${1%%|*}" folder="${1#*|}"
    SRCS="" INCLUDE_DIRS="" PRIV_INCLUDE_DIRS="" OWN_FLAGS="" SRMODELS=""
    IFS=' '
    . "$folder/component.sh"
    to_lines "$SRCS" && SRCS="$lines"
    to_lines "$INCLUDE_DIRS" && INCLUDE_DIRS="$lines"
    to_lines "$PRIV_INCLUDE_DIRS" && PRIV_INCLUDE_DIRS="$lines"
}

# Sets `lines` to the flags that file $1 of the component read last has for itself.
flags_of() {
    lines=""
    for line in $OWN_FLAGS; do
        case $line in
            "$1 "*) to_lines "${line#* }" ;;
        esac
    done
}

# Sets `jobs`: how many compilers may run at once.
count_processors() {
    jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
}

# Waits for the oldest compiler, and prints its step as ninja does; a failure ends the build.
finish_oldest() {
    oldest="${running%%"$newline"*}"
    running="${running#*"$newline"}"
    running_count=$((running_count - 1))
    done_steps=$((done_steps + 1))
    finished="${oldest#*|}"
    wait "${oldest%%|*}"
    status=$?
    echo "[$done_steps/$all_steps] Building C object ${finished#build/}"
    if [ $status -ne 0 ]; then
        echo "FAILED: ${finished#build/}"
        cat "$finished.command" "$finished.log"
        for rest in $running; do wait "${rest%%|*}"; done
        echo "ninja: build stopped: subcommand failed."
        fail "ninja failed with exit code 1"
    fi
    if [ -s "$finished.log" ]; then cat "$finished.log"; fi
}

# Compiles file $1 of the component read last to object $2, in the background; further arguments are its own flags.
compile() {
    source_file="$1" object="$2"
    shift 2
    while [ "$running_count" -ge "$jobs" ]; do finish_oldest; done
    # shellcheck disable=SC2086 # lists
    set -- "$TOOLCHAIN-gcc" $compile_defines -Ibuild/config $own_includes $all_includes $compile_flags "$@" -o "$object" -c "$source_file"
    IFS=' '
    echo "$*" > "$object.command"
    IFS="$newline"
    "$@" > "$object.log" 2>&1 &
    running="$running$!|$object$newline"
    running_count=$((running_count + 1))
}

finish_all() {
    while [ "$running_count" -gt 0 ]; do finish_oldest; done
}

# Compiles the component read last below folder $1; sets `objects`.
compile_component() {
    objects="" own_includes="" object_folders=""
    for sub in $PRIV_INCLUDE_DIRS; do own_includes="$own_includes-I$folder/$sub$newline"; done
    for source in $SRCS; do
        object="$1/$name/CMakeFiles/__idf_$name.dir/$source.obj"
        objects="$objects$object$newline"
        object_folders="$object_folders${object%/*}$newline"
    done
    # shellcheck disable=SC2086 # a list
    mkdir -p $object_folders
    for source in $SRCS; do
        flags_of "$source"
        # shellcheck disable=SC2086 # a list
        compile "$folder/$source" "$1/$name/CMakeFiles/__idf_$name.dir/$source.obj" $lines
    done
}

# Makes archive $1, which is not there yet, of the objects that follow, in their order; a name may occur twice.
archive() {
    path="$1"
    shift
    done_steps=$((done_steps + 1))
    echo "[$done_steps/$all_steps] Linking C static library ${path#build/}"
    "$TOOLCHAIN-ar" qcs "$path" "$@" || fail "FAILED: ${path#build/}"
}

# True where the component read last has sources and is among `only`, if that names any.
is_needed() {
    [ -n "$SRCS" ] || return 1
    case " $only" in
        " " | *" $name "*) return 0 ;;
        *) return 1 ;;
    esac
}

# Sets `all_includes` (the public folders of all components, -I each) and the count of steps; notes the folders for
# copy-libs.sh.
collect() {
    all_includes="" all_steps=0
    : > build/flags/include_dirs
    for component in $components; do
        read_component "$component"
        for sub in $INCLUDE_DIRS; do
            if [ "$sub" = . ]; then path="$folder" noted=""; else path="$folder/$sub" noted="$sub"; fi
            all_includes="$all_includes-I$path$newline"
            echo "$name|$noted|$path" >> build/flags/include_dirs
        done
        if is_needed; then
            for source in $SRCS; do all_steps=$((all_steps + 1)); done
            all_steps=$((all_steps + 1))
        fi
    done
    compile_defines=$(cat build/flags/compile_defines)
    compile_flags=$(cat build/flags/c)
    running="" running_count=0 done_steps=0
    count_processors
}

build_libraries() {
    collect
    : > build/flags/archives
    archives=""
    for component in $components; do
        read_component "$component"
        is_needed || continue
        compile_component build/esp-idf
        archives="$archives$name|$objects"
        archives="${archives%"$newline"}"
        archives="$archives;"
        echo "$name|build/esp-idf/$name/lib$name.a" >> build/flags/archives
    done
    finish_all
    IFS=';'
    for each in $archives; do
        IFS="$newline"
        # shellcheck disable=SC2086 # a list
        archive "build/esp-idf/${each%%|*}/lib${each%%|*}.a" ${each#*|}
    done
    IFS="$newline"
    make_linker_scripts
}

# Preprocesses the chip's linker scripts, as the real build does with its templates.
make_linker_scripts() {
    mkdir -p build/esp-idf/esp_system/ld
    for linker_script in memory sections; do
        "$TOOLCHAIN-gcc" -E -P -x c -Ibuild/config "$IDF_PATH/components/esp_system/ld/$IDF_TARGET/$linker_script.ld.in" \
            > "build/esp-idf/esp_system/ld/$linker_script.ld" || fail "FAILED: esp-idf/esp_system/ld/$linker_script.ld"
    done
}

# The bootloader is a project of its own: its main and the components that it names, linked into one relocatable file.
build_bootloader() {
    collect
    all_steps=0 linked=""
    for component in "bootloader_support|$IDF_PATH/components/bootloader_support" "main|$IDF_PATH/components/bootloader/subproject/main"; do
        read_component "$component"
        for source in $SRCS; do all_steps=$((all_steps + 1)); done
    done
    all_steps=$((all_steps + 1))
    mkdir -p build/bootloader
    for component in "bootloader_support|$IDF_PATH/components/bootloader_support" "main|$IDF_PATH/components/bootloader/subproject/main"; do
        read_component "$component"
        compile_component build/bootloader/esp-idf
        linked="$linked$objects"
    done
    finish_all
    echo "[$all_steps/$all_steps] Linking C executable bootloader/bootloader.elf"
    # shellcheck disable=SC2086 # a list
    "$TOOLCHAIN-gcc" -r -nostdlib -o build/bootloader/bootloader.elf $linked || fail "FAILED: bootloader/bootloader.elf"
}
