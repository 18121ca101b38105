use std::sync::Mutex;

use super::*;
use crate::arduino::config::CONFIG_VARIABLE;
use crate::arduino::made_up::MadeUp;
use crate::exit;

const ANN: &str = "/home/ann";
const MAC: &str = "/Users/ann";
const WINDOWS: &str = "C:\\Users\\Ann";
const CLI_CONFIG: &str = "/home/ann/.arduino15/arduino-cli.yaml";

fn found_on(machine: &MadeUp, os: Os, home: &str) -> (String, String) {
    let found = locate(None, &machine.on(os, home), &|_| {})
        .unwrap()
        .unwrap();
    pair(found.path.to_str().unwrap(), &found.found_by.to_string())
}

fn pair(path: &str, why: &str) -> (String, String) {
    (path.to_owned(), why.to_owned())
}

#[test]
fn each_system_has_its_default() {
    let bare = MadeUp::default();
    let moved = MadeUp::default().variable("LOCALAPPDATA", "D:\\Local");
    for (machine, os, home, path) in [
        (&bare, Os::Linux, ANN, "/home/ann/.arduino15"),
        (&bare, Os::Linux, "/", "/.arduino15"),
        (&bare, Os::MacOs, MAC, "/Users/ann/Library/Arduino15"),
        (
            &bare,
            Os::Windows,
            WINDOWS,
            "C:\\Users\\Ann\\AppData\\Local\\Arduino15",
        ),
        (&moved, Os::Windows, WINDOWS, "D:\\Local\\Arduino15"),
        (&moved, Os::Linux, ANN, "/home/ann/.arduino15"),
    ] {
        assert_eq!(found_on(machine, os, home), pair(path, "the default"));
    }
}

