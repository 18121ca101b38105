#include "bench_load.h"

#include <esp_timer.h>

// volatile: each round is done, whatever the compiler thinks of it.
static volatile uint32_t sink = 1;

static void spin(uint64_t rounds) {
  for (; rounds > 0; rounds--) {
    sink = sink * 1664525u + 1013904223u;
  }
}

uint32_t load_calibrate() {
  constexpr uint32_t kRounds = 20000;
  uint64_t best = UINT64_MAX;
  // The fastest of a few: an interrupt can only slow one down.
  for (int tries = 0; tries < 5; tries++) {
    const int64_t begin = esp_timer_get_time();
    spin(kRounds);
    const uint64_t took = static_cast<uint64_t>(esp_timer_get_time() - begin);
    best = took < best ? took : best;
  }
  return static_cast<uint32_t>(uint64_t{kRounds} * 1000 / (best > 0 ? best : 1));
}

void load_spend(uint32_t us, uint32_t spins_per_ms) { spin(uint64_t{us} * spins_per_ms / 1000); }
