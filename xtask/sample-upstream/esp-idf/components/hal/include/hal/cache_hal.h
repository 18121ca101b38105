#pragma once

/* How deep each level of the cache is suspended. */
extern volatile unsigned cache_suspended[2];

static inline void cache_hal_suspend(int level)
{
    cache_suspended[level & 1]++;
}

static inline void cache_hal_resume(int level)
{
    cache_suspended[level & 1]--;
}
