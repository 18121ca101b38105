use std::path::{Path, PathBuf};

use fs_err as fs;
use object::Architecture;
use proptest::prelude::*;

use super::*;
use crate::patchset;
use crate::testing;
use crate::verify::made_up::{self, Made};
use crate::verify::subject::Account;
use crate::verify::{Expected, Verdict};

/// A tree of its own, in a folder that has a core version's name.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new(write: fn(&Path)) -> Self {
        let dir = tempfile::Builder::new().prefix("é ").tempdir().unwrap();
        let root = dir.path().join("3.3.12");
        write(&root);
        Self { _dir: dir, root }
    }

    fn package() -> Self {
        Self::new(made_up::write_package)
    }

    fn stock() -> Self {
        Self::new(|root| made_up::write_tree(root, false))
    }

    fn by_hand() -> Self {
        Self::new(|root| made_up::write_tree(root, true))
    }

    fn subject(&self, expected: Expected, stock: Option<&Place>) -> Subject {
        let stock = stock.map(|stock| crate::libs::Tree::open(&stock.root).unwrap());
        Subject::open(&self.root, &"esp32s3".parse().unwrap(), expected, stock).unwrap()
    }

    fn look(&self, expected: Expected) -> Verdict {
        Verdict {
            checks: check(&self.subject(expected, None), &|_| {}),
        }
    }
}

fn set(name: &str) -> Expected {
    Expected::Set(Box::new(patchset::find(name).unwrap()))
}

/// The names of the checks that failed, without `files.`.
fn failed(verdict: &Verdict) -> Vec<&str> {
    named(verdict, |outcome| matches!(outcome, Outcome::Failed { .. }))
}

fn named(verdict: &Verdict, which: fn(&Outcome) -> bool) -> Vec<&str> {
    verdict
        .checks
        .iter()
        .filter(|check| which(&check.outcome))
        .map(|check| check.id.strip_prefix("files.").unwrap())
        .collect()
}

fn text(verdict: &Verdict) -> String {
    format!("{:#?}", verdict.checks)
}

#[test]
fn a_package_passes_every_check() {
    let place = Place::package();
    for expected in [Expected::AsTheySay, set("xip-ecc")] {
        let verdict = place.look(expected);
        assert_eq!(verdict.tally().passed, CHECKS.len(), "{}", text(&verdict));
    }
    let account = place.subject(Expected::AsTheySay, None).account();
    assert_eq!(
        account.to_string(),
        "package for core 3.3.12, patch set xip-ecc"
    );
}

#[test]
fn stock_libraries_are_good_and_called_stock() {
    let place = Place::stock();
    assert_eq!(
        place.subject(Expected::AsTheySay, None).account(),
        Account::Stock
    );
    for expected in [Expected::AsTheySay, Expected::Stock] {
        let verdict = place.look(expected);
        assert!(verdict.is_good(), "{}", text(&verdict));
        let not_run = named(&verdict, |outcome| {
            matches!(outcome, Outcome::NotRun { .. })
        });
        assert_eq!(not_run, ["manifest", "hashes"]);
    }
    let verdict = place.look(set("xip-ecc"));
    assert_eq!(failed(&verdict), ["manifest", "settings"]);
    assert_eq!(
        failed(&Place::package().look(Expected::Stock)),
        ["manifest", "settings"]
    );
    assert_eq!(
        failed(&Place::package().look(set("xip-ecc-chip"))),
        ["manifest", "settings"]
    );
}

#[test]
fn what_was_put_together_by_hand_is_told_for_what_it_is() {
    let place = Place::by_hand();
    let account = place.subject(Expected::AsTheySay, None).account();
    assert_eq!(
        account.to_string(),
        "built by hand, without a manifest: XIP and ECC: dio_opi, opi_opi, qio_opi; stock: dio_qspi, qio_qspi"
    );
    let verdict = place.look(Expected::AsTheySay);
    assert!(verdict.is_good(), "{}", text(&verdict));
    assert_eq!(verdict.tally().not_run, 3);
    let verdict = place.look(set("xip-ecc"));
    assert!(verdict.is_good(), "{}", text(&verdict));
    assert_eq!(failed(&place.look(Expected::Stock)), ["settings"]);
    // Stock settings, but files that no release holds.
    let built = Place::stock();
    made_up::write(&built.root, "dependencies.lock", "x");
    assert!(matches!(
        built.subject(Expected::AsTheySay, None).account(),
        Account::ByHand { .. }
    ));
}

