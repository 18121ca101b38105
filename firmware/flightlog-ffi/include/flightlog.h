/* The flight logger and the stall bench of the XIP-from-PSRAM libraries, as C functions.
 *
 * Written by cbindgen from firmware/flightlog-ffi/src; do not edit.
 *
 * A function that can fail gives an int32_t: 0 is success, a negative number a flightlog_status, a positive one what a flash
 * callback gave. What it produces goes through pointers and is written on success only. Every pointer to more than one thing
 * comes with a length. Nothing is allocated: a handle lies in memory that you give (flightlog_handle_size,
 * flightlog_handle_align), needs no release, and is used by one task at a time, but for the ring's two ends.
 */

#ifndef FLIGHTLOG_H
#define FLIGHTLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of one stored sample.
#define FLIGHTLOG_SAMPLE_BYTES 15

// The most bytes that one sample takes in the delta code.
#define FLIGHTLOG_DELTA_MAX_BYTES 23

// Bytes of the buffer that gathers records before they go to flash. In internal RAM it is written half as fast again as in PSRAM.
#define FLIGHTLOG_BUFFER_BYTES 4096

// The first record kind that is the caller's own; 254 is the last.
#define FLIGHTLOG_OWN_RECORDS 16

// Bytes that hold every answer of `flightlog_line_push`.
#define FLIGHTLOG_ANSWER_BYTES 512

// Bytes that hold what any one report function writes, as long as the texts given to it are 256 bytes at most in all.
#define FLIGHTLOG_REPORT_BYTES 8192

// The most symbols that a report takes.
#define FLIGHTLOG_MAX_SYMBOLS 32

// What a function gives back where it fails. Positive numbers are not among them: those come from the flash callbacks.
enum flightlog_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Done.
  FLIGHTLOG_STATUS_OK = 0,
  // A pointer is null.
  FLIGHTLOG_STATUS_NULL_POINTER = -1,
  // A pointer is not aligned as its type demands.
  FLIGHTLOG_STATUS_MISALIGNED = -2,
  // The memory given is too short. Functions that write text or bytes say how much they need.
  FLIGHTLOG_STATUS_TOO_SHORT = -3,
  // A handle's memory was not made by the function that makes such handles.
  FLIGHTLOG_STATUS_NOT_A_HANDLE = -4,
  // A value is outside its range.
  FLIGHTLOG_STATUS_OUT_OF_RANGE = -5,
  // An acceleration does not fit into 24 bits.
  FLIGHTLOG_STATUS_SAMPLE_OUT_OF_RANGE = -6,
  // The delta stream is broken here.
  FLIGHTLOG_STATUS_BROKEN_STREAM = -7,
  // The ring is full; the block was counted as lost.
  FLIGHTLOG_STATUS_RING_FULL = -8,
  // There is nothing to take, or no such thing.
  FLIGHTLOG_STATUS_NOTHING = -9,
  // The flash is not erased where it is to be written.
  FLIGHTLOG_STATUS_NOT_ERASED = -10,
  // An earlier log with the same flight number follows.
  FLIGHTLOG_STATUS_FLIGHT_TAKEN = -11,
  // The partition is full.
  FLIGHTLOG_STATUS_FLASH_FULL = -12,
  // A record is longer than a sector can hold.
  FLIGHTLOG_STATUS_RECORD_TOO_LONG = -13,
  // The partition, or the bytes wanted of a phase, hold no block of 64 KB.
  FLIGHTLOG_STATUS_PLAN_TOO_SMALL = -14,
  // A run has more phases than a plan can hold.
  FLIGHTLOG_STATUS_PLAN_TOO_LONG = -15,
  // The line is no command.
  FLIGHTLOG_STATUS_NO_COMMAND = -16,
  // A flash callback gave a negative number; they must give 0 or a positive one.
  FLIGHTLOG_STATUS_BAD_CALLBACK = -17,
  // The text is not UTF-8.
  FLIGHTLOG_STATUS_NOT_TEXT = -18,
  // The phase has not been finished.
  FLIGHTLOG_STATUS_NOT_FINISHED = -19,
  // The report has ended.
  FLIGHTLOG_STATUS_REPORT_ENDED = -20,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_status flightlog_status;
#else
typedef int32_t flightlog_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which handle, for [`flightlog_handle_size`] and [`flightlog_handle_align`].
enum flightlog_handle
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `flightlog_encoder`
  FLIGHTLOG_HANDLE_ENCODER = 1,
  // `flightlog_decoder`
  FLIGHTLOG_HANDLE_DECODER = 2,
  // `flightlog_ring`
  FLIGHTLOG_HANDLE_RING = 3,
  // `flightlog_logger`
  FLIGHTLOG_HANDLE_LOGGER = 4,
  // `flightlog_plan`
  FLIGHTLOG_HANDLE_PLAN = 5,
  // `flightlog_loop`
  FLIGHTLOG_HANDLE_LOOP = 6,
  // `flightlog_writer`
  FLIGHTLOG_HANDLE_WRITER = 7,
  // `flightlog_report`
  FLIGHTLOG_HANDLE_REPORT = 8,
  // `flightlog_line_buffer`
  FLIGHTLOG_HANDLE_LINE_BUFFER = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_handle flightlog_handle;
