// StallBench shows whether this program runs from PSRAM, and how much flash writes hold up a 500 Hz loop.
//
// It takes commands over serial, 115200 baud, one a line; "help" lists them. Nothing is written or erased unless a command
// asks for it. Each result comes as a line to read and as a line of JSON with a CRC, which `cargo xtask` reads.
//
// Needs a raw partition named "flight" (partitions.csv in this folder) and Tools > PSRAM. See firmware/README.md.

#include <Arduino.h>
#include <flightlog.h>

#include "board_info.h"
#include "jobs.h"
#include "block.h"
#include "serial_report.h"

static Handle<flightlog_line_buffer> line_memory(FLIGHTLOG_HANDLE_LINE_BUFFER);
static flightlog_line_buffer *lines = nullptr;

static void say(const char *text, size_t len) {
  Report::print(text, len);
  Report::print("\r\n", 2);
}

// Starts what a command asks for; a stop is passed on to what is running.
static void obey(const flightlog_command &command, const char *line, size_t len) {
  switch (command.kind) {
    case FLIGHTLOG_COMMAND_KIND_HELP:
      say(flightlog_help(), strlen(flightlog_help()));
      return;
    case FLIGHTLOG_COMMAND_KIND_STOP:
      if (!jobs_stop()) {
        say("nothing is running", 18);
      }
      return;
    default:
      if (!jobs_start(command, line, len)) {
        static const char busy[] = "something is running already; stop ends it";
        say(busy, sizeof busy - 1);
      }
  }
}

void setup() {
  Serial.begin(115200);
  if (!line_memory.valid() ||
      flightlog_line_buffer_init(line_memory.memory(), line_memory.size(), &lines) != FLIGHTLOG_STATUS_OK) {
    say("out of memory", 13);
    return;
  }
  flightlog_on_panic(report_panic);
  const flightlog_command info = {FLIGHTLOG_COMMAND_KIND_INFO, 0, 0, 0};
  jobs_start(info, "info", 4);
}

void loop() {
  // Static: the loop's stack is small.
  static char answer[FLIGHTLOG_ANSWER_BYTES];
  while (lines != nullptr && Serial.available() > 0) {
    flightlog_command command = {};
    size_t used = 0;
    const int byte = Serial.read();
    if (byte < 0) {
      break;
    }
    const int32_t status =
        flightlog_line_push(lines, static_cast<uint8_t>(byte), &command, answer, sizeof answer, &used);
    if (status == FLIGHTLOG_STATUS_OK) {
      obey(command, answer, used);
    } else if (status == FLIGHTLOG_STATUS_NO_COMMAND) {
      say(answer, used);
    }
  }
  delay(5);
}
