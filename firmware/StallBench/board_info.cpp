#include "board_info.h"

#include <Arduino.h>
#include <esp_chip_info.h>
#include <esp_flash.h>
#include <esp_heap_caps.h>
#include <esp_idf_version.h>
#include <esp_memory_utils.h>
#include <esp_mmu_map.h>
#include <esp_psram.h>
#include <sdkconfig.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "flight_flash.h"

// A constant whose place is asked for. It must stay in memory as it is: volatile keeps it out of the code.
static const volatile uint32_t kConstant[4] = {0x464C4F47, 0x58495021, 0x50535241, 0x4D3F4543};

// Asks the MMU where `address` lives. The address as a number is what the report shows.
static flightlog_mapping mapping_of(const volatile void *address) {
  flightlog_mapping mapping = {};
  void *plain = const_cast<void *>(address);
  mapping.vaddr = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(plain));
  if (esp_ptr_internal(plain) || esp_ptr_in_iram(plain)) {
    mapping.home = FLIGHTLOG_HOME_INTERNAL;
    mapping.paddr = mapping.vaddr;
    return mapping;
  }
  esp_paddr_t physical = 0;
  mmu_target_t target = MMU_TARGET_FLASH0;
  if (esp_mmu_vaddr_to_paddr(plain, &physical, &target) == ESP_OK) {
    mapping.home = target == MMU_TARGET_PSRAM0 ? FLIGHTLOG_HOME_PSRAM : FLIGHTLOG_HOME_FLASH;
    mapping.paddr = static_cast<uint32_t>(physical);
  }
  return mapping;
}

// A Kconfig symbol: `value` is what the preprocessor made of the name, which stays the name where it is not defined.
static flightlog_symbol symbol(const char *name, const char *value) {
  const bool set = strcmp(name, value) != 0;
  return {text_of(name), set, set ? strtol(value, nullptr, 0) : 0};
}
#define AS_TEXT(value) #value
#define SYMBOL(name) symbol(#name, AS_TEXT(name))

#define VERSION_TEXT(major, minor, patch) AS_TEXT(major) "." AS_TEXT(minor) "." AS_TEXT(patch)
#define CORE_VERSION VERSION_TEXT(ESP_ARDUINO_VERSION_MAJOR, ESP_ARDUINO_VERSION_MINOR, ESP_ARDUINO_VERSION_PATCH)

bool report_board(Report &report) {
  const flightlog_symbol symbols[] = {
      SYMBOL(CONFIG_SPIRAM),
      SYMBOL(CONFIG_SPIRAM_MODE_OCT),
      SYMBOL(CONFIG_SPIRAM_SPEED),
      SYMBOL(CONFIG_SPIRAM_BOOT_INIT),
      SYMBOL(CONFIG_SPIRAM_XIP_FROM_PSRAM),
      SYMBOL(CONFIG_SPIRAM_FETCH_INSTRUCTIONS),
      SYMBOL(CONFIG_SPIRAM_RODATA),
      SYMBOL(CONFIG_SPIRAM_ECC_ENABLE),
      SYMBOL(CONFIG_SPI_FLASH_AUTO_SUSPEND),
      SYMBOL(CONFIG_SPI_FLASH_YIELD_DURING_ERASE),
      SYMBOL(CONFIG_SPI_FLASH_WRITE_CHUNK_SIZE),
      SYMBOL(CONFIG_ESP32S3_DATA_CACHE_SIZE),
      SYMBOL(CONFIG_ESP32S3_DATA_CACHE_LINE_SIZE),
      SYMBOL(CONFIG_ESP32S3_INSTRUCTION_CACHE_SIZE),
      SYMBOL(CONFIG_FREERTOS_HZ),
  };
  static_assert(sizeof symbols / sizeof symbols[0] <= FLIGHTLOG_MAX_SYMBOLS, "more than a report takes");

  esp_chip_info_t chip = {};
  esp_chip_info(&chip);
  uint32_t flash_bytes = 0;
  esp_flash_get_size(nullptr, &flash_bytes);
  flightlog_flash partition = {};
  flight_partition(&partition);
  const size_t psram = esp_psram_is_initialized() ? esp_psram_get_size() : 0;
#ifdef CONFIG_SPIRAM_ECC_ENABLE
  // ECC takes a sixteenth; a chip's own size is a power of two.
  const bool ecc = psram > 0 && (psram & (psram - 1)) != 0;
#else
  const bool ecc = false;
#endif

  flightlog_info info = {};
  info.chip = text_of(CONFIG_IDF_TARGET);
  info.revision = chip.revision;
  info.core = text_of(CORE_VERSION);
  info.idf = text_of(esp_get_idf_version());
  info.symbols = symbols;
  info.symbol_count = sizeof symbols / sizeof symbols[0];
  info.psram_bytes = static_cast<uint32_t>(psram);
  info.ecc = ecc;
  info.flash_bytes = flash_bytes;
  info.partition_bytes = partition.size;
  info.code = mapping_of(reinterpret_cast<const void *>(&report_board));
  info.constants = mapping_of(kConstant);
  if (!report.info(info)) {
    return false;
  }

  char line[200];
  const size_t chip_kb = (ecc ? psram / 15 * 16 : psram) / 1024;
  int len = snprintf(line, sizeof line, "PSRAM chip %u KB, %u KB %s ECC; heap in it %u KB, the rest holds the program\r\n",
                     static_cast<unsigned>(chip_kb), static_cast<unsigned>(psram / 1024), ecc ? "with" : "without",
                     static_cast<unsigned>(heap_caps_get_total_size(MALLOC_CAP_SPIRAM) / 1024));
  Report::print(line, static_cast<size_t>(len));
  if (partition.size == 0) {
    static const char missing[] =
        "no partition named \"flight\": put partitions.csv into the sketch's folder and upload again\r\n";
    Report::print(missing, sizeof missing - 1);
  }
  return true;
}
