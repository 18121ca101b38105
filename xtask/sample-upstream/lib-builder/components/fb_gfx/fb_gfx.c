#include "fb_gfx.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void fb_gfx_fill_rect(fb_data_t *fb, size_t x, size_t y, size_t width, size_t height, uint16_t color)
{
    size_t right = smaller(x + width, fb->width), bottom = smaller(y + height, fb->height);
    for (size_t row = y; row < bottom; row++) {
        for (size_t column = x; column < right; column++) {
            fb->data[row * fb->width + column] = color;
        }
    }
}
