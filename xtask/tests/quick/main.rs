//! The quick build, end to end: real git, real archives, the host's compiler behind the Xtensa compiler's name.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../../src/testing.rs"]
mod testing;
mod world;

use std::collections::BTreeSet;
use std::path::Path;

use fs_err as fs;
use world::{Otherwise, PATCHED, VARIANTS, World, content};
use xtask::build::quick::archive::Archive;
use xtask::build::quick::compare;
use xtask::exit;
use xtask::libs::manifest::BuildRecord;

/// The members of an archive in order: name and content.
fn members(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let archive = Archive::parse(archive).unwrap();
    let member = |member: &xtask::build::quick::archive::Member<'_>| {
        (
            String::from_utf8_lossy(member.name).into_owned(),
            member.data.to_vec(),
        )
    };
    archive.members().iter().map(member).collect()
}

fn refusal(world: &World, words: &[&str], code: u8) {
    let error = world.build("work").0.unwrap_err();
    let text = format!("{error:#}");
    assert!(
        words.iter().all(|word| text.contains(word)),
        "{words:?} in: {text}"
    );
    assert_eq!(exit::code(&error), code, "{text}");
}

#[test]
fn the_quick_build_gives_what_the_full_one_gives() {
    let Some(world) = World::new("the_quick_build_gives_what_the_full_one_gives") else {
        return;
    };
    let before = content(&world.stock());
    let (built, told) = world.build("work ö");
    let built = built.unwrap();
    assert_eq!(
        content(&world.stock()),
        before,
        "the stock tree is not written to"
    );

    let full = world.dir.path().join("full");
    world.write_tree(&full, &PATCHED, &Otherwise::default());
    let (quick, full) = (content(&built.tree), content(&full));
    assert_eq!(
        quick.keys().collect::<Vec<_>>(),
        full.keys().collect::<Vec<_>>()
    );
    let mut changed = BTreeSet::new();
    for (path, bytes) in &quick {
        if before[path] != *bytes {
            changed.insert(path.as_str());
        }
        if !path.ends_with(".a") || path.starts_with("lib/") {
            assert_eq!(bytes, &full[path], "{path}");
            continue;
        }
        let (ours, theirs) = (members(bytes), members(&full[path]));
        assert_eq!(ours.len(), theirs.len());
        for ((name, ours), (other, theirs)) in ours.iter().zip(&theirs) {
            assert_eq!(name, other, "{path}: order and names stay");
            assert_eq!(
                compare::objects(theirs, ours).unwrap(),
                None,
                "{path} {name}"
            );
        }
    }
    let expected = VARIANTS
        .iter()
        .filter(|variant| variant.ends_with("_opi"))
        .flat_map(|variant| {
            [
                "include/sdkconfig.h",
                "libesp_psram.a",
                "libesp_system.a",
                "libspi_flash.a",
            ]
            .map(|file| format!("{variant}/{file}"))
        });
    assert_eq!(
        changed
            .iter()
            .map(|path| (*path).to_owned())
            .collect::<BTreeSet<_>>(),
        expected.collect()
    );

    let BuildRecord::Quick {
        compiler,
        proven,
        members,
    } = &built.build
    else {
        panic!("{:?}", built.build)
    };
    assert!(*proven && !compiler.is_empty());
    assert_eq!(members.len(), 2 * 7);
    assert!(
        members
            .iter()
            .all(|member| member.before != member.after && member.before.len() == 64)
    );
    assert_eq!(built.patch_set.suffix, "xip-ecc");
    assert!(
        told.iter()
            .any(|line| line.contains("14 stock objects came out as the release has them")),
        "{told:?}"
    );
}

#[test]
fn two_machines_get_the_same_bytes_debug_information_included() {
    const TEST: &str = "two_machines_get_the_same_bytes_debug_information_included";
    let Some(world) = World::new(TEST) else {
        return;
    };
    let one = content(&world.build("work").0.unwrap().tree);
    // Another user: other folders for the Arduino data and for the work.
    let moved = world.dir.path().join("elsewhere");
    fs::rename(&world.data, &moved).unwrap();
    let other = World {
        data: moved,
        ..world
    };
    let (built, told) = other.build("a work folder that has a longer name");
    assert!(content(&built.unwrap().tree) == one, "{told:?}");
}

#[test]
fn a_stock_archive_built_with_another_flag_is_caught() {
    let otherwise = Otherwise {
        flags: vec!["-O1"],
        ..Otherwise::default()
    };
    let Some(mut world) = World::made(
        "a_stock_archive_built_with_another_flag_is_caught",
        &otherwise,
    ) else {
        return;
    };
    refusal(
        &world,
        &[
            "6 of 14 stock objects",
            "qio_opi/libspi_flash.a, cache_utils.c.obj: section .text",
            "--accept-unproven",
        ],
        3,
    );

    world.accept_unproven = true;
    let (built, told) = world.build("work");
    let built = built.unwrap();
    assert_eq!(built.patch_set.suffix, "xip-ecc-unproven");
    assert!(matches!(
        built.build,
        BuildRecord::Quick { proven: false, .. }
    ));
    assert!(
        told.iter()
            .any(|line| line.contains("6 of 14 stock objects"))
    );
}

