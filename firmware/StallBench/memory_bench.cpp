#include "memory_bench.h"

#include <Arduino.h>
#include <esp_async_memcpy.h>
#include <esp_heap_caps.h>
#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <sdkconfig.h>

#include <atomic>
#include <cstring>
#include <initializer_list>

#include "jobs.h"
#include "block.h"

#ifndef CONFIG_ESP32S3_DATA_CACHE_SIZE
#define CONFIG_ESP32S3_DATA_CACHE_SIZE 0x8000
#endif

// Of large blocks; small ones are run more often, since the clock counts microseconds.
constexpr uint32_t kRuns = 8;
constexpr uint32_t kManyRuns = 256;
constexpr size_t kLarge = 4 * 1024 * 1024;
// Reading this much surely passes the cache.
constexpr size_t kBeyondCache = 32 * CONFIG_ESP32S3_DATA_CACHE_SIZE;
constexpr size_t kInsideCache = CONFIG_ESP32S3_DATA_CACHE_SIZE / 2;
constexpr uint32_t kRandomReads = 32 * 1024;

static uint64_t now_us() { return static_cast<uint64_t>(esp_timer_get_time()); }

// What loops read goes here, so that the compiler keeps them.
static volatile uint32_t sink;

static void read_sequential(const uint32_t *words, size_t bytes) {
  uint32_t sum = 0;
  const size_t count = bytes / sizeof(uint32_t);
  // Eight words a round: the loop's own cost must not hide the memory's.
  for (size_t index = 0; index + 8 <= count; index += 8) {
    const volatile uint32_t *at = words + index;
    sum += at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6] + at[7];
  }
  sink = sum;
}

static void write_sequential(uint32_t *words, size_t bytes) {
  const size_t count = bytes / sizeof(uint32_t);
  for (size_t index = 0; index + 8 <= count; index += 8) {
    volatile uint32_t *at = words + index;
    at[0] = at[1] = at[2] = at[3] = at[4] = at[5] = at[6] = at[7] = static_cast<uint32_t>(index);
  }
}

static void read_random(const uint32_t *words, size_t bytes) {
  const volatile uint32_t *at = words;
  const uint32_t mask = static_cast<uint32_t>(bytes / sizeof(uint32_t)) - 1;
  uint32_t state = 1;
  uint32_t sum = 0;
  for (uint32_t reads = 0; reads < kRandomReads; reads++) {
    state = state * 1664525u + 1013904223u;
    sum += at[(state >> 8) & mask];
  }
  sink = sum;
}

namespace {

// Reads on the other core while this one does.
struct Companion {
  const uint32_t *words;
  size_t bytes;
  std::atomic<bool> go{false};
  std::atomic<bool> done{false};
};

void companion_task(void *context) {
  Companion &companion = *static_cast<Companion *>(context);
  while (!companion.go) {
    // Ready at once, and only for the few microseconds until the other core is too.
  }
  for (uint32_t run = 0; run < kRuns; run++) {
    read_sequential(companion.words, companion.bytes);
  }
  companion.done = true;
  vTaskDelete(nullptr);
}

class MemoryBench {
 public:
  explicit MemoryBench(Report &report) : report_(report) {}

  bool run(Block &large, Block &internal) {
    uint32_t *psram = large.words();
    const size_t beyond = large.size();
    return row("read-sequential", "psram, inside cache", kInsideCache, [&] { read_sequential(psram, kInsideCache); }) &&
           row("read-sequential", "psram", beyond, [&] { read_sequential(psram, beyond); }) &&
           row("write-sequential", "psram", beyond, [&] { write_sequential(psram, beyond); }) &&
           row("read-random", "psram", kRandomReads * sizeof(uint32_t), [&] { read_random(psram, beyond); }) &&
           row("read-sequential", "internal", internal.size(),
               [&] { read_sequential(internal.words(), internal.size()); }) &&
           copies(large, internal) && dma(large, internal) && both_cores(large);
  }

 private:
  // Runs `work` kRuns times and reports the time; once before, so that a cache that can be warm is.
  template <typename Work>
  bool row(const char *test, const char *memory, size_t bytes, Work work) {
    if (jobs_stopping()) {
      return true;
    }
    work();
    const uint32_t runs = bytes < 64 * 1024 ? kManyRuns : kRuns;
    const uint64_t begin = now_us();
    for (uint32_t run = 0; run < runs; run++) {
      work();
    }
    return report_.memory(test, memory, bytes, runs, now_us() - begin);
  }

  bool copies(Block &large, Block &internal) {
    for (size_t bytes : {size_t{1024}, size_t{16 * 1024}, internal.size()}) {
      if (!row("memcpy", "psram-to-internal", bytes, [&] { memcpy(internal.memory(), large.memory(), bytes); }) ||
          !row("memcpy", "internal-to-psram", bytes, [&] { memcpy(large.memory(), internal.memory(), bytes); })) {
        return false;
      }
    }
    // Both ends in PSRAM, so that neither is in the cache.
    const size_t half = large.size() / 2;
    return row("memcpy", "psram-to-psram", half, [&] { memcpy(large.memory(), large.bytes() + half, half); });
  }

