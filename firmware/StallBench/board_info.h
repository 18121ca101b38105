// What the board is, and where this program's code and constants live.
#pragma once

#include "serial_report.h"

// Reports it.
bool report_board(Report &report);
