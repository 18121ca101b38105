// Memory speeds, and a test whether PSRAM keeps what is written to it.
#pragma once

#include "serial_report.h"

// Carries out `membench` and reports it. Gives a flightlog_report_outcome.
uint32_t run_memory_bench(Report &report);

// Writes a pattern that depends on the address into `count` words, from both ends, and reads it back, twice, the second time
// inverted. With far more words than the cache holds every word is read back from PSRAM itself.
flightlog_pattern_test pattern_test(volatile uint32_t *words, size_t count);
