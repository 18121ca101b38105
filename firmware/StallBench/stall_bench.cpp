#include "stall_bench.h"

#include <Arduino.h>
#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>

#include <atomic>
#include <cstring>

#include "flight_flash.h"
#include "jobs.h"
#include "bench_load.h"
#include "block.h"

constexpr BaseType_t kLoopCore = 1;
// Above everything of the sketch, below ESP-IDF's timer task (22), which wakes it.
constexpr UBaseType_t kLoopPriority = 20;
// The job comes before the loop.
constexpr UBaseType_t kJobPriority = 21;
constexpr uint32_t kStackBytes = 6 * 1024;

static uint64_t now_us() { return static_cast<uint64_t>(esp_timer_get_time()); }

namespace {

// Sleeps to the microsecond: the tick alone would be too coarse for a loop of 2 ms.
class Alarm {
 public:
  Alarm() : task_(xTaskGetCurrentTaskHandle()) {
    esp_timer_create_args_t how = {};
    how.callback = [](void *task) { xTaskNotifyGive(static_cast<TaskHandle_t>(task)); };
    how.arg = task_;
    how.name = "stallbench";
    valid_ = esp_timer_create(&how, &timer_) == ESP_OK;
  }
  ~Alarm() {
    if (valid_) {
      esp_timer_stop(timer_);
      esp_timer_delete(timer_);
    }
  }
  Alarm(const Alarm &) = delete;
  Alarm &operator=(const Alarm &) = delete;

  void sleep_until(uint64_t due_us) {
    const uint64_t now = now_us();
    if (due_us <= now) {
      return;
    }
    // Shorter times than this a one-shot timer does not keep.
    if (valid_ && due_us - now > 100 && esp_timer_start_once(timer_, due_us - now) == ESP_OK) {
      ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    } else if (due_us - now > 2 * 1000 * portTICK_PERIOD_MS) {
      vTaskDelay(static_cast<TickType_t>((due_us - now) / (1000 * portTICK_PERIOD_MS)));
    } else {
      delayMicroseconds(static_cast<uint32_t>(due_us - now));
    }
  }

 private:
  TaskHandle_t task_;
  esp_timer_handle_t timer_ = nullptr;
  bool valid_ = false;
};

// One phase, as the tasks on the loop's core see it.
struct Phase {
  flightlog_loop *loop_task;
  flightlog_bench_settings settings;
  uint32_t spins_per_ms;
  std::atomic<bool> over{false};
  // How many of the two tasks have not ended.
  std::atomic<int> alive{2};
  std::atomic<int32_t> failed{FLIGHTLOG_STATUS_OK};
};

// The loop of the flight computer. The samples come from a modelled FIFO, which fills by the clock whatever this core does.
void loop_task(void *context) {
  Phase &phase = *static_cast<Phase *>(context);
  {
    Alarm alarm;
    int32_t status = FLIGHTLOG_STATUS_OK;
    while (!phase.over && status == FLIGHTLOG_STATUS_OK) {
      uint64_t due = 0;
      flightlog_pass pass = {};
      status = flightlog_loop_due(phase.loop_task, &due);
      if (status != FLIGHTLOG_STATUS_OK) {
        break;
      }
      alarm.sleep_until(due);
      status = flightlog_loop_pass(phase.loop_task, now_us(), &pass);
      // The burst over the bus is not torn by another task.
      vTaskSuspendAll();
      load_spend(pass.burst_us, phase.spins_per_ms);
      xTaskResumeAll();
      load_spend(pass.work_us, phase.spins_per_ms);
    }
    if (status == FLIGHTLOG_STATUS_OK) {
      status = flightlog_loop_finish(phase.loop_task, now_us());
    }
    phase.failed = status;
  }
  phase.alive--;
  vTaskDelete(nullptr);
}

// Another task's job on the loop's core.
void job_task(void *context) {
  Phase &phase = *static_cast<Phase *>(context);
  const uint64_t period = phase.settings.job_period_us;
  {
    Alarm alarm;
    uint64_t due = now_us() + period;
    while (!phase.over) {
      if (period > 0 && now_us() >= due) {
        load_spend(phase.settings.job_us, phase.spins_per_ms);
        due += period;
      }
      // Not all the way, so that the phase's end is seen soon.
      const uint64_t soon = now_us() + 20000;
      alarm.sleep_until(period > 0 && due < soon ? due : soon);
    }
  }
  phase.alive--;
  vTaskDelete(nullptr);
}

// The settings, one plan, and the memory that a stage needs.
class Bench {
 public:
  Bench(Report &report, const flightlog_command &command)
      : report_(report),
        command_(command),
        plan_memory_(FLIGHTLOG_HANDLE_PLAN),
        loop_memory_(FLIGHTLOG_HANDLE_LOOP),
        writer_memory_(FLIGHTLOG_HANDLE_WRITER),
        internal_(FLIGHTLOG_BUFFER_BYTES, kInternal),
        psram_(FLIGHTLOG_BUFFER_BYTES, kPsram) {}