/// What is done to a tree, and the checks that must then fail, no others; and a text that one of them must have.
type Damage = (
    &'static str,
    fn(&Path),
    &'static [&'static str],
    &'static str,
);

fn remove(root: &Path, path: &str) {
    fs::remove_file(root.join(path)).unwrap();
}

fn edit(root: &Path, path: &str, from: &str, to: &str) {
    let text = fs::read_to_string(root.join(path)).unwrap();
    assert!(text.contains(from), "{path}: {text}");
    fs::write(root.join(path), text.replacen(from, to, 1)).unwrap();
}

fn each_damage_is_found(place: fn() -> Place, damages: &[Damage]) {
    for (name, damage, checks, says) in damages {
        let place = place();
        damage(&place.root);
        let verdict = place.look(Expected::AsTheySay);
        assert_eq!(failed(&verdict), *checks, "{name}: {}", text(&verdict));
        assert!(
            text(&verdict).contains(says),
            "{name}: {says}: {}",
            text(&verdict)
        );
        assert!(!verdict.is_good());
    }
}

#[test]
fn each_damage_of_a_package_is_found_by_its_check() {
    each_damage_is_found(
        Place::package,
        &[
            (
                "a manifest cut short",
                |root| made_up::write(root, "libs-manifest.json", "{\"schema\": 1,\n"),
                &["manifest", "hashes"],
                "line 2",
            ),
            (
                "another core's package",
                |root| edit(root, "libs-manifest.json", "3.3.12", "3.3.11"),
                &["manifest"],
                "for core 3.3.11, and stands where core 3.3.12 looks",
            ),
            (
                "another chip's package",
                |root| edit(root, "libs-manifest.json", "\"esp32s3\"", "\"esp32s2\""),
                &["manifest"],
                "for esp32s2",
            ),
            (
                "a changed file of the same size",
                |root| edit(root, "include/heap/include/heap.h", "once", "twos"),
                &["hashes"],
                "1 changed: include/heap/include/heap.h",
            ),
            (
                "a lost file",
                |root| remove(root, "include/heap/include/heap.h"),
                &["hashes"],
                "1 missing: include/heap/include/heap.h",
            ),
            (
                "a foreign file",
                |root| made_up::write(root, "lib/note.txt", "x"),
                &["hashes"],
                "1 not the package's: lib/note.txt",
            ),
            (
                "ECC off",
                |root| {
                    edit(
                        root,
                        "qio_opi/include/sdkconfig.h",
                        "#define CONFIG_SPIRAM_ECC_ENABLE 1\n",
                        "",
                    );
                },
                &["hashes", "settings"],
                "qio_opi: CONFIG_SPIRAM_ECC_ENABLE is n, expected y",
            ),
            (
                "a value other than the manifest recorded",
                |root| {
                    edit(
                        root,
                        "libs-manifest.json",
                        "\"CONFIG_SPIRAM_ECC_ENABLE\":\"y\"",
                        "\"CONFIG_SPIRAM_SPEED\":\"80\"",
                    );
                },
                &["settings"],
                "CONFIG_SPIRAM_SPEED is n, expected 80",
            ),
            (
                "a variant that the manifest tells of",
                |root| {
                    edit(
                        root,
                        "libs-manifest.json",
                        "\"qio_qspi\":{",
                        "\"opi_qspi\":{},\"qio_qspi\":{",
                    );
                },
                &["settings"],
                "opi_qspi/include/sdkconfig.h is missing",
            ),
            (
                "an unreadable setting",
                |root| made_up::write(root, "qio_opi/include/sdkconfig.h", "#define CONFIG_A"),
                &["hashes", "settings"],
                "line 1",
            ),
            (
                "the article's form: quad variants too",
                |root| {
                    let made = Made {
                        code: true,
                        constants: true,
                        ..Made::default()
                    };
                    made_up::write_variant(root, "qio_qspi", made, made);
                },
                &["hashes", "settings", "placement"],
                "qio_qspi: XIP, but PSRAM is not started at boot",
            ),
            (
                "a stock archive in a patched variant",
                |root| {
                    let patched = made_up::settings("qio_opi", true);
                    let stock = made_up::settings("qio_opi", false);
                    made_up::write_variant(root, "qio_opi", patched, stock);
                },
                &["hashes", "symbols"],
                "qio_opi: by sdkconfig.h `flash is written with the cache on` is on, but libspi_flash.a \
                 (spi_flash_os_func_app.c.obj) refers to spi_flash_disable_interrupts_caches_and_other_cpu",
            ),
        ],
    );
}

