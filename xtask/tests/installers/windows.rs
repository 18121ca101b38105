//! install.cmd and revert.cmd under Wine's cmd.exe, with stand-ins for tar, certutil and findstr that do the same.
//!
//! A fault of Wine 8's cmd bounds the names that can be tried: what was put in place of `%NAME%` is searched for percent signs
//! again, so none of the paths here has one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use fs_err as fs;

use crate::testing;
use crate::wine::{Wine, windows};
use crate::world::{Files, Said, World, ZIP, files, libraries, nothing_is_lost, without_manifest};

impl World {
    fn cmd(&self, wine: &Wine, words: &[&str]) -> Command {
        let mut command = wine.cmd(words);
        command
            .env("ARDUINO_DIRECTORIES_DATA", windows(&self.data()))
            .current_dir(self.shop());
        command
    }

    fn run_cmd(&self, wine: &Wine, script: &str) -> Said {
        Said::of(&self.cmd(wine, &[script, "/q"]).output().unwrap())
    }
}

#[test]
fn install_and_revert_are_each_others_inverse() {
    let Some(wine) = Wine::start("install_and_revert_are_each_others_inverse") else {
        return;
    };
    // cmd.exe takes no current folder of over 259 characters; the files below it are longer.
    let above = windows(&std::env::temp_dir()).len() + "\\.tmp123456\\".len();
    let below = r"\Arduino15\packages\esp32\tools\esp32s3-libs".len();
    let long = "l".repeat(225 - above - below);
    for odd in [
        "a & b (x) [y] ^ ; = , + ! \u{e9} \u{436} \u{4e2d} 'q' `",
        &long,
    ] {
        let world = World::new(odd);
        let stock = files(&world.active());
        let built = files(&world.root.join("built"));
        let cache = wine.local().join("arduino");
        let (gone, kept) = world.cache(&cache);

        world.run_cmd(&wine, "install.cmd").expect(
            0,
            &[
                "Installed",
                "OPI PSRAM",
                "revert.cmd",
                "cache: 3",
                "3.3.12.stock",
            ],
        );
        assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.stock"]);
        assert_eq!(without_manifest(&world.active()), built);
        assert_eq!(files(&world.stock()), stock);
        assert!(
            gone.iter().all(|entry| !entry.exists()) && kept.iter().all(|entry| entry.exists())
        );

        let before = files(&world.tools());
        // A double click gives no arguments; then a key is waited for, which there is none of here.
        let said = Said::of(&world.cmd(&wine, &["install.cmd"]).output().unwrap());
        said.expect(0, &["Already installed", "any key"]);
        assert_eq!(files(&world.tools()), before);

        let (gone, _) = world.cache(&cache);
        world
            .run_cmd(&wine, "revert.cmd")
            .expect(0, &["Reverted", "3.3.12.xip-ecc", "cache: 3"]);
        assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.xip-ecc"]);
        assert_eq!(files(&world.active()), stock);
        assert_eq!(
            without_manifest(&world.tools().join("3.3.12.xip-ecc")),
            built
        );
        assert!(gone.iter().all(|entry| !entry.exists()));

        let before = files(&world.tools());
        world
            .run_cmd(&wine, "revert.cmd")
            .expect(0, &["Nothing to revert"]);
        assert_eq!(files(&world.tools()), before);

        world
            .run_cmd(&wine, "install.cmd")
            .expect(0, &["Installed"]);
        world.run_cmd(&wine, "revert.cmd").expect(0, &["Reverted"]);
        assert_eq!(files(&world.active()), stock);
        assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.xip-ecc"]);
    }
}

#[test]
fn the_zip_is_found_by_its_content_and_the_core_where_the_ide_puts_it() {
    let Some(wine) =
        Wine::start("the_zip_is_found_by_its_content_and_the_core_where_the_ide_puts_it")
    else {
        return;
    };
    for name in [
        "esp32s3-libs-3.3.12-xip-ecc (1).zip",
        "x_esp32s3-libs-3.3.12-xip-ecc - \u{43a}\u{43e}\u{43f}\u{438}\u{44f} & 2.zip",
    ] {
        let world = World::new("plain");
        let data = wine
            .local()
            .join("Arduino15/packages/esp32/tools/esp32s3-libs");
        libraries(&data.join("3.3.12"), None);
        fs::create_dir_all(wine.profile().join("Downloads")).unwrap();
        let zip = wine.profile().join("Downloads").join(name);
        fs::copy(world.zip(), &zip).unwrap();
        // Beside the script lies another one of the right name.
        fs::write(world.zip(), "PK").unwrap();
        let mut command = world.cmd(&wine, &["install.cmd", "/q"]);
        let said = Said::of(
            &command
                .env_remove("ARDUINO_DIRECTORIES_DATA")
                .output()
                .unwrap(),
        );
        said.expect(0, &["Installed", "AppData"]);
        assert!(
            data.join("3.3.12.stock").is_dir() && data.join("3.3.12/libs-manifest.json").is_file()
        );
        fs::remove_file(zip).unwrap();
        fs::remove_dir_all(wine.local().join("Arduino15")).unwrap();
    }
}

