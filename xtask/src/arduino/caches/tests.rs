use super::*;
use crate::arduino::config::Config;
use crate::arduino::made_up::MadeUp;
use crate::arduino::surroundings::Os;

fn folders(machine: &MadeUp, os: Os, home: &str, data: &str, configs: &[Config]) -> Vec<String> {
    places(Path::new(data), configs, &machine.on(os, home))
        .into_iter()
        .map(|place| format!("{:?} {}", place.form, place.folder.display()))
        .collect()
}

#[test]
fn each_systems_places_are_known() {
    let linux = MadeUp::default()
        .variable("XDG_CACHE_HOME", "/caches")
        .variable("TMPDIR", "/dev/shm")
        .folder("/tmp/arduino_cache_12/core")
        .folder("/tmp/arduino_build_34")
        .folder("/tmp/arduino-sketch-AB")
        .folder("/tmp/arduinocad")
        .folder("/home/ann/snap/arduino-cli/current")
        .folder("/home/ann/.var/app/cc.arduino.IDE2/cache")
        .folder("/home/ann/.var/app/org.gimp.GIMP/cache");
    assert_eq!(
        folders(&linux, Os::Linux, "/home/ann", "/home/ann/.arduino15", &[]),
        [
            "Cache /caches/arduino",
            "Cache /home/ann/.cache/arduino",
            "Cache /home/ann/snap/arduino-cli/common/.cache/arduino",
            "Cache /home/ann/snap/arduino-cli/current/.cache/arduino",
            "Cache /home/ann/.var/app/cc.arduino.IDE2/cache/arduino",
            "Cache /dev/shm/arduino",
            "Archives /dev/shm/arduino-core-cache",
            "Cache /tmp/arduino",
            "Archives /tmp/arduino-core-cache",
            "Sketch /tmp/arduino-sketch-AB",
            "Sketch /tmp/arduino_build_34",
            "Archives /tmp/arduino_cache_12/core",
            "Archives /home/ann/.var/app/cc.arduino.IDE2/cache/arduino-core-cache",
        ]
    );
    let mac = folders(&MadeUp::default(), Os::MacOs, "/Users/ann", "/d", &[]);
    assert_eq!(mac[0], "Cache /Users/ann/Library/Caches/arduino");
    let windows = MadeUp::default()
        .variable("LOCALAPPDATA", "C:\\L")
        .variable("TEMP", "C:\\L\\Temp");
    assert_eq!(
        folders(
            &windows,
            Os::Windows,
            "C:\\Users\\Ann",
            "C:\\L\\Arduino15",
            &[]
        ),
        [
            "Cache C:\\L\\arduino",
            "Cache C:\\L\\Temp\\arduino",
            "Archives C:\\L\\Temp\\arduino-core-cache",
        ]
    );
}

