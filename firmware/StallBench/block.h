// Memory of a chosen kind, and the library's handles in it.
#pragma once

#include <esp_heap_caps.h>
#include <flightlog.h>

#include <cstddef>
#include <cstdint>

// Kinds of memory, as heap_caps_malloc takes them.
constexpr uint32_t kInternal = MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT;
constexpr uint32_t kPsram = MALLOC_CAP_SPIRAM | MALLOC_CAP_8BIT;

// A block that goes back with the value's end. It begins at a cache line.
class Block {
 public:
  Block(size_t bytes, uint32_t kind) : data_(heap_caps_aligned_alloc(64, bytes, kind)), size_(data_ ? bytes : 0) {}
  ~Block() { heap_caps_free(data_); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  bool valid() const { return data_ != nullptr; }
  void *memory() { return data_; }
  uint8_t *bytes() { return static_cast<uint8_t *>(data_); }
  uint32_t *words() { return static_cast<uint32_t *>(data_); }
  size_t size() const { return size_; }

 private:
  void *data_;
  size_t size_;
};

// Memory for one handle of the library, in internal RAM: it is used while the flash is busy.
template <typename T>
class Handle : public Block {
 public:
  explicit Handle(uint32_t kind) : Block(flightlog_handle_size(kind), kInternal) {}
};
