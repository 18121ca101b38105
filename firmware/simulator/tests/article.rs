//! The model against the article's table, and against its own mechanism.

use flightlog::bench::{Kind, Phase, Place, Settings};
use flightlog::command::Run;
use flightlog::report::read;
use simulator::article::{self, Quantity};
use simulator::{Constants, FLIGHT_BUFFER, Libraries, Simulation, simulate};

/// The article's test: the whole flight buffer in each phase.
fn article_run(constants: &Constants, libraries: Libraries, settings: Settings) -> Simulation {
    let settings = Settings {
        phase_bytes: FLIGHT_BUFFER,
        ..settings
    };
    let phases = Kind::ALL.map(|kind| Phase {
        kind,
        place: article::PLACE,
    });
    let run = simulate(constants, libraries, &settings, &phases, FLIGHT_BUFFER);
    run.expect("the phases fit the flight buffer")
}

/// A short run of one phase.
fn short(
    constants: &Constants,
    libraries: Libraries,
    settings: Settings,
    kind: Kind,
    place: Place,
) -> Simulation {
    let settings = Settings {
        phase_bytes: 1 << 20,
        ..settings
    };
    let phases = [Phase { kind, place }];
    let run = simulate(constants, libraries, &settings, &phases, 1 << 20);
    run.expect("one phase fits a mebibyte")
}

#[test]
fn one_set_of_constants_gives_the_whole_table() {
    let mut cells = 0;
    for libraries in Libraries::ALL {
        let run = article_run(&Constants::default(), libraries, Settings::default());
        for cell in article::compare(&run) {
            cells += 1;
            println!("{cell:?}");
            assert!(cell.within, "{cell:#?}");
        }
    }
    // 8 rows of 3, and the flat-out speed with the buffer in PSRAM for both libraries.
    assert_eq!(cells, 26);
}

#[test]
fn the_flat_out_speeds_from_internal_ram_fit_too() {
    for libraries in Libraries::ALL {
        let constants = Constants::default();
        let run = short(
            &constants,
            libraries,
            Settings::default(),
            Kind::WriteFlatOut,
            Place::Internal,
        );
        let [cell] = &article::compare(&run)[..] else {
            panic!("one speed");
        };
        assert_eq!(cell.quantity, Quantity::SpeedKbS);
        assert!(cell.within, "{cell:#?}");
    }
}

#[test]
fn the_table_is_the_articles() {
    let Some(csv) = shared("stall-bench.csv") else {
        return;
    };
    let mut rows = csv.lines();
    let header: Vec<_> = rows.next().unwrap().split(',').collect();
    for (kind, line) in Kind::ALL.into_iter().zip(rows) {
        let cells: Vec<_> = line.split(',').collect();
        for libraries in Libraries::ALL {
            let column = |what: &str| {
                let name = format!("{}_{what}", libraries.name());
                let at = header.iter().position(|column| *column == name).unwrap();
                cells[at].parse::<f64>().unwrap()
            };
            let row = article::STALL_BENCH
                .iter()
                .find(|row| row.kind == kind && row.libraries == libraries)
                .unwrap();
            assert_eq!(row.loop_hz, column("loop_hz"));
            assert_eq!(row.worst_gap_ms, column("worst_gap_ms"));
            assert_eq!(f64::from(row.overruns), column("fifo_overruns"));
        }
        let target = kind.target_bytes_per_second();
        assert_eq!(cells[1].parse().ok().map(|kb: u32| kb * 1_000), target);
    }
    let csv = shared("max-rates.csv").unwrap();
    for (libraries, place, speed) in article::FLAT_OUT {
        let name = match (libraries, place) {
            (Libraries::Stock, Place::Psram) => "stock core buffer in PSRAM",
            (Libraries::Stock, Place::Internal) => "stock core buffer in internal RAM",
            (Libraries::Xip, Place::Psram) => "rebuilt libraries buffer in PSRAM",
            (Libraries::Xip, Place::Internal) => "rebuilt libraries buffer in internal RAM",
        };
        let line = csv
            .lines()
            .find(|line| line.starts_with(&format!("{name},")));
        assert_eq!(
            line.unwrap().split(',').nth(1),
            Some(format!("{speed}").as_str())
        );
    }
}

