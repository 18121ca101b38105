//! `cargo xtask plan`.

use std::fmt::Write;
use std::str::FromStr;

use anyhow::Result;
use comfy_table::{CellAlignment, Table};
use flightlog::planner::{self, Data, Impossible};
use flightlog::sample::FIFO_WORDS_PER_SAMPLE;
use serde::Serialize;

use crate::exit::Refusal;
use crate::ui;

/// Version of what `--json` prints; keys are only ever added under the same one.
const SCHEMA: u32 = 1;

/// Plan a flight logger: data rates, highest sample rates, recording time
///
/// Without options it gives the tables of the flight computer that the project grew from. Each number can be replaced by your
/// own. kB are 1000 bytes, MiB 1024 x 1024.
///
/// The size of a sample in the delta code depends on how much it moves: 6 bytes at rest, more in boost. The default is an
/// estimate for boost, not a measurement. The flash speeds that stand there are measured on one board, rounded to whole kB/s;
/// speeds of your own come from the bench in firmware/.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask plan
  cargo xtask plan --rate 4 --flash-speed 'my board=280' --fifo-depth 512
  cargo xtask plan --sample-bytes 12 --delta-bytes 8 --other 5 --buffer 3.5MiB --json

Formulas:
  data rate = sample rate x bytes a sample + other data
  highest sample rate = (flash speed - other data) / bytes a sample
  share = data rate / flash speed
  recording time = flight buffer / data rate
  a FIFO bridges = whole samples that it holds / sample rate, three words a sample")]
pub struct Plan {
    /// Sample rates of the inertial sensor in kHz; what concerns one rate alone takes the last
    #[arg(long, value_name = "KHZ", value_delimiter = ',', default_values_t = [2.0, 4.0, 8.0], allow_negative_numbers = true)]
    rate: Vec<f64>,

    /// Bytes of one sample as stored
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 15.0,
        allow_negative_numbers = true
    )]
    sample_bytes: f64,

    /// Bytes of one sample in the delta code, on average
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 11.0,
        allow_negative_numbers = true
    )]
    delta_bytes: f64,

    /// Other data in kB/s, at any sample rate
    #[arg(
        long,
        value_name = "KB/S",
        default_value_t = 20.0,
        allow_negative_numbers = true
    )]
    other: f64,

    /// What the flash takes flat out, in kB/s, with a name for its row if you like; once for each setup
    #[arg(long, value_name = "[NAME=]KB/S", default_values = DEFAULT_SETUPS)]
    flash_speed: Vec<Setup>,

    /// Size of the flight buffer, with its unit (B, kB, KiB, MB, MiB)
    #[arg(long, value_name = "SIZE", default_value = "7.8MiB")]
    buffer: Size,

    /// Depth of the sensor's FIFO in words; adds how long it bridges
    #[arg(long, value_name = "WORDS")]
    fifo_depth: Option<u32>,

    /// A recording time in seconds; adds the bytes a sample that it means
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    time: Option<f64>,

    /// Print one JSON object, nothing rounded, instead of tables
    #[arg(long)]
    json: bool,
}

const DEFAULT_SETUPS: [&str; 4] = [
    "stock core buffer in PSRAM=160",
    "stock core buffer in internal RAM=306",
    "rebuilt libraries buffer in PSRAM=209",
    "rebuilt libraries buffer in internal RAM=335",
];

/// A named flash speed.
#[derive(Clone, Debug)]
struct Setup {
    name: String,
    kb_s: f64,
}

