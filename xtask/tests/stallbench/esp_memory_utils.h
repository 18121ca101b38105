#pragma once
// Inline there; the host's memory is none of the chip's.
inline static bool esp_ptr_internal(const void *p) { return p == nullptr; }
inline static bool esp_ptr_in_iram(const void *p) { return p == nullptr; }
