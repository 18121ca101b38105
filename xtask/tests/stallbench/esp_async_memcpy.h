#pragma once
#include <cstddef>
#include "esp_err.h"
typedef struct async_memcpy_context_t *async_memcpy_handle_t;
typedef struct {
  void *data;
} async_memcpy_event_t;
typedef bool (*async_memcpy_isr_cb_t)(async_memcpy_handle_t mcp_hdl, async_memcpy_event_t *event, void *cb_args);
typedef struct {
  uint32_t backlog;
  size_t sram_trans_align __attribute__((deprecated));
  union {
    size_t psram_trans_align __attribute__((deprecated));
    size_t dma_burst_size;
  };
  uint32_t flags;
} async_memcpy_config_t;
extern "C" esp_err_t esp_async_memcpy_install(const async_memcpy_config_t *config, async_memcpy_handle_t *mcp);
extern "C" esp_err_t esp_async_memcpy_uninstall(async_memcpy_handle_t mcp);
extern "C" esp_err_t esp_async_memcpy(async_memcpy_handle_t mcp, void *dst, void *src, size_t n, async_memcpy_isr_cb_t cb_isr, void *cb_args);
