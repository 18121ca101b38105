#!/bin/sh
# Runs upstream's own build in the lib-builder's work tree, which is the current folder: ESP-IDF's tools, its environment,
# build.sh for one chip.
#
#   job.sh CHIP TARGET
#
# CHIP is upstream's chip variant, TARGET the ESP-IDF target that it is built as. IDF_PATH is set. With XIP_OFFLINE set,
# install.sh, which asks the network even where all is there, runs only if something is missing.

# ESP-IDF and upstream write for bash; where there is none, sh has to do.
if [ -z "${BASH_VERSION-}" ] && command -v bash >/dev/null 2>&1; then
    exec bash "$0" "$@"
fi
exec 2>&1
chip=$1
target=$2
if [ -n "${BASH_VERSION-}" ]; then shell=bash; else shell=sh; fi
# What is sourced below must not take these for its own arguments.
set --

fail() {
    echo "job: $*"
    exit 1
}

environment() {
    # shellcheck disable=SC1091 # ESP-IDF's
    . "$IDF_PATH/export.sh"
}

if [ -n "${XIP_OFFLINE-}" ] && (environment) >/dev/null 2>&1; then
    echo "* ESP-IDF's tools are in the cache"
else
    echo "* Install ESP-IDF's tools"
    "$shell" "$IDF_PATH/install.sh" "$target" || fail "esp-idf/install.sh failed"
fi
echo "* Set up ESP-IDF's environment"
environment || fail "esp-idf/export.sh failed"
echo "* Run build.sh"
exec "$shell" ./build.sh -s -t "$chip"