#else
typedef uint32_t flightlog_handle;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a phase does, as a bit or a number.
enum flightlog_phase
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // No phase, or all of them.
  FLIGHTLOG_PHASE_ANY = 0,
  // Writes 55 kB/s.
  FLIGHTLOG_PHASE_WRITE55 = 1,
  // Writes 166 kB/s.
  FLIGHTLOG_PHASE_WRITE166 = 2,
  // Writes as fast as the flash takes it.
  FLIGHTLOG_PHASE_WRITE_FLAT_OUT = 3,
  // Erases all that the run wrote, by blocks of 64 KB.
  FLIGHTLOG_PHASE_ERASE64K = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_phase flightlog_phase;
#else
typedef uint32_t flightlog_phase;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where the buffer stands that the flash driver writes from.
enum flightlog_place
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Both, one after the other.
  FLIGHTLOG_PLACE_ANY = 0,
  // Internal RAM.
  FLIGHTLOG_PLACE_INTERNAL = 1,
  // PSRAM.
  FLIGHTLOG_PLACE_PSRAM = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_place flightlog_place;
#else
typedef uint32_t flightlog_place;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a stage does.
enum flightlog_stage_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Erases what lies where the next phase will write; not measured.
  FLIGHTLOG_STAGE_KIND_PREPARE = 0,
  // A phase that writes.
  FLIGHTLOG_STAGE_KIND_WRITE = 1,
  // A phase that erases.
  FLIGHTLOG_STAGE_KIND_ERASE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_stage_kind flightlog_stage_kind;
#else
typedef uint32_t flightlog_stage_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the writer's task has to do.
enum flightlog_step_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // All is done, or it was stopped.
  FLIGHTLOG_STEP_KIND_DONE = 0,
  // Sleep until `until_us`.
  FLIGHTLOG_STEP_KIND_WAIT = 1,
  // Call `flightlog_writer_write`.
  FLIGHTLOG_STEP_KIND_WRITE = 2,
  // Call `flightlog_writer_erase`.
  FLIGHTLOG_STEP_KIND_ERASE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_step_kind flightlog_step_kind;
#else
typedef uint32_t flightlog_step_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which command.
enum flightlog_command_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Run the bench, or a part of it.
  FLIGHTLOG_COMMAND_KIND_RUN = 1,
  // Report what the board is.
  FLIGHTLOG_COMMAND_KIND_INFO = 2,
  // Measure the memories and test PSRAM.
  FLIGHTLOG_COMMAND_KIND_MEMBENCH = 3,
  // Erase the whole flight partition.
  FLIGHTLOG_COMMAND_KIND_ERASE = 4,
  // End what is running.
  FLIGHTLOG_COMMAND_KIND_STOP = 5,
  // Print `flightlog_help`.
  FLIGHTLOG_COMMAND_KIND_HELP = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_command_kind flightlog_command_kind;
#else
typedef uint32_t flightlog_command_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where the figures come from.
enum flightlog_report_source
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A board: measured.
  FLIGHTLOG_REPORT_SOURCE_BOARD = 0,
  // A program on a host that plays the board.
  FLIGHTLOG_REPORT_SOURCE_SIMULATION = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_report_source flightlog_report_source;
#else
typedef uint32_t flightlog_report_source;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a report ended.
enum flightlog_report_outcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // All was done.
  FLIGHTLOG_REPORT_OUTCOME_COMPLETE = 0,
  // Someone stopped it.
  FLIGHTLOG_REPORT_OUTCOME_STOPPED = 1,
  // Something failed.
  FLIGHTLOG_REPORT_OUTCOME_FAILED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_report_outcome flightlog_report_outcome;
#else
typedef uint32_t flightlog_report_outcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Which memory answers at an address.
enum flightlog_home
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The MMU gave no answer.
  FLIGHTLOG_HOME_UNKNOWN = 0,
  // PSRAM.
  FLIGHTLOG_HOME_PSRAM = 1,
  // The flash chip, through the cache.
  FLIGHTLOG_HOME_FLASH = 2,
  // Internal RAM.
  FLIGHTLOG_HOME_INTERNAL = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum flightlog_home flightlog_home;
#else
typedef uint32_t flightlog_home;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Turns the delta code into samples.
typedef struct flightlog_decoder flightlog_decoder;