impl FromStr for Setup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = match text.rsplit_once('=') {
            Some((name, number)) => (name.trim(), number),
            None => ("your flash", text),
        };
        let kb_s = number
            .trim()
            .parse()
            .map_err(|_| format!("`{number}` is not a number of kB/s; write 335 or NAME=335"))?;
        Ok(Self {
            name: name.to_owned(),
            kb_s,
        })
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug)]
struct Size(f64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let split = text
            .find(|c: char| c.is_ascii_alphabetic())
            .ok_or_else(|| format!("`{text}` has no unit; write {text}MiB, or B, kB, KiB, MB"))?;
        let (number, unit) = text.split_at(split);
        let bytes = match unit.to_ascii_lowercase().as_str() {
            "b" => 1.0,
            "kb" => 1e3,
            "kib" => 1024.0,
            "mb" => 1e6,
            "mib" => 1024.0 * 1024.0,
            _ => {
                return Err(format!(
                    "there is no unit `{unit}`; take B, kB, KiB, MB or MiB"
                ));
            }
        };
        let number: f64 = number
            .trim()
            .parse()
            .map_err(|_| format!("`{}` is not a number", number.trim()))?;
        Ok(Self(number * bytes))
    }
}

/// What the command gives; the keys of the first two tables are the columns of the project's published figures.
#[derive(Debug, Serialize)]
struct Answer {
    schema: u32,
    sample_bytes: f64,
    delta_bytes: f64,
    data_rates: Vec<DataRate>,
    max_rates: Vec<MaxRate>,
    buffer_bytes: f64,
    recording: Vec<Recording>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<TimeMeans>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fifo: Option<Fifo>,
}

#[derive(Debug, Serialize)]
struct DataRate {
    imu_rate_khz: f64,
    imu_kb_s: f64,
    other_kb_s: f64,
    total_kb_s: f64,
    total_with_delta_kb_s: f64,
}

#[derive(Debug, Serialize)]
struct MaxRate {
    setup: String,
    flash_flat_out_kb_s: f64,
    max_khz_raw: f64,
    max_khz_delta: f64,
    at_khz: f64,
    at_rate_raw_kb_s: f64,
    at_rate_delta_kb_s: f64,
    share_raw_percent: f64,
    share_delta_percent: f64,
}

#[derive(Debug, Serialize)]
struct Recording {
    imu_rate_khz: f64,
    raw_s: f64,
    delta_s: f64,
}

#[derive(Debug, Serialize)]
struct TimeMeans {
    seconds: f64,
    imu_rate_khz: f64,
    sample_bytes: f64,
}

#[derive(Debug, Serialize)]
struct Fifo {
    depth_words: u32,
    samples: u32,
    bridges: Vec<Bridge>,
}

#[derive(Debug, Serialize)]
struct Bridge {
    imu_rate_khz: f64,
    ms: f64,
}

