#include "serial_report.h"

#include <Arduino.h>
#include <esp_err.h>
#include <esp_random.h>
#include <sdkconfig.h>

#include <cstdio>
#include <cstring>
#include <mutex>

flightlog_text text_of(const char *text) { return {text, strlen(text)}; }

Report::Report() : memory_(FLIGHTLOG_HANDLE_REPORT), text_(FLIGHTLOG_REPORT_BYTES, kInternal) {
  lines_.text = static_cast<char *>(text_.memory());
  lines_.len = text_.size();
}

void Report::print(const char *text, size_t len) {
  static std::mutex port;
  const std::lock_guard<std::mutex> alone(port);
  // A port that takes nothing more (no computer on it) must not hold a job for ever.
  for (int tries = 0; len > 0 && tries < 100; tries++) {
    const size_t sent = Serial.write(reinterpret_cast<const uint8_t *>(text), len);
    text += sent;
    len -= sent;
  }
}

bool Report::send(int32_t status) {
  if (status != FLIGHTLOG_STATUS_OK) {
    char line[160];
    const int len = snprintf(line, sizeof line, "the report failed: %s (%d)\r\n", flightlog_status_text(status),
                             static_cast<int>(status));
    print(line, static_cast<size_t>(len));
    return false;
  }
  print(lines_.text, lines_.used);
  return true;
}

bool Report::begin(const char *command, size_t len) {
#ifdef CONFIG_IDF_TARGET_LINUX
  // A program that plays the board: nothing that it reports is measured.
  const uint32_t source = FLIGHTLOG_REPORT_SOURCE_SIMULATION;
#else
  const uint32_t source = FLIGHTLOG_REPORT_SOURCE_BOARD;
#endif
  return send(flightlog_report_begin(memory_.memory(), memory_.size(), source, esp_random(), {command, len}, &lines_,
                                     &report_));
}

bool Report::info(const flightlog_info &info) { return send(flightlog_report_info(report_, &info, &lines_)); }

bool Report::psram_test(const flightlog_pattern_test &test) {
  return send(flightlog_report_psram_test(report_, &test, &lines_));
}

bool Report::memory(const char *test, const char *memory, size_t bytes, uint32_t runs, uint64_t total_us) {
  const flightlog_memory_row row = {text_of(test), text_of(memory), static_cast<uint32_t>(bytes), runs, total_us};
  return send(flightlog_report_memory(report_, &row, &lines_));
}

bool Report::plan(flightlog_plan *plan) { return send(flightlog_report_plan(report_, plan, &lines_)); }

bool Report::phase(flightlog_writer *writer, flightlog_loop *loop_task) {
  return send(flightlog_report_phase(report_, writer, loop_task, &lines_));
}

bool Report::fault(const char *what) { return send(flightlog_report_fault(report_, text_of(what), &lines_)); }

bool Report::fault(const char *what, int32_t status) {
  char text[200];
  if (status > 0) {
    // Positive numbers are ours: flight_flash.cpp gives back what ESP-IDF gave.
    snprintf(text, sizeof text, "%s: flash: %s (0x%x)", what, esp_err_to_name(status), static_cast<unsigned>(status));
  } else {
    snprintf(text, sizeof text, "%s: %s (%d)", what, flightlog_status_text(status), static_cast<int>(status));
  }
  return fault(text);
}

bool Report::end(uint32_t outcome) { return send(flightlog_report_end(report_, outcome, &lines_)); }

void report_panic(const char *file, size_t len, uint32_t line) {
  // No lock and no memory of its own: whatever panicked may hold both.
  Serial.write(reinterpret_cast<const uint8_t *>("\r\nPANIC "), 8);
  Serial.write(reinterpret_cast<const uint8_t *>(file), len);
  char number[16];
  const int digits = snprintf(number, sizeof number, ":%u\r\n", static_cast<unsigned>(line));
  Serial.write(reinterpret_cast<const uint8_t *>(number), static_cast<size_t>(digits));
}
