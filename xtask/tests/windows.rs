//! xtask.exe under Wine: paths, folders, environment and kills, as far as Wine is like Windows.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    reason = "what a test's helpers cannot do fails the test"
)]

#[path = "../src/testing.rs"]
mod testing;
#[path = "wine/mod.rs"]
mod wine;
#[path = "installers/world.rs"]
mod world;

use std::process::Stdio;
use std::time::Duration;

use fs_err as fs;

use wine::{Wine, windows};
use world::{BOARDS_LOCAL, Said, World, files, nothing_is_lost, without_manifest};

/// A name with all that a Windows path may have and shells trip over.
const ODD: &str = "a & b (x) [y] 100% ^ ; = ! \u{e9} \u{436} \u{4e2d} 'q'";

impl World {
    fn tool(&self, wine: &Wine, arguments: &[&str]) -> Said {
        let mut command = wine.xtask();
        command
            .args(arguments)
            .args(["--data-dir", &windows(&self.data())]);
        Said::of(&command.output().unwrap())
    }

    fn install(&self, wine: &Wine) -> Said {
        self.tool(wine, &["install", "--zip", &windows(&self.zip())])
    }
}

#[test]
fn what_needs_no_installation_runs() {
    let Some(wine) = Wine::start("what_needs_no_installation_runs") else {
        return;
    };
    let run = |arguments: &[&str]| Said::of(&wine.xtask().args(arguments).output().unwrap());
    run(&["--help"]).expect(0, &["build-libs", "install", "status"]);
    run(&["patches"]).expect(0, &["xip-ecc (default)"]);
    run(&["patches", "nope"]).expect(2, &["`nope`"]);
    // The small upstream's build is a shell script.
    run(&["demo"]).expect(1, &["`sh`", "WSL"]);
    let dir = tempfile::tempdir().unwrap();
    let versions = dir.path().join("versions.txt");
    fs::write(&versions, "lib-builder: master aaf47ab\r\nesp-idf: release/v5.1 d23b7a0361\r\narduino: idf-release/v5.1 0a7b3353\r\ntinyusb: master 3ec22e24e\r\n").unwrap();
    run(&["pins", "--versions", &windows(&versions)]).expect(0, &["aaf47ab", "d23b7a0361"]);
}

#[test]
fn the_folder_is_swapped_and_put_back() {
    let Some(wine) = Wine::start("the_folder_is_swapped_and_put_back") else {
        return;
    };
    let world = World::new(ODD);
    let (stock, built) = (files(&world.active()), files(&world.root.join("built")));
    let cache = wine.local().join("arduino");
    let (gone, kept) = world.cache(&cache);
    world
        .tool(&wine, &["status"])
        .expect(0, &["3.3.12", "stock"]);
    world.install(&wine).expect(0, &[]);
    assert_eq!(without_manifest(&world.active()), built);
    assert_eq!(files(&world.stock()), stock);
    let there =
        |entries: &[std::path::PathBuf]| entries.iter().filter(|entry| entry.exists()).count();
    assert_eq!(
        (there(&gone), there(&kept)),
        (0, kept.len()),
        "only this core's entries go"
    );
    world
        .tool(&wine, &["status", "--verify"])
        .expect(0, &["xip-ecc"]);
    let before = files(&world.tools());
    world.install(&wine).expect(0, &[]);
    assert_eq!(
        files(&world.tools()),
        before,
        "the second time nothing is done"
    );
    world.tool(&wine, &["install", "--revert"]).expect(0, &[]);
    assert_eq!(files(&world.active()), stock);
    assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.xip-ecc"]);
}

