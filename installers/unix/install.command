#!/bin/sh
# For a double click in macOS' Finder, which opens files of this name in a terminal.
exec sh "$(dirname "$0")/install.sh"
