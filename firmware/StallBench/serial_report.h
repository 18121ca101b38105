// The report: readable lines and lines of JSON, made by the library, sent over serial.
#pragma once

#include <flightlog.h>

#include <cstddef>
#include <cstdint>

#include "block.h"

// A C string as the library takes it.
flightlog_text text_of(const char *text);

// One report, from its first line to its last.
class Report {
 public:
  Report();

  // Each sends its lines; false where that failed, which has been said over serial.
  bool begin(const char *command, size_t len);
  bool info(const flightlog_info &info);
  bool psram_test(const flightlog_pattern_test &test);
  bool memory(const char *test, const char *memory, size_t bytes, uint32_t runs, uint64_t total_us);
  bool plan(flightlog_plan *plan);
  bool phase(flightlog_writer *writer, flightlog_loop *loop_task);
  bool fault(const char *what);
  // As fault, with what a function of the library gave.
  bool fault(const char *what, int32_t status);
  bool end(uint32_t outcome);

  // Sends text as it is; tasks may call it at once, and each piece stays whole.
  static void print(const char *text, size_t len);

 private:
  bool send(int32_t status);

  Handle<flightlog_report> memory_;
  Block text_;
  flightlog_report *report_ = nullptr;
  flightlog_report_lines lines_ = {};
};

// Told where the library panicked, before the program ends.
void report_panic(const char *file, size_t len, uint32_t line);