  uint32_t run() {
    if (!flight_partition(&flash_)) {
      return failed("there is no partition named \"flight\": put partitions.csv into the sketch's folder");
    }
    if (!plan_memory_.valid() || !loop_memory_.valid() || !writer_memory_.valid() || !internal_.valid()) {
      return failed("no internal RAM is left for the bench");
    }
    if (!psram_.valid() && command_.kind == FLIGHTLOG_COMMAND_KIND_RUN && command_.place != FLIGHTLOG_PLACE_INTERNAL) {
      return failed("there is no PSRAM for the buffer (Tools > PSRAM); \"run internal\" needs none");
    }
    flightlog_bench_defaults(&settings_);
#ifdef STALLBENCH_PHASE_BYTES
    settings_.phase_bytes = STALLBENCH_PHASE_BYTES;
#endif
    if (command_.imu_hz > 0) {
      settings_.imu_hz = command_.imu_hz;
    }
    int32_t status = flightlog_plan_init(plan_memory_.memory(), plan_memory_.size(), &flash_, internal_.bytes(),
                                         internal_.size(), &command_, &settings_, &plan_);
    if (status != FLIGHTLOG_STATUS_OK) {
      return failed("planning", status);
    }
    // Said before anything is erased.
    if (!report_.plan(plan_)) {
      return FLIGHTLOG_REPORT_OUTCOME_FAILED;
    }
    flightlog_stage stage = {};
    for (uint32_t index = 0; flightlog_plan_stage(plan_, index, &stage) == FLIGHTLOG_STATUS_OK; index++) {
      if (jobs_stopping()) {
        return FLIGHTLOG_REPORT_OUTCOME_STOPPED;
      }
      const uint32_t outcome = run_stage(index, stage);
      if (outcome != FLIGHTLOG_REPORT_OUTCOME_COMPLETE) {
        return outcome;
      }
    }
    return FLIGHTLOG_REPORT_OUTCOME_COMPLETE;
  }

 private:
  uint32_t failed(const char *what) {
    report_.fault(what);
    return FLIGHTLOG_REPORT_OUTCOME_FAILED;
  }

  uint32_t failed(const char *what, int32_t status) {
    report_.fault(what, status);
    return FLIGHTLOG_REPORT_OUTCOME_FAILED;
  }

  uint32_t run_stage(uint32_t index, const flightlog_stage &stage) {
    Block &buffer = stage.place == FLIGHTLOG_PLACE_PSRAM ? psram_ : internal_;
    flightlog_writer *writer = nullptr;
    int32_t status = flightlog_writer_init(writer_memory_.memory(), writer_memory_.size(), plan_, index, &flash_,
                                           buffer.bytes(), buffer.size(), &writer);
    if (status != FLIGHTLOG_STATUS_OK) {
      return failed("preparing to write", status);
    }
    if (stage.kind == FLIGHTLOG_STAGE_KIND_PREPARE) {
      flightlog_writer_start(writer, now_us());
      status = write_all(writer);
      return status == FLIGHTLOG_STATUS_OK ? FLIGHTLOG_REPORT_OUTCOME_COMPLETE : failed("erasing", status);
    }
    return run_phase(writer);
  }