fn replace_member(root: &Path, archive: &str, member: &str, data: Vec<u8>) {
    made_up::write(root, archive, made_up::archive(&[(member, data, &[])]));
}

#[test]
fn each_damage_of_a_tree_without_a_manifest_is_found_by_its_check() {
    each_damage_is_found(
        Place::stock,
        &[
            (
                "a variant gone",
                |root| fs::remove_dir_all(root.join("dio_opi")).unwrap(),
                &["settings"],
                "dio_opi/include/sdkconfig.h is missing",
            ),
            (
                "code alone in PSRAM",
                |root| {
                    let made = Made {
                        code: true,
                        started: true,
                        ..Made::default()
                    };
                    made_up::write_variant(root, "qio_opi", made, made);
                },
                &["placement"],
                "qio_opi: code alone in PSRAM",
            ),
            (
                "patched archives behind a stock header",
                |root| {
                    let patched = made_up::settings("opi_opi", true);
                    let stock = made_up::settings("opi_opi", false);
                    made_up::write_variant(root, "opi_opi", stock, patched);
                },
                &["symbols"],
                "`code in PSRAM` is off, but libesp_psram.a (mmu_psram_flash.c.obj) defines mmu_config_psram_text_segment",
            ),
            (
                "start-up that does not start PSRAM",
                |root| {
                    let made = made_up::settings("opi_opi", false);
                    made_up::write_variant(root, "opi_opi", made, Made::default());
                },
                &["symbols"],
                "`PSRAM started at boot` is on, but libesp_system.a (cpu_start.c.obj) does not refer to esp_psram_init",
            ),
            (
                "a member gone",
                |root| {
                    let other = made_up::object(&["x"], &[]);
                    replace_member(root, "qio_qspi/libesp_psram.a", "other.c.obj", other);
                },
                &["symbols"],
                "qio_qspi/libesp_psram.a (mmu_psram_flash.c.obj): the archive has no member",
            ),
            (
                "no archive",
                |root| made_up::write(root, "lib/libheap.a", "<html>404"),
                &["archives"],
                "lib/libheap.a: not an `ar` archive",
            ),
            (
                "an archive cut short",
                |root| {
                    let mut bytes = fs::read(root.join("lib/libheap.a")).unwrap();
                    bytes.truncate(bytes.len() - 40);
                    made_up::write(root, "lib/libheap.a", bytes);
                },
                &["archives"],
                "lib/libheap.a: ",
            ),
            (
                "a thin archive",
                |root| made_up::write(root, "lib/libheap.a", "!<thin>\n"),
                &["archives"],
                "lib/libheap.a: ",
            ),
            (
                "an archive without members",
                |root| made_up::write(root, "lib/libheap.a", made_up::archive(&[])),
                &["archives"],
                "lib/libheap.a: no members",
            ),
            (
                "another machine's object",
                |root| {
                    let host = made_up::object_for(Architecture::X86_64, &["x"], &[]);
                    replace_member(root, "lib/libheap.a", "heap.c.obj", host);
                },
                &["archives"],
                "lib/libheap.a (heap.c.obj): for x86-64, not for Xtensa",
            ),
            (
                "another chip's object",
                |root| {
                    let other = made_up::object_for(Architecture::Riscv32, &["x"], &[]);
                    replace_member(root, "lib/libheap.a", "heap.c.obj", other);
                },
                &["archives"],
                "for RISC-V, not for Xtensa",
            ),
            (
                "a text as an object",
                |root| replace_member(root, "lib/libheap.a", "heap.c.obj", b"int x;".to_vec()),
                &["archives"],
                "lib/libheap.a (heap.c.obj): no ELF file",
            ),
            (
                "a library gone",
                |root| remove(root, "lib/libheap.a"),
                &["linked"],
                "1 missing: libheap.a",
            ),
            (
                "a script gone for one variant",
                |root| remove(root, "dio_opi/sections.ld"),
                &["linked"],
                "sections.ld (for dio_opi)",
            ),
            (
                "a flags file gone",
                |root| remove(root, "flags/includes"),
                &["flags"],
                "flags/includes: it is missing",
            ),
            (
                "nothing to link",
                |root| {
                    made_up::write(root, "flags/ld_libs", "-lc");
                    made_up::write(root, "flags/ld_scripts", "x");
                },
                &["linked"],
                "name nothing",
            ),
            (
                "a flag lost",
                |root| edit(root, "flags/S_flags", "-mlongcalls", "-g"),
                &["flags"],
                "flags/S_flags lacks -mlongcalls",
            ),
            (
                "a bootloader gone",
                |root| remove(root, "bin/bootloader_qio_120m.elf"),
                &["bootloaders"],
                "bin/bootloader_qio_120m.elf: missing",
            ),
            (
                "a bootloader that is an object",
                |root| {
                    made_up::write(
                        root,
                        "bin/bootloader_opi_80m.elf",
                        made_up::object(&[], &[]),
                    )
                },
                &["bootloaders"],
                "bin/bootloader_opi_80m.elf: no linked program",
            ),
        ],
    );
}

