#pragma once

/* On the chip these name sections; the host's object formats differ, so here they keep a function whole. */
#define IRAM_ATTR __attribute__((noinline))
#define NOINLINE_ATTR __attribute__((noinline))