// Turns samples into the delta code.
typedef struct flightlog_encoder flightlog_encoder;

// Gathers the bytes of a serial port into lines.
typedef struct flightlog_line_buffer flightlog_line_buffer;

// Writes one flight.
typedef struct flightlog_logger flightlog_logger;

// The loop, one phase long.
typedef struct flightlog_loop flightlog_loop;

// What a run is going to do.
typedef struct flightlog_plan flightlog_plan;

// A report in the making.
typedef struct flightlog_report flightlog_report;

// A ring of fixed blocks in memory of the caller. One task pushes and one task takes, both at once if they like.
typedef struct flightlog_ring flightlog_ring;

// The task that writes or erases, one stage long.
typedef struct flightlog_writer flightlog_writer;

// Told where a panic happened: the source file (`len` bytes, no 0 at its end) and the line. It may reset the chip.
typedef void (*flightlog_panic_hook)(const char *file, size_t len, uint32_t line);

// One reading of the inertial sensor.
typedef struct {
  // Rates, x, y, z.
  int16_t gyro[3];
  // Accelerations, x, y, z, in steps of 1/2048 g; 24 bits.
  int32_t accel[3];
} flightlog_sample;

// What the decoder gives.
typedef struct {
  // The sample.
  flightlog_sample sample;
  // Whether samples are missing right before it.
  bool gap;
  // How many; 0 where nobody knows.
  uint32_t missing;
  // Bytes that it took.
  size_t used;
} flightlog_decoded;

// How a ring is filled.
typedef struct {
  // Blocks that it can hold.
  uint32_t capacity;
  // Blocks that wait to be taken; 0 before the trigger.
  uint32_t ready;
  // Blocks refused since the trigger because it was full.
  uint32_t lost;
} flightlog_ring_state;

// Reads `len` bytes from `offset` of the partition. Gives 0, or a positive number of its own.
typedef int32_t (*flightlog_flash_read)(void *context, uint32_t offset, uint8_t *into, size_t len);

// Programs `len` bytes at `offset` of the partition. Gives 0, or a positive number of its own.
typedef int32_t (*flightlog_flash_program)(void *context, uint32_t offset, const uint8_t *data, size_t len);

// Erases `len` bytes from `offset` of the partition. Gives 0, or a positive number of its own.
typedef int32_t (*flightlog_flash_erase)(void *context, uint32_t offset, uint32_t len);

// A raw partition. The library keeps a copy; what `context` points to must live as long as whatever uses it.
typedef struct {
  // Given to each callback.
  void *context;
  // Bytes of the partition, a multiple of 4096.
  uint32_t size;
  // Reads.
  flightlog_flash_read read;
  // Programs erased bytes, however many, from any offset.
  flightlog_flash_program program;
  // Erases; both numbers are multiples of 4096.
  flightlog_flash_erase erase;
} flightlog_flash;

// How to log.
typedef struct {
  // Samples a second.
  uint32_t rate_hz;
  // Every how many samples one is full in the delta code; 0: no delta code, each sample takes 15 bytes.
  uint32_t full_every;
  // Tells this flight's sectors from those of others: another number each time.
  uint32_t flight;
  // Whether to go on behind a log that a reset cut, instead of beginning one.
  bool resume;
} flightlog_logger_settings;

// How far a logger is.
typedef struct {
  // The number of this log.
  uint32_t flight;
  // How many times it was taken up again.
  uint16_t session;
  // The sector that is being filled.
  uint32_t sector;
  // Erased sectors that are left, that one included.
  uint32_t sectors_left;
} flightlog_logger_state;

// A log on flash.
typedef struct {
  // Its number.
  uint32_t flight;
  // How many times it was taken up again.
  uint16_t session;
  // Its first sector of 4 KB.
  uint32_t first;
  // The sector behind its last.
  uint32_t end;
} flightlog_log_found;

// One thing found in a log.
typedef struct {
  // The sector that it lies in.
  uint32_t sector;
  // The record's kind; 0: the rest of this sector cannot be read.
  uint8_t kind;
  // The record's time in microseconds.
  uint64_t time_us;
  // Its content, valid during the call.
  const uint8_t *payload;
  // Bytes of its content.
  size_t len;
} flightlog_log_entry;

// Takes one thing found in a log. True: go on.
typedef bool (*flightlog_log_visitor)(void *context, const flightlog_log_entry *entry);

// A command.
typedef struct {
  // Which: `flightlog_command_kind`.
  uint32_t kind;
  // Of `run`, which phase: `flightlog_phase`; 0 is all of them.
  uint32_t phase;
  // Of `run`, where the buffer stands: `flightlog_place`; 0 is both.
  uint32_t place;
  // Of `run`, samples a second of the modelled IMU; 0 is the default.
  uint32_t imu_hz;
} flightlog_command;

