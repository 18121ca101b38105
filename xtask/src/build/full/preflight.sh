#!/bin/sh
# Looks for what a build needs, where the build will run, and writes what it finds to a file, a line each:
#
#   preflight.sh FILE PROGRAM... -- MODULE... -- WORK-TREE...
#
#   program NAME yes|no
#   module NAME yes|no       (a module of python3)
#   tree COMMIT              (or what git says instead; in the order given)
file=$1
shift
{
    while [ "$1" != -- ]; do
        if command -v "$1" >/dev/null 2>&1; then echo "program $1 yes"; else echo "program $1 no"; fi
        shift
    done
    shift
    while [ "$1" != -- ]; do
        if python3 -c "import $1" >/dev/null 2>&1; then echo "module $1 yes"; else echo "module $1 no"; fi
        shift
    done
    shift
    for tree; do
        commit=$(git -C "$tree" rev-parse HEAD 2>&1 | head -n 1)
        echo "tree $commit"
    done
} > "$file"