  // Both tasks at once; gives the outcome and reports the phase.
  uint32_t run_phase(flightlog_writer *writer) {
    Phase phase;
    phase.settings = settings_;
    phase.spins_per_ms = load_calibrate();
    const uint64_t start = now_us();
    int32_t status = flightlog_loop_init(loop_memory_.memory(), loop_memory_.size(), plan_, start, &phase.loop_task);
    if (status != FLIGHTLOG_STATUS_OK) {
      return failed("preparing the loop", status);
    }
    if (xTaskCreatePinnedToCore(loop_task, "loop", kStackBytes, &phase, kLoopPriority, nullptr, kLoopCore) != pdPASS) {
      return failed("no memory for the loop's task");
    }
    if (xTaskCreatePinnedToCore(job_task, "job", kStackBytes, &phase, kJobPriority, nullptr, kLoopCore) != pdPASS) {
      phase.alive--;
      end(phase);
      return failed("no memory for the other task");
    }
    flightlog_writer_start(writer, start);
    status = write_all(writer);
    end(phase);
    if (status == FLIGHTLOG_STATUS_OK && phase.failed != FLIGHTLOG_STATUS_OK) {
      return failed("the loop", phase.failed);
    }
    // Also after a failing flash: what was seen until then counts.
    if (!report_.phase(writer, phase.loop_task)) {
      return FLIGHTLOG_REPORT_OUTCOME_FAILED;
    }
    return status == FLIGHTLOG_STATUS_OK ? FLIGHTLOG_REPORT_OUTCOME_COMPLETE : failed("flash", status);
  }

  // Lets the tasks of the phase end: they use what lies on this stack.
  static void end(Phase &phase) {
    phase.over = true;
    while (phase.alive > 0) {
      vTaskDelay(1);
    }
  }

  // What the writer's task does, on this core.
  int32_t write_all(flightlog_writer *writer) {
    Alarm alarm;
    uint64_t yielded = now_us();
    for (;;) {
      // Flat out this task never sleeps, and the watchdog of the idle task bites after five seconds.
      if (now_us() - yielded > 1000000) {
        vTaskDelay(1);
        yielded = now_us();
      }
      if (jobs_stopping()) {
        flightlog_writer_stop(writer);
      }
      flightlog_step step = {};
      int32_t status = flightlog_writer_next(writer, now_us(), &step);
      if (status != FLIGHTLOG_STATUS_OK || step.kind == FLIGHTLOG_STEP_KIND_DONE) {
        return status;
      }
      if (step.kind == FLIGHTLOG_STEP_KIND_WAIT) {
        alarm.sleep_until(step.until_us);
        continue;
      }
      status = step.kind == FLIGHTLOG_STEP_KIND_WRITE ? flightlog_writer_write(writer, esp_timer_get_time)
                                                      : flightlog_writer_erase(writer, esp_timer_get_time);
      if (status != FLIGHTLOG_STATUS_OK) {
        return status;
      }
    }
  }

  Report &report_;
  const flightlog_command command_;
  Handle<flightlog_plan> plan_memory_;
  Handle<flightlog_loop> loop_memory_;
  Handle<flightlog_writer> writer_memory_;
  Block internal_;
  Block psram_;
  flightlog_flash flash_ = {};
  flightlog_bench_settings settings_ = {};
  flightlog_plan *plan_ = nullptr;
};

}  // namespace

uint32_t run_bench(Report &report, const flightlog_command &command) { return Bench(report, command).run(); }
