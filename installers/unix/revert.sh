#!/bin/sh
# Puts the stock libraries back. install.sh, which has to be beside this file, knows how.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ -f "$here/install.sh" ] || { echo "Not done: install.sh has to be beside revert.sh." >&2; exit 1; }
exec sh "$here/install.sh" --revert