#[test]
fn the_menu_is_written_and_taken_back() {
    let Some(wine) = Wine::start("the_menu_is_written_and_taken_back") else {
        return;
    };
    let world = World::new(ODD);
    let stock = files(&world.active());
    let zip = windows(&world.zip());
    world
        .tool(&wine, &["install", "--as", "menu", "--zip", &zip])
        .expect(0, &[]);
    let text = fs::read_to_string(world.boards_local()).unwrap();
    assert!(
        text.starts_with(BOARDS_LOCAL) && text.contains("esp32s3.menu."),
        "{text}"
    );
    let tree = world
        .data()
        .join("packages/esp32/tools/esp32s3-xip-ecc-libs/3.3.12");
    assert_eq!(without_manifest(&tree), files(&world.root.join("built")));
    assert_eq!(files(&world.active()), stock);
    world.tool(&wine, &["status"]).expect(0, &["menu"]);
    world.tool(&wine, &["install", "--revert"]).expect(0, &[]);
    assert_eq!(
        fs::read_to_string(world.boards_local()).unwrap(),
        BOARDS_LOCAL
    );
    assert_eq!(files(&world.active()), stock);
}

/// Programs that compile sketches do not open such paths, so these libraries are not put there; all is looked at, though.
#[test]
fn paths_over_260_characters_are_read_and_not_made() {
    let Some(wine) = Wine::start("paths_over_260_characters_are_read_and_not_made") else {
        return;
    };
    let world = World::new(&"long folder ".repeat(15).replace(' ', "-"));
    let longest = files(&world.tools()).keys().map(String::len).max().unwrap();
    assert!(windows(&world.tools()).len() + 1 + longest > 260);
    let before = files(&world.root);
    world
        .tool(&wine, &["status", "--verify"])
        .expect(0, &["stock"]);
    world.install(&wine).expect(3, &["259", "shorter path"]);
    assert_eq!(files(&world.root), before);
}

#[test]
fn a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next() {
    let Some(wine) = Wine::start("a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next")
    else {
        return;
    };
    let world = World::new("with spaces");
    let (stock, built) = (files(&world.active()), files(&world.root.join("built")));
    let (data, zip) = (windows(&world.data()), windows(&world.zip()));
    let mut kills = 0;
    for round in 0..40_u64 {
        let mut command = wine.xtask();
        match round % 3 {
            2 => command.args(["install", "--revert"]),
            _ => command.args(["install", "--zip", &zip]),
        };
        let mut child = command
            .args(["--data-dir", &data])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(50 + round * 37 % 41 * 10));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_lost(&world, &stock);
    }
    assert!(
        kills >= 15,
        "only {kills} runs were still at work when they were killed"
    );
    world.install(&wine).expect(0, &[]);
    assert_eq!(without_manifest(&world.active()), built);
    world.tool(&wine, &["install", "--revert"]).expect(0, &[]);
    assert_eq!(files(&world.active()), stock);
}

/// Script and tool know each other's folders.
#[test]
fn the_tool_goes_back_from_what_the_script_installed_and_the_other_way_round() {
    let Some(wine) =
        Wine::start("the_tool_goes_back_from_what_the_script_installed_and_the_other_way_round")
    else {
        return;
    };
    let world = World::new("a & b");
    let stock = files(&world.active());
    let script = |name: &str| {
        let mut command = wine.cmd(&[name, "/q"]);
        command
            .env("ARDUINO_DIRECTORIES_DATA", windows(&world.data()))
            .current_dir(world.shop());
        Said::of(&command.output().unwrap())
    };
    script("install.cmd").expect(0, &["Installed"]);
    world
        .tool(&wine, &["status", "--verify"])
        .expect(0, &["xip-ecc"]);
    world.tool(&wine, &["install", "--revert"]).expect(0, &[]);
    assert_eq!(files(&world.active()), stock);
    world.install(&wine).expect(0, &[]);
    script("install.cmd").expect(0, &["Already installed"]);
    script("revert.cmd").expect(0, &["Reverted"]);
    assert_eq!(files(&world.active()), stock);
    world.tool(&wine, &["install", "--revert"]).expect(0, &[]);
    assert_eq!(files(&world.active()), stock);
}
