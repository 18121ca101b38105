use super::*;
use crate::arduino::FoundBy;

/// A data folder with a core 3.3.12 for two chips.
struct Data {
    dir: tempfile::TempDir,
}

const PLATFORM: &str = "compiler.sdk.path={runtime.tools.{build.chip_variant}-libs.path}\n";

impl Data {
    fn new() -> Self {
        let data = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        data.core("3.3.12");
        data.tree("esp32s3-libs/3.3.12", "");
        data.tree("esp32c6-libs/3.3.12", "");
        data
    }

    fn core(&self, version: &str) {
        let platform = cores::package_dir(self.dir.path())
            .join("hardware/esp32")
            .join(version);
        fs::create_dir_all(&platform).unwrap();
        fs::write(platform.join("platform.txt"), PLATFORM).unwrap();
    }

    fn tool(&self, path: &str) -> PathBuf {
        cores::tools_dir(self.dir.path()).join(path)
    }

    /// A libraries tree with this line in its settings.
    fn tree(&self, path: &str, line: &str) {
        let root = self.tool(path);
        for folder in ["flags", "include", "lib", "qio_opi/include"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let header = root.join("qio_opi/include/sdkconfig.h");
        fs::write(header, format!("#define CONFIG_SPIRAM_MODE_OCT 1\n{line}")).unwrap();
        fs::write(root.join("versions.txt"), "esp-idf: v5.5.5 b774170ff4\n").unwrap();
    }

    fn status(&self, core: Option<&str>, places: &[CachePlace]) -> Status {
        let core = core.map(|core| core.parse().unwrap());
        let question = Question {
            core: core.as_ref(),
            chip: None,
            depth: Depth::Full,
        };
        let data_dir = DataDir {
            path: self.dir.path().to_owned(),
            found_by: FoundBy::Flag,
        };
        let sketchbook = self.dir.path().join("sketchbook");
        look(data_dir, &question, Some(&sketchbook), places, &|_| {}).unwrap()
    }
}

const XIP: &str = "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n#define CONFIG_SPIRAM_ECC_ENABLE 1\n";

#[test]
fn an_untouched_installation_has_nothing_to_tell() {
    let status = Data::new().status(None, &[]);
    assert_eq!(status.notes, Vec::<String>::new());
    assert_eq!((status.cores.len(), status.tools.len()), (1, 2));
    assert!(status.missing.is_empty() && status.menus.is_empty() && !status.has_damage());
}

#[test]
fn libraries_swapped_by_hand_are_seen_and_older_builds_may_be_stale() {
    let data = Data::new();
    let cache = data
        .dir
        .path()
        .join("cache/cores/esp32_esp32_esp32s3_x/core.a");
    fs::create_dir_all(cache.parent().unwrap()).unwrap();
    fs::write(&cache, "x").unwrap();
    let places = [CachePlace {
        folder: data.dir.path().join("cache"),
        form: caches::Form::Cache,
    }];
    let kept = |data: &Data| {
        let status = data.status(None, &places);
        let stale = status.caches.iter().map(|kept| kept.may_be_stale);
        stale.collect::<Vec<_>>()
    };
    assert_eq!(kept(&data), [false], "nobody swapped anything");
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::rename(
        data.tool("esp32s3-libs/3.3.12"),
        data.tool("esp32s3-libs/3.3.12.stock"),
    )
    .unwrap();
    data.tree("esp32s3-libs/3.3.12", XIP);
    let status = data.status(None, &[]);
    let s3 = &status.tools[1].cores[0];
    assert!(
        matches!(s3.active, Content::PatchedByHand { ecc: true, .. }),
        "{s3:?}"
    );
    assert_eq!(kept(&data), [true]);
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&cache, "compiled anew").unwrap();
    assert_eq!(kept(&data), [false]);
}

#[test]
fn after_an_upgrade_it_is_said_that_the_patched_libraries_are_gone() {
    let data = Data::new();
    fs::rename(
        data.tool("esp32s3-libs/3.3.12"),
        data.tool("esp32s3-libs/3.3.12.stock"),
    )
    .unwrap();
    // The Boards Manager removes the old core and its tool's folder, and brings the new ones.
    fs::remove_dir_all(cores::package_dir(data.dir.path()).join("hardware/esp32/3.3.12")).unwrap();
    data.core("3.3.13");
    data.tree("esp32s3-libs/3.3.13", "");
    let status = data.status(None, &[]);
    let [note] = <[String; 1]>::try_from(status.notes).unwrap();
    for part in [
        "core 3.3.13 came with its own stock libraries for esp32s3",
        "were for core 3.3.12",
        "--core 3.3.13",
    ] {
        assert!(note.contains(part), "{note}");
    }
    assert!(data.status(Some("3.3.12"), &[]).cores.is_empty());
}

#[test]
fn missing_libraries_older_layouts_and_clones_are_told() {
    let data = Data::new();
    fs::create_dir_all(cores::package_dir(data.dir.path()).join("hardware/esp32/2.0.17/tools/sdk"))
        .unwrap();
    let old = cores::package_dir(data.dir.path()).join("hardware/esp32/2.0.17/platform.txt");
    fs::write(old, "name=ESP32\n").unwrap();
    let clone = data.dir.path().join("sketchbook/hardware/espressif/esp32");
    fs::create_dir_all(&clone).unwrap();
    fs::write(clone.join("platform.txt"), "").unwrap();
    fs::rename(
        data.tool("esp32s3-libs/3.3.12"),
        data.tool("esp32s3-libs/3.3.12.stock"),
    )
    .unwrap();
    let status = data.status(None, &[]);
    let s3 = Missing {
        core: "3.3.12".parse().unwrap(),
        chip: "esp32s3".parse().unwrap(),
    };
    assert_eq!(status.missing, [s3]);
    let notes = status.notes.join("\n");
    assert!(
        notes.contains("core of its own")
            && notes.contains("core 2.0.17 keeps its libraries in itself"),
        "{notes}"
    );
}
