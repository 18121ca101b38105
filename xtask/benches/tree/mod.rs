//! What the benches share: a tree of upstream's shape, and the CPU time.

pub(crate) mod content;
pub(crate) mod shape;

use fs_err as fs;

/// CPU time of this process and of the programs that it ran, from Linux's `/proc` (in hundredths of a second).
pub(crate) fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may hold anything; utime, stime, cutime and cstime are fields 14 to 17.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    let ticks: Option<Vec<f64>> = fields.map(|field| field.parse().ok()).collect();
    Some(ticks?.iter().sum::<f64>() / 100.0)
}
