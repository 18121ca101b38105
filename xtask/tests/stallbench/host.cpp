// A host program behind the stand-in headers. Lines of standard input are typed at the sketch: each when nothing is running,
// but a line that begins with '!' at once (without it), and "~N" waits N ms. It ends when all is read and done.
//
// HOST_PARTITION=none leaves the partition out, HOST_FLASH_FAILS=<offset> lets the program there fail, HOST_PSRAM=none leaves
// PSRAM out, HOST_PSRAM_WRONG=1 lets one word of PSRAM read back wrong.
#include <Arduino.h>
#include <esp_async_memcpy.h>
#include <esp_chip_info.h>
#include <esp_flash.h>
#include <esp_heap_caps.h>
#include <esp_idf_version.h>
#include <esp_mmu_map.h>
#include <esp_partition.h>
#include <esp_psram.h>
#include <esp_random.h>
#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

static bool set_to(const char *name, const char *value) {
  const char *found = getenv(name);
  return found != nullptr && strcmp(found, value) == 0;
}

// --- Serial
HardwareSerial Serial;
static std::deque<char> typed;  // by the main thread alone
void HardwareSerial::begin(unsigned long) {}
int HardwareSerial::available() { return static_cast<int>(typed.size()); }
int HardwareSerial::read() {
  if (typed.empty()) {
    return -1;
  }
  const unsigned char byte = static_cast<unsigned char>(typed.front());
  typed.pop_front();
  return byte;
}
// As a real port does, it takes only so much at a time.
size_t HardwareSerial::write(const uint8_t *buffer, size_t size) {
  const size_t taken = size < 2000 ? size : 2000;
  fwrite(buffer, 1, taken, stdout);
  fflush(stdout);
  return taken;
}
void delay(uint32_t ms) { std::this_thread::sleep_for(milliseconds(ms)); }
void delayMicroseconds(uint32_t us) { std::this_thread::sleep_for(microseconds(us)); }

// --- tasks
struct tskTaskControlBlock {
  std::mutex mutex;
  std::condition_variable told;
  uint32_t count = 0;
};
struct TaskEnded {};
static std::atomic<int> alive{0};
static thread_local tskTaskControlBlock own;
static thread_local BaseType_t core = 1;

extern "C" BaseType_t xTaskCreatePinnedToCore(TaskFunction_t code, const char *const, const uint32_t, void *const context,
                                              UBaseType_t, TaskHandle_t *const, const BaseType_t on) {
  alive++;
  std::thread([=] {
    core = on;
    try {
      code(context);
      fputs("a task's function returned\n", stderr);
      abort();
    } catch (const TaskEnded &) {
    }
    alive--;
  }).detach();
  return pdPASS;
}
void vTaskDelete(TaskHandle_t) { throw TaskEnded(); }
extern "C" void vTaskDelay(const TickType_t ticks) { std::this_thread::sleep_for(milliseconds(ticks)); }
extern "C" void vTaskSuspendAll(void) {}
extern "C" BaseType_t xTaskResumeAll(void) { return pdTRUE; }
extern "C" BaseType_t xPortGetCoreID(void) { return core; }
extern "C" TaskHandle_t xTaskGetCurrentTaskHandle(void) { return &own; }
extern "C" BaseType_t xTaskNotifyGive(TaskHandle_t task) {
  // Held while it is told: the task, and with it the condition, may end right after.
  const std::lock_guard<std::mutex> lock(task->mutex);
  task->count++;
  task->told.notify_one();
  return pdPASS;
}
extern "C" uint32_t ulTaskNotifyTake(BaseType_t, TickType_t) {
  std::unique_lock<std::mutex> lock(own.mutex);
  own.told.wait(lock, [] { return own.count > 0; });
  const uint32_t count = own.count;
  own.count = 0;
  return count;
}

// --- time
static const Clock::time_point born = Clock::now();
extern "C" int64_t esp_timer_get_time(void) {
  return std::chrono::duration_cast<microseconds>(Clock::now() - born).count();
}
// One thread a timer: it waits until it is armed, then until its time.
struct esp_timer {
  esp_timer_create_args_t how;
  std::mutex mutex;
  std::condition_variable changed;
  bool armed = false, gone = false;
  Clock::time_point due;
  std::thread thread;
};
extern "C" esp_err_t esp_timer_create(const esp_timer_create_args_t *how, esp_timer_handle_t *out) {
  esp_timer *timer = new esp_timer;
  timer->how = *how;
  timer->thread = std::thread([timer] {
    std::unique_lock<std::mutex> lock(timer->mutex);
    while (!timer->gone) {
      if (!timer->armed) {
        timer->changed.wait(lock);
      } else if (timer->changed.wait_until(lock, timer->due) == std::cv_status::timeout && timer->armed) {
        timer->armed = false;
        timer->how.callback(timer->how.arg);
      }
    }
  });
  *out = timer;
  return ESP_OK;
}
extern "C" esp_err_t esp_timer_start_once(esp_timer_handle_t timer, uint64_t us) {
  const std::lock_guard<std::mutex> lock(timer->mutex);
  if (timer->armed) {
    return ESP_ERR_INVALID_STATE;
  }
  timer->armed = true;
  timer->due = Clock::now() + microseconds(us);
  timer->changed.notify_one();
  return ESP_OK;
}
extern "C" esp_err_t esp_timer_stop(esp_timer_handle_t timer) {
  const std::lock_guard<std::mutex> lock(timer->mutex);
  const bool was = timer->armed;
  timer->armed = false;
  return was ? ESP_OK : ESP_ERR_INVALID_STATE;
}
extern "C" esp_err_t esp_timer_delete(esp_timer_handle_t timer) {
  {
    const std::lock_guard<std::mutex> lock(timer->mutex);
    timer->gone = true;
    timer->changed.notify_one();
  }
  timer->thread.join();
  delete timer;
  return ESP_OK;
}

