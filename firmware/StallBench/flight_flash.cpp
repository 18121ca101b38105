#include "flight_flash.h"

#include <esp_partition.h>

// esp_err_t is positive where it is an error, but for ESP_FAIL (-1).
static int32_t number(esp_err_t error) { return error < 0 ? ESP_ERR_INVALID_STATE : error; }

static const esp_partition_t *partition_of(void *context) { return static_cast<const esp_partition_t *>(context); }

static int32_t flight_read(void *context, uint32_t offset, uint8_t *into, size_t len) {
  return number(esp_partition_read(partition_of(context), offset, into, len));
}

static int32_t flight_program(void *context, uint32_t offset, const uint8_t *data, size_t len) {
  return number(esp_partition_write(partition_of(context), offset, data, len));
}

static int32_t flight_erase(void *context, uint32_t offset, uint32_t len) {
  return number(esp_partition_erase_range(partition_of(context), offset, len));
}

bool flight_partition(flightlog_flash *flash) {
  const esp_partition_t *partition =
      esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "flight");
  if (partition == nullptr) {
    return false;
  }
  // The library gives the context back as it was; esp_partition takes it as const.
  *flash = {const_cast<esp_partition_t *>(partition), partition->size, flight_read, flight_program, flight_erase};
  return true;
}
