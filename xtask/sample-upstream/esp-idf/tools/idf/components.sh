# shellcheck shell=sh
# Which components take part, and how they are configured. Sourced by idf.py: lists are newline-separated.

# Sets IDF_VERSION (5.5.5) and IDF_VER: what version.txt says, else the tag on the commit, else what version.cmake says.
idf_version() {
    major=0 minor=0 patch=0
    while IFS=' ()' read -r word name value _; do
        case "$word $name" in
            "set IDF_VERSION_MAJOR") major=$value ;;
            "set IDF_VERSION_MINOR") minor=$value ;;
            "set IDF_VERSION_PATCH") patch=$value ;;
        esac
    done < "$IDF_PATH/tools/cmake/version.cmake"
    export IDF_VERSION="$major.$minor.$patch"
    IDF_VER=""
    GIT="${GIT:-git}"
    if [ -f "$IDF_PATH/version.txt" ]; then
        read -r IDF_VER < "$IDF_PATH/version.txt"
    elif command -v "$GIT" >/dev/null 2>&1; then
        IDF_VER=$("$GIT" -C "$IDF_PATH" describe --match 'v*.*' 2>/dev/null)
    fi
    IDF_VER="${IDF_VER:-v$IDF_VERSION}"
}

# Version that the constraint files demand of component $1, or nothing.
constraint() (
    IFS=';'
    for file in ${IDF_COMPONENT_CONSTRAINT_FILES-}; do
        while read -r line; do
            case $line in
                "$1=="*) echo "${line#*==}" ;;
            esac
        done < "$file"
    done
)

# Takes component $1 (namespace/name) from the registry into managed_components/, where target $2 is ours or empty.
take_component() {
    case $2 in
        "" | *"[$IDF_TARGET]"* | *"[$IDF_TARGET,"* | *" $IDF_TARGET,"* | *" $IDF_TARGET]"*) ;;
        *) return 0 ;;
    esac
    folder="${1%%/*}__${1#*/}"
    wanted=$(constraint "$1")
    chosen=""
    set +f
    for candidate in registry/"$folder"/*; do
        if [ -z "$wanted" ] || [ "${candidate##*/}" = "$wanted" ]; then chosen="$candidate"; fi
    done
    set -f
    if [ ! -d "$chosen" ]; then
        fail "ERROR: Because no versions of $1 match ${wanted:-*}, version solving failed."
    fi
    rm -rf "managed_components/$folder"
    mkdir -p managed_components
    cp -R "$chosen" "managed_components/$folder" || exit 1
    printf '  %s:\n    version: %s\n' "$1" "${chosen##*/}" >> dependencies.lock
}

# Reads main/idf_component.yml: a component a block, in `rules` the targets that it is for.
resolve_components() {
    printf 'dependencies:\n' > dependencies.lock
    rm -rf managed_components
    name="" rule=""
    while IFS= read -r line; do
        case $line in
            "  "[a-z]*/*:)
                if [ -n "$name" ]; then take_component "$name" "$rule"; fi
                name="${line#"  "}"
                name="${name%:}"
                rule=""
                ;;
            *"if: \"target in "*)
                rule="${line#*target in }"
                ;;
        esac
    done < main/idf_component.yml
    if [ -n "$name" ]; then take_component "$name" "$rule"; fi
    printf 'target: %s\n' "$IDF_TARGET" >> dependencies.lock
}

# Sets `components`: a line `name|folder` each, the IDF's first.
find_components() {
    components=""
    set +f
    for folder in "$IDF_PATH"/components/* components/* managed_components/* main; do
        if [ -f "$folder/component.sh" ]; then
            case $folder in
                /*) ;;
                *) folder="$PWD/$folder" ;;
            esac
            components="$components${folder##*/}|$folder$newline"
        fi
    done
    set -f
}

# Evaluates Kconfig over the layered defaults: sdkconfig, build/config/sdkconfig.h, and the values as shell variables.
configure() {
    mkdir -p build/config
    renames=""
    export COMPONENT_KCONFIGS_SOURCE_FILE="$PWD/build/kconfigs.in"
    export COMPONENT_KCONFIGS_PROJBUILD_SOURCE_FILE="$PWD/build/kconfigs_projbuild.in"
    : > "$COMPONENT_KCONFIGS_SOURCE_FILE"
    : > "$COMPONENT_KCONFIGS_PROJBUILD_SOURCE_FILE"
    set +f
    for folder in "$IDF_PATH"/components/* "$PWD"/components/* "$PWD"/managed_components/* "$PWD/main"; do
        if [ -f "$folder/Kconfig" ]; then echo "source \"$folder/Kconfig\"" >> "$COMPONENT_KCONFIGS_SOURCE_FILE"; fi
        if [ -f "$folder/Kconfig.projbuild" ]; then
            echo "source \"$folder/Kconfig.projbuild\"" >> "$COMPONENT_KCONFIGS_PROJBUILD_SOURCE_FILE"
        fi
        for rename in "$folder/sdkconfig.rename" "$folder/sdkconfig.rename.$IDF_TARGET"; do
            if [ -f "$rename" ]; then renames="$renames$newline$rename"; fi
        done
    done
    set -f
    IFS=';'
    # shellcheck disable=SC2086 # a list
    set -- $SDKCONFIG_DEFAULTS
    IFS="$newline"
    for layer; do
        if [ ! -f "$layer" ]; then fail "CMake Error: SDKCONFIG_DEFAULTS '$PWD/$layer' does not exist."; fi
    done
    echo "Loading defaults files $SDKCONFIG_DEFAULTS ..."
    # shellcheck disable=SC2086 # lists
    kconf -k "$IDF_PATH/Kconfig" -d "$@" -r $renames -s sdkconfig -h build/config/sdkconfig.h || fail "CMake Error: Failed to run Kconfig"
    . ./sdkconfig
}

# Packs the models that the components bring.
make_speech_models() {
    mkdir -p build/srmodels
    for component in $components; do
        read_component "$component"
        if [ -n "$SRMODELS" ]; then
            cat "$folder/$SRMODELS" > build/srmodels/srmodels.bin || exit 1
        fi
    done
}
