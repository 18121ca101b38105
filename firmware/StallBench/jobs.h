// What commands start: one job at a time, in a task of its own, so that the port is read meanwhile.
#pragma once

#include <flightlog.h>

#include <cstddef>

// Starts the job of a command. `line` is what the report says was asked. False where one is running.
bool jobs_start(const flightlog_command &command, const char *line, size_t len);

// Asks the running job to end. False where none is running.
bool jobs_stop();

// Whether the running job was asked to end.
bool jobs_stopping();