#[test]
fn a_source_at_another_commit_is_caught() {
    let Some(world) = World::new("a_source_at_another_commit_is_caught") else {
        return;
    };
    let source = world.idf.join("components/spi_flash/flash_mmap.c");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("FLASH_PAGE / 64", "FLASH_PAGE / 32")).unwrap();
    let later = world.commit_idf();
    fs::write(world.stock().join("versions.txt"), world.versions(&later)).unwrap();
    refusal(
        &world,
        &[
            "2 of 14 stock objects",
            "opi_opi/libspi_flash.a, flash_mmap.c.obj: section .text.flash_mmap",
        ],
        3,
    );
}

#[test]
fn another_compiler_is_named() {
    let otherwise = Otherwise {
        comment: Some("GCC: (crosstool-NG esp-13.2.0_20240530) 13.2.0"),
        ..Otherwise::default()
    };
    let Some(world) = World::made("another_compiler_is_named", &otherwise) else {
        return;
    };
    refusal(
        &world,
        &[
            "14 of 14 stock objects",
            "compiled by `GCC: (crosstool-NG esp-13.2.0_20240530) 13.2.0`, here by `GCC: ",
        ],
        3,
    );
}

#[test]
fn a_missing_private_header_says_where_its_folder_belongs() {
    let Some(mut world) = World::new("a_missing_private_header_says_where_its_folder_belongs")
    else {
        return;
    };
    let recipe = world.set.quick.take().unwrap();
    world.set.quick = Some(recipe.replace("include = [\"port/include\"]", "include = [\"port\"]"));
    refusal(
        &world,
        &[
            "components/esp_system/port/cpu_start.c",
            "esp_clk_internal.h",
            "`component.esp_system.include` of quick.toml",
        ],
        1,
    );
}

#[test]
fn two_members_of_one_name_are_refused() {
    let otherwise = Otherwise {
        twice: true,
        ..Otherwise::default()
    };
    let Some(world) = World::made("two_members_of_one_name_are_refused", &otherwise) else {
        return;
    };
    refusal(
        &world,
        &["libesp_system.a", "2 members called `cpu_start.c.obj`"],
        1,
    );
}

#[test]
fn libraries_that_are_not_stock_are_refused() {
    let Some(world) = World::new("libraries_that_are_not_stock_are_refused") else {
        return;
    };
    let stock = world.stock();
    let aside = stock.with_file_name("3.3.12.stock");
    fs::rename(&stock, &aside).unwrap();
    world.write_tree(&stock, &PATCHED, &Otherwise::default());
    // The tree set aside goes before the one in place.
    assert!(world.build("work").0.is_ok());

    fs::remove_dir_all(&aside).unwrap();
    refusal(
        &world,
        &[
            "sdkconfig.h",
            "already has `#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1`",
            "not stock",
        ],
        1,
    );
    fs::write(stock.join("libs-manifest.json"), "{}").unwrap();
    refusal(
        &world,
        &["is no stock tree", "libs-manifest.json", "--stock"],
        1,
    );
    fs::remove_dir_all(&stock).unwrap();
    refusal(&world, &["core 3.3.12 are not installed", "--stock"], 2);
}

#[test]
fn what_the_recipe_does_not_fit_is_refused() {
    let Some(mut world) = World::new("what_the_recipe_does_not_fit_is_refused") else {
        return;
    };
    let recipe = world.set.quick.clone().unwrap();
    world.set.quick = Some(recipe.replace("=5.5.5", "=5.5.4"));
    refusal(
        &world,
        &[
            "is for ESP-IDF =5.5.4",
            "built with 5.5.5",
            "without --quick",
        ],
        2,
    );
    world.set.quick = Some(recipe.replace("*_opi", "opi_qspi"));
    refusal(&world, &["opi_opi, qio_opi, qio_qspi", "changes none"], 1);
    world.set.quick = Some(recipe);
    let archive = world.stock().join("opi_opi/libspi_flash.a");
    fs::rename(&archive, world.stock().join("lib/libspi_flash.a")).unwrap();
    refusal(&world, &["one for all memory variants", "opi_opi"], 1);
}

