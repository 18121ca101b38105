use std::sync::Mutex;

use super::*;

struct Install {
    dir: tempfile::TempDir,
    core: CoreVersion,
    chip: Chip,
}

impl Install {
    fn new() -> Self {
        Self {
            dir: tempfile::Builder::new()
                .prefix("Arduino 15 é")
                .tempdir()
                .unwrap(),
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
        }
    }

    fn data(&self) -> &Path {
        self.dir.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.data().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// A compiler that says `said`.
    fn tool(&self, version: &str, said: &str) {
        let path = format!("packages/esp32/tools/esp-x32/{version}/bin/xtensa-esp32s3-elf-gcc");
        self.write(
            &path,
            &format!("#!/bin/sh\necho '{said}'\necho Copyright\n"),
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(self.data().join(path), executable).unwrap();
        }
    }

    fn index(&self, path: &str, version: &str) {
        self.write(path, &format!(
            r#"{{"packages":[{{"name":"other","platforms":[{{"version":"3.3.12","toolsDependencies":[{{"packager":"esp32","name":"esp-x32","version":"1"}}]}}]}},
               {{"name":"esp32","maintainer":"Espressif","tools":[{{"name":"esp-x32"}}],"platforms":[
                 {{"architecture":"esp32","version":"3.3.11","toolsDependencies":[{{"packager":"esp32","name":"esp-x32","version":"2511"}}]}},
                 {{"architecture":"esp32","version":"3.3.12","toolsDependencies":[{{"packager":"esp32","name":"esp-rv32","version":"7"}},{{"packager":"esp32","name":"esp-x32","version":"{version}"}}]}}]}}]}}"#
        ));
    }

    fn compiler(&self, given: Option<&Path>) -> (Result<Compiler>, Vec<String>) {
        let notes = Mutex::new(Vec::new());
        let report = |event: Event<'_>| {
            if let Event::Note(text) = event {
                notes.lock().unwrap().push(text.to_owned());
            }
        };
        let found = compiler(given, self.data(), &self.core, &self.chip, &report);
        (found, notes.into_inner().unwrap())
    }
}

#[cfg(unix)]
#[test]
fn the_compiler_is_the_one_that_the_core_depends_on() {
    let install = Install::new();
    install.tool("2511", "gcc (crosstool-NG esp-14.2.0_20251107) 14.2.0");
    install.tool("2601", "gcc (crosstool-NG esp-14.2.0_20260121) 14.2.0");
    install.tool("2701", "gcc 15");

    let (found, notes) = install.compiler(None);
    assert_eq!(found.unwrap().version, "gcc 15");
    assert!(
        notes[0].contains("the newest") && notes[0].contains("2701"),
        "{notes:?}"
    );

    install.index("package_esp32_index.json", "2601");
    let (found, notes) = install.compiler(None);
    assert_eq!(
        found.unwrap().version,
        "gcc (crosstool-NG esp-14.2.0_20260121) 14.2.0"
    );
    assert!(notes.is_empty());

    // The installed platform's own record goes before the index, which may be newer.
    install.index(
        "packages/esp32/hardware/esp32/3.3.12/installed.json",
        "2511",
    );
    assert!(
        install
            .compiler(None)
            .0
            .unwrap()
            .version
            .contains("20251107")
    );

    let folder = install.data().join("packages/esp32/tools/esp-x32/2701");
    for given in [folder.clone(), folder.join("bin")] {
        assert_eq!(install.compiler(Some(&given)).0.unwrap().version, "gcc 15");
    }
}