impl Plan {
    /// Carries the command out.
    ///
    /// # Errors
    /// A number cannot be planned with (exit code 2).
    pub fn run(self) -> Result<()> {
        let answer = self.answer()?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&answer)?)
        } else {
            ui::println(&answer.text())
        }
    }

    fn answer(&self) -> Result<Answer> {
        let other = self.other * 1e3;
        Data::new(1.0, other).map_err(in_flag("--other"))?;
        let raw = Data::new(self.sample_bytes, other).map_err(in_flag("--sample-bytes"))?;
        let delta = Data::new(self.delta_bytes, other).map_err(in_flag("--delta-bytes"))?;
        let buffer = self.buffer.0;
        let rates = || self.rate.iter().copied();
        // clap gives one value at least.
        let at_khz = rates().next_back().unwrap_or_default();

        let data_rates = rates().map(|khz| {
            let hz = khz * 1e3;
            Ok(DataRate {
                imu_rate_khz: khz,
                imu_kb_s: raw.samples_rate(hz)? / 1e3,
                other_kb_s: self.other,
                total_kb_s: raw.rate(hz)? / 1e3,
                total_with_delta_kb_s: delta.rate(hz)? / 1e3,
            })
        });
        let data_rates = data_rates
            .collect::<Result<_, _>>()
            .map_err(in_flag("--rate"))?;
        let max_rates = self
            .flash_speed
            .iter()
            .map(|setup| self.max_rate(setup, at_khz, &raw, &delta))
            .collect::<Result<_>>()?;
        let recording = rates().map(|khz| {
            Ok(Recording {
                imu_rate_khz: khz,
                raw_s: raw.recording_s(khz * 1e3, buffer)?,
                delta_s: delta.recording_s(khz * 1e3, buffer)?,
            })
        });
        Ok(Answer {
            schema: SCHEMA,
            sample_bytes: self.sample_bytes,
            delta_bytes: self.delta_bytes,
            data_rates,
            max_rates,
            buffer_bytes: buffer,
            recording: recording
                .collect::<Result<_, _>>()
                .map_err(in_flag("--buffer"))?,
            time: self
                .time
                .map(|seconds| self.time_means(seconds, at_khz))
                .transpose()?,
            fifo: self.fifo_depth.map(|depth| self.fifo(depth)).transpose()?,
        })
    }

    fn max_rate(&self, setup: &Setup, at_khz: f64, raw: &Data, delta: &Data) -> Result<MaxRate> {
        let Setup { name, kb_s } = setup;
        let (speed, hz) = (kb_s * 1e3, at_khz * 1e3);
        let highest = |data: &Data| -> Result<f64> {
            let highest = data
                .highest_rate_hz(speed)
                .map_err(in_flag("--flash-speed"))?;
            let too_slow = || {
                Refusal::Usage(format!(
                    "--flash-speed: {name} takes {} kB/s, and other data (--other) alone is {} kB/s: \
                     there is nothing left for samples",
                    number(*kb_s),
                    number(self.other)
                ))
            };
            Ok(highest.ok_or_else(too_slow)? / 1e3)
        };
        let share = |data: &Data| data.share(hz, speed).map_err(in_flag("--flash-speed"));
        Ok(MaxRate {
            setup: name.clone(),
            flash_flat_out_kb_s: *kb_s,
            max_khz_raw: highest(raw)?,
            max_khz_delta: highest(delta)?,
            at_khz,
            at_rate_raw_kb_s: raw.rate(hz).map_err(in_flag("--rate"))? / 1e3,
            at_rate_delta_kb_s: delta.rate(hz).map_err(in_flag("--rate"))? / 1e3,
            share_raw_percent: share(raw)? * 1e2,
            share_delta_percent: share(delta)? * 1e2,
        })
    }

    fn time_means(&self, seconds: f64, at_khz: f64) -> Result<TimeMeans> {
        let sample_bytes =
            planner::sample_bytes_for(seconds, at_khz * 1e3, self.other * 1e3, self.buffer.0)
                .map_err(in_flag("--time"))?;
        if sample_bytes <= 0.0 {
            let most = self.buffer.0 / (self.other * 1e3);
            return Err(Refusal::Usage(format!(
                "--time: other data (--other) alone fills the flight buffer in {} s",
                number(most)
            ))
            .into());
        }
        Ok(TimeMeans {
            seconds,
            imu_rate_khz: at_khz,
            sample_bytes,
        })
    }

    fn fifo(&self, depth_words: u32) -> Result<Fifo> {
        let samples = planner::fifo_samples(depth_words);
        if samples == 0 {
            return Err(Refusal::Usage(format!(
                "--fifo-depth: {depth_words} words do not hold a sample; it takes {FIFO_WORDS_PER_SAMPLE}"
            ))
            .into());
        }
        let bridges = self.rate.iter().map(|&khz| {
            Ok(Bridge {
                imu_rate_khz: khz,
                ms: planner::fifo_bridges_s(depth_words, khz * 1e3)? * 1e3,
            })
        });
        Ok(Fifo {
            depth_words,
            samples,
            bridges: bridges
                .collect::<Result<_, _>>()
                .map_err(in_flag("--rate"))?,
        })
    }
}

/// Names the option that a number that cannot be came from.
fn in_flag(flag: &str) -> impl Fn(Impossible) -> Refusal {
    move |error| Refusal::Usage(format!("{flag}: {error}"))
}

