#include "jobs.h"

#include <Arduino.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include <atomic>
#include <cstring>

#include "stall_bench.h"
#include "board_info.h"
#include "memory_bench.h"
#include "serial_report.h"

// The writer's core: the loop runs on the other.
constexpr BaseType_t kWriterCore = 0;
constexpr UBaseType_t kPriority = 5;
constexpr uint32_t kStackBytes = 16 * 1024;

static std::atomic<bool> running{false};
static std::atomic<bool> stopping{false};
static flightlog_command wanted;
static char wanted_line[80];
static size_t wanted_len;

static uint32_t carry_out(Report &report) {
  switch (wanted.kind) {
    case FLIGHTLOG_COMMAND_KIND_INFO:
      return report_board(report) ? FLIGHTLOG_REPORT_OUTCOME_COMPLETE : FLIGHTLOG_REPORT_OUTCOME_FAILED;
    case FLIGHTLOG_COMMAND_KIND_MEMBENCH:
      return run_memory_bench(report);
    default:
      return run_bench(report, wanted);
  }
}

static void job(void *) {
  {
    Report report;
    if (report.begin(wanted_line, wanted_len)) {
      uint32_t outcome = carry_out(report);
      if (outcome == FLIGHTLOG_REPORT_OUTCOME_COMPLETE && jobs_stopping()) {
        outcome = FLIGHTLOG_REPORT_OUTCOME_STOPPED;
      }
      report.end(outcome);
    }
  }
  running = false;
  vTaskDelete(nullptr);
}

bool jobs_start(const flightlog_command &command, const char *line, size_t len) {
  if (running.exchange(true)) {
    return false;
  }
  stopping = false;
  wanted = command;
  wanted_len = len < sizeof wanted_line ? len : sizeof wanted_line;
  memcpy(wanted_line, line, wanted_len);
  if (xTaskCreatePinnedToCore(job, "stallbench", kStackBytes, nullptr, kPriority, nullptr, kWriterCore) != pdPASS) {
    running = false;
    static const char why[] = "no memory for the job's task\r\n";
    Report::print(why, sizeof why - 1);
  }
  return true;
}

bool jobs_stop() {
  if (!running) {
    return false;
  }
  stopping = true;
  return true;
}

bool jobs_stopping() { return stopping; }
