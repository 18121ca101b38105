#pragma once

/* Number of the core that this runs on. */
static inline int xt_utils_get_core_id(void)
{
    return 0;
}