#[test]
fn another_package_takes_the_place_of_the_first_and_the_stock_stays() {
    let Some(wine) =
        Wine::start("another_package_takes_the_place_of_the_first_and_the_stock_stays")
    else {
        return;
    };
    let world = World::new("plain");
    let stock = files(&world.active());
    world
        .run_cmd(&wine, "install.cmd")
        .expect(0, &["Installed"]);
    let other = world.root.join("other");
    libraries(&other, Some("another build"));
    for set in ["xip-ecc", "my-set"] {
        fs::write(other.join("lib/libset.a"), set).unwrap();
        world.package(&other, set);
        world
            .run_cmd(&wine, "install.cmd")
            .expect(0, &["Installed", set]);
        assert_eq!(without_manifest(&world.active()), files(&other));
        assert_eq!(files(&world.stock()), stock);
        assert_eq!(
            world.names(),
            ["3.3.11", "3.3.12", "3.3.12.stock", "3.3.12.xip-ecc"]
        );
    }
    world
        .run_cmd(&wine, "revert.cmd")
        .expect(0, &["3.3.12.my-set"]);
    assert_eq!(files(&world.active()), stock);

    // The article's own commands leave a tree without a manifest.
    fs::rename(world.active(), world.stock()).unwrap();
    libraries(&world.active(), Some("by hand"));
    world
        .run_cmd(&wine, "revert.cmd")
        .expect(0, &["Reverted", "3.3.12.xip-ecc"]);
    assert_eq!(files(&world.active()), stock);

    // Not filled in, the script takes the sum beside the zip.
    for script in ["install.cmd", "revert.cmd"] {
        fs::copy(
            testing::workspace().join("installers/windows").join(script),
            world.shop().join(script),
        )
        .unwrap();
    }
    world
        .run_cmd(&wine, "install.cmd")
        .expect(0, &["Installed"]);
    fs::remove_file(world.shop().join(format!("{ZIP}.sha256"))).unwrap();
    world
        .run_cmd(&wine, "install.cmd")
        .expect(1, &["nothing says", ".sha256"]);
}

