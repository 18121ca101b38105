// The stall bench: a writer on this core and a loop on the other. What they do is decided by the library.
#pragma once

#include <flightlog.h>

#include "serial_report.h"

// Carries out a `run` or `erase` command and reports it. Gives a flightlog_report_outcome.
uint32_t run_bench(Report &report, const flightlog_command &command);
