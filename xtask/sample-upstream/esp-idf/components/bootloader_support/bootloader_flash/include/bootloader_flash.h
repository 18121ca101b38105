#pragma once

/* Clock of the flash chip in MHz. */
unsigned bootloader_flash_clock(void);