impl Answer {
    fn text(&self) -> String {
        let mut text = format!(
            "Data rates in kB/s; a sample takes {} bytes, {} in the delta code\n\n{}\n",
            number(self.sample_bytes),
            number(self.delta_bytes),
            self.data_rate_table().trim_fmt()
        );
        let at = self.max_rates.first().map_or(0.0, |row| row.at_khz);
        let _ = write!(
            text,
            "\nHighest sample rates, and the share of the flash's speed at {} kHz\n\n{}\n",
            number(at),
            self.max_rate_table().trim_fmt()
        );
        for row in self
            .max_rates
            .iter()
            .filter(|row| row.share_raw_percent > 100.0)
        {
            let delta = if row.share_delta_percent > 100.0 {
                ", in the delta code neither"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "\n{} does not keep up with samples as stored{delta}.",
                row.setup
            );
        }
        let _ = write!(
            text,
            "\nRecording time in {:.1} MiB\n\n{}",
            self.buffer_bytes / 1024.0 / 1024.0,
            self.recording_table().trim_fmt()
        );
        if let Some(time) = &self.time {
            let _ = write!(
                text,
                "\n\n{} s at {} kHz mean {:.2} bytes a sample.",
                number(time.seconds),
                number(time.imu_rate_khz),
                time.sample_bytes
            );
        }
        if let Some(fifo) = &self.fifo {
            let mut table = right(ui::table(&["kHz", "bridges ms"]), 0);
            for bridge in &fifo.bridges {
                table.add_row([number(bridge.imu_rate_khz), format!("{:.1}", bridge.ms)]);
            }
            let _ = write!(
                text,
                "\n\nA FIFO of {} words holds {} samples\n\n{}",
                fifo.depth_words,
                fifo.samples,
                table.trim_fmt()
            );
        }
        text
    }

    fn data_rate_table(&self) -> Table {
        let mut table = right(
            ui::table(&["kHz", "samples", "other", "total", "with delta"]),
            0,
        );
        for row in &self.data_rates {
            table.add_row(
                [
                    row.imu_rate_khz,
                    row.imu_kb_s,
                    row.other_kb_s,
                    row.total_kb_s,
                    row.total_with_delta_kb_s,
                ]
                .map(number),
            );
        }
        table
    }

    fn max_rate_table(&self) -> Table {
        let header = [
            "setup",
            "flash kB/s",
            "max kHz",
            "delta",
            "kB/s",
            "delta",
            "share",
            "delta",
        ];
        let mut table = right(ui::table(&header), 1);
        for row in &self.max_rates {
            table.add_row([
                row.setup.clone(),
                number(row.flash_flat_out_kb_s),
                // Rounded down: at a rate rounded up the flash would not keep up.
                format!("{:.1}", (row.max_khz_raw * 10.0).floor() / 10.0),
                format!("{:.1}", (row.max_khz_delta * 10.0).floor() / 10.0),
                number(row.at_rate_raw_kb_s),
                number(row.at_rate_delta_kb_s),
                format!("{:.0} %", row.share_raw_percent),
                format!("{:.0} %", row.share_delta_percent),
            ]);
        }
        table
    }

    fn recording_table(&self) -> Table {
        let mut table = right(ui::table(&["kHz", "as stored", "delta"]), 0);
        for row in &self.recording {
            table.add_row([
                number(row.imu_rate_khz),
                format!("{:.1} s", row.raw_s),
                format!("{:.1} s", row.delta_s),
            ]);
        }
        table
    }
}

/// The table with its columns from `first` on aligned to the right.
fn right(mut table: Table, first: usize) -> Table {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with one decimal, or none where it is whole.
fn number(value: f64) -> String {
    let tenths = format!("{value:.1}");
    tenths
        .strip_suffix(".0")
        .map(str::to_owned)
        .unwrap_or(tenths)
}