// What a run does, other than its phases, and what keeps the loop's core busy.
typedef struct {
  // Time from one pass of the loop to the next in microseconds, where nothing holds it up.
  uint32_t loop_period_us;
  // Samples a second that the modelled IMU puts into its FIFO.
  uint32_t imu_hz;
  // Words of 7 bytes that the FIFO holds; a sample takes three.
  uint32_t fifo_words;
  // Bytes that a phase writes, rounded down to whole blocks of 64 KB.
  uint32_t phase_bytes;
  // Nanoseconds in which a sample comes over the IMU's bus, with the scheduler of the loop's core held off.
  uint32_t sample_ns;
  // Microseconds of all other work in a pass.
  uint32_t pass_us;
  // Microseconds of a job that another task does on the loop's core, before the loop ...
  uint32_t job_us;
  // ... and microseconds from one such job to the next; 0: there is none.
  uint32_t job_period_us;
} flightlog_bench_settings;

// A plan in numbers.
typedef struct {
  // Stages: what is done one after the other.
  uint32_t stages;
  // Phases among them: each is measured.
  uint32_t phases;
  // Sectors of 4 KB that the run erases.
  uint32_t erase_sectors;
  // Bytes that it writes.
  uint64_t write_bytes;
} flightlog_plan_totals;

// One stage of a plan.
typedef struct {
  // What it does: `flightlog_stage_kind`.
  uint32_t kind;
  // Which phase it is: `flightlog_phase`; 0 where it is none.
  uint32_t phase;
  // Where its buffer stands: `flightlog_place`; 0 where it has none.
  uint32_t place;
  // Sectors of 4 KB that it erases.
  uint32_t erase_sectors;
  // Bytes that it writes.
  uint32_t write_bytes;
} flightlog_stage;

// What one pass has to do.
typedef struct {
  // Samples that the burst brought.
  uint32_t samples;
  // Microseconds of the burst over the IMU's bus, with this core's scheduler held off.
  uint32_t burst_us;
  // Microseconds of work after it.
  uint32_t work_us;
} flightlog_pass;

// How the loop fared.
typedef struct {
  // Passes begun.
  uint32_t passes;
  // Passes a second, in thousandths.
  uint32_t rate_millihertz;
  // The longest time from one pass to the next in microseconds.
  uint32_t worst_gap_us;
  // Times that a drain found samples lost.
  uint32_t fifo_overruns;
  // Samples read out of the FIFO.
  uint64_t samples_read;
  // Samples that found it full.
  uint64_t samples_lost;
} flightlog_loop_result;

// What the writer's task has to do next.
typedef struct {
  // What: `flightlog_step_kind`.
  uint32_t kind;
  // Until when, where it is to wait.
  uint64_t until_us;
} flightlog_step;

// A clock in microseconds that only moves forward; on ESP-IDF `esp_timer_get_time`.
typedef int64_t (*flightlog_clock)(void);

// What the writer did.
typedef struct {
  // Bytes written.
  uint32_t bytes;
  // Sectors of 4 KB erased.
  uint32_t erased_sectors;
  // Flash calls made.
  uint32_t calls;
  // The longest of them in microseconds.
  uint32_t longest_call_us;
  // From the start to the end of the last call, in microseconds.
  uint64_t elapsed_us;
  // Whether it was stopped before its end.
  bool stopped;
} flightlog_written;

// A text with its length; no 0 at its end is needed. Of length 0 the pointer may be null.
typedef struct {
  // Where it begins: UTF-8.
  const char *bytes;
  // Bytes.
  size_t len;
} flightlog_text;

// Memory for lines of a report.
typedef struct {
  // Where to write; `FLIGHTLOG_REPORT_BYTES` suffice.
  char *text;
  // Bytes there.
  size_t len;
  // Set by each call: bytes written, or needed where they do not fit. No 0 stands at their end.
  size_t used;
} flightlog_report_lines;

// A Kconfig symbol as the program was compiled.
typedef struct {
  // Its name with `CONFIG_`.
  flightlog_text name;
  // Whether it is set.
  bool set;
  // Its value, where it is set.
  int64_t value;
} flightlog_symbol;

// An address of the program and what stands behind it.
typedef struct {
  // Which memory: `flightlog_home`.
  uint32_t home;
  // The address that the program uses.
  uint32_t vaddr;
  // The address within that memory.
  uint32_t paddr;
} flightlog_mapping;

