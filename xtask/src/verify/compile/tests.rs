#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::*;
use crate::patchset;
use crate::verify::{Verdict, made_up};

const DRIVER: &str = "spi_flash_os_func_app.c";
const COPIES: [&str; 2] = [
    "mmu_config_psram_text_segment",
    "mmu_config_psram_rodata_segment",
];
const FQBN: &str = "esp32:esp32:esp32s3:PSRAM=opi";

/// A program with `code` bytes of code; from PSRAM or from flash.
fn program(code: u32, psram: bool) -> Vec<u8> {
    let sections = [
        (".iram0.text", 0x4037_4000, 0x100, true),
        (".dram0.data", 0x3FC8_8000, 0x80, true),
        (".flash.text", 0x4200_0020, code, true),
        (".flash.rodata", 0x3C00_0020, 0x80, true),
    ];
    if psram {
        made_up::program(&sections, &[(DRIVER, &["s_spi1_flash_mutex"])], &COPIES)
    } else {
        made_up::program(&sections, &[(DRIVER, &["cache_disable"])], &["main"])
    }
}

/// A sketch, libraries, and a stand-in for arduino-cli.
struct World {
    dir: tempfile::TempDir,
    chip: Chip,
    limit: Duration,
}

impl World {
    fn new(patched: bool) -> Self {
        let dir = tempfile::Builder::new().prefix("ü x").tempdir().unwrap();
        let world = Self {
            dir,
            chip: "esp32s3".parse().unwrap(),
            limit: Duration::from_secs(60),
        };
        made_up::write_tree(&world.path("libs/3.3.12"), patched);
        made_up::write(&world.path("Blink"), "Blink.ino", "void setup() {}");
        fs::create_dir(world.path("build")).unwrap();
        let elf = program(0x1000, patched);
        world.compiles_to(&elf, "libs/3.3.12", "qio_opi");
        world
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// The stand-in does what `script` says; `$1` is the command.
    fn script(&self, script: &str) {
        let version = r#"{"Application": "arduino-cli", "VersionString": "1.5.1"}"#;
        let text = format!(
            "#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{}'\nif [ \"$1\" = version ]; then echo '{version}'; exit; fi\n{script}\n",
            self.path("calls").display()
        );
        let program = self.path("arduino-cli");
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn answers(&self, json: &serde_json::Value, status: i32) {
        made_up::write(self.dir.path(), "answer.json", json.to_string());
        let answer = self.path("answer.json");
        self.script(&format!("cat '{}'; exit {status}", answer.display()));
    }

    fn compiles_to(&self, elf: &[u8], libraries: &str, variant: &str) {
        made_up::write(self.dir.path(), "build/Blink.ino.elf", elf);
        let properties = [
            "build.project_name=Blink.ino".to_owned(),
            format!("compiler.sdk.path={}", self.path(libraries).display()),
            format!("build.memory_type={variant}"),
        ];
        let result =
            serde_json::json!({"build_path": self.path("build"), "build_properties": properties});
        self.answers(
            &serde_json::json!({"success": true, "builder_result": result}),
            0,
        );
    }

    fn cli(&self) -> Result<ArduinoCli, String> {
        loop {
            let found = ArduinoCli::find(Some(&self.path("arduino-cli")), Some(&self.path("data")));
            let found = found.map_err(|error| format!("{error:#}"));
            // Another thread that forks while the script is open for writing makes the kernel call it busy for a moment.
            if !found
                .as_ref()
                .is_err_and(|why| why.contains("Text file busy"))
            {
                return found;
            }
        }
    }

    fn source(&self) -> Source<'static> {
        Source::Sketch {
            cli: self.cli(),
            request: Request {
                sketch: self.path("Blink"),
                fqbn: FQBN.to_owned(),
                libraries: vec![self.path("lib é")],
                build: self.path("build"),
                limit: self.limit,
            },
        }
    }

    fn check(
        &self,
        source: Source<'_>,
        expected: Expected,
        psram_mb: u32,
    ) -> (Verdict, Option<Looked>) {
        let root = self.path("libs/3.3.12");
        let subject = Subject::open(&root, &self.chip, expected.clone(), None).unwrap();
        let plan = Plan {
            source,
            chip: &self.chip,
            subject: Some(&subject),
            expected: &expected,
            psram_mb,
        };
        let (checks, looked) = check(&plan, &|_| {});
        (Verdict { checks }, looked)
    }

    fn compile(&self) -> (Verdict, Option<Looked>) {
        self.check(self.source(), Expected::AsTheySay, 8)
    }
}

/// Each check that is not passed, and what it says.
fn bad(verdict: &Verdict) -> Vec<(&str, String)> {
    verdict
        .checks
        .iter()
        .filter_map(|check| {
            let text = match &check.outcome {
                Outcome::Passed { .. } => return None,
                Outcome::Failed { why, what_to_do } => format!("FAILED {why}; {what_to_do}"),
                Outcome::NotRun { why } => format!("{why} asked={}", check.asked),
            };
            Some((check.id.strip_prefix("compile.").unwrap(), text))
        })
        .collect()
}

fn set(name: &str) -> Expected {
    Expected::Set(Box::new(patchset::find(name).unwrap()))
}

#[test]
fn patched_and_stock_programs_pass_with_their_libraries() {
    for (patched, place, left) in [
        (true, Placement::Psram, (8 << 20) / 16 * 15 - (2 << 16)),
        (false, Placement::Flash, 8 << 20),
    ] {
        let world = World::new(patched);
        let (verdict, looked) = world.compile();
        assert_eq!(bad(&verdict), []);
        let looked = looked.unwrap();
        assert_eq!(looked.placement, Some(place));
        assert_eq!(looked.memory_variant.as_deref(), Some("qio_opi"));
        assert_eq!(looked.left[2].left, Some(left));
        let calls = fs::read_to_string(world.path("calls")).unwrap();
        let build = world.path("build");
        let library = world.path("lib é");
        let sketch = world.path("Blink");
        let wanted = format!(
            "version\n--format\njson\ncompile\n--fqbn\n{FQBN}\n--build-path\n{}\n--library\n{}\n{}\n--format\njson\n",
            build.display(),
            library.display(),
            sketch.display()
        );
        assert_eq!(calls, wanted);
    }
}

#[test]
fn an_expectation_that_the_program_does_not_meet_fails() {
    let world = World::new(false);
    let (verdict, _) = world.check(world.source(), set("xip-ecc"), 8);
    let found = bad(&verdict);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].0 == "placement" && found[0].1.contains("patch set xip-ecc it runs from PSRAM"),
        "{found:?}"
    );
    let (verdict, _) = world.check(world.source(), Expected::Stock, 8);
    assert_eq!(bad(&verdict), []);
    let patched = World::new(true);
    let (verdict, _) = patched.check(patched.source(), set("xip-ecc"), 8);
    assert_eq!(bad(&verdict), []);
    let (verdict, _) = patched.check(patched.source(), Expected::Stock, 8);
    assert_eq!(bad(&verdict)[0].0, "placement");
    // A quad variant of the same set stays stock.
    patched.compiles_to(&program(0x1000, false), "libs/3.3.12", "qio_qspi");
    let (verdict, _) = patched.check(patched.source(), set("xip-ecc"), 8);
    assert_eq!(bad(&verdict), []);
}

