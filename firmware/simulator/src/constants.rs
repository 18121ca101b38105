//! Every number of the model, with its source; those of the loop itself stand in [`flightlog::bench::Settings`].

/// The chip and its flash. All times in nanoseconds.
///
/// The fits are one set for all phases, both places of the buffer and both libraries: five here and three in
/// [`flightlog::bench::Load`], against the 24 cells of the article's table and its four speeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Most bytes in one program command: the SPI controller has 64 bytes of buffer (`SPI_FLASH_HAL_MAX_WRITE_BYTES`,
    /// memspi_host_driver.c of ESP-IDF 5.5).
    pub command_bytes: usize,
    /// Most bytes in one call of the driver below `esp_flash_write` where the source is internal RAM: Arduino's
    /// `CONFIG_SPI_FLASH_WRITE_CHUNK_SIZE`.
    pub chunk_bytes: usize,
    /// The same where the source is PSRAM: the driver copies through `uint32_t temp_buf[8]` (esp_flash_write of ESP-IDF
    /// 5.5), and stops and starts the caches for each.
    pub bounce_bytes: usize,
    /// A program command without its bytes: write enable, address, waiting until the chip is ready. A fit, with the next
    /// two, to 335 and 209 kB/s of the rebuilt libraries; data sheets of such chips say 30 us for the first byte.
    pub program_ns: u64,
    /// Each byte of a program command. A fit; data sheets say 2.5 us as typical.
    pub program_byte_ns: u64,
    /// What one byte of a command occupies the bus that flash and PSRAM share: one bit at 80 MHz.
    pub bus_byte_ns: u64,
    /// Bytes of a program command before its data: the command and an address of 24 bits.
    pub command_overhead_bytes: u64,
    /// The driver around each piece that it takes from the caller's buffer: locks, the copy out of PSRAM, checks. The caches
    /// are on meanwhile. A fit, also to the loop's rate on the stock libraries while the flash is always busy.
    pub round_ns: u64,
    /// Stock only: to stop the other core and both caches, and to start them again. A fit, to 160 kB/s.
    pub stop_ns: u64,
    /// The writer gathers 4 KB of records, some hundred samples. A fit, to 306 kB/s: the stock libraries lose time to the
    /// FIFO's bursts in this window alone.
    pub gather_ns: u64,
    /// The shortest erase of a 64 KB block. The article: 100 to 200 ms.
    pub erase_min_ns: u64,
    /// The longest. The article: a worst gap of 202 ms, which holds a pass beside the erase.
    pub erase_max_ns: u64,
    /// A tick of FreeRTOS: Arduino's `CONFIG_FREERTOS_HZ` is 1000. Tasks wake at ticks.
    pub tick_ns: u64,
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            command_bytes: 64,
            chunk_bytes: 4_096,
            bounce_bytes: 32,
            program_ns: 25_900,
            program_byte_ns: 2_265,
            bus_byte_ns: 100,
            command_overhead_bytes: 4,
            round_ns: 45_000,
            stop_ns: 24_000,
            gather_ns: 1_250_000,
            erase_min_ns: 100_000_000,
            erase_max_ns: 198_000_000,
            tick_ns: 1_000_000,
        }
    }
}

impl Constants {
    /// A program command of `bytes`.
    pub fn program_command_ns(&self, bytes: usize) -> u64 {
        self.program_ns + self.program_byte_ns * bytes as u64
    }

    /// The share of a program command in which the bus is taken, in thousandths.
    pub fn bus_share(&self, bytes: usize) -> u64 {
        let busy = (bytes as u64 + self.command_overhead_bytes) * self.bus_byte_ns;
        busy * 1_000 / self.program_command_ns(bytes)
    }

    /// The time that erase number `number` takes: spread evenly over the range, the same in every run.
    pub fn erase_ns(&self, number: u64) -> u64 {
        self.erase_min_ns + spread(number, self.erase_max_ns - self.erase_min_ns)
    }

    /// The first tick at or after `ns`.
    pub fn tick_from(&self, ns: u64) -> u64 {
        ns.next_multiple_of(self.tick_ns)
    }
}

/// The `number`th of points that fill 0 to `range` evenly, in an order that shows no pattern and is always the same.
pub(crate) fn spread(number: u64, range: u64) -> u64 {
    // The golden ratio's multiples modulo 1, in 32 bits of fraction.
    let fraction = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((u128::from(range) * u128::from(fraction)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erases_fill_their_range_evenly() {
        let constants = Constants::default();
        let times: Vec<u64> = (0..1_000)
            .map(|number| constants.erase_ns(number))
            .collect();
        let (min, max) = (constants.erase_min_ns, constants.erase_max_ns);
        assert!(times.iter().all(|time| (min..=max).contains(time)));
        let mean = times.iter().sum::<u64>() / 1_000;
        assert!(mean.abs_diff((min + max) / 2) < 1_000_000, "{mean}");
    }

    #[test]
    fn a_tick_is_waited_for() {
        let constants = Constants::default();
        assert_eq!(constants.tick_from(3_000_000), 3_000_000);
        assert_eq!(constants.tick_from(3_000_001), 4_000_000);
    }
}