#[test]
fn a_configured_cache_and_that_of_windows_around_wsl_are_known() {
    let configs =
        [
            Config::from_dump(r#"{"config":{"build_cache":{"path":"/c","extra_paths":["/d"]}}}"#)
                .unwrap(),
        ];
    let machine = MadeUp::default()
        .variable("ARDUINO_BUILD_CACHE_PATH", "/b")
        .variable("WSL_DISTRO_NAME", "Debian");
    let data = "/mnt/c/Users/Ann/AppData/Local/Arduino15";
    let found = folders(&machine, Os::Linux, "/home/ann", data, &configs);
    assert_eq!(found[..3], ["Cache /b", "Cache /c", "Cache /d"]);
    for place in ["Local/arduino", "Local/Temp/arduino"] {
        let place = format!("Cache /mnt/c/Users/Ann/AppData/{place}");
        assert!(found.contains(&place), "{found:?}");
    }
}

struct Cache {
    dir: tempfile::TempDir,
}

impl Cache {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, path: &str, content: &[u8]) {
        let file = self.dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    fn found(&self, form: Form) -> Found {
        entries(&[Place {
            folder: self.dir.path().to_owned(),
            form,
        }])
    }

    fn names(&self, form: Form) -> Vec<String> {
        let found = self.found(form);
        assert_eq!(found.passed_over, Vec::<String>::new());
        let below = |entry: &Entry| {
            let below = entry.path.strip_prefix(self.dir.path()).unwrap();
            below.to_str().unwrap().replace('\\', "/")
        };
        found.entries.iter().map(below).collect()
    }
}

const HASH: &str = "0c812875ac70eb4a9b385d8fb077f54c";

#[test]
fn only_this_cores_entries_are_found() {
    let cache = Cache::new();
    cache.file(&format!("cores/esp32_esp32_esp32s3_{HASH}/core.a"), b"x");
    cache.file(
        &format!("cores/esp32_esp32_esp32s3_PSRAM_opi_{HASH}/core.a"),
        b"x",
    );
    cache.file(
        &format!("cores/m5stack_esp32_m5stack_cores3_{HASH}/core.a"),
        b"x",
    );
    cache.file(&format!("cores/esp32_avr_uno_{HASH}/core.a"), b"x");
    cache.file(&format!("cores/arduino_avr_uno_{HASH}/core.a"), b"x");
    // Every board option stands in the FQBN, so names soon get too long and are hashed.
    cache.file(&format!("cores/{HASH}/core.a"), b"!<arch>\n");
    cache.file("cores/notes.txt", b"x");
    let options = |fqbn: &str| format!("{{\"fqbn\": \"{fqbn}\", \"sketchLocation\": \"/s\"}}");
    cache.file(
        "sketches/AA/build.options.json",
        options("esp32:esp32:esp32s3:PSRAM=opi").as_bytes(),
    );
    cache.file("sketches/AA/core/core.a", b"12345");
    cache.file(
        "sketches/BB/build.options.json",
        options("arduino:avr:uno").as_bytes(),
    );
    cache.file("sketches/CC/build.options.json", b"{");
    cache.file("sketches/DD/other", b"");
    assert_eq!(
        cache.names(Form::Cache),
        [
            format!("cores/esp32_esp32_esp32s3_{HASH}"),
            format!("cores/esp32_esp32_esp32s3_PSRAM_opi_{HASH}"),
            "sketches/AA".to_owned(),
        ]
    );
    let sketch = &cache.found(Form::Cache).entries[2];
    let bytes = options("esp32:esp32:esp32s3:PSRAM=opi").len() + b"12345".len();
    assert_eq!((sketch.kind, sketch.bytes), (Kind::Sketch, bytes as u64));
}

#[test]
fn older_forms_are_known() {
    let cache = Cache::new();
    cache.file(&format!("core_esp32_esp32_esp32s3_{HASH}.a"), b"x");
    cache.file(&format!("core_arduino_avr_uno_{HASH}.a"), b"x");
    cache.file("esp32_esp32_x.a", b"x");
    assert_eq!(
        cache.names(Form::Archives),
        [format!("core_esp32_esp32_esp32s3_{HASH}.a")]
    );
    cache.file("build.options.json", br#"{"fqbn":"esp32:esp32:esp32s3"}"#);
    assert_eq!(cache.names(Form::Sketch), [""]);
    let gone = Place {
        folder: cache.dir.path().join("gone"),
        form: Form::Cache,
    };
    assert_eq!(entries(&[gone]), Found::default());
}

#[test]
fn an_entry_is_judged_by_its_time_alone() {
    let cache = Cache::new();
    cache.file("cores/esp32_esp32_a/core.a", b"x");
    cache.file("cores/esp32_esp32_b/.last-used", b"");
    let found = cache.found(Form::Cache);
    let now = SystemTime::now();
    let hour = std::time::Duration::from_secs(3600);
    let older = |change| {
        let older = found
            .entries
            .iter()
            .map(|entry| entry.is_older_than(change));
        older.collect::<Vec<_>>()
    };
    assert_eq!(older(now + hour), [true, true]);
    assert_eq!(
        older(now - hour),
        [false, true],
        "without core.a nothing is known"
    );
}

#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    let elsewhere = Cache::new();
    elsewhere.file("esp32_esp32_a/core.a", b"x");
    elsewhere.file("build.options.json", br#"{"fqbn":"esp32:esp32:esp32s3"}"#);
    let cache = Cache::new();
    let link = |name: &str| {
        let path = cache.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.dir.path(), path).unwrap();
    };
    link("cores");
    link("sketches/AA");
    link("x/cores/esp32_esp32_b");
    let found = cache.found(Form::Cache);
    assert!(found.entries.is_empty());
    assert_eq!(found.passed_over.len(), 2, "{:?}", found.passed_over);
    let inner = Place {
        folder: cache.dir.path().join("x"),
        form: Form::Cache,
    };
    assert!(entries(&[inner]).entries.is_empty());
    let sketch = Place {
        folder: cache.dir.path().join("sketches/AA"),
        form: Form::Sketch,
    };
    assert!(entries(&[sketch]).entries.is_empty());
}
