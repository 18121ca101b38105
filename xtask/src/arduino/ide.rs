//! Whether a program runs that compiles sketches: it may read the libraries' folder while that is renamed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// A running program of Arduino's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// What a person calls it.
    pub what: What,
    /// Its process id.
    pub pid: u32,
}

/// Programs that compile sketches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The Arduino IDE, 1 or 2.
    Ide,
    /// arduino-cli; the IDE 2 runs one, too.
    Cli,
}

impl What {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ide => "the Arduino IDE",
            Self::Cli => "arduino-cli",
        }
    }
}

/// Those that run now, one of a kind, the IDE first. From Linux inside Windows the programs of Windows are not seen.
pub fn running() -> Vec<Running> {
    let mut found: Vec<Running> = processes()
        .iter()
        .filter_map(|process| {
            let arguments: Vec<&str> = process.arguments.iter().map(String::as_str).collect();
            let what = recognise(process.exe.as_deref(), &process.name, &arguments)?;
            let pid = process.pid;
            Some(Running { what, pid })
        })
        .collect();
    found.sort_by_key(|running| (running.what, running.pid));
    found.dedup_by_key(|running| running.what);
    found
}

/// A process, as the system tells of it.
struct Process {
    pid: u32,
    exe: Option<PathBuf>,
    name: String,
    arguments: Vec<String>,
}

fn processes() -> Vec<Process> {
    let mut system = System::new();
    let what = ProcessRefreshKind::nothing()
        .with_exe(UpdateKind::Always)
        .with_cmd(UpdateKind::Always)
        .without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let all = system.processes().values();
    all.map(|process| Process {
        pid: process.pid().as_u32(),
        exe: process.exe().map(Path::to_owned),
        name: process.name().to_string_lossy().into_owned(),
        arguments: process.cmd().iter().map(text).collect(),
    })
    .collect()
}

/// What a process is, by its program, its name and its arguments, on any system.
fn recognise(exe: Option<&Path>, name: &str, arguments: &[&str]) -> Option<What> {
    let exe = exe.and_then(Path::to_str).unwrap_or(name);
    let program = exe.rsplit(['/', '\\']).next().unwrap_or(exe);
    let program = program.to_ascii_lowercase();
    let program = program.strip_suffix(".exe").unwrap_or(&program);
    // A program that was replaced while it runs, as an update does.
    let program = program.strip_suffix(" (deleted)").unwrap_or(program);
    match program {
        "arduino-cli" => Some(What::Cli),
        "arduino" | "arduino_debug" | "arduino ide" | "arduino-ide" => Some(What::Ide),
        // As AppImage it carries version and system in its name.
        _ if program.starts_with("arduino-ide_") => Some(What::Ide),
        // IDE 1 runs in a Java that is called java everywhere but on Windows.
        "java" | "javaw" if arguments.contains(&"processing.app.Base") => Some(What::Ide),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_recognised_by_the_names_that_they_have_everywhere() {
        let ide_1 = ["java", "-splash:lib/splash.png", "processing.app.Base"];
        for (exe, arguments, what) in [
            (
                "C:\\Users\\Ann\\AppData\\Local\\Programs\\Arduino IDE\\Arduino IDE.exe",
                &[][..],
                Some(What::Ide),
            ),
            (
                "C:\\Program Files (x86)\\Arduino\\arduino.exe",
                &[],
                Some(What::Ide),
            ),
            (
                "/Applications/Arduino IDE.app/Contents/MacOS/Arduino IDE",
                &[],
                Some(What::Ide),
            ),
            (
                "/home/ann/arduino-ide_2.3.8_Linux_64bit.AppImage",
                &[],
                Some(What::Ide),
            ),
            ("/opt/arduino-ide/arduino-ide", &[], Some(What::Ide)),
            (
                "/opt/arduino-ide/arduino-ide (deleted)",
                &[],
                Some(What::Ide),
            ),
            ("/opt/arduino-1.8.19/java/bin/java", &ide_1, Some(What::Ide)),
            ("/usr/bin/java", &["java", "-jar", "arduino.jar"], None),
            (
                "/opt/x/resources/app/lib/backend/resources/arduino-cli",
                &["daemon"],
                Some(What::Cli),
            ),
            ("C:\\bin\\arduino-cli.exe", &[], Some(What::Cli)),
            ("/usr/bin/vim", &["vim", "arduino-ide"], None),
            ("/usr/bin/arduino-cli-helper", &[], None),
        ] {
            assert_eq!(
                recognise(Some(Path::new(exe)), "", arguments),
                what,
                "{exe}"
            );
        }
        assert_eq!(recognise(None, "arduino-ide", &[]), Some(What::Ide));
    }

    #[test]
    fn the_processes_that_run_are_seen() {
        let (me, processes) = (std::process::id(), processes());
        let found = processes.iter().find(|process| process.pid == me).unwrap();
        let exe = std::env::current_exe().unwrap();
        assert_eq!(found.exe.as_deref(), Some(exe.as_path()));
        assert_eq!(found.arguments, std::env::args().collect::<Vec<_>>());
    }
}
