/* Calls every function of the library from C, with good arguments and with bad ones. Ends with 0 where all is as it should be.
 * `xtask/tests/firmware.rs` compiles and runs it, also under the address sanitizer. */
#include <flightlog.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int32_t found, int32_t expected, const char *what, int line) {
  if (found != expected) {
    printf("line %d: %s gave %d (%s), not %d\n", line, what, (int)found, flightlog_status_text(found), (int)expected);
    failures++;
  }
}
#define IS(call, expected) check((call), (expected), #call, __LINE__)
#define GOOD(call) IS(call, FLIGHTLOG_STATUS_OK)
#define TRUE(condition) check((condition) ? 1 : 0, 1, #condition, __LINE__)

/* A flash of 256 KB. */
#define FLASH_SIZE (256 * 1024)
static uint8_t cells[FLASH_SIZE];
static int32_t flash_answer = 0;

static int32_t flash_read(void *context, uint32_t offset, uint8_t *into, size_t len) {
  memcpy(into, (uint8_t *)context + offset, len);
  return flash_answer;
}
static int32_t flash_program(void *context, uint32_t offset, const uint8_t *data, size_t len) {
  if (flash_answer == 0) {
    for (size_t index = 0; index < len; index++) {
      ((uint8_t *)context)[offset + index] &= data[index];
    }
  }
  return flash_answer;
}
static int32_t flash_erase(void *context, uint32_t offset, uint32_t len) {
  if (flash_answer == 0) {
    memset((uint8_t *)context + offset, 0xFF, len);
  }
  return flash_answer;
}
static const flightlog_flash flash = {cells, FLASH_SIZE, flash_read, flash_program, flash_erase};

/* Exactly as much memory as a handle needs, so that a sanitizer sees a byte too many. */
static void *memory_for(uint32_t kind) {
  void *memory = calloc(1, flightlog_handle_size(kind));
  TRUE(memory != NULL && flightlog_handle_size(kind) > 0);
  TRUE(flightlog_handle_align(kind) > 0 && flightlog_handle_align(kind) <= sizeof(void *) * 2);
  return memory;
}
#define SIZE(kind) flightlog_handle_size(kind)

/* How every function that makes a handle must take bad memory: `call` uses `memory`, `len` and `out`. */
#define BAD_MEMORY(type, kind, call)                                    \
  do {                                                                  \
    void *whole = memory_for(kind);                                     \
    type *made = NULL;                                                  \
    void *memory = NULL;                                                \
    size_t len = SIZE(kind);                                            \
    type **out = &made;                                                 \
    IS(call, FLIGHTLOG_STATUS_NULL_POINTER);                            \
    memory = (uint8_t *)whole + 1;                                      \
    len = SIZE(kind) - 1;                                               \
    IS(call, FLIGHTLOG_STATUS_MISALIGNED);                              \
    memory = whole;                                                     \
    IS(call, FLIGHTLOG_STATUS_TOO_SHORT);                               \
    len = SIZE(kind);                                                   \
    out = NULL;                                                         \
    IS(call, FLIGHTLOG_STATUS_NULL_POINTER);                            \
    TRUE(made == NULL);                                                 \
    free(whole);                                                        \
  } while (0)

static void statuses_and_handles(void) {
  TRUE(strcmp(flightlog_status_text(FLIGHTLOG_STATUS_OK), "done") == 0);
  for (int32_t status = 0; status >= FLIGHTLOG_STATUS_REPORT_ENDED; status--) {
    TRUE(strcmp(flightlog_status_text(status), flightlog_status_text(-1000)) != 0);
  }
  TRUE(strlen(flightlog_status_text(5)) > 0);
  TRUE(flightlog_handle_size(0) == 0 && flightlog_handle_align(1000) == 0);
  TRUE(strlen(flightlog_version()) > 0 && strstr(flightlog_help(), "membench") != NULL);
  flightlog_on_panic(NULL);
}