#[test]
fn a_foreign_path_counts_unless_the_release_has_it() {
    let (package, stock) = (Place::package(), Place::stock());
    let foreign = "-mlongcalls -fmacro-prefix-map=/opt/idf=/IDF";
    made_up::write(&package.root, "flags/c_flags", foreign);
    let flags = |stock: Option<&Place>| {
        let subject = package.subject(Expected::AsTheySay, stock);
        super::flags::check(&subject, &|_| {}).unwrap()
    };
    assert!(matches!(flags(None), Outcome::Failed { .. }));
    assert!(matches!(flags(Some(&stock)), Outcome::Failed { .. }));
    made_up::write(&stock.root, "flags/c_flags", foreign);
    for outcome in [
        flags(Some(&stock)),
        super::flags::check(&stock.subject(Expected::AsTheySay, None), &|_| {}).unwrap(),
    ] {
        assert!(
            matches!(&outcome, Outcome::Passed { detail } if detail.contains("as released")),
            "{outcome:?}"
        );
    }
}

#[test]
fn another_chips_libraries_are_wrong_usage() {
    let place = Place::stock();
    let error = Subject::open(
        &place.root,
        &"esp32s2".parse().unwrap(),
        Expected::AsTheySay,
        None,
    )
    .unwrap_err();
    assert_eq!(crate::exit::code(&error), 2);
    assert!(error.to_string().contains("for esp32s3"), "{error}");
}

#[test]
fn what_the_disk_refuses_keeps_one_check_from_running() {
    let place = Place::stock();
    let subject = place.subject(Expected::AsTheySay, None);
    // Gone after the tree was listed, as by a swap at the same time.
    remove(&place.root, "lib/libheap.a");
    let verdict = Verdict {
        checks: check(&subject, &|_| {}),
    };
    assert!(!verdict.is_good() && failed(&verdict).is_empty());
    assert_eq!(verdict.tally().asked_not_run, 1, "{}", text(&verdict));
}

/// `XTASK_REAL_LIBS` names a real libraries tree for the ESP32-S3, stock, however incomplete.
#[test]
fn a_real_tree_is_read() {
    let Some(root) = std::env::var_os("XTASK_REAL_LIBS").map(PathBuf::from) else {
        return testing::unasked(
            "a_real_tree_is_read",
            "XTASK_REAL_LIBS names no libraries tree",
        );
    };
    let chip = "esp32s3".parse().unwrap();
    let subject = Subject::open(&root, &chip, Expected::Stock, None).unwrap();
    let verdict = Verdict {
        checks: check(&subject, &|_| {}),
    };
    let failed = failed(&verdict);
    assert!(
        failed.iter().all(|id| *id == "linked"),
        "{}",
        text(&verdict)
    );
    assert!(verdict.tally().passed >= 6, "{}", text(&verdict));
}

proptest! {
    #[test]
    fn no_damage_makes_a_check_panic(at in any::<prop::sample::Index>(), with in any::<u8>(), cut in any::<bool>()) {
        let cache: &[&str] = &["mmu_config_psram_text_segment"];
        let mut bytes = made_up::archive(&[("mmu_psram_flash.c.obj", made_up::object(cache, &["x"]), cache)]);
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = with;
        }
        let machine = crate::verify::object_file::Machine::of(&"esp32s3".parse().unwrap());
        // Whatever it is then, it is judged.
        drop(super::archives::objects(&bytes, machine));
    }
}