#[test]
fn each_fault_of_a_program_is_found_by_its_check() {
    let world = World::new(true);
    // An old core behind new headers.
    world.compiles_to(&program(0x1000, false), "libs/3.3.12", "qio_opi");
    let (verdict, _) = world.compile();
    let found = bad(&verdict);
    assert!(
        found.len() == 1
            && found[0].0 == "placement"
            && found[0].1.contains("qio_opi/include/sdkconfig.h says"),
        "{found:?}"
    );
    // Another installation's libraries.
    made_up::write_tree(&world.path("other/3.3.12"), true);
    world.compiles_to(&program(0x1000, true), "other/3.3.12", "qio_opi");
    let (verdict, _) = world.compile();
    let found = bad(&verdict);
    assert!(
        found.len() == 1 && found[0].0 == "libraries" && found[0].1.contains("not with"),
        "{found:?}"
    );
    // Too large for a part with 2 MB, by ECC's sixteenth.
    world.compiles_to(&program(0x1E_0000, true), "libs/3.3.12", "qio_opi");
    let (verdict, looked) = world.check(world.source(), Expected::AsTheySay, 2);
    let found = bad(&verdict);
    assert!(
        found.len() == 1 && found[0].0 == "psram" && found[0].1.contains("would abort at boot"),
        "{found:?}"
    );
    assert_eq!(looked.unwrap().left[0].left, None);
    // Not what it should be at all.
    for (elf, says) in [
        (made_up::object(&["main"], &[]), ": no linked program"),
        (
            made_up::program(&[(".text", 0x4037_4000, 16, true)], &[], &["main"]),
            "it lacks .flash.text",
        ),
        (b"MZ".to_vec(), ": no ELF file"),
    ] {
        world.compiles_to(&elf, "libs/3.3.12", "qio_opi");
        let (verdict, _) = world.compile();
        let found = bad(&verdict);
        assert!(
            found[0].0 == "sections" && found[0].1.contains(says),
            "{found:?}"
        );
        assert!(!verdict.is_good());
    }
}