/// What is done to the world, and the words of the refusal.
type Case = (&'static str, fn(&World), &'static [&'static str]);

/// Nothing may change in any of these.
const REFUSED: [Case; 8] = [
    (
        "install.cmd",
        |world| fs::remove_dir_all(world.active()).unwrap(),
        &["not installed", "Boards Manager", "Arduino15"],
    ),
    (
        "install.cmd",
        |world| fs::remove_file(world.zip()).unwrap(),
        &["there is no", ZIP, "Downloads"],
    ),
    (
        "install.cmd",
        |world| {
            let zip = fs::read(world.zip()).unwrap();
            fs::write(world.zip(), &zip[..zip.len() / 2]).unwrap();
        },
        &["SHA-256 is wrong", ZIP],
    ),
    (
        "install.cmd",
        |world| {
            let mut zip = fs::read(world.zip()).unwrap();
            zip[100] ^= 1;
            fs::write(
                world.shop().join("esp32s3-libs-3.3.12-xip-ecc (1).zip"),
                &zip,
            )
            .unwrap();
            fs::rename(
                world.zip(),
                world.shop().join("esp32s3-libs-3.3.12-xip-ecc.zip.part"),
            )
            .unwrap();
        },
        &["SHA-256 is wrong", "(1).zip", "downloading still"],
    ),
    (
        "install.cmd",
        |world| {
            fs::remove_dir_all(world.active()).unwrap();
            fs::create_dir_all(world.active().join("flags")).unwrap();
            fs::write(world.active().join("thesis.txt"), "mine").unwrap();
        },
        &["holds no libraries"],
    ),
    (
        "install.cmd",
        |world| libraries(&world.stock(), Some("patched")),
        &["does not hold stock"],
    ),
    (
        "install.cmd",
        |world| libraries(&world.stock(), None),
        &["both", "keep both"],
    ),
    (
        "revert.cmd",
        |world| {
            fs::remove_dir_all(world.active()).unwrap();
            libraries(&world.active(), Some("patched"));
        },
        &[
            "no stock libraries",
            "Nothing was changed",
            "Boards Manager",
        ],
    ),
];

#[test]
fn what_is_refused_changes_nothing() {
    let Some(wine) = Wine::start("what_is_refused_changes_nothing") else {
        return;
    };
    for (script, spoil, words) in REFUSED {
        let world = World::new("a & b");
        spoil(&world);
        let (gone, _) = world.cache(&wine.local().join("arduino"));
        let before = files(&world.root);
        world.run_cmd(&wine, script).expect(1, words);
        assert_eq!(files(&world.root), before, "{words:?}");
        assert!(gone.iter().all(|entry| entry.exists()));
    }
}

/// Windows lets nobody rename a folder in which another process is; so does Wine.
#[test]
fn a_second_script_is_refused_while_one_is_at_work() {
    let Some(wine) = Wine::start("a_second_script_is_refused_while_one_is_at_work") else {
        return;
    };
    let world = World::new("plain");
    fs::create_dir_all(world.tools().join(".xip/new")).unwrap();
    let mut first = wine
        .cmd(&["ping -n 60 127.0.0.1 >nul"])
        .current_dir(world.tools().join(".xip/new"))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let before = files(&world.tools());
    world
        .run_cmd(&wine, "install.cmd")
        .expect(1, &["another run"]);
    assert_eq!(files(&world.tools()), before);
    first.kill().unwrap();
    first.wait().unwrap();
}

/// Lines before which the script may be cut off: those that change something, and calls of what does.
fn cuts(script: &str) -> Vec<usize> {
    const DO: [&str; 8] = [
        "ren ",
        "move ",
        "md ",
        "rd ",
        "copy ",
        "%TAR% -xf",
        "call :finish",
        "call :set_aside",
    ];
    let does = |line: &str| DO.iter().any(|word| line.trim_start().starts_with(word));
    script
        .lines()
        .enumerate()
        .filter(|(_, line)| does(line))
        .map(|(index, _)| index)
        .collect()
}

/// Cut off before every line that changes something: `exit` without `/b` ends cmd.exe there.
#[test]
fn a_run_that_is_cut_off_anywhere_is_put_in_order_by_the_next() {
    let Some(wine) = Wine::start("a_run_that_is_cut_off_anywhere_is_put_in_order_by_the_next")
    else {
        return;
    };
    let world = World::new("a & b");
    let stock = files(&world.active());
    let built = files(&world.root.join("built"));
    let whole = fs::read_to_string(world.shop().join("install.cmd")).unwrap();
    let cache = wine.local().join("arduino");
    let mut died = [0, 0];
    for (number, cut) in cuts(&whole).into_iter().enumerate() {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines.insert(cut, "exit 77");
        fs::write(world.shop().join("cut.cmd"), lines.join("\r\n")).unwrap();
        let context = format!("cut off before line {}: {}", cut + 1, lines[cut + 1].trim());
        // The same command again, or the other one; each round starts and ends with the stock libraries.
        let again = number % 2 == 0;
        for (step, argument) in ["/q", "/revert"].into_iter().enumerate() {
            let (gone, _) = world.cache(&cache);
            let ended = Said::of(
                &world
                    .cmd(&wine, &["cut.cmd", "/q", argument])
                    .output()
                    .unwrap(),
            );
            died[step] += usize::from(ended.code == Some(77));
            nothing_is_lost(&world, &stock);
            let patched = (step == 0) == again;
            world
                .run_cmd(&wine, if patched { "install.cmd" } else { "revert.cmd" })
                .expect(0, &[]);
            check(&world, &stock, &built, patched, &context);
            assert!(
                !again || gone.iter().all(|entry| !entry.exists()),
                "{context}: the cache is cleared, whoever came last"
            );
            if !again {
                let other = if step == 0 {
                    "install.cmd"
                } else {
                    "revert.cmd"
                };
                world.run_cmd(&wine, other).expect(0, &[]);
            }
        }
    }
    assert!(
        died[0] >= 8 && died[1] >= 6,
        "only {died:?} runs were cut off: are the lines still found?"
    );
}

#[track_caller]
fn check(world: &World, stock: &Files, built: &Files, patched: bool, context: &str) {
    nothing_is_lost(world, stock);
    if patched {
        assert_eq!(without_manifest(&world.active()), *built, "{context}");
    } else {
        assert_eq!(files(&world.active()), *stock, "{context}");
    }
    for left in ["new", "old.script"] {
        assert!(
            !world.tools().join(".xip").join(left).exists(),
            "{context}: {left}"
        );
    }
}

/// The same at random moments.
#[test]
fn a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next() {
    let Some(wine) = Wine::start("a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next")
    else {
        return;
    };
    let world = World::new("plain");
    let (stock, built) = (files(&world.active()), files(&world.root.join("built")));
    let mut kills = 0;
    for round in 0..20_u64 {
        let argument = if round % 3 == 2 { "/revert" } else { "/q" };
        let mut command = world.cmd(&wine, &["install.cmd", "/q", argument]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(100 + round * 37 % 21 * 60));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_lost(&world, &stock);
    }
    assert!(
        kills >= 8,
        "only {kills} runs were still at work when they were killed"
    );
    // A program that the last one called may be in the work folder until it is done.
    let next = (0..50)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            world.run_cmd(&wine, "install.cmd")
        })
        .find(|said| !said.text.contains("another run"));
    next.unwrap().expect(0, &[]);
    check(&world, &stock, &built, true, "after the kills");
    world.run_cmd(&wine, "revert.cmd").expect(0, &["Reverted"]);
    check(&world, &stock, &built, false, "after the kills");
    assert!(Path::new(&world.zip()).exists());
}