// --- memory
static bool has_psram() { return !set_to("HOST_PSRAM", "none"); }
static std::atomic<uintptr_t> wrong_word{0};
extern "C" void *heap_caps_aligned_alloc(size_t alignment, size_t size, uint32_t caps) {
  if ((caps & MALLOC_CAP_SPIRAM) != 0 && !has_psram()) {
    return nullptr;
  }
  return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
extern "C" void heap_caps_free(void *ptr) { free(ptr); }
extern "C" size_t heap_caps_get_total_size(uint32_t) { return has_psram() ? 7 << 20 : 0; }
extern "C" size_t heap_caps_get_largest_free_block(uint32_t) { return has_psram() ? 6 << 20 : 0; }
extern "C" bool esp_psram_is_initialized(void) { return has_psram(); }
extern "C" size_t esp_psram_get_size(void) { return (8 << 20) / 16 * 15; }
extern "C" esp_err_t esp_mmu_vaddr_to_paddr(void *vaddr, esp_paddr_t *out, mmu_target_t *target) {
  *out = static_cast<esp_paddr_t>(reinterpret_cast<uintptr_t>(vaddr) & 0x7fffff);
  *target = MMU_TARGET_PSRAM0;
  return ESP_OK;
}

// --- flash
static const uint32_t kSize = 1 << 20;
static const esp_partition_t flight = {ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, 0x210000, kSize, 4096, "flight"};
// What an earlier program left there: not blank.
static std::vector<uint8_t> cells(kSize, 0x5A);
extern "C" const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t,
                                                           const char *label) {
  const bool there = type == flight.type && strcmp(label, flight.label) == 0 && !set_to("HOST_PARTITION", "none");
  return there ? &flight : nullptr;
}
static bool outside(size_t offset, size_t size) { return offset > kSize || size > kSize - offset; }
extern "C" esp_err_t esp_partition_read(const esp_partition_t *, size_t offset, void *dst, size_t size) {
  if (outside(offset, size)) {
    return ESP_ERR_INVALID_ARG;
  }
  memcpy(dst, &cells[offset], size);
  return ESP_OK;
}
extern "C" esp_err_t esp_partition_write(const esp_partition_t *, size_t offset, const void *src, size_t size) {
  const char *fails = getenv("HOST_FLASH_FAILS");
  if (outside(offset, size) || (fails != nullptr && offset >= strtoul(fails, nullptr, 0))) {
    return fails != nullptr ? ESP_FAIL : ESP_ERR_INVALID_ARG;
  }
  std::this_thread::sleep_for(milliseconds(1));
  const uint8_t *bytes = static_cast<const uint8_t *>(src);
  for (size_t index = 0; index < size; index++) {
    cells[offset + index] &= bytes[index];
    if (cells[offset + index] != bytes[index]) {
      fputs("wrote where the flash is not erased\n", stderr);
      abort();
    }
  }
  return ESP_OK;
}
extern "C" esp_err_t esp_partition_erase_range(const esp_partition_t *, size_t offset, size_t size) {
  if (outside(offset, size) || offset % 4096 != 0 || size % 4096 != 0) {
    return ESP_ERR_INVALID_ARG;
  }
  fprintf(stderr, "erased %zu\n", size / 4096);
  memset(&cells[offset], 0xFF, size);
  return ESP_OK;
}
extern "C" esp_err_t esp_flash_get_size(esp_flash_t *, uint32_t *out) {
  *out = 8 << 20;
  return ESP_OK;
}

// --- the rest
extern "C" const char *esp_err_to_name(esp_err_t code) { return code == ESP_ERR_INVALID_STATE ? "ESP_ERR_INVALID_STATE" : "ERROR"; }
extern "C" uint32_t esp_random(void) {
  static std::atomic<uint32_t> last{1};
  return last += 2654435761u;
}
extern "C" void esp_chip_info(esp_chip_info_t *info) { *info = {CHIP_ESP32S3, 0, 2, 2}; }
extern "C" const char *esp_get_idf_version(void) { return "v5.5.5-stand-in"; }
extern "C" esp_err_t esp_async_memcpy_install(const async_memcpy_config_t *, async_memcpy_handle_t *mcp) {
  *mcp = reinterpret_cast<async_memcpy_handle_t>(1);
  return ESP_OK;
}
extern "C" esp_err_t esp_async_memcpy_uninstall(async_memcpy_handle_t) { return ESP_OK; }
extern "C" esp_err_t esp_async_memcpy(async_memcpy_handle_t mcp, void *dst, void *src, size_t n,
                                      async_memcpy_isr_cb_t done, void *args) {
  memcpy(dst, src, n);
  async_memcpy_event_t event = {nullptr};
  done(mcp, &event, args);
  return ESP_OK;
}

int main() {
  setup();
  const auto idle = [] { return alive == 0; };
  const auto step = [] { loop(); };
  std::string line;
  while (std::getline(std::cin, line)) {
    if (!line.empty() && line[0] == '~') {
      const Clock::time_point until = Clock::now() + milliseconds(std::stol(line.substr(1)));
      while (Clock::now() < until) {
        step();
      }
      continue;
    }
    const bool at_once = !line.empty() && line[0] == '!';
    while (!at_once && !idle()) {
      step();
    }
    line = at_once ? line.substr(1) : line;
    typed.insert(typed.end(), line.begin(), line.end());
    typed.push_back('\n');
    while (!typed.empty()) {
      step();
    }
  }
  while (!idle()) {
    step();
  }
  return 0;
}
