SRCS="fb_gfx.c"
INCLUDE_DIRS="include"
