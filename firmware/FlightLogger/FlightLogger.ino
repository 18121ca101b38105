// FlightLogger is the library at work, as small as it gets: a sensor task fills a ring in PSRAM, launch keeps what the ring
// holds, and the loop writes it to the raw partition "flight" in the delta code.
//
// One letter over serial, 115200 baud: e erases the partition, s starts a log, t is the launch, q ends the log, l lists it.
// Nothing is erased but by e. Put your own sensor into read_sensor(); the one here makes its samples up.

#include <Arduino.h>
#include <esp_heap_caps.h>
#include <esp_partition.h>
#include <esp_timer.h>
#include <flightlog.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

constexpr uint32_t kRateHz = 1000;
// Blocks of the ring: a time and a stored sample. 20,000 of them are twenty seconds before the launch.
constexpr size_t kBlockBytes = sizeof(uint64_t) + FLIGHTLOG_SAMPLE_BYTES;
constexpr size_t kBlocks = 20000;

static flightlog_flash flash = {};
static flightlog_ring *ring = nullptr;
static flightlog_logger *logger = nullptr;
static void *logger_memory = nullptr;
static uint8_t *buffer = nullptr;
static uint32_t next_flight = 1;
// Set by the loop, seen by the sensor's task.
static volatile bool launched = false;

static void say(const char *what, int32_t status) {
  char line[160];
  const char *text = status > 0 ? esp_err_to_name(status) : flightlog_status_text(status);
  const int len = snprintf(line, sizeof line, "%s: %s\r\n", what, text);
  Serial.write(reinterpret_cast<const uint8_t *>(line), static_cast<size_t>(len));
}

static void tell(const char *text) {
  Serial.write(reinterpret_cast<const uint8_t *>(text), strlen(text));
}

// --- flash: esp_err_t is positive where it is an error, but for ESP_FAIL (-1)
static int32_t number(esp_err_t error) { return error < 0 ? ESP_ERR_INVALID_STATE : error; }
static const esp_partition_t *of(void *context) { return static_cast<const esp_partition_t *>(context); }
static int32_t flash_read(void *context, uint32_t offset, uint8_t *into, size_t len) {
  return number(esp_partition_read(of(context), offset, into, len));
}
static int32_t flash_program(void *context, uint32_t offset, const uint8_t *data, size_t len) {
  return number(esp_partition_write(of(context), offset, data, len));
}
static int32_t flash_erase(void *context, uint32_t offset, uint32_t len) {
  return number(esp_partition_erase_range(of(context), offset, len));
}

// --- sensor
static flightlog_sample read_sensor(uint64_t now_us) {
  const int16_t wave = static_cast<int16_t>((now_us >> 10) & 0xFF);
  return {{wave, static_cast<int16_t>(-wave), 0}, {0, 0, 2048 + wave}};
}

static void sensor_task(void *) {
  bool told = false;
  for (;;) {
    const uint64_t now_us = static_cast<uint64_t>(esp_timer_get_time());
    const flightlog_sample sample = read_sensor(now_us);
    uint8_t block[kBlockBytes];
    memcpy(block, &now_us, sizeof now_us);
    // A sample out of range is left out; a full ring counts it as missing.
    if (flightlog_sample_store(&sample, block + sizeof now_us, FLIGHTLOG_SAMPLE_BYTES) == FLIGHTLOG_STATUS_OK) {
      flightlog_ring_push(ring, block, sizeof block);
    }
    // The end that pushes is also the one that triggers.
    if (launched && !told) {
      flightlog_ring_trigger(ring);
      told = true;
    }
    vTaskDelay(1000 / kRateHz);
  }
}

// --- log
static void start_log() {
  if (logger != nullptr) {
    tell("a log is open already; q ends it\r\n");
    return;
  }
  const flightlog_logger_settings settings = {kRateHz, kRateHz, next_flight++, false};
  const int32_t status =
      flightlog_logger_init(logger_memory, flightlog_handle_size(FLIGHTLOG_HANDLE_LOGGER), &flash, buffer,
                            FLIGHTLOG_BUFFER_BYTES, &settings, static_cast<uint64_t>(esp_timer_get_time()), &logger);
  say("start", status);
}

static void launch() {
  if (logger == nullptr) {
    tell("no log is open; s starts one\r\n");
    return;
  }
  launched = true;
  say("launch", flightlog_logger_trigger(logger, static_cast<uint64_t>(esp_timer_get_time())));
}

// Writes what waits in the ring.
static void write_waiting() {
  uint8_t block[kBlockBytes];
  uint32_t missed = 0;
  while (logger != nullptr && flightlog_ring_take(ring, block, sizeof block, &missed) == FLIGHTLOG_STATUS_OK) {
    uint64_t time_us = 0;
    flightlog_sample sample = {};
    memcpy(&time_us, block, sizeof time_us);
    flightlog_sample_load(block + sizeof time_us, FLIGHTLOG_SAMPLE_BYTES, &sample);
    if (missed > 0) {
      flightlog_logger_gap(logger, missed);
    }
    const int32_t status = flightlog_logger_sample(logger, time_us, &sample);
    if (status != FLIGHTLOG_STATUS_OK) {
      say("log", status);
      logger = nullptr;
    }
  }
}

