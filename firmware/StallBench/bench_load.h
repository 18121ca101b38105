// Work that keeps a core busy, from code that is not in internal RAM, as an application's is.
#pragma once

#include <cstdint>

// Rounds of work in a millisecond when nothing holds this core up.
uint32_t load_calibrate();

// Does `us` microseconds' worth of work: the time that a stall takes comes on top, as it does for an application.
void load_spend(uint32_t us, uint32_t spins_per_ms);