// What the board is and how its program runs.
typedef struct {
  // The chip's name.
  flightlog_text chip;
  // Its revision: 100 times major plus minor.
  uint32_t revision;
  // Version of the Arduino core.
  flightlog_text core;
  // Version of ESP-IDF.
  flightlog_text idf;
  // The symbols that matter.
  const flightlog_symbol *symbols;
  // How many: `FLIGHTLOG_MAX_SYMBOLS` at most.
  size_t symbol_count;
  // PSRAM that the program can use, with ECC's share taken off.
  uint32_t psram_bytes;
  // Whether ECC is in force.
  bool ecc;
  // Size of the flash chip.
  uint32_t flash_bytes;
  // Size of the flight partition; 0 where there is none.
  uint32_t partition_bytes;
  // Where a function of the program lives.
  flightlog_mapping code;
  // Where a constant of the program lives.
  flightlog_mapping constants;
} flightlog_info;

// A pattern test of PSRAM.
typedef struct {
  // Bytes tested: far more than the cache holds.
  uint32_t bytes;
  // Words that read back wrong.
  uint32_t errors;
  // Of the first wrong word: bytes from the tested memory's start ...
  uint32_t first_offset;
  // ... what was written ...
  uint32_t first_expected;
  // ... and what was read.
  uint32_t first_found;
  // Time that it took in microseconds.
  uint64_t elapsed_us;
} flightlog_pattern_test;

// A row of the memory bench.
typedef struct {
  // What was done, for example `read-sequential`.
  flightlog_text test;
  // On which memory, for example `psram`.
  flightlog_text memory;
  // Bytes of one run.
  uint32_t bytes;
  // Runs.
  uint32_t runs;
  // Time of all runs in microseconds.
  uint64_t total_us;
} flightlog_memory_row;

// All of them.
#define flightlog_status_ALL { flightlog_status_Ok, flightlog_status_NullPointer, flightlog_status_Misaligned, flightlog_status_TooShort, flightlog_status_NotAHandle, flightlog_status_OutOfRange, flightlog_status_SampleOutOfRange, flightlog_status_BrokenStream, flightlog_status_RingFull, flightlog_status_Nothing, flightlog_status_NotErased, flightlog_status_FlightTaken, flightlog_status_FlashFull, flightlog_status_RecordTooLong, flightlog_status_PlanTooSmall, flightlog_status_PlanTooLong, flightlog_status_NoCommand, flightlog_status_BadCallback, flightlog_status_NotText, flightlog_status_NotFinished, flightlog_status_ReportEnded, }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The text for a number that a function gave, as a C string that lives as long as the program.
const char *flightlog_status_text(int32_t status);

// Bytes of memory that a handle of this kind (`flightlog_handle`) needs; 0 where there is no such kind.
size_t flightlog_handle_size(uint32_t kind);

// Alignment that the memory of a handle of this kind needs; 0 where there is no such kind. What `malloc` gives will do.
size_t flightlog_handle_align(uint32_t kind);

// Sets the function that is told where a panic happened, before the program ends. Null sets none.
//
// # Safety
// `hook` is null, or a function that can be called from any task at any time.
void flightlog_on_panic(flightlog_panic_hook hook);

// Stores a sample in `FLIGHTLOG_SAMPLE_BYTES` bytes at `out`.
//
// # Safety
// `sample` is null or valid for a read, `out` is null or valid for writes of `len` bytes.
int32_t flightlog_sample_store(const flightlog_sample *sample, uint8_t *out, size_t len);

// Reads a sample from its stored bytes.
//
// # Safety
// `stored` is null or valid for reads of `len` bytes, `sample` is null or valid for a write.
int32_t flightlog_sample_load(const uint8_t *stored, size_t len, flightlog_sample *sample);

// Makes an encoder that writes every `interval`-th sample in full; with 1 all of them.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes, `encoder` is null or valid for a write.
int32_t flightlog_encoder_init(void *memory, size_t len, uint32_t interval, flightlog_encoder **encoder);

// Says that samples are missing before the next one: `missing` of them, or 0 where that is not known.
//
// # Safety
// `encoder` is null or an encoder that nobody else uses now.
int32_t flightlog_encoder_gap(flightlog_encoder *encoder, uint32_t missing);

// Writes a sample at `out`, and into `used` the bytes that it took, or needs where it does not fit; nothing has changed
// then. `FLIGHTLOG_DELTA_MAX_BYTES` always suffice.
//
// # Safety
// `encoder` is null or an encoder that nobody else uses now; `sample` is null or valid for a read, `out` for writes of `len`
// bytes, `used` for a write.
int32_t flightlog_encoder_encode(flightlog_encoder *encoder,
                                 const flightlog_sample *sample,
                                 uint8_t *out,
                                 size_t len,
                                 size_t *used);

// Makes a decoder for a stream from its start.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes, `decoder` is null or valid for a write.
int32_t flightlog_decoder_init(void *memory, size_t len, flightlog_decoder **decoder);