static void samples_and_deltas(void) {
  const flightlog_sample sample = {{1, -2, 3}, {2048, -1, 0}};
  const flightlog_sample wild = {{0, 0, 0}, {0, 1 << 23, 0}};
  uint8_t stored[FLIGHTLOG_SAMPLE_BYTES];
  flightlog_sample back = {{0, 0, 0}, {0, 0, 0}};
  GOOD(flightlog_sample_store(&sample, stored, sizeof stored));
  GOOD(flightlog_sample_load(stored, sizeof stored, &back));
  TRUE(memcmp(&sample, &back, sizeof sample) == 0);
  IS(flightlog_sample_store(&wild, stored, sizeof stored), FLIGHTLOG_STATUS_SAMPLE_OUT_OF_RANGE);
  IS(flightlog_sample_store(NULL, stored, sizeof stored), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_sample_store(&sample, NULL, sizeof stored), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_sample_store(&sample, stored, sizeof stored - 1), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_sample_load(NULL, sizeof stored, &back), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_sample_load(stored, sizeof stored - 1, &back), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_sample_load(stored, sizeof stored, NULL), FLIGHTLOG_STATUS_NULL_POINTER);

  flightlog_encoder *encoder = NULL;
  flightlog_decoder *decoder = NULL;
  void *encoder_memory = memory_for(FLIGHTLOG_HANDLE_ENCODER);
  void *decoder_memory = memory_for(FLIGHTLOG_HANDLE_DECODER);
  BAD_MEMORY(flightlog_encoder, FLIGHTLOG_HANDLE_ENCODER, flightlog_encoder_init(memory, len, 100, out));
  BAD_MEMORY(flightlog_decoder, FLIGHTLOG_HANDLE_DECODER, flightlog_decoder_init(memory, len, out));
  IS(flightlog_encoder_init(encoder_memory, SIZE(FLIGHTLOG_HANDLE_ENCODER), 0, &encoder), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(flightlog_encoder_gap((flightlog_encoder *)encoder_memory, 1), FLIGHTLOG_STATUS_NOT_A_HANDLE);
  GOOD(flightlog_encoder_init(encoder_memory, SIZE(FLIGHTLOG_HANDLE_ENCODER), 100, &encoder));
  GOOD(flightlog_decoder_init(decoder_memory, SIZE(FLIGHTLOG_HANDLE_DECODER), &decoder));
  IS(flightlog_encoder_gap(NULL, 1), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_encoder_gap((flightlog_encoder *)decoder, 1), FLIGHTLOG_STATUS_NOT_A_HANDLE);
  GOOD(flightlog_encoder_gap(encoder, 7));

  uint8_t stream[3 * FLIGHTLOG_DELTA_MAX_BYTES];
  size_t length = 0, used = 0;
  for (int index = 0; index < 3; index++) {
    GOOD(flightlog_encoder_encode(encoder, &sample, stream + length, sizeof stream - length, &used));
    length += used;
  }
  IS(flightlog_encoder_encode(encoder, &sample, stream, 2, &used), FLIGHTLOG_STATUS_TOO_SHORT);
  TRUE(used == 6);
  IS(flightlog_encoder_encode(encoder, &sample, NULL, 2, &used), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_encoder_encode(encoder, &wild, stream, sizeof stream, &used), FLIGHTLOG_STATUS_SAMPLE_OUT_OF_RANGE);
  IS(flightlog_encoder_encode(encoder, &sample, stream, sizeof stream, NULL), FLIGHTLOG_STATUS_NULL_POINTER);

  flightlog_decoded decoded;
  size_t at = 0;
  for (int index = 0; index < 3; index++) {
    GOOD(flightlog_decoder_next(decoder, stream + at, length - at, &decoded));
    TRUE(memcmp(&decoded.sample, &sample, sizeof sample) == 0);
    TRUE(decoded.gap == (index == 0) && decoded.missing == (index == 0 ? 7u : 0u));
    at += decoded.used;
  }
  TRUE(at == length);
  IS(flightlog_decoder_next(decoder, stream, 0, &decoded), FLIGHTLOG_STATUS_NOTHING);
  IS(flightlog_decoder_next(decoder, NULL, 1, &decoded), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_decoder_next(decoder, stream, 3, &decoded), FLIGHTLOG_STATUS_BROKEN_STREAM);
  IS(flightlog_decoder_next(decoder, stream, length, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  free(encoder_memory);
  free(decoder_memory);
}

static void rings(void) {
  enum { BLOCK_BYTES = 10, BLOCKS = 4 };
  const size_t count = flightlog_ring_words(BLOCKS, BLOCK_BYTES);
  uint32_t *words = calloc(count, sizeof *words);
  void *memory_of_ring = memory_for(FLIGHTLOG_HANDLE_RING);
  flightlog_ring *ring = NULL;
  BAD_MEMORY(flightlog_ring, FLIGHTLOG_HANDLE_RING, flightlog_ring_init(memory, len, words, count, BLOCK_BYTES, out));
  const size_t size = SIZE(FLIGHTLOG_HANDLE_RING);
  IS(flightlog_ring_init(memory_of_ring, size, NULL, count, BLOCK_BYTES, &ring), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_ring_init(memory_of_ring, size, words, 3, BLOCK_BYTES, &ring), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_ring_init(memory_of_ring, size, (uint32_t *)((uint8_t *)words + 1), count - 1, BLOCK_BYTES, &ring),
     FLIGHTLOG_STATUS_MISALIGNED);
  GOOD(flightlog_ring_init(memory_of_ring, size, words, count, BLOCK_BYTES, &ring));
  uint8_t block[BLOCK_BYTES] = {0};
  uint32_t missed = 99;
  flightlog_ring_state state;
  for (uint8_t number = 0; number < 6; number++) {
    block[0] = number;
    GOOD(flightlog_ring_push(ring, block, sizeof block));
  }
  IS(flightlog_ring_take(ring, block, sizeof block, &missed), FLIGHTLOG_STATUS_NOTHING);
  GOOD(flightlog_ring_trigger(ring));
  IS(flightlog_ring_push(ring, block, sizeof block), FLIGHTLOG_STATUS_RING_FULL);
  IS(flightlog_ring_push(ring, block, sizeof block - 1), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(flightlog_ring_push(ring, NULL, sizeof block), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_ring_get_state(ring, &state));
  TRUE(state.capacity == BLOCKS && state.ready == BLOCKS && state.lost == 1);
  IS(flightlog_ring_take(ring, block, sizeof block - 1, &missed), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_ring_take(ring, NULL, sizeof block, &missed), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_ring_take(ring, block, sizeof block, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  for (uint8_t number = 2; number < 6; number++) {
    GOOD(flightlog_ring_take(ring, block, sizeof block, &missed));
    TRUE(block[0] == number && missed == 0);
  }
  IS(flightlog_ring_get_state(ring, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_ring_trigger(NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  TRUE(flightlog_ring_words(SIZE_MAX, SIZE_MAX) == SIZE_MAX);
  free(words);
  free(memory_of_ring);
}

static bool count_entries(void *context, const flightlog_log_entry *entry) {
  uint32_t *counts = context;
  counts[entry->kind]++;
  return entry->kind != 200;
}

static void logs(void) {
  memset(cells, 0xFF, sizeof cells);
  void *logger_memory = memory_for(FLIGHTLOG_HANDLE_LOGGER);
  const size_t size = SIZE(FLIGHTLOG_HANDLE_LOGGER);
  uint8_t *buffer = calloc(1, FLIGHTLOG_BUFFER_BYTES);
  flightlog_logger *logger = NULL;
  flightlog_logger_settings settings = {8000, 100, 42, false};
  flightlog_log_found found;
  IS(flightlog_log_find(&flash, &found), FLIGHTLOG_STATUS_NOTHING);
  BAD_MEMORY(flightlog_logger, FLIGHTLOG_HANDLE_LOGGER,
             flightlog_logger_init(memory, len, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, &settings, 0, out));
  IS(flightlog_logger_init(logger_memory, size, NULL, buffer, FLIGHTLOG_BUFFER_BYTES, &settings, 0, &logger),
     FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_init(logger_memory, size, &flash, NULL, FLIGHTLOG_BUFFER_BYTES, &settings, 0, &logger),
     FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_init(logger_memory, size, &flash, buffer, FLIGHTLOG_BUFFER_BYTES - 1, &settings, 0, &logger),
     FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_logger_init(logger_memory, size, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, NULL, 0, &logger),
     FLIGHTLOG_STATUS_NULL_POINTER);
  flightlog_flash lame = flash;
  lame.program = NULL;
  IS(flightlog_log_find(&lame, &found), FLIGHTLOG_STATUS_NULL_POINTER);
  lame = flash;
  lame.size = 5000;
  IS(flightlog_log_find(&lame, &found), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  GOOD(flightlog_logger_init(logger_memory, size, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, &settings, 0, &logger));

  flightlog_sample sample = {{1, 2, 3}, {4, 5, 6}};
  for (uint64_t time = 0; time < 1000; time++) {
    sample.gyro[0]++;
    GOOD(flightlog_logger_sample(logger, time * 125, &sample));
  }
  GOOD(flightlog_logger_gap(logger, 3));
  GOOD(flightlog_logger_sample(logger, 200000, &sample));
  GOOD(flightlog_logger_trigger(logger, 200001));
  GOOD(flightlog_logger_record(logger, FLIGHTLOG_OWN_RECORDS, 200002, (const uint8_t *)"abc", 3));
  IS(flightlog_logger_record(logger, 3, 0, NULL, 0), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(flightlog_logger_record(logger, 255, 0, NULL, 0), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(flightlog_logger_record(logger, 20, 0, NULL, 5), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_record(logger, 20, 0, cells, 5000), FLIGHTLOG_STATUS_RECORD_TOO_LONG);
  IS(flightlog_logger_sample(logger, 0, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_sample(NULL, 0, &sample), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_gap(NULL, 1), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_logger_trigger(NULL, 1), FLIGHTLOG_STATUS_NULL_POINTER);
  flash_answer = 77;
  IS(flightlog_logger_flush(logger), 77);
  flash_answer = -5;
  IS(flightlog_logger_flush(logger), FLIGHTLOG_STATUS_BAD_CALLBACK);
  flash_answer = 0;
  GOOD(flightlog_logger_flush(logger));
  flightlog_logger_state state;
  GOOD(flightlog_logger_get_state(logger, &state));
  TRUE(state.flight == 42 && state.session == 0 && state.sectors_left < FLASH_SIZE / 4096);
  IS(flightlog_logger_get_state(logger, NULL), FLIGHTLOG_STATUS_NULL_POINTER);

  GOOD(flightlog_log_find(&flash, &found));
  TRUE(found.flight == 42 && found.first == 0 && found.end == state.sector + 1);
  IS(flightlog_log_find(&flash, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_log_find(NULL, &found), FLIGHTLOG_STATUS_NULL_POINTER);
  uint32_t counts[256] = {0};
  uint8_t *page = malloc(FLIGHTLOG_BUFFER_BYTES);
  memset(page, 0, FLIGHTLOG_BUFFER_BYTES);
  GOOD(flightlog_log_walk(&flash, page, FLIGHTLOG_BUFFER_BYTES, count_entries, counts));
  TRUE(counts[1] == 1 && counts[3] >= 2 && counts[5] == 1 && counts[16] == 1 && counts[0] == 0);
  IS(flightlog_log_walk(&flash, page, FLIGHTLOG_BUFFER_BYTES - 1, count_entries, counts), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(flightlog_log_walk(&flash, NULL, FLIGHTLOG_BUFFER_BYTES, count_entries, counts), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_log_walk(&flash, page, FLIGHTLOG_BUFFER_BYTES, NULL, counts), FLIGHTLOG_STATUS_NULL_POINTER);

  IS(flightlog_logger_init(logger_memory, size, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, &settings, 0, &logger),
     FLIGHTLOG_STATUS_NOT_ERASED);
  settings.resume = true;
  GOOD(flightlog_logger_init(logger_memory, size, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, &settings, 0, &logger));
  GOOD(flightlog_logger_get_state(logger, &state));
  TRUE(state.session == 1);
  free(page);
  free(buffer);
  free(logger_memory);
}

static int32_t type(flightlog_line_buffer *buffer, const char *line, flightlog_command *command, char *answer,
                    size_t *used) {
  int32_t status = FLIGHTLOG_STATUS_NOTHING;
  for (; *line != 0; line++) {
    TRUE(status == FLIGHTLOG_STATUS_NOTHING);
    status = flightlog_line_push(buffer, (uint8_t)*line, command, answer, FLIGHTLOG_ANSWER_BYTES, used);
  }
  return status;
}

static int64_t clock_us = 0;
static int64_t clock_now(void) { return clock_us += 10; }

static void print(const flightlog_report_lines *lines) { fwrite(lines->text, 1, lines->used, stdout); }
static flightlog_text text(const char *bytes) { return (flightlog_text){bytes, strlen(bytes)}; }

static void commands_and_bench(void) {
  void *line_memory = memory_for(FLIGHTLOG_HANDLE_LINE_BUFFER);
  flightlog_line_buffer *line = NULL;
  char *answer = malloc(FLIGHTLOG_ANSWER_BYTES);
  size_t used = 0;
  flightlog_command command;
  BAD_MEMORY(flightlog_line_buffer, FLIGHTLOG_HANDLE_LINE_BUFFER, flightlog_line_buffer_init(memory, len, out));
  GOOD(flightlog_line_buffer_init(line_memory, SIZE(FLIGHTLOG_HANDLE_LINE_BUFFER), &line));
  IS(type(line, "fly\n", &command, answer, &used), FLIGHTLOG_STATUS_NO_COMMAND);
  TRUE(used > 10 && memcmp(answer, "unknown", 7) == 0);
  IS(flightlog_line_push(line, 'i', NULL, answer, 10, &used), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_line_push(line, 'i', &command, NULL, 10, &used), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_line_push(line, 'i', &command, answer, 10, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_line_push(NULL, 'i', &command, answer, 10, &used), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(type(line, "run write-166 psram 2khz\n", &command, answer, &used));
  TRUE(command.kind == FLIGHTLOG_COMMAND_KIND_RUN && command.phase == FLIGHTLOG_PHASE_WRITE166);
  TRUE(command.place == FLIGHTLOG_PLACE_PSRAM && command.imu_hz == 2000 && used == 24);
  IS(flightlog_line_push(line, 'x', &command, answer, 1, &used), FLIGHTLOG_STATUS_NOTHING);
  IS(flightlog_line_push(line, '\n', &command, answer, 1, &used), FLIGHTLOG_STATUS_TOO_SHORT);

  flightlog_bench_settings settings;
  GOOD(flightlog_bench_defaults(&settings));
  IS(flightlog_bench_defaults(NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  settings.phase_bytes = 65536;
  uint8_t *buffer = calloc(1, FLIGHTLOG_BUFFER_BYTES);
  void *plan_memory = memory_for(FLIGHTLOG_HANDLE_PLAN);
  const size_t plan_size = SIZE(FLIGHTLOG_HANDLE_PLAN);
  flightlog_plan *plan = NULL;
  BAD_MEMORY(flightlog_plan, FLIGHTLOG_HANDLE_PLAN,
             flightlog_plan_init(memory, len, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, &command, &settings, out));
#define PLAN(f, b, l, c, s) flightlog_plan_init(plan_memory, plan_size, f, b, l, c, s, &plan)
  IS(PLAN(NULL, buffer, FLIGHTLOG_BUFFER_BYTES, &command, &settings), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(PLAN(&flash, NULL, FLIGHTLOG_BUFFER_BYTES, &command, &settings), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(PLAN(&flash, buffer, 100, &command, &settings), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, NULL, &settings), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &command, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  flightlog_command odd = command;
  odd.phase = 9;
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &odd, &settings), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  odd = command;
  odd.place = 9;
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &odd, &settings), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  odd.kind = FLIGHTLOG_COMMAND_KIND_INFO;
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &odd, &settings), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  flightlog_bench_settings tiny = settings;
  tiny.phase_bytes = 1;
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &command, &tiny), FLIGHTLOG_STATUS_PLAN_TOO_SMALL);
  tiny.imu_hz = 0;
  IS(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &command, &tiny), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  GOOD(PLAN(&flash, buffer, FLIGHTLOG_BUFFER_BYTES, &command, &settings));
  flightlog_plan_totals totals;
  GOOD(flightlog_plan_get_totals(plan, &totals));
  TRUE(totals.stages == 2 && totals.phases == 1 && totals.erase_sectors == 16 && totals.write_bytes == 65536);
  IS(flightlog_plan_get_totals(plan, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  flightlog_stage stage;
  GOOD(flightlog_plan_stage(plan, 0, &stage));
  TRUE(stage.kind == FLIGHTLOG_STAGE_KIND_PREPARE && stage.erase_sectors == 16);
  GOOD(flightlog_plan_stage(plan, 1, &stage));
  TRUE(stage.kind == FLIGHTLOG_STAGE_KIND_WRITE && stage.place == FLIGHTLOG_PLACE_PSRAM);
  IS(flightlog_plan_stage(plan, 2, &stage), FLIGHTLOG_STATUS_NOTHING);
  IS(flightlog_plan_stage(plan, 0, NULL), FLIGHTLOG_STATUS_NULL_POINTER);

  void *report_memory = memory_for(FLIGHTLOG_HANDLE_REPORT);
  flightlog_report *report = NULL;
  char *lines_memory = malloc(FLIGHTLOG_REPORT_BYTES);
  flightlog_report_lines lines = {lines_memory, FLIGHTLOG_REPORT_BYTES, 0};
  flightlog_report_lines few = {lines_memory, 10, 0};
  BAD_MEMORY(flightlog_report, FLIGHTLOG_HANDLE_REPORT,
             flightlog_report_begin(memory, len, FLIGHTLOG_REPORT_SOURCE_SIMULATION, 7, text("run"), &lines, out));
#define BEGIN(source, what, where) \
  flightlog_report_begin(report_memory, SIZE(FLIGHTLOG_HANDLE_REPORT), source, 7, what, where, &report)
  IS(BEGIN(5, text("run"), &lines), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(BEGIN(0, text("\xFF"), &lines), FLIGHTLOG_STATUS_NOT_TEXT);
  IS(BEGIN(0, ((flightlog_text){NULL, 3}), &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(BEGIN(0, text("run"), NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(BEGIN(0, text("run"), &few), FLIGHTLOG_STATUS_TOO_SHORT);
  TRUE(few.used > 100);
  GOOD(BEGIN(FLIGHTLOG_REPORT_SOURCE_SIMULATION, text("run"), &lines));
  print(&lines);

  const flightlog_symbol symbols[] = {{text("CONFIG_A"), true, 1}, {text("CONFIG_B"), false, 0}};
  flightlog_info info = {text("esp32s3"), 2, text("3.3.12"), text("v5.5.5"), symbols, 2, 1, true, 2, 3, {1, 2, 3}, {2, 3, 4}};
  GOOD(flightlog_report_info(report, &info, &lines));
  print(&lines);
  IS(flightlog_report_info(report, NULL, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  info.symbol_count = FLIGHTLOG_MAX_SYMBOLS + 1;
  info.symbols = NULL;
  IS(flightlog_report_info(report, &info, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  info.symbol_count = 0;
  info.code.home = 9;
  IS(flightlog_report_info(report, &info, &lines), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  const flightlog_pattern_test test = {4096, 1, 8, 9, 10, 11};
  GOOD(flightlog_report_psram_test(report, &test, &lines));
  print(&lines);
  IS(flightlog_report_psram_test(report, NULL, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  const flightlog_memory_row row = {text("read"), text("psram"), 1024, 8, 9};
  GOOD(flightlog_report_memory(report, &row, &lines));
  print(&lines);
  IS(flightlog_report_memory(report, NULL, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  /* What does not fit does not count: the report stays whole. */
  few.text = lines_memory;
  IS(flightlog_report_plan(report, plan, &few), FLIGHTLOG_STATUS_TOO_SHORT);
  GOOD(flightlog_report_plan(report, plan, &lines));
  print(&lines);
  IS(flightlog_report_plan(report, NULL, &lines), FLIGHTLOG_STATUS_NULL_POINTER);

  void *writer_memory = memory_for(FLIGHTLOG_HANDLE_WRITER);
  void *loop_memory = memory_for(FLIGHTLOG_HANDLE_LOOP);
  flightlog_writer *writer = NULL;
  flightlog_loop *loop = NULL;
#define WRITER(stage, f, b, l) \
  flightlog_writer_init(writer_memory, SIZE(FLIGHTLOG_HANDLE_WRITER), plan, stage, f, b, l, &writer)
  BAD_MEMORY(flightlog_writer, FLIGHTLOG_HANDLE_WRITER,
             flightlog_writer_init(memory, len, plan, 0, &flash, buffer, FLIGHTLOG_BUFFER_BYTES, out));
  IS(WRITER(9, &flash, buffer, FLIGHTLOG_BUFFER_BYTES), FLIGHTLOG_STATUS_NOTHING);
  IS(WRITER(0, NULL, buffer, FLIGHTLOG_BUFFER_BYTES), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(WRITER(0, &flash, NULL, FLIGHTLOG_BUFFER_BYTES), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(WRITER(0, &flash, buffer, 1), FLIGHTLOG_STATUS_TOO_SHORT);
  IS(WRITER(1, &flash, buffer, FLIGHTLOG_BUFFER_BYTES), FLIGHTLOG_STATUS_NOT_ERASED);
  GOOD(WRITER(0, &flash, buffer, FLIGHTLOG_BUFFER_BYTES));
  flightlog_step step;
  GOOD(flightlog_writer_start(writer, 0));
  GOOD(flightlog_writer_next(writer, 0, &step));
  TRUE(step.kind == FLIGHTLOG_STEP_KIND_ERASE);
  IS(flightlog_writer_erase(writer, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_writer_erase(writer, clock_now));
  GOOD(flightlog_writer_next(writer, 0, &step));
  TRUE(step.kind == FLIGHTLOG_STEP_KIND_DONE);

  GOOD(WRITER(1, &flash, buffer, FLIGHTLOG_BUFFER_BYTES));
  BAD_MEMORY(flightlog_loop, FLIGHTLOG_HANDLE_LOOP, flightlog_loop_init(memory, len, plan, 0, out));
  IS(flightlog_loop_init(loop_memory, SIZE(FLIGHTLOG_HANDLE_LOOP), NULL, 0, &loop), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_loop_init(loop_memory, SIZE(FLIGHTLOG_HANDLE_LOOP), plan, (uint64_t)clock_us, &loop));
  GOOD(flightlog_writer_start(writer, (uint64_t)clock_us));
  flightlog_loop_result result;
  IS(flightlog_loop_get_result(loop, &result), FLIGHTLOG_STATUS_NOT_FINISHED);
  IS(flightlog_report_phase(report, writer, loop, &lines), FLIGHTLOG_STATUS_NOT_FINISHED);
  for (;;) {
    uint64_t due = 0;
    flightlog_pass pass;
    GOOD(flightlog_loop_due(loop, &due));
    if (due <= (uint64_t)clock_us) {
      GOOD(flightlog_loop_pass(loop, (uint64_t)clock_us, &pass));
      TRUE(pass.samples <= 85 && pass.work_us > 0);
    }
    GOOD(flightlog_writer_next(writer, (uint64_t)clock_us, &step));
    if (step.kind == FLIGHTLOG_STEP_KIND_DONE) {
      break;
    }
    if (step.kind == FLIGHTLOG_STEP_KIND_WAIT) {
      TRUE(step.until_us > (uint64_t)clock_us);
      clock_us += 1000;
    } else {
      GOOD(flightlog_writer_write(writer, clock_now));
    }
  }
  IS(flightlog_loop_due(loop, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_loop_pass(loop, 0, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_writer_next(writer, 0, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_writer_write(writer, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_writer_start(NULL, 0), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_loop_finish(loop, (uint64_t)clock_us));
  IS(flightlog_loop_finish(loop, 0), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  IS(flightlog_loop_finish(NULL, 0), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_loop_get_result(loop, &result));
  TRUE(result.passes > 10 && result.worst_gap_us >= 1000 && result.rate_millihertz > 0 && result.samples_read > 0);
  IS(flightlog_loop_get_result(loop, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  flightlog_written written;
  GOOD(flightlog_writer_get_written(writer, &written));
  TRUE(written.bytes == 65536 && written.calls == 16 && !written.stopped);
  IS(flightlog_writer_get_written(writer, NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_report_phase(report, writer, loop, &lines));
  print(&lines);
  IS(flightlog_report_phase(report, NULL, loop, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_report_phase(report, writer, NULL, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_writer_stop(writer));
  IS(flightlog_writer_stop(NULL), FLIGHTLOG_STATUS_NULL_POINTER);
  GOOD(flightlog_report_fault(report, text("as an example"), &lines));
  print(&lines);
  IS(flightlog_report_fault(report, (flightlog_text){NULL, 1}, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  IS(flightlog_report_end(report, 9, &lines), FLIGHTLOG_STATUS_OUT_OF_RANGE);
  GOOD(flightlog_report_end(report, FLIGHTLOG_REPORT_OUTCOME_COMPLETE, &lines));
  print(&lines);
  IS(flightlog_report_end(report, FLIGHTLOG_REPORT_OUTCOME_COMPLETE, &lines), FLIGHTLOG_STATUS_REPORT_ENDED);
  IS(flightlog_report_end(NULL, 0, &lines), FLIGHTLOG_STATUS_NULL_POINTER);
  free(line_memory);
  free(answer);
  free(buffer);
  free(plan_memory);
  free(report_memory);
  free(lines_memory);
  free(writer_memory);
  free(loop_memory);
}

int main(void) {
  statuses_and_handles();
  samples_and_deltas();
  rings();
  logs();
  commands_and_bench();
  if (failures > 0) {
    printf("%d failures\n", failures);
  }
  return failures > 0 ? 1 : 0;
}
