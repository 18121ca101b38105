# shellcheck shell=sh disable=SC2034 # settings, read by the scripts that source this file

if [ -z "${IDF_PATH-}" ]; then
    export IDF_PATH="$PWD/esp-idf"
fi
if [ -z "${IDF_TARGET-}" ]; then IDF_TARGET="esp32s3"; fi
if [ -z "${CHIP_VARIANT-}" ]; then CHIP_VARIANT="$IDF_TARGET"; fi

AR_ROOT="$PWD"
AR_COMPS="$AR_ROOT/components"
AR_MANAGED_COMPS="$AR_ROOT/managed_components"
AR_OUT="$AR_ROOT/out"
AR_HOST="$AR_OUT/host"
AR_TOOLS="$AR_OUT/tools"
AR_SDK="$AR_TOOLS/esp32-arduino-libs/$CHIP_VARIANT"

# The folder that holds HEAD: .git itself, or what a .git file points to.
git_dir() {
    if [ -d "$1/.git" ]; then
        echo "$1/.git"
    elif [ -f "$1/.git" ]; then
        read -r _ path < "$1/.git"
        case $path in
            /*) echo "$path" ;;
            *) echo "$1/$path" ;;
        esac
    fi
}

# git is asked where there is one; the files that it would read do where there is none.
GIT="${GIT:-git}"

# Branch that is checked out, or the tags on the commit, or nothing.
git_ref() {
    if command -v "$GIT" >/dev/null 2>&1; then
        "$GIT" -C "$1" symbolic-ref --short -q HEAD || "$GIT" -C "$1" tag --points-at HEAD
        return
    fi
    dir=$(git_dir "$1")
    [ -f "$dir/HEAD" ] || return 0
    read -r word ref < "$dir/HEAD"
    if [ "$word" = "ref:" ]; then
        echo "${ref#refs/heads/}"
        return
    fi
    # Which commit a tag with a message means stands in a packed object. A checkout at a commit has the tags of that commit
    # alone, so one single tag is taken for its own.
    set -- "$dir"/refs/tags/*
    if [ $# -eq 1 ] && [ -f "$1" ]; then echo "${1##*/}"; fi
}

# Short id of the commit that is checked out, or nothing.
git_short() {
    if command -v "$GIT" >/dev/null 2>&1; then
        "$GIT" -C "$1" rev-parse --short HEAD
        return
    fi
    dir=$(git_dir "$1")
    [ -f "$dir/HEAD" ] || return 0
    read -r id ref < "$dir/HEAD"
    if [ "$id" = "ref:" ]; then
        id=""
        if [ -f "$dir/$ref" ]; then read -r id < "$dir/$ref"; fi
    fi
    # seven digits, as git shortens ids in a small repository
    rest="${id#???????}"
    echo "${id%"$rest"}"
}

# The version that a component's manifest states, or nothing.
yaml_version() {
    while read -r key value; do
        if [ "$key" = "version:" ]; then
            value="${value#\"}"
            echo "${value%\"}"
        fi
    done < "$1"
}

if [ -d "$IDF_PATH" ]; then
    IDF_COMMIT=$(git_short "$IDF_PATH")
    IDF_BRANCH=$(git_ref "$IDF_PATH")
    export IDF_COMMIT IDF_BRANCH
fi