#[test]
fn stalls_come_from_the_caches_being_off() {
    let constants = Constants::default();
    for kind in Kind::ALL {
        for place in Place::ALL {
            let settings = Settings::default();
            let stock = short(&constants, Libraries::Stock, settings, kind, place);
            let xip = short(&constants, Libraries::Xip, settings, kind, place);
            let (stock, xip) = (&stock.results[0], &xip.results[0]);
            assert!(
                stock.gaps.rate_millihertz() + 40_000 < xip.gaps.rate_millihertz(),
                "{kind:?} {place:?}"
            );
            assert!(
                stock.gaps.worst_us() > 2 * xip.gaps.worst_us(),
                "{kind:?} {place:?}"
            );
            assert_eq!(xip.fifo.lost, 0, "{kind:?} {place:?}");
        }
    }
}

#[test]
fn a_slower_flash_hurts_the_stock_loop_and_not_the_other() {
    let slow = Constants {
        program_byte_ns: 2 * Constants::default().program_byte_ns,
        erase_max_ns: 400_000_000,
        ..Constants::default()
    };
    for kind in [Kind::WriteFlatOut, Kind::Erase64k] {
        let rate = |constants: &Constants, libraries| {
            let run = short(
                constants,
                libraries,
                Settings::default(),
                kind,
                Place::Psram,
            );
            run.results[0].gaps.rate_millihertz()
        };
        let (stock, slow_stock) = (
            rate(&Constants::default(), Libraries::Stock),
            rate(&slow, Libraries::Stock),
        );
        assert!(
            slow_stock * 5 < stock * 4,
            "{kind:?}: {slow_stock} after {stock}"
        );
        assert!(rate(&slow, Libraries::Xip) > 498_000);
    }
}

#[test]
fn a_deeper_fifo_or_a_slower_imu_overruns_less() {
    let overruns = |settings| {
        let constants = Constants::default();
        let run = short(
            &constants,
            Libraries::Stock,
            settings,
            Kind::Write55,
            Place::Internal,
        );
        run.results[0].fifo.overruns
    };
    let base = Settings::default();
    assert!(overruns(base) > 200);
    assert_eq!(
        overruns(Settings {
            fifo_words: 1_024,
            ..base
        }),
        0
    );
    assert_eq!(
        overruns(Settings {
            imu_hz: 2_000,
            ..base
        }),
        0
    );
}

#[test]
fn the_loop_alone_keeps_its_beat() {
    // A flash that takes no time holds nobody up, whichever libraries.
    let free = Constants {
        program_ns: 0,
        program_byte_ns: 1,
        stop_ns: 0,
        ..Constants::default()
    };
    let run = short(
        &free,
        Libraries::Stock,
        Settings::default(),
        Kind::Write55,
        Place::Internal,
    );
    assert!(run.results[0].gaps.rate_millihertz() > 498_000);
    assert!(run.results[0].gaps.worst_us() < 5_100);
}

#[test]
fn the_report_is_whole_labelled_and_the_same_each_time() {
    let settings = Settings {
        phase_bytes: 1 << 20,
        ..Settings::default()
    };
    let phases: Vec<_> = Run::default().phases().collect();
    let report = || {
        let run = simulate(
            &Constants::default(),
            Libraries::Xip,
            &settings,
            &phases,
            4 << 20,
        );
        let mut out = String::new();
        run.unwrap().report(&mut out, "run").unwrap();
        out
    };
    let text = report();
    assert_eq!(text, report());
    let log = read::read(text.as_bytes());
    assert_eq!(log.trouble, []);
    let report = &log.reports[0];
    assert_eq!(report.whole(), Ok(()));
    assert!(report.is_simulation());
    assert_eq!(report.phases().count(), 8);
    let erased: u32 = report.phases().map(|phase| phase.erased_sectors).sum();
    assert_eq!(erased, report.plan().unwrap().erase_sectors);
    for phase in report.phases() {
        assert!((498.0..=500.0).contains(&phase.loop_hz), "{phase:?}");
    }
}

/// A file of the facts folder beside the workspace, where it is there.
fn shared(name: &str) -> Option<String> {
    let workspace = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = workspace.join("../shared/seed").join(name);
    let text = std::fs::read_to_string(file).ok();
    if text.is_none() {
        use std::io::Write;
        // Not `eprintln!`: the harness would swallow it with the output of a test that passes.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED {name}: shared/seed is not beside this checkout"
        );
    }
    text
}