// Reads one sample from the start of `stream`; the next call goes on `used` bytes further. Of no bytes there is
// `FLIGHTLOG_STATUS_NOTHING`, of a broken stream `FLIGHTLOG_STATUS_BROKEN_STREAM`.
//
// # Safety
// `decoder` is null or a decoder that nobody else uses now; `stream` is null or valid for reads of `len` bytes, `decoded` for
// a write.
int32_t flightlog_decoder_next(flightlog_decoder *decoder,
                               const uint8_t *stream,
                               size_t len,
                               flightlog_decoded *decoded);

// Words of memory that a ring of `blocks` blocks of `block_bytes` needs.
size_t flightlog_ring_words(size_t blocks, size_t block_bytes);

// Makes a ring of blocks of `block_bytes`, as many as fit into `words`; PSRAM will do. It keeps the newest blocks until
// `flightlog_ring_trigger`.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes and is not moved while the ring is in use; `words` is null or valid for
// `word_count` words, which belong to the ring from now on; `ring` is null or valid for a write.
int32_t flightlog_ring_init(void *memory,
                            size_t len,
                            uint32_t *words,
                            size_t word_count,
                            size_t block_bytes,
                            flightlog_ring **ring);

// Appends one block, which must be as long as the ring's. For the task that pushes.
//
// # Safety
// `ring` is null or a ring whose pushing end nobody else uses now; `block` is null or valid for reads of `len` bytes.
int32_t flightlog_ring_push(flightlog_ring *ring, const uint8_t *block, size_t len);

// Launch was detected: what the ring holds is kept, and the other end may take. For the task that pushes.
//
// # Safety
// As for `flightlog_ring_push`.
int32_t flightlog_ring_trigger(flightlog_ring *ring);

// Copies the oldest block to `into` and gives its place back; `missed` says how many were refused right before it. Where
// none waits: `FLIGHTLOG_STATUS_NOTHING`. For the task that takes.
//
// # Safety
// `ring` is null or a ring whose taking end nobody else uses now; `into` is null or valid for writes of `len` bytes, `missed`
// for a write.
int32_t flightlog_ring_take(flightlog_ring *ring,
                            uint8_t *into,
                            size_t len,
                            uint32_t *missed);

// How the ring is filled. For the task that takes.
//
// # Safety
// As for `flightlog_ring_take`; `state` is null or valid for a write.
int32_t flightlog_ring_state(flightlog_ring *ring, flightlog_ring_state *state);

// Begins a log, or goes on with one. Reads the flash to see what is erased; nothing is ever erased.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes; `flash` and `settings` are null or valid for a read; the flash's
// callbacks can be called as long as the logger is in use; `buffer` is null or valid for `buffer_len` bytes, which belong to
// the logger as long as it is in use; `logger` is null or valid for a write.
int32_t flightlog_logger_init(void *memory,
                              size_t len,
                              const flightlog_flash *flash,
                              uint8_t *buffer,
                              size_t buffer_len,
                              const flightlog_logger_settings *settings,
                              uint64_t time_us,
                              flightlog_logger **logger);

// Appends a sample that was taken at `time_us`. Most calls only encode it into the buffer.
//
// # Safety
// `logger` is null or a logger that nobody else uses now; `sample` is null or valid for a read.
int32_t flightlog_logger_sample(flightlog_logger *logger, uint64_t time_us, const flightlog_sample *sample);

// Says that samples are missing before the next one: how many, or 0 where that is not known.
//
// # Safety
// `logger` is null or a logger that nobody else uses now.
int32_t flightlog_logger_gap(flightlog_logger *logger, uint32_t missing);

// Notes that launch was detected.
//
// # Safety
// As for `flightlog_logger_gap`.
int32_t flightlog_logger_trigger(flightlog_logger *logger, uint64_t time_us);

// Appends a record of the caller's own, of kind `FLIGHTLOG_OWN_RECORDS` to 254.
//
// # Safety
// As for `flightlog_logger_gap`; `payload` is null or valid for reads of `len` bytes.
int32_t flightlog_logger_record(flightlog_logger *logger,
                                uint8_t kind,
                                uint64_t time_us,
                                const uint8_t *payload,
                                size_t len);

// Programs all that was recorded so far. Where it fails it may be called again.
//
// # Safety
// As for `flightlog_logger_gap`.
int32_t flightlog_logger_flush(flightlog_logger *logger);

// How far the logger is.
//
// # Safety
// As for `flightlog_logger_gap`; `state` is null or valid for a write.
int32_t flightlog_logger_state(flightlog_logger *logger, flightlog_logger_state *state);

// Finds the log that begins at the start of the partition, and its end, with a few reads. Where there is none:
// `FLIGHTLOG_STATUS_NOTHING`.
//
// # Safety
// `flash` is null or valid for a read, with callbacks that can be called now; `found` is null or valid for a write.
int32_t flightlog_log_find(const flightlog_flash *flash, flightlog_log_found *found);

