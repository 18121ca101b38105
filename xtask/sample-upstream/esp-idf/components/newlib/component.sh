INCLUDE_DIRS="platform_include"
