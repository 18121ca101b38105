use super::*;
use crate::exit;

const RELEASED: &str = "tools.esp32-arduino-libs.path={runtime.tools.{build.chip_variant}-libs.path}\n\
                        compiler.sdk.path={tools.esp32-arduino-libs.path}\n";

struct Data {
    dir: tempfile::TempDir,
}

impl Data {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn file(self, path: &str, text: &str) -> Self {
        let file = self.path().join("packages/esp32").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn installed(self, core: &str, tools: &[(&str, &str)]) -> Self {
        let index = index(core, tools);
        self.file(&format!("hardware/esp32/{core}/installed.json"), &index)
    }

    fn layout(&self, core: &str) -> Layout {
        find(self.path(), &core.parse().unwrap()).unwrap().layout
    }

    fn refusal(&self, core: &str) -> String {
        let core = find(self.path(), &core.parse().unwrap()).unwrap();
        let error = core
            .check_swappable(&"esp32s3".parse().unwrap())
            .unwrap_err();
        assert_eq!(exit::code(&error), 2);
        error.to_string()
    }

    fn libraries(&self, core: &str) -> String {
        let core = find(self.path(), &core.parse().unwrap()).unwrap();
        let folder = core.libraries(self.path(), &"esp32s3".parse().unwrap());
        let package = package_dir(self.path());
        let below = folder.unwrap().strip_prefix(package).unwrap().to_owned();
        below.to_str().unwrap().replace('\\', "/")
    }
}

fn index(core: &str, tools: &[(&str, &str)]) -> String {
    let tools = tools
        .iter()
        .map(|(name, version)| serde_json::json!({"packager": "esp32", "name": name, "version": version}));
    serde_json::json!({"packages": [
        {"name": "m5stack", "platforms": [{"architecture": "esp32", "version": core, "toolsDependencies": []}]},
        {"name": "esp32", "platforms": [{"architecture": "esp32", "version": core,
                                         "toolsDependencies": tools.collect::<Vec<_>>()}]},
    ]})
    .to_string()
}

#[test]
fn the_three_layouts_are_told_apart_by_what_the_core_depends_on() {
    let data = Data::new()
        .installed("2.0.17", &[("esptool_py", "4.5.1")])
        .file("hardware/esp32/2.0.17/tools/sdk/esp32s3/flags/defines", "")
        .installed("3.3.5", &[("esp32-arduino-libs", "idf-release_v5.5-x-v1")])
        .installed(
            "3.3.12",
            &[
                ("esp-x32", "2601"),
                ("esp32-libs", "3.3.12"),
                ("esp32s3-libs", "3.3.12"),
                ("strange-libs", "1"),
            ],
        );
    let versions: Vec<String> = installed(data.path())
        .unwrap()
        .iter()
        .map(|core| core.version.to_string())
        .collect();
    assert_eq!(versions, ["3.3.12", "3.3.5", "2.0.17"], "newest first");
    assert_eq!(data.layout("2.0.17"), Layout::InCore);
    assert!(
        data.refusal("2.0.17")
            .contains("keeps its libraries in itself")
    );
    assert_eq!(
        data.libraries("2.0.17"),
        "hardware/esp32/2.0.17/tools/sdk/esp32s3"
    );
    assert!(
        data.refusal("3.3.5")
            .contains("one tool (esp32-arduino-libs/idf-release_v5.5-x-v1/esp32s3)")
    );
    assert_eq!(
        data.libraries("3.3.5"),
        "tools/esp32-arduino-libs/idf-release_v5.5-x-v1/esp32s3"
    );
    let new = find(data.path(), &"3.3.12".parse().unwrap()).unwrap();
    let chips: Vec<String> = new.chips().iter().map(ToString::to_string).collect();
    assert_eq!(chips, ["esp32", "esp32s3"]);
    new.check_swappable(&"esp32s3".parse().unwrap()).unwrap();
    assert_eq!(data.libraries("3.3.12"), "tools/esp32s3-libs/3.3.12");
    let error = new
        .check_swappable(&"esp32p4".parse().unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("no libraries for esp32p4"));
}

#[test]
fn a_core_that_takes_other_libraries_than_its_own_is_left_alone() {
    let data = Data::new().installed("3.3.12", &[("esp32s3-libs", "3.3.11")]);
    assert!(data.refusal("3.3.12").contains("in version 3.3.11"));
}

#[test]
fn without_an_index_the_core_itself_is_asked() {
    let data = Data::new()
        .file("hardware/esp32/3.3.12/platform.txt", RELEASED)
        .file("tools/esp32s3-libs/3.3.12.stock/versions.txt", "")
        .file("tools/esp32c3-libs/3.3.11/versions.txt", "")
        .file(
            "hardware/esp32/3.1.0/platform.txt",
            "compiler.sdk.path={runtime.tools.esp32-arduino-libs.path}/{build.mcu}\n",
        )
        .file("hardware/esp32/2.0.9/platform.txt", "name=ESP32\n")
        .file("hardware/esp32/2.0.9/tools/sdk/esp32s3/flags/defines", "");
    let tools = [("esp32s3".to_owned(), "3.3.12".to_owned())].into();
    assert_eq!(data.layout("3.3.12"), Layout::PerChip { tools });
    assert_eq!(data.layout("3.1.0"), Layout::Shared { version: None });
    assert_eq!(data.layout("2.0.9"), Layout::InCore);
    let by_index = Data::new().file("hardware/esp32/3.3.12/platform.txt", "name=ESP32\n");
    fs::write(
        by_index.path().join("package_esp32_index.json"),
        index("3.3.12", &[("esp32s3-libs", "3.3.12")]),
    )
    .unwrap();
    assert!(matches!(by_index.layout("3.3.12"), Layout::PerChip { .. }));
}

#[test]
fn a_folder_of_the_right_name_that_is_something_else_is_not_guessed_at() {
    let data = Data::new()
        .file("hardware/esp32/3.3.12/notes.txt", "my own folder")
        .file("hardware/esp32/3.3.11/platform.txt", "name=Another\n")
        .file("hardware/esp32/old/platform.txt", RELEASED)
        .file("tools/esp32s3-libs/3.3.12/holiday.jpg", "");
    assert!(data.refusal("3.3.12").contains("no platform.txt"));
    assert!(data.refusal("3.3.11").contains("names no tool"));
    assert_eq!(installed(data.path()).unwrap().len(), 2);
}

#[test]
fn a_core_that_is_not_there_is_refused_with_what_to_do() {
    let data = Data::new().installed("3.3.11", &[("esp32s3-libs", "3.3.11")]);
    let error = find(data.path(), &"3.3.12".parse().unwrap()).unwrap_err();
    assert_eq!(exit::code(&error), 2);
    let text = error.to_string();
    assert!(
        text.contains("3.3.11 is") && text.contains("arduino-cli core install esp32:esp32@3.3.12"),
        "{text}"
    );
    let empty = Data::new();
    assert!(installed(empty.path()).unwrap().is_empty());
    let broken = Data::new().file("hardware/esp32/3.3.12/installed.json", "{\n  broken");
    let error = broken.refusal("3.3.12");
    assert!(
        error.contains("installed.json") && error.contains("line 2"),
        "{error}"
    );
}

#[test]
fn a_clone_in_the_sketchbook_is_seen() {
    let user = tempfile::tempdir().unwrap();
    assert_eq!(cloned(user.path()), None);
    let clone = user.path().join("hardware/espressif/esp32");
    fs::create_dir_all(&clone).unwrap();
    fs::write(clone.join("platform.txt"), "").unwrap();
    assert_eq!(
        cloned(user.path()),
        Some(user.path().join("hardware").join("espressif").join("esp32"))
    );
}
