// The flight partition, as the library sees it.
#pragma once

#include <flightlog.h>

// The callbacks of the partition named "flight"; false where the partition table has none.
bool flight_partition(flightlog_flash *flash);
