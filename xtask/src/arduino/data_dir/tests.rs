use super::*;

/// Variables and files of a made-up machine.
struct Machine {
    os: Os,
    home: Option<&'static str>,
    variables: Vec<(&'static str, &'static str)>,
    files: Vec<(&'static str, &'static str)>,
}

fn machine(os: Os, home: &'static str) -> Machine {
    Machine {
        os,
        home: Some(home),
        variables: Vec::new(),
        files: Vec::new(),
    }
}

impl Machine {
    fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.variables.push((name, value));
        self
    }

    fn file(mut self, path: &'static str, text: &'static str) -> Self {
        self.files.push((path, text));
        self
    }

    fn locate(&self, explicit: Option<&str>) -> Result<Option<(String, String)>> {
        let surroundings = Surroundings {
            os: self.os,
            home: self.home.map(Path::new),
            variable: &|name| {
                let found = self.variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            },
            read: &|path| {
                let found = self
                    .files
                    .iter()
                    .find(|(name, _)| Path::new(name).as_os_str() == path.as_os_str());
                Ok(found.map(|(_, text)| (*text).to_owned()))
            },
        };
        let found = locate(explicit.map(Path::new), &surroundings)?;
        Ok(found.map(|dir| {
            (
                dir.path.to_str().unwrap().to_owned(),
                dir.found_by.to_string(),
            )
        }))
    }

    fn found(&self) -> (String, String) {
        self.locate(None).unwrap().unwrap()
    }
}

fn pair(path: &str, why: &str) -> (String, String) {
    (path.to_owned(), why.to_owned())
}

const WINDOWS: &str = "C:\\Users\\Ann";

#[test]
fn each_system_has_its_default() {
    for (machine, path) in [
        (machine(Os::Linux, "/home/ann"), "/home/ann/.arduino15"),
        (machine(Os::Linux, "/"), "/.arduino15"),
        (
            machine(Os::MacOs, "/Users/ann"),
            "/Users/ann/Library/Arduino15",
        ),
        (
            machine(Os::Windows, WINDOWS),
            "C:\\Users\\Ann\\AppData\\Local\\Arduino15",
        ),
        (
            machine(Os::Windows, WINDOWS).variable("LOCALAPPDATA", "D:\\Local"),
            "D:\\Local\\Arduino15",
        ),
        (
            machine(Os::Linux, "/home/ann").variable("LOCALAPPDATA", "/elsewhere"),
            "/home/ann/.arduino15",
        ),
    ] {
        assert_eq!(machine.found(), pair(path, "the default"));
    }
}

#[test]
fn flag_then_variables_then_files() {
    let config = "/home/ann/.arduino15/arduino-cli.yaml";
    let full = machine(Os::Linux, "/home/ann")
        .variable("ARDUINO_DATA_DIR", "/old")
        .variable("ARDUINO_DIRECTORIES_DATA", "/new")
        .file(config, "directories:\n  data: /configured\n");
    assert_eq!(
        full.locate(Some("/flag")).unwrap().unwrap(),
        pair("/flag", "by --data-dir")
    );
    assert_eq!(full.found(), pair("/new", "by ARDUINO_DIRECTORIES_DATA"));
    let old = machine(Os::Linux, "/home/ann")
        .variable("ARDUINO_DIRECTORIES_DATA", "")
        .variable("ARDUINO_DATA_DIR", "/old");
    assert_eq!(old.found(), pair("/old", "by ARDUINO_DATA_DIR"));
    let by_file =
        machine(Os::Linux, "/home/ann").file(config, "directories:\n  data: /configured\n");
    assert_eq!(
        by_file.found(),
        pair("/configured", &format!("by directories.data in {config}"))
    );
}

#[test]
fn configuration_files_are_found_as_each_program_finds_them() {
    let ide = "C:\\Users\\Ann\\.arduinoIDE\\arduino-cli.yaml";
    let cli = "C:\\Users\\Ann\\AppData\\Local\\Arduino15\\arduino-cli.yaml";
    let by_ide = machine(Os::Windows, WINDOWS)
        .file(cli, "board_manager:\n  additional_urls: []\n")
        .file(
            ide,
            "directories:\n  data: D:\\Arduino data\n  user: C:\\Users\\Ann\\Documents\\Arduino\n",
        );
    assert_eq!(
        by_ide.found(),
        pair("D:\\Arduino data", &format!("by directories.data in {ide}"))
    );
    let by_both = by_ide
        .file("E:\\my.yaml", "directories: {data: 'F:\\x'}")
        .variable(CONFIG_VARIABLE, "E:\\my.yaml");
    assert_eq!(
        by_both.found(),
        pair("F:\\x", "by directories.data in E:\\my.yaml")
    );
    let mac = machine(Os::MacOs, "/Users/ann").file(
        "/Users/ann/Library/Arduino15/arduino-cli.yaml",
        "directories:\n  data: \"/Volumes/x\"\n",
    );
    assert_eq!(mac.found().0, "/Volumes/x");
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
        let machine =
            machine(Os::Linux, "/home/ann").file("/home/ann/.arduino15/arduino-cli.yaml", text);
        assert_eq!(
            machine.found(),
            pair("/home/ann/.arduino15", "the default"),
            "{text:?}"
        );
    }
}

#[test]
fn a_broken_or_missing_configuration_is_named() {
    let broken = machine(Os::Linux, "/home/ann").file(
        "/home/ann/.arduino15/arduino-cli.yaml",
        "directories:\n  data: [1\n",
    );
    let error = format!("{:#}", broken.locate(None).unwrap_err());
    assert!(
        error.contains(".arduino15/arduino-cli.yaml") && error.contains("--data-dir"),
        "{error}"
    );
    assert!(error.contains("line"), "{error}");
    let missing = machine(Os::Linux, "/home/ann").variable(CONFIG_VARIABLE, "/no.yaml");
    let error = format!("{:#}", missing.locate(None).unwrap_err());
    assert!(error.contains("/no.yaml"), "{error}");
}

#[test]
fn without_a_home_there_is_none() {
    let homeless = Machine {
        home: None,
        ..machine(Os::Linux, "")
    };
    assert_eq!(homeless.locate(None).unwrap(), None);
    assert_eq!(homeless.variable("ARDUINO_DATA_DIR", "/d").found().0, "/d");
}
