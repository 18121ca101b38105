SRCS="tinyusb/src/tusb.c"
INCLUDE_DIRS="tinyusb/src include"
if [ "${CONFIG_SOC_USB_OTG_SUPPORTED-}" != y ]; then SRCS=""; fi