  // esp_async_memcpy: the copy by DMA, from the call to its end, as a task sees it.
  bool dma(Block &large, Block &internal) {
    async_memcpy_config_t config = {};
    config.backlog = 8;
    config.dma_burst_size = 32;
    async_memcpy_handle_t driver = nullptr;
    if (esp_async_memcpy_install(&config, &driver) != ESP_OK) {
      static const char why[] = "no DMA channel is free for esp_async_memcpy: left out\r\n";
      Report::print(why, sizeof why - 1);
      return true;
    }
    bool good = true;
    for (size_t bytes : {size_t{64}, size_t{1024}, internal.size()}) {
      bool failed = false;
      good = good && row("async-memcpy", "psram-to-internal", bytes, [&] {
               if (failed) {
                 return;
               }
               done_ = false;
               const auto finished = [](async_memcpy_handle_t, async_memcpy_event_t *, void *flag) {
                 static_cast<std::atomic<bool> *>(flag)->store(true);
                 return false;
               };
               if (esp_async_memcpy(driver, internal.memory(), large.memory(), bytes, finished, &done_) != ESP_OK) {
                 failed = true;
                 return;
               }
               const uint64_t begin = now_us();
               while (!done_ && !failed) {
                 failed = now_us() - begin > 1000000;
               }
             });
      if (failed) {
        good = report_.fault("esp_async_memcpy refused a copy, or did not end it within a second") && false;
        break;
      }
    }
    esp_async_memcpy_uninstall(driver);
    return good;
  }

  // The bus is shared: with XIP from PSRAM the program's own fetches are on it too.
  bool both_cores(Block &large) {
    const size_t half = large.size() / 2;
    if (jobs_stopping()) {
      return true;
    }
    Companion companion;
    companion.words = reinterpret_cast<uint32_t *>(large.bytes() + half);
    companion.bytes = half;
    const BaseType_t other = xPortGetCoreID() == 0 ? 1 : 0;
    if (xTaskCreatePinnedToCore(companion_task, "companion", 4096, &companion, 5, nullptr, other) != pdPASS) {
      return report_.fault("no memory for the other core's task") && false;
    }
    vTaskDelay(2);
    const uint64_t begin = now_us();
    companion.go = true;
    for (uint32_t run = 0; run < kRuns; run++) {
      read_sequential(large.words(), half);
    }
    while (!companion.done) {
    }
    // Both halves were read in this time.
    return report_.memory("read-sequential", "psram, both cores", 2 * half, kRuns, now_us() - begin);
  }

  Report &report_;
  // Set by the DMA's interrupt.
  std::atomic<bool> done_{false};
};

// The largest power of two up to kLarge that PSRAM still has.
size_t largest() {
  size_t bytes = kLarge;
  while (bytes > heap_caps_get_largest_free_block(kPsram)) {
    bytes /= 2;
  }
  return bytes;
}

}  // namespace

// Every address another word, and neighbours far apart: a line that landed elsewhere shows.
static uint32_t pattern(size_t index, uint32_t flip) {
  uint32_t word = static_cast<uint32_t>(index) * 2654435761u;
  word ^= word >> 15;
  return word ^ flip;
}

flightlog_pattern_test pattern_test(volatile uint32_t *words, size_t count) {
  flightlog_pattern_test test = {};
  test.bytes = static_cast<uint32_t>(count * sizeof(uint32_t));
  const uint64_t begin = now_us();
  const auto look = [&](size_t index, uint32_t flip) {
    const uint32_t expected = pattern(index, flip);
    const uint32_t found = words[index];
    if (found == expected) {
      return;
    }
    if (test.errors == 0) {
      test.first_offset = static_cast<uint32_t>(index * sizeof(uint32_t));
      test.first_expected = expected;
      test.first_found = found;
    }
    test.errors++;
  };
  for (const uint32_t flip : {0u, 0xFFFFFFFFu}) {
    for (size_t index = 0; index < count / 2; index++) {
      words[index] = pattern(index, flip);
      words[count - 1 - index] = pattern(count - 1 - index, flip);
    }
    if (count % 2 == 1) {
      words[count / 2] = pattern(count / 2, flip);
    }
    // The middle was written last and is still in the cache: begin far from it, from either end.
    for (size_t index = 0; index < count; index++) {
      look(flip == 0 ? index : count - 1 - index, flip);
    }
  }
  test.elapsed_us = now_us() - begin;
  return test;
}

uint32_t run_memory_bench(Report &report) {
  const size_t bytes = largest();
  Block large(bytes, kPsram);
  if (bytes < kBeyondCache || !large.valid()) {
    report.fault("PSRAM has no free block that is far larger than the cache (Tools > PSRAM)");
    return FLIGHTLOG_REPORT_OUTCOME_FAILED;
  }
  Block internal(64 * 1024, kInternal | MALLOC_CAP_DMA);
  if (!internal.valid()) {
    report.fault("internal RAM has no free block of 64 KB");
    return FLIGHTLOG_REPORT_OUTCOME_FAILED;
  }
  const flightlog_pattern_test test = pattern_test(large.words(), large.size() / sizeof(uint32_t));
  if (!report.psram_test(test)) {
    return FLIGHTLOG_REPORT_OUTCOME_FAILED;
  }
  const bool good = MemoryBench(report).run(large, internal);
  // Wrong words are a result, which the reader of the report judges.
  return good ? FLIGHTLOG_REPORT_OUTCOME_COMPLETE : FLIGHTLOG_REPORT_OUTCOME_FAILED;
}