#[test]
fn flag_then_variables_then_the_program_then_files() {
    let full = || {
        MadeUp::default()
            .variable("ARDUINO_DATA_DIR", "/old")
            .file(CLI_CONFIG, "directories:\n  data: /configured\n")
            .cli(Ok(r#"{"config":{"directories":{"data":"/asked"}}}"#))
            .folder("/flag")
    };
    let both = full().variable("ARDUINO_DIRECTORIES_DATA", "/new");
    let by_flag = locate(Some(Path::new("/flag")), &both.on(Os::Linux, ANN), &|_| {});
    let by_flag = by_flag.unwrap().unwrap();
    assert_eq!(by_flag.path, Path::new("/flag"));
    assert_eq!(by_flag.found_by, FoundBy::Flag);
    assert_eq!(
        found_on(&both, Os::Linux, ANN),
        pair("/new", "by ARDUINO_DIRECTORIES_DATA")
    );
    let old = full().variable("ARDUINO_DIRECTORIES_DATA", "");
    assert_eq!(
        found_on(&old, Os::Linux, ANN),
        pair("/old", "by ARDUINO_DATA_DIR")
    );
    let asked = MadeUp::default()
        .file(CLI_CONFIG, "directories:\n  data: /configured\n")
        .cli(Ok(r#"{"directories":{"data":"/asked"}}"#));
    assert_eq!(
        found_on(&asked, Os::Linux, ANN),
        pair("/asked", "by directories.data in arduino-cli config dump")
    );
    let by_file = MadeUp::default()
        .file(CLI_CONFIG, "directories:\n  data: /configured\n")
        .cli(Ok(r#"{"config":{}}"#));
    assert_eq!(
        found_on(&by_file, Os::Linux, ANN),
        pair(
            "/configured",
            &format!("by directories.data in {CLI_CONFIG}")
        )
    );
}

#[test]
fn a_program_that_does_not_answer_is_told_and_its_files_are_read() {
    for (answer, told) in [
        (Err("no answer within 10 s"), "no answer within 10 s"),
        (Ok("Error: unknown flag"), "not understood"),
    ] {
        let machine = MadeUp::default()
            .file(CLI_CONFIG, "directories:\n  data: /configured\n")
            .cli(answer);
        let warnings = Mutex::new(Vec::new());
        let found = locate(None, &machine.on(Os::Linux, ANN), &|event| {
            if let Event::Warning(text) = event {
                warnings.lock().unwrap().push(text.to_owned());
            }
        });
        assert_eq!(found.unwrap().unwrap().path, Path::new("/configured"));
        let warnings = warnings.into_inner().unwrap();
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains(told), "{warnings:?}");
        // Whoever names the folder is not kept waiting for it.
        let machine = machine.folder("/flag").variable("ARDUINO_DATA_DIR", "/env");
        let silent = |event: Event<'_>| panic!("asked all the same: {event:?}");
        for flag in [Some(Path::new("/flag")), None] {
            locate(flag, &machine.on(Os::Linux, ANN), &silent).unwrap();
        }
    }
}

#[test]
fn configuration_files_are_found_as_each_program_finds_them() {
    let ide = "C:\\Users\\Ann\\.arduinoIDE\\arduino-cli.yaml";
    let cli = "C:\\Users\\Ann\\AppData\\Local\\Arduino15\\arduino-cli.yaml";
    let by_ide = MadeUp::default()
        .file(cli, "board_manager:\n  additional_urls: []\n")
        .file(
            ide,
            "directories:\n  data: D:\\Arduino data\n  user: C:\\Users\\Ann\\Documents\\Arduino\n",
        );
    assert_eq!(
        found_on(&by_ide, Os::Windows, WINDOWS),
        pair("D:\\Arduino data", &format!("by directories.data in {ide}"))
    );
    let by_both = by_ide
        .file("E:\\my.yaml", "directories: {data: 'F:\\x'}")
        .variable(CONFIG_VARIABLE, "E:\\my.yaml");
    assert_eq!(
        found_on(&by_both, Os::Windows, WINDOWS),
        pair("F:\\x", "by directories.data in E:\\my.yaml")
    );
    let mac = MadeUp::default().file(
        "/Users/ann/Library/Arduino15/arduino-cli.yaml",
        "directories:\n  data: \"/Volumes/x\"\n",
    );
    assert_eq!(found_on(&mac, Os::MacOs, MAC).0, "/Volumes/x");
}

#[test]
fn a_file_that_says_nothing_leaves_the_default() {
    for text in [
        "",
        "# empty\n",
        "directories:\n",
        "directories: {}\n",
        "directories:\n  data: \"\"\n",
        "---\nx: 1\n",
    ] {
        let machine = MadeUp::default().file(CLI_CONFIG, text);
        assert_eq!(
            found_on(&machine, Os::Linux, ANN),
            pair("/home/ann/.arduino15", "the default"),
            "{text:?}"
        );
    }
}

fn error_on(machine: &MadeUp, os: Os, flag: Option<&str>) -> anyhow::Error {
    let home = if os == Os::Windows { WINDOWS } else { ANN };
    locate(flag.map(Path::new), &machine.on(os, home), &|_| {}).unwrap_err()
}

#[test]
fn a_broken_or_missing_configuration_is_named() {
    let broken = MadeUp::default().file(CLI_CONFIG, "directories:\n  data: [1\n");
    let error = format!("{:#}", error_on(&broken, Os::Linux, None));
    assert!(
        error.contains(".arduino15/arduino-cli.yaml") && error.contains("--data-dir"),
        "{error}"
    );
    assert!(error.contains("line"), "{error}");
    let missing = MadeUp::default().variable(CONFIG_VARIABLE, "/no.yaml");
    let error = format!("{:#}", error_on(&missing, Os::Linux, None));
    assert!(error.contains("/no.yaml"), "{error}");
}

#[test]
fn without_a_home_there_is_none() {
    let machine = MadeUp::default();
    let homeless = machine.on(Os::Linux, "");
    assert_eq!(locate(None, &homeless, &|_| {}).unwrap(), None);
    let search = Search::run(None, &homeless, &|_| {}).unwrap();
    let error = search.one(|_| true, &homeless).unwrap_err();
    assert_eq!(exit::code(&error), 2);
    let machine = machine.variable("ARDUINO_DATA_DIR", "/d");
    assert_eq!(found_on(&machine, Os::Linux, "").0, "/d");
}

#[test]
fn a_path_of_another_system_is_translated_or_refused_by_its_other_name() {
    let flag = Some("C:\\Users\\Ann\\AppData\\Local\\Arduino15");
    let mounted = "/mnt/c/Users/Ann/AppData/Local/Arduino15";
    let wsl = MadeUp::default().file(
        "/proc/sys/kernel/osrelease",
        "5.15.90.1-microsoft-standard-WSL2\n",
    );
    let error = error_on(&wsl, Os::Linux, flag);
    assert_eq!(exit::code(&error), 2);
    assert!(error.to_string().contains(mounted), "{error}");
    let there = wsl.folder(mounted);
    let found = locate(flag.map(Path::new), &there.on(Os::Linux, ANN), &|_| {});
    assert_eq!(found.unwrap().unwrap().path, Path::new(mounted));

    let error = error_on(&MadeUp::default(), Os::Linux, flag).to_string();
    assert!(error.contains("this is not Windows"), "{error}");
    let error = error_on(&MadeUp::default(), Os::Windows, Some("/mnt/d/Arduino data")).to_string();
    assert!(error.contains("D:\\Arduino data"), "{error}");
    let by_variable = MadeUp::default().variable("ARDUINO_DATA_DIR", "C:\\x");
    let error = error_on(&by_variable, Os::Linux, None).to_string();
    assert!(error.contains("ARDUINO_DATA_DIR"), "{error}");
    assert_eq!(
        exit::code(&error_on(&MadeUp::default(), Os::Linux, Some("/no"))),
        2
    );
}

fn chosen(machine: &MadeUp, os: Os, home: &str) -> Result<(String, String)> {
    let surroundings = machine.on(os, home);
    let found = Search::run(None, &surroundings, &|_| {})?
        .one(|version| version == "3.3.12", &surroundings)?;
    Ok(pair(
        found.path.to_str().unwrap(),
        &found.found_by.to_string(),
    ))
}

#[test]
fn the_one_folder_that_holds_the_core_is_taken_wherever_it_is() {
    let windows_ide_1 = "C:\\Program Files (x86)\\Arduino\\portable";
    let program_files = MadeUp::default().variable("ProgramFiles(x86)", "C:\\Program Files (x86)");
    for (machine, os, home, path, why) in [
        (
            MadeUp::default(),
            Os::Linux,
            ANN,
            "/home/ann/snap/arduino/current/.arduino15",
            "of the snap arduino",
        ),
        (
            MadeUp::default(),
            Os::Linux,
            ANN,
            "/home/ann/snap/arduino-cli/current/.arduino15",
            "of the snap arduino-cli",
        ),
        (
            MadeUp::default(),
            Os::Linux,
            ANN,
            "/home/ann/.var/app/cc.arduino.IDE2/.arduino15",
            "of the flatpak cc.arduino.IDE2",
        ),
        (
            MadeUp::default(),
            Os::Linux,
            ANN,
            "/home/ann/arduino-1.8.19/portable",
            "portable, beside the IDE 1",
        ),
        (
            MadeUp::default()
                .program("arduino", "/usr/bin/arduino")
                .link("/usr/bin/arduino", "/srv/arduino/arduino"),
            Os::Linux,
            ANN,
            "/srv/arduino/portable",
            "portable, beside the IDE 1",
        ),
        (
            MadeUp::default(),
            Os::MacOs,
            MAC,
            "/Applications/Arduino.app/Contents/Java/portable",
            "portable, beside the IDE 1",
        ),
        (
            program_files,
            Os::Windows,
            WINDOWS,
            windows_ide_1,
            "portable, beside the IDE 1",
        ),
        (
            MadeUp::default(),
            Os::Windows,
            WINDOWS,
            "C:\\Users\\Ann\\OneDrive\\Documents\\ArduinoData",
            "of the Microsoft Store's IDE 1",
        ),
    ] {
        let machine = machine.core(path, "3.3.12");
        assert_eq!(chosen(&machine, os, home).unwrap(), pair(path, why));
    }
}

#[test]
fn a_folder_without_this_core_does_not_count() {
    let machine = MadeUp::default()
        .core("/home/ann/snap/arduino/current/.arduino15", "2.0.17")
        .folder("/home/ann/snap/arduino-cli/current/.arduino15");
    let default = pair("/home/ann/.arduino15", "the default");
    assert_eq!(chosen(&machine, Os::Linux, ANN).unwrap(), default);
    let machine = machine.core("/home/ann/.arduino15", "3.3.12");
    assert_eq!(chosen(&machine, Os::Linux, ANN).unwrap(), default);
    let search = Search::run(None, &machine.on(Os::Linux, ANN), &|_| {}).unwrap();
    assert_eq!(search.others.len(), 1, "it is told all the same");
}

#[test]
fn several_are_listed_and_one_must_be_named() {
    let snap = "/home/ann/snap/arduino/current/.arduino15";
    let two = || {
        MadeUp::default()
            .core("/home/ann/.arduino15", "3.3.12")
            .core(snap, "3.3.12")
    };
    let error = chosen(&two(), Os::Linux, ANN).unwrap_err();
    assert_eq!(exit::code(&error), 2);
    let text = error.to_string();
    assert!(
        text.contains("--data-dir /home/ann/.arduino15  (the default)")
            && text.contains(&format!("--data-dir {snap}  (of the snap arduino)")),
        "{text}"
    );
    let named = two().variable("ARDUINO_DIRECTORIES_DATA", snap);
    assert_eq!(
        chosen(&named, Os::Linux, ANN).unwrap(),
        pair(snap, "by ARDUINO_DIRECTORIES_DATA")
    );
    let same = two().link(snap, "/home/ann/.arduino15");
    assert_eq!(
        chosen(&same, Os::Linux, ANN).unwrap().0,
        "/home/ann/.arduino15",
        "one folder by two names is one"
    );
}

#[test]
fn the_windows_programs_folder_is_offered_from_wsl_and_never_taken() {
    let windows = "/mnt/c/Users/Ann/AppData/Local/Arduino15";
    let wsl = || {
        MadeUp::default()
            .variable("WSL_DISTRO_NAME", "Debian")
            .core(windows, "3.3.12")
    };
    let error = chosen(&wsl(), Os::Linux, ANN).unwrap_err();
    assert_eq!(exit::code(&error), 2);
    assert!(
        error.to_string().contains(&format!(
            "--data-dir {windows}  (of the programs on Windows)"
        )),
        "{error}"
    );
    let both = wsl().core("/home/ann/.arduino15", "3.3.12");
    assert_eq!(
        chosen(&both, Os::Linux, ANN).unwrap().1,
        "the default",
        "the programs of this system come first"
    );
    let plain_linux = MadeUp::default().core(windows, "3.3.12");
    assert_eq!(
        chosen(&plain_linux, Os::Linux, ANN).unwrap().1,
        "the default"
    );
}
