if [ "$ARCH" = xtensa ]; then INCLUDE_DIRS="include"; fi
