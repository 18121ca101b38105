SRCS="model_path.c"
INCLUDE_DIRS="include"
SRMODELS="model/wn9_hiesp.bin"