// Walks the log that begins at the start of the partition, record by record. Where there is none: `FLIGHTLOG_STATUS_NOTHING`.
//
// # Safety
// `flash` is null or valid for a read, with callbacks that can be called now; `buffer` is null or valid for `len` bytes, of
// which `FLIGHTLOG_BUFFER_BYTES` are used; `visit` can be called with `context`.
int32_t flightlog_log_walk(const flightlog_flash *flash,
                           uint8_t *buffer,
                           size_t len,
                           flightlog_log_visitor visit,
                           void *context);

// Makes an empty line buffer.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes, `buffer` is null or valid for a write.
int32_t flightlog_line_buffer_init(void *memory, size_t len, flightlog_line_buffer **buffer);

// Takes one byte of the serial port. `FLIGHTLOG_STATUS_NOTHING` as long as no line is complete; 0 where it completes a command,
// with the line itself in `answer`; `FLIGHTLOG_STATUS_NO_COMMAND` where the line is none, with what to answer in `answer`.
// `answer_used` are the bytes of the answer; no 0 stands at their end.
//
// # Safety
// `buffer` is null or a line buffer that nobody else uses now; `command` and `answer_used` are null or valid for a write,
// `answer` for writes of `answer_len` bytes.
int32_t flightlog_line_push(flightlog_line_buffer *buffer,
                            uint8_t byte,
                            flightlog_command *command,
                            char *answer,
                            size_t answer_len,
                            size_t *answer_used);

// What to answer to `help`, as a C string that lives as long as the program.
const char *flightlog_help(void);

// Gives the settings of the logger that the bench imitates: 500 Hz, an IMU at 8 kHz with a FIFO of 256 words.
//
// # Safety
// `settings` is null or valid for a write.
int32_t flightlog_bench_defaults(flightlog_bench_settings *settings);

// Plans a `run` or `erase` command. It reads the whole partition through `buffer`, to see what must be erased first; blocks
// of the partition beyond 32 MiB are left alone.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes; `flash` is null or valid for a read, with callbacks that can be called
// now; `buffer` is null or valid for `buffer_len` bytes; `command` and `settings` are null or valid for a read; `plan` is null
// or valid for a write.
int32_t flightlog_plan_init(void *memory,
                            size_t len,
                            const flightlog_flash *flash,
                            uint8_t *buffer,
                            size_t buffer_len,
                            const flightlog_command *command,
                            const flightlog_bench_settings *settings,
                            flightlog_plan **plan);

// What the plan comes to.
//
// # Safety
// `plan` is null or a plan that nobody else uses now; `totals` is null or valid for a write.
int32_t flightlog_plan_totals(flightlog_plan *plan, flightlog_plan_totals *totals);

// Stage `index` of the plan, from 0; after the last there is `FLIGHTLOG_STATUS_NOTHING`.
//
// # Safety
// `plan` is null or a plan that nobody else uses now; `stage` is null or valid for a write.
int32_t flightlog_plan_stage(flightlog_plan *plan, uint32_t index, flightlog_stage *stage);

// Makes a loop whose first pass is due one period after `now_us`, in microseconds of a clock that only moves forward.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes; `plan` is null or a plan that nobody else uses now; `loop_task` is null or
// valid for a write.
int32_t flightlog_loop_init(void *memory,
                            size_t len,
                            flightlog_plan *plan,
                            uint64_t now_us,
                            flightlog_loop **loop_task);

// When the next pass is due, in microseconds. The past: at once.
//
// # Safety
// `loop_task` is null or a loop that nobody else uses now; `due_us` is null or valid for a write.
int32_t flightlog_loop_due(flightlog_loop *loop_task, uint64_t *due_us);

// Begins a pass: drains the FIFO and counts the gap since the pass before.
//
// # Safety
// `loop_task` is null or a loop that nobody else uses now; `pass` is null or valid for a write.
int32_t flightlog_loop_pass(flightlog_loop *loop_task, uint64_t now_us, flightlog_pass *pass);

// Ends the phase for the loop.
//
// # Safety
// `loop_task` is null or a loop that nobody else uses now.
int32_t flightlog_loop_finish(flightlog_loop *loop_task, uint64_t now_us);

// How the loop fared, after `flightlog_loop_finish`.
//
// # Safety
// `loop_task` is null or a loop that nobody else uses now; `result` is null or valid for a write.
int32_t flightlog_loop_result(flightlog_loop *loop_task, flightlog_loop_result *result);

// Makes a writer for stage `index` of the plan. For a stage that writes, this reads the flash to see that it is blank.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes; `plan` is null or a plan that nobody else uses now; `flash` is null or
// valid for a read, with callbacks that can be called as long as the writer is in use; `buffer` is null or valid for
// `buffer_len` bytes, which belong to the writer as long as it is in use; `writer` is null or valid for a write.
int32_t flightlog_writer_init(void *memory,
                              size_t len,
                              flightlog_plan *plan,
                              uint32_t index,
                              const flightlog_flash *flash,
                              uint8_t *buffer,
                              size_t buffer_len,
                              flightlog_writer **writer);

