// Stand-in for the Arduino core: what StallBench uses of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define ESP_ARDUINO_VERSION_MAJOR 3
#define ESP_ARDUINO_VERSION_MINOR 3
#define ESP_ARDUINO_VERSION_PATCH 12

void delay(uint32_t ms);
void delayMicroseconds(uint32_t us);

class HardwareSerial {
 public:
  void begin(unsigned long baud);
  int available();
  int read();
  size_t write(const uint8_t *buffer, size_t size);
};
extern HardwareSerial Serial;

void setup();
void loop();