#[test]
fn a_sketch_that_does_not_compile_says_why() {
    let world = World::new(true);
    let diagnostic = serde_json::json!({"severity": "ERROR", "message": "'x' was not declared", "file": "/s/Blink.ino", "line": 3});
    world.answers(
        &serde_json::json!({"success": false, "error": "exit status 1", "builder_result": {"diagnostics": [diagnostic]}}),
        1,
    );
    let (verdict, looked) = world.compile();
    let found = bad(&verdict);
    assert!(looked.is_none() && found.len() == CHECKS.len());
    assert!(
        found[0]
            .1
            .starts_with("FAILED Blink.ino:3: 'x' was not declared; "),
        "{found:?}"
    );
    assert!(
        found[1..]
            .iter()
            .all(|(_, text)| text.ends_with("asked=true")),
        "{found:?}"
    );
    world.script("echo '{\"error\": \"Platform esp32:esp32 not found: platform not installed\"}' >&2; exit 1");
    let found = &bad(&world.compile().0)[0].1.clone();
    assert!(found.contains("core install esp32:esp32"), "{found}");
}

#[test]
fn a_stand_in_that_answers_nothing_of_use_is_told() {
    for (script, says) in [
        ("echo done", "gave no JSON"),
        ("echo no space left >&2; exit 1", "no space left"),
        ("echo '{\"success\": true}'", ""),
    ] {
        let world = World::new(true);
        world.script(script);
        fs::remove_file(world.path("build/Blink.ino.elf")).unwrap();
        let (verdict, _) = world.compile();
        let found = bad(&verdict);
        assert!(
            found[0].1.starts_with("FAILED") && found[0].1.contains(says),
            "{script}: {found:?}"
        );
    }
    // Versions before 1.0 do not tell their properties.
    let world = World::new(true);
    world.script("echo '{\"success\": true}'");
    let (verdict, _) = world.compile();
    let found = bad(&verdict);
    assert!(
        found.len() == 1 && found[0].0 == "libraries" && found[0].1.contains("compiler.sdk.path"),
        "{found:?}"
    );
    assert!(!verdict.is_good());
}

#[test]
fn it_is_not_waited_for_for_ever() {
    let mut world = World::new(true);
    world.limit = Duration::from_millis(100);
    // A child of the child holds the outputs open.
    world.script("sleep 60 & exec sleep 60");
    let begun = Instant::now();
    let (verdict, _) = world.compile();
    let found = bad(&verdict);
    assert!(found[0].1.contains("did not end within"), "{found:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn without_arduino_cli_what_was_asked_for_did_not_run() {
    let world = World::new(true);
    fs::remove_file(world.path("arduino-cli")).unwrap();
    let (verdict, looked) = world.compile();
    assert!(looked.is_none() && !verdict.is_good());
    assert_eq!(verdict.tally().asked_not_run, CHECKS.len());
    assert!(bad(&verdict)[0].1.contains("is no program"));
    // Something else of that name.
    fs::write(world.path("arduino-cli"), "#!/bin/sh\necho 3\n").unwrap();
    fs::set_permissions(
        world.path("arduino-cli"),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let why = world.cli().unwrap_err();
    assert!(why.contains("does not say its version"), "{why}");
}

#[test]
fn a_finished_program_is_looked_at_alone() {
    let world = World::new(true);
    let elf = world.path("build/Blink.ino.elf");
    let (verdict, looked) = world.check(Source::Elf(&elf), set("xip-ecc"), 8);
    assert!(verdict.is_good(), "{:?}", bad(&verdict));
    assert_eq!(bad(&verdict).len(), 2);
    let need = looked.unwrap().need.unwrap();
    assert!(need.ecc && need.total() == 2 << 16);
    fs::write(&elf, program(0x1000, false)).unwrap();
    let (verdict, looked) = world.check(Source::Elf(&elf), Expected::AsTheySay, 8);
    assert!(verdict.is_good());
    assert_eq!(looked.unwrap().placement, Some(Placement::Flash));
    let (verdict, _) = world.check(Source::Elf(&elf), set("xip-ecc"), 8);
    assert_eq!(verdict.tally().failed, 1);
    let (verdict, looked) = world.check(Source::Nothing("not asked for"), set("xip-ecc"), 8);
    assert!(verdict.is_good() && looked.is_none());
    assert_eq!(verdict.tally().not_run, CHECKS.len());
}