static void end_log() {
  if (logger == nullptr) {
    return;
  }
  write_waiting();
  say("end", flightlog_logger_flush(logger));
  logger = nullptr;
}

struct Listing {
  uint32_t records, samples, damaged;
  flightlog_decoder *decoder;
};

static bool list_entry(void *context, const flightlog_log_entry *entry) {
  Listing &listing = *static_cast<Listing *>(context);
  if (entry->kind == 0) {
    listing.damaged++;
    return true;
  }
  listing.records++;
  // Kind 3 holds samples in the delta code, which goes on from record to record.
  flightlog_decoded decoded = {};
  for (size_t at = 0; entry->kind == 3 && at < entry->len; at += decoded.used) {
    if (flightlog_decoder_next(listing.decoder, entry->payload + at, entry->len - at, &decoded) != FLIGHTLOG_STATUS_OK) {
      listing.damaged++;
      break;
    }
    listing.samples++;
  }
  return true;
}

static void list_log() {
  static uint8_t page[FLIGHTLOG_BUFFER_BYTES];
  flightlog_log_found found = {};
  Listing listing = {};
  void *memory = malloc(flightlog_handle_size(FLIGHTLOG_HANDLE_DECODER));
  int32_t status =
      flightlog_decoder_init(memory, flightlog_handle_size(FLIGHTLOG_HANDLE_DECODER), &listing.decoder);
  if (status == FLIGHTLOG_STATUS_OK) {
    status = flightlog_log_find(&flash, &found);
  }
  if (status == FLIGHTLOG_STATUS_OK) {
    status = flightlog_log_walk(&flash, page, sizeof page, list_entry, &listing);
  }
  free(memory);
  if (status != FLIGHTLOG_STATUS_OK) {
    say("list", status);
    return;
  }
  char line[160];
  const int len = snprintf(line, sizeof line, "flight %u, sectors %u to %u: %u records, %u samples, %u damaged\r\n",
                           static_cast<unsigned>(found.flight), static_cast<unsigned>(found.first),
                           static_cast<unsigned>(found.end), static_cast<unsigned>(listing.records),
                           static_cast<unsigned>(listing.samples), static_cast<unsigned>(listing.damaged));
  Serial.write(reinterpret_cast<const uint8_t *>(line), static_cast<size_t>(len));
}

void setup() {
  Serial.begin(115200);
  const esp_partition_t *partition =
      esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "flight");
  const size_t words = flightlog_ring_words(kBlocks, kBlockBytes);
  uint32_t *ring_words =
      static_cast<uint32_t *>(heap_caps_aligned_alloc(4, words * sizeof(uint32_t), MALLOC_CAP_SPIRAM | MALLOC_CAP_8BIT));
  void *ring_memory = malloc(flightlog_handle_size(FLIGHTLOG_HANDLE_RING));
  logger_memory = malloc(flightlog_handle_size(FLIGHTLOG_HANDLE_LOGGER));
  // In internal RAM: flash is written faster from there.
  buffer = static_cast<uint8_t *>(
      heap_caps_aligned_alloc(64, FLIGHTLOG_BUFFER_BYTES, MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT));
  if (partition == nullptr) {
    say("no partition named flight", FLIGHTLOG_STATUS_NOTHING);
    return;
  }
  flash = {const_cast<esp_partition_t *>(partition), partition->size, flash_read, flash_program, flash_erase};
  const int32_t status = flightlog_ring_init(ring_memory, flightlog_handle_size(FLIGHTLOG_HANDLE_RING), ring_words, words,
                                             kBlockBytes, &ring);
  say("ring", status);
  if (status == FLIGHTLOG_STATUS_OK) {
    // The next flight's number: one that no log in the partition has.
    flightlog_log_found found = {};
    if (flightlog_log_find(&flash, &found) == FLIGHTLOG_STATUS_OK) {
      next_flight = found.flight + 1;
    }
    xTaskCreatePinnedToCore(sensor_task, "sensor", 4096, nullptr, 10, nullptr, 0);
  }
}

void loop() {
  if (ring != nullptr) {
    switch (Serial.read()) {
      case 'e':
        if (logger != nullptr) {
          tell("a log is open; q ends it\r\n");
        } else {
          say("erase", flash_erase(flash.context, 0, flash.size));
        }
        break;
      case 's':
        start_log();
        break;
      case 't':
        launch();
        break;
      case 'q':
        end_log();
        break;
      case 'l':
        list_log();
        break;
      default:
        break;
    }
    write_waiting();
  }
  delay(1);
}