#[test]
fn a_read_only_tree_and_a_zip_of_it_give_the_same() {
    const TEST: &str = "a_read_only_tree_and_a_zip_of_it_give_the_same";
    let Some(world) = World::new(TEST) else {
        return;
    };
    let expected = content(&world.build("work").0.unwrap().tree);

    let zip = world.dir.path().join("esp32s3-libs-3.3.12.zip");
    zip_tree(&world.stock(), "esp32s3-libs", &zip);
    let (built, told) = world.build_from(Some(&zip), "work 2");
    assert!(content(&built.unwrap().tree) == expected);
    assert!(told.iter().any(|line| line == "unpack the stock libraries"));
    let (_, told) = world.build_from(Some(&zip), "work 2");
    assert!(
        !told
            .iter()
            .any(|line| line == "unpack the stock libraries" || line.starts_with("fetch")),
        "{told:?}"
    );

    #[cfg(unix)]
    {
        set_writable(&world.stock(), false);
        let outcome = world.build_from(Some(&world.stock()), "work 3").0;
        set_writable(&world.stock(), true);
        let built = outcome.unwrap();
        assert!(content(&built.tree) == expected);
        fs::remove_dir_all(&built.tree).unwrap();
    }
}

#[cfg(unix)]
fn set_writable(root: &Path, on: bool) {
    use std::os::unix::fs::PermissionsExt;
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry.unwrap();
        let mode = match (entry.file_type().is_dir(), on) {
            (true, true) => 0o755,
            (true, false) => 0o555,
            (false, true) => 0o644,
            (false, false) => 0o444,
        };
        fs::set_permissions(entry.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn zip_tree(tree: &Path, root: &str, to: &Path) {
    let mut zip = zip::ZipWriter::new(fs::File::create(to).unwrap());
    for (path, bytes) in content(tree) {
        zip.start_file(
            format!("{root}/{path}"),
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
        std::io::Write::write_all(&mut zip, &bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// `cargo xtask compare LEFT RIGHT --json`: exit code and what it printed.
fn compared(left: &Path, right: &Path) -> (i32, serde_json::Value, String) {
    let run = |json: &[&str]| {
        let output = assert_cmd::Command::cargo_bin("xtask")
            .unwrap()
            .arg("compare")
            .args([left, right])
            .args(json)
            .output();
        output.unwrap()
    };
    let json = run(&["--json"]);
    let value = serde_json::from_slice(&json.stdout).unwrap_or_default();
    let text = run(&[]);
    assert_eq!(json.status.code(), text.status.code());
    let said = [text.stdout, text.stderr].concat();
    (
        text.status.code().unwrap(),
        value,
        String::from_utf8(said).unwrap(),
    )
}

#[test]
fn compare_tells_the_same_code_from_another_one() {
    let Some(world) = World::new("compare_tells_the_same_code_from_another_one") else {
        return;
    };
    let quick = world.build("work").0.unwrap().tree;
    let full = world.dir.path().join("full");
    world.write_tree(&full, &PATCHED, &Otherwise::default());
    // As a package: a manifest inside, one root folder.
    fs::write(full.join("libs-manifest.json"), "{}").unwrap();
    let package = world.dir.path().join("full.zip");
    zip_tree(&full, "3.3.12", &package);
    for other in [&full, &package] {
        let (code, value, text) = compared(&quick, other);
        assert_eq!((code, value["same"].as_bool()), (0, Some(true)), "{text}");
        assert_eq!(
            value["folders"]["qio_opi"]["same_code"]
                .as_array()
                .unwrap()
                .len(),
            3
        );
        assert_eq!(value["folders"]["qio_qspi"]["same_bytes"], 5);
        assert!(
            text.contains("code, data and all other files agree"),
            "{text}"
        );
    }

    let (code, value, text) = compared(&world.stock(), &quick);
    assert_eq!((code, value["same"].as_bool()), (3, Some(false)));
    assert_eq!(
        value["folders"]["opi_opi"]["members"]
            .as_array()
            .unwrap()
            .len(),
        7
    );
    assert!(
        text.contains("opi_opi/libesp_system.a, cpu_start.c.obj: section .text"),
        "{text}"
    );
    assert!(
        text.contains("opi_opi/include/sdkconfig.h: the bytes differ")
            && text.contains("are not the same")
    );

    fs::remove_file(full.join("sdkconfig")).unwrap();
    fs::write(full.join("qio_opi/libspi_flash.a"), "!<arch>\nno archive").unwrap();
    let (code, value, text) = compared(&full, &quick);
    assert_eq!(
        (code, &value["only_right"]),
        (3, &serde_json::json!(["sdkconfig"]))
    );
    assert!(
        text.contains("qio_opi/libspi_flash.a: the bytes differ, and it cannot be read"),
        "{text}"
    );
    let (code, _, text) = compared(&full.join("lib/libheap.a"), &quick);
    assert!(
        code == 1 && text.contains("neither a libraries tree nor a zip"),
        "{text}"
    );
}
