//! Instructions that a sample costs, counted by callgrind: the same number on every run, however busy the machine.
//!
//! `cargo bench -p flightlog --bench instructions` runs this program again under valgrind, with one pass over the samples and
//! with two; the difference is what one pass costs. It fails where a sample costs more than its limit.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::atomic::AtomicU32;

use flightlog::delta::{Encoder, MAX_BYTES};
use flightlog::flash::Flash;
use flightlog::logger::{Coding, Logger, Settings};
use flightlog::pages::PageWriter;
use flightlog::ring::Ring;
use flightlog::sample::{SAMPLE_BYTES, Sample};
use flightlog::sector::SECTOR_BYTES;
use xshell::{Shell, cmd};

const SAMPLES: usize = 20_000;
/// Every how many samples one is full.
const FULL_EVERY: NonZeroU32 = NonZeroU32::new(1000).unwrap();

/// A job, and the instructions a sample that it may cost.
const JOBS: [(&str, u64); 7] = [
    ("encode, raw", 300),
    ("encode, delta at rest", 600),
    ("encode, delta in boost", 600),
    ("log, raw", 300),
    ("log, delta at rest", 600),
    ("log, delta in boost", 600),
    ("ring, push and take", 400),
];

/// Flash that takes everything and keeps nothing: the chip's own time is not the core's.
struct Sink;

impl Flash for Sink {
    type Error = std::convert::Infallible;

    fn size(&self) -> u32 {
        64 << 20
    }

    fn read(&mut self, _: u32, into: &mut [u8]) -> Result<(), Self::Error> {
        into.fill(flightlog::flash::ERASED);
        Ok(())
    }

    fn program(&mut self, _: u32, data: &[u8]) -> Result<(), Self::Error> {
        black_box(data);
        Ok(())
    }

    fn erase(&mut self, _: u32, _: u32) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Samples with a swing and noise on every axis, of a few steps at rest and of thousands in boost.
fn samples(boost: bool) -> Vec<Sample> {
    let (gyro, accel) = if boost { (400, 6000) } else { (8, 16) };
    let mut state = 1u32;
    let mut noise = |span: i32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as i32 % span - span / 2
    };
    let sample = |_| {
        let gyro = [(); 3].map(|()| noise(gyro) as i16);
        let accel = [2048, 0, 0].map(|rest| rest + noise(accel));
        Sample::new(gyro, accel).expect("far inside 24 bits")
    };
    (0..SAMPLES).map(sample).collect()
}

fn run(job: &str, passes: usize) {
    let samples = samples(job.ends_with("boost"));
    let samples = (0..passes).flat_map(|_| black_box(&samples));
    let raw = job.ends_with("raw");
    match job.split_once(',').map(|(stage, _)| stage) {
        Some("encode") => encode(samples, raw),
        Some("log") => log(samples, raw),
        _ => ring(samples),
    }
}

/// The codec alone.
fn encode<'a>(samples: impl Iterator<Item = &'a Sample>, raw: bool) {
    let mut encoder = Encoder::new(FULL_EVERY);
    let mut out = [0; MAX_BYTES];
    for sample in samples {
        if raw {
            out[..SAMPLE_BYTES].copy_from_slice(&sample.to_bytes());
        } else {
            encoder.encode(sample, &mut out).expect("there is room");
        }
        black_box(&out);
    }
}

/// All that the writer does with a sample: encode it into the record, and for each record the CRC, for each sector the program.
fn log<'a>(samples: impl Iterator<Item = &'a Sample>, raw: bool) {
    let mut buffer = Box::new([0; SECTOR_BYTES]);
    // Resumed: it does not look through the whole partition.
    let pages = PageWriter::resume(Sink, &mut buffer, 1).expect("nothing there fails");
    let coding = if raw {
        Coding::Raw
    } else {
        Coding::Delta {
            full_every: FULL_EVERY,
        }
    };
    let mut logger = Logger::start(
        pages,
        Settings {
            rate_hz: 8000,
            coding,
        },
        0,
    )
    .expect("nothing there fails");
    for (sample, time) in samples.zip((0..).step_by(125)) {
        logger.sample(time, sample).expect("nothing there fails");
    }
    logger.finish().expect("nothing there fails");
}

/// From the loop to the writer.
fn ring<'a>(samples: impl Iterator<Item = &'a Sample>) {
    let words: Vec<_> = (0..Ring::words_for(256, SAMPLE_BYTES))
        .map(|_| AtomicU32::new(0))
        .collect();
    let mut ring = Ring::new(&words, SAMPLE_BYTES).expect("there is memory");
    let (mut producer, mut consumer) = ring.split();
    producer.trigger();
    let mut block = [0; SAMPLE_BYTES];
    for sample in samples {
        producer
            .push(&sample.to_bytes())
            .expect("it is taken at once");
        consumer.take(&mut block);
        black_box(Sample::from_bytes(&block));
    }
}

/// Instructions of one run, as callgrind counts them.
fn count(sh: &Shell, job: &str, passes: usize) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let passes = passes.to_string();
    let run = cmd!(
        sh,
        "valgrind --tool=callgrind --callgrind-out-file=/dev/null {program} --run {job} {passes}"
    );
    let output = run
        .quiet()
        .output()
        .map_err(|error| format!("{error}; is valgrind installed?"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, count) =
        collected.ok_or_else(|| format!("valgrind did not say what it collected:\n{said}"))?;
    count
        .trim()
        .parse()
        .map_err(|_| format!("valgrind collected `{count}`"))
}

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    if let [flag, job, passes] = &args[..]
        && flag == "--run"
    {
        run(job, passes.parse().expect("a number of passes"));
        return ExitCode::SUCCESS;
    }
    let sh = match Shell::new() {
        Ok(sh) => sh,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut verdict = ExitCode::SUCCESS;
    println!("instructions a sample  limit  {} samples", SAMPLES);
    for (job, limit) in JOBS {
        match count(&sh, job, 2).and_then(|two| Ok(two - count(&sh, job, 1)?)) {
            Ok(pass) => {
                let each = pass as f64 / SAMPLES as f64;
                println!("{each:>21.1}  {limit:>5}  {job}");
                if each > limit as f64 {
                    verdict = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                eprintln!("{job}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    verdict
}
