#pragma once
#include <stddef.h>
#include <stdint.h>

/* A frame buffer of 16-bit pixels. */
typedef struct {
    size_t width;
    size_t height;
    uint16_t *data;
} fb_data_t;

void fb_gfx_fill_rect(fb_data_t *fb, size_t x, size_t y, size_t width, size_t height, uint16_t color);