#[test]
fn a_missing_compiler_is_told_with_what_to_do() {
    let install = Install::new();
    let text = |given: Option<&Path>| format!("{:#}", install.compiler(given).0.unwrap_err());
    assert!(text(None).contains("install core 3.3.12") && text(None).contains("--compiler-dir"));
    assert!(text(Some(install.data())).contains("it has no bin/xtensa-esp32s3-elf-gcc"));
    install.index(
        "packages/esp32/hardware/esp32/3.3.12/installed.json",
        "2601",
    );
    assert!(
        text(None).contains("core 3.3.12 depends on esp-x32 2601"),
        "{}",
        text(None)
    );
    install.write(
        "packages/esp32/hardware/esp32/3.3.12/installed.json",
        "{\"packages\":",
    );
    assert!(text(None).contains("installed.json"), "{}", text(None));
    install.index(
        "packages/esp32/hardware/esp32/3.3.12/installed.json",
        "2601",
    );
    install.write("packages/esp32/tools/esp-x32/2601/bin/readme", "");
    assert!(
        text(None).contains("xtensa-esp32s3-elf-gcc") && text(None).contains("is not there"),
        "{}",
        text(None)
    );
}

#[cfg(unix)]
#[test]
fn a_compiler_that_does_not_run_is_told() {
    let install = Install::new();
    install.write(
        "packages/esp32/tools/esp-x32/2601/bin/xtensa-esp32s3-elf-gcc",
        "not executable",
    );
    let error = format!("{:#}", install.compiler(None).0.unwrap_err());
    assert!(error.contains("does not run"), "{error}");
}

#[test]
fn the_compiler_of_each_chip_has_its_name() {
    let tool = |chip: &str| toolchain(&chip.parse().unwrap());
    assert_eq!(
        tool("esp32s2"),
        ("esp-x32", "xtensa-esp32s2-elf-gcc".to_owned())
    );
    assert_eq!(
        tool("esp32p4_es"),
        ("esp-rv32", "riscv32-esp-elf-gcc".to_owned())
    );
}

#[test]
fn no_tree_a_part_of_one_and_no_zip_are_refused() {
    let install = Install::new();
    let work = WorkDir::open(&install.data().join("work")).unwrap();
    let stock = |given: Option<&Path>| {
        let error = stock(
            given,
            install.data(),
            &install.core,
            &install.chip,
            &work,
            &|_| {},
        )
        .unwrap_err();
        (format!("{error:#}"), crate::exit::code(&error))
    };
    let (text, code) = stock(None);
    assert!(text.contains("install the core") && code == 2, "{text}");
    let (text, code) = stock(Some(&install.data().join("nowhere")));
    assert!(text.contains("nowhere") && code == 2, "{text}");
    let (text, _) = stock(Some(install.data()));
    assert!(text.contains("no flags/"), "{text}");
    install.write("esp32s3-libs.zip", "PK no zip");
    let (text, _) = stock(Some(&install.data().join("esp32s3-libs.zip")));
    assert!(text.contains("esp32s3-libs.zip"), "{text}");
    for dir in [
        "flags/x",
        "include/x",
        "lib/x",
        "qio_opi/include/sdkconfig.h",
    ] {
        install.write(
            &format!("packages/esp32/tools/esp32s3-libs/3.3.12/{dir}"),
            "",
        );
    }
    let (text, _) = stock(None);
    assert!(text.contains("no versions.txt"), "{text}");
}

#[test]
fn a_zip_that_leads_elsewhere_is_refused() {
    let install = Install::new();
    let work = WorkDir::open(&install.data().join("work")).unwrap();
    for (name, link) in [("../evil", false), ("esp32s3-libs/link", true)] {
        let path = install.data().join("evil.zip");
        let mut zip = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        if link {
            zip.add_symlink(name, "/etc/passwd", options).unwrap();
        } else {
            zip.start_file(name, options).unwrap();
        }
        zip.finish().unwrap();
        let error = format!(
            "{:#}",
            stock_zip::unpack(&path, &work, &|_| {}).unwrap_err()
        );
        assert!(
            error.contains("evil.zip") && error.contains(name),
            "{error}"
        );
        assert!(!install.data().join("evil").exists() && !work.root().join("stock/evil").exists());
    }
}