// The phase's time begins, in microseconds of a clock that only moves forward.
//
// # Safety
// `writer` is null or a writer that nobody else uses now.
int32_t flightlog_writer_start(flightlog_writer *writer, uint64_t now_us);

// What to do at `now_us`.
//
// # Safety
// `writer` is null or a writer that nobody else uses now; `step` is null or valid for a write.
int32_t flightlog_writer_next(flightlog_writer *writer, uint64_t now_us, flightlog_step *step);

// Gathers a buffer and writes it. A positive number is what the flash callback gave; the phase is over then.
//
// # Safety
// `writer` is null or a writer that nobody else uses now; `now` is null or can be called.
int32_t flightlog_writer_write(flightlog_writer *writer, flightlog_clock now);

// Erases the next block of 64 KB. As `flightlog_writer_write`.
//
// # Safety
// As for `flightlog_writer_write`.
int32_t flightlog_writer_erase(flightlog_writer *writer, flightlog_clock now);

// Ends the stage before its time. For the task that uses the writer.
//
// # Safety
// `writer` is null or a writer that nobody else uses now.
int32_t flightlog_writer_stop(flightlog_writer *writer);

// What the writer did so far.
//
// # Safety
// `writer` is null or a writer that nobody else uses now; `written` is null or valid for a write.
int32_t flightlog_writer_written(flightlog_writer *writer, flightlog_written *written);

// The version of this library, as a C string that lives as long as the program.
const char *flightlog_version(void);

// Begins a report with its first lines. `run` is a random number, which tells this report from every other one in the same
// log; `source` is a `flightlog_report_source`; `command` is what was asked.
//
// # Safety
// `memory` is null or valid for writes of `len` bytes; the text's pointer is null or valid for reads of its length; `lines` is
// null or valid, its text for writes of its length; `report` is null or valid for a write.
int32_t flightlog_report_begin(void *memory,
                               size_t len,
                               uint32_t source,
                               uint32_t run,
                               flightlog_text command,
                               flightlog_report_lines *lines,
                               flightlog_report **report);

// Writes what the board is.
//
// # Safety
// `report` is null or a report that nobody else uses now; `info` is null or valid for a read, and all that it points to too;
// `lines` as for `flightlog_report_begin`.
int32_t flightlog_report_info(flightlog_report *report,
                              const flightlog_info *info,
                              flightlog_report_lines *lines);

// Writes the outcome of a pattern test.
//
// # Safety
// `report` is null or a report that nobody else uses now; `test` is null or valid for a read; `lines` as for
// `flightlog_report_begin`.
int32_t flightlog_report_psram_test(flightlog_report *report,
                                    const flightlog_pattern_test *test,
                                    flightlog_report_lines *lines);

// Writes a row of the memory bench.
//
// # Safety
// `report` is null or a report that nobody else uses now; `row` is null or valid for a read, and its texts too; `lines` as for
// `flightlog_report_begin`.
int32_t flightlog_report_memory(flightlog_report *report,
                                const flightlog_memory_row *row,
                                flightlog_report_lines *lines);

// Writes what the run is going to do, above all how many sectors it will erase. To be called before it does so.
//
// # Safety
// `report` and `plan` are null or handles that nobody else uses now; `lines` as for `flightlog_report_begin`.
int32_t flightlog_report_plan(flightlog_report *report, flightlog_plan *plan, flightlog_report_lines *lines);

// Writes a phase's result, from the two handles that went through it; the loop must be finished.
//
// # Safety
// `report`, `writer` and `loop_task` are null or handles that nobody else uses now; `lines` as for `flightlog_report_begin`.
int32_t flightlog_report_phase(flightlog_report *report,
                               flightlog_writer *writer,
                               flightlog_loop *loop_task,
                               flightlog_report_lines *lines);

// Writes that something failed, and what.
//
// # Safety
// `report` is null or a report that nobody else uses now; the text's pointer is null or valid for reads of its length; `lines`
// as for `flightlog_report_begin`.
int32_t flightlog_report_fault(flightlog_report *report,
                               flightlog_text what,
                               flightlog_report_lines *lines);

// Ends the report; without these lines nobody takes it for a whole one. `outcome` is a `flightlog_report_outcome`.
//
// # Safety
// `report` is null or a report that nobody else uses now; `lines` as for `flightlog_report_begin`.
int32_t flightlog_report_end(flightlog_report *report, uint32_t outcome, flightlog_report_lines *lines);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FLIGHTLOG_H */
