//! install.sh and revert.sh under several shells, with what each needs really there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use fs_err as fs;

use crate::testing;
use crate::world::{Said, World, ZIP, call, files, libraries, nothing_is_lost, without_manifest};

/// The shells that sh is on Debian, on macOS, and on small systems.
const SHELLS: [&[&str]; 3] = [&["dash"], &["bash", "--posix"], &["busybox", "sh"]];

/// The shells that are here; says which are not.
fn shells(test: &str) -> Vec<&'static [&'static str]> {
    let is_here = |shell: &&&[&str]| {
        let found = which::which(shell[0]).is_ok();
        if !found {
            testing::skipped(test, &format!("there is no {}", shell[0]));
        }
        found
    };
    SHELLS.iter().filter(is_here).copied().collect()
}

/// Whether a zip can be unpacked here.
fn can_unpack(test: &str) -> bool {
    let found = ["unzip", "bsdtar", "python3"]
        .iter()
        .any(|program| which::which(program).is_ok());
    if !found {
        testing::skipped(test, "there is no unzip, bsdtar or python3");
    }
    found
}

impl World {
    fn command(&self, shell: &[&str], script: &Path) -> Command {
        let mut command = call(shell[0]);
        command
            .args(&shell[1..])
            .arg(script)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("TMPDIR", self.home().join("tmp"))
            .env("ARDUINO_DIRECTORIES_DATA", self.data())
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, shell: &[&str], script: &str) -> Said {
        Said::of(
            &self
                .command(shell, &self.shop().join(script))
                .output()
                .unwrap(),
        )
    }
}

#[test]
fn install_and_revert_are_each_others_inverse() {
    const TEST: &str = "install_and_revert_are_each_others_inverse";
    if !can_unpack(TEST) {
        return;
    }
    let long = "and-long".repeat(25);
    for shell in shells(TEST) {
        for odd in [
            "plain",
            "a & b (x) [y] 100% $HOME `id` 'q' \"r\" \\n ! \u{e9}\u{436}\u{4e2d}",
            &long,
        ] {
            let world = World::new(odd);
            let stock = files(&world.active());
            let built = files(&world.root.join("built"));
            let (gone, kept) = world.cache(&world.home().join(".cache/arduino"));
            let outside = world.root.join("outside");
            fs::create_dir(&outside).unwrap();
            let link = world.home().join(".cache/arduino/cores/esp32_esp32_link");
            std::os::unix::fs::symlink(&outside, &link).unwrap();

            world.run(shell, "install.sh").expect(
                0,
                &[
                    "Installed",
                    "OPI PSRAM",
                    "revert.sh",
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
            assert!(
                link.is_symlink() && outside.is_dir(),
                "a link is not followed"
            );

            let before = files(&world.tools());
            world
                .run(shell, "install.sh")
                .expect(0, &["Already installed"]);
            assert_eq!(files(&world.tools()), before);

            let (gone, _) = world.cache(&world.home().join(".cache/arduino"));
            world
                .run(shell, "revert.sh")
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
                .run(shell, "revert.sh")
                .expect(0, &["Nothing to revert"]);
            assert_eq!(files(&world.tools()), before);

            world.run(shell, "install.sh").expect(0, &["Installed"]);
            world.run(shell, "revert.sh").expect(0, &["Reverted"]);
            assert_eq!(files(&world.active()), stock);
            assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.xip-ecc"]);
        }
    }
}

#[test]
fn another_package_takes_the_place_of_the_first_and_the_stock_stays() {
    const TEST: &str = "another_package_takes_the_place_of_the_first_and_the_stock_stays";
    if !can_unpack(TEST) {
        return;
    }
    for shell in shells(TEST) {
        let world = World::new("plain");
        let stock = files(&world.active());
        world.run(shell, "install.sh").expect(0, &["Installed"]);
        let other = world.root.join("other");
        libraries(&other, Some("another build"));
        for set in ["xip-ecc", "my-set"] {
            fs::write(other.join("lib/libset.a"), set).unwrap();
            world.package(&other, set);
            world
                .run(shell, "install.sh")
                .expect(0, &["Installed", set]);
            assert_eq!(without_manifest(&world.active()), files(&other));
            assert_eq!(files(&world.stock()), stock);
            assert_eq!(
                world.names(),
                ["3.3.11", "3.3.12", "3.3.12.stock", "3.3.12.xip-ecc"]
            );
        }
        world.run(shell, "revert.sh").expect(0, &["3.3.12.my-set"]);
        assert_eq!(files(&world.active()), stock);
    }
}

/// The article's own commands leave a tree without a manifest.
#[test]
fn a_swap_by_hand_is_reverted() {
    const TEST: &str = "a_swap_by_hand_is_reverted";
    for shell in shells(TEST) {
        let world = World::new("plain");
        let stock = files(&world.active());
        fs::rename(world.active(), world.stock()).unwrap();
        libraries(&world.active(), Some("by hand"));
        world
            .run(shell, "revert.sh")
            .expect(0, &["Reverted", "3.3.12.xip-ecc"]);
        assert_eq!(files(&world.active()), stock);
        assert_eq!(world.names(), ["3.3.11", "3.3.12", "3.3.12.xip-ecc"]);
    }
}

#[test]
fn the_zip_is_found_by_its_content_under_the_names_that_browsers_give() {
    const TEST: &str = "the_zip_is_found_by_its_content_under_the_names_that_browsers_give";
    if !can_unpack(TEST) {
        return;
    }
    let names = [
        ZIP,
        "esp32s3-libs-3.3.12-xip-ecc (1).zip",
        "esp32s3-libs-3.3.12-xip-ecc-2.zip",
        "esp32s3-libs-3.3.12-xip-ecc - Kopie [3].zip",
        "x_esp32s3-libs-3.3.12-xip-ecc.zip.zip",
    ];
    for shell in shells(TEST) {
        for name in names {
            let world = World::new("plain");
            fs::rename(world.zip(), world.downloads().join(name)).unwrap();
            // Beside the script lies another one of the right name.
            fs::write(world.zip(), "PK").unwrap();
            fs::write(
                world.shop().join("esp32s3-libs-3.3.12-xip-ecc-chip.zip"),
                "PK",
            )
            .unwrap();
            world
                .run(shell, "install.sh")
                .expect(0, &["Installed", name]);
        }
    }
}

#[test]
fn a_script_that_is_not_filled_in_takes_the_sum_beside_the_zip() {
    const TEST: &str = "a_script_that_is_not_filled_in_takes_the_sum_beside_the_zip";
    if !can_unpack(TEST) {
        return;
    }
    for shell in shells(TEST) {
        let world = World::new("plain");
        for script in ["install.sh", "revert.sh"] {
            fs::copy(
                testing::workspace().join("installers/unix").join(script),
                world.shop().join(script),
            )
            .unwrap();
        }
        let sum = world.shop().join(format!("{ZIP}.sha256"));
        let text = fs::read_to_string(&sum).unwrap();
        fs::remove_file(&sum).unwrap();
        world
            .run(shell, "install.sh")
            .expect(1, &["nothing says", ".sha256"]);
        fs::write(&sum, text.replace(&text[..8], "00000000")).unwrap();
        world
            .run(shell, "install.sh")
            .expect(1, &["SHA-256 is wrong"]);
        fs::write(&sum, text).unwrap();
        world.run(shell, "install.sh").expect(0, &["Installed"]);
        world
            .run(shell, "install.sh")
            .expect(0, &["Already installed"]);
    }
}

/// What is done to the world, and the words of the refusal.
type Case = (&'static str, fn(&World), &'static [&'static str]);

/// Nothing may change in any of these.
const REFUSED: [Case; 10] = [
    (
        "install.sh",
        |world| fs::remove_dir_all(world.active()).unwrap(),
        &["not installed", "Boards Manager", "Arduino15"],
    ),
    (
        "install.sh",
        |world| fs::remove_file(world.zip()).unwrap(),
        &["there is no", ZIP, "Downloads"],
    ),
    (
        "install.sh",
        |world| {
            let zip = fs::read(world.zip()).unwrap();
            fs::write(world.zip(), &zip[..zip.len() / 2]).unwrap();
        },
        &["SHA-256 is wrong", ZIP],
    ),
    (
        "install.sh",
        |world| {
            let mut zip = fs::read(world.zip()).unwrap();
            zip[100] ^= 1;
            fs::write(
                world
                    .downloads()
                    .join("esp32s3-libs-3.3.12-xip-ecc (1).zip"),
                &zip,
            )
            .unwrap();
            fs::rename(world.zip(), world.downloads().join(format!("{ZIP}.part"))).unwrap();
        },
        &["SHA-256 is wrong", "(1).zip", "downloading still"],
    ),
    (
        "install.sh",
        |world| {
            fs::remove_file(world.zip()).unwrap();
            libraries(&world.downloads().join("3.3.12"), Some("unpacked"));
            fs::write(world.downloads().join("3.3.12/libs-manifest.json"), "{}").unwrap();
        },
        &["there is no", "unpacked it"],
    ),
    (
        "install.sh",
        |world| {
            fs::remove_dir_all(world.active()).unwrap();
            fs::create_dir_all(world.active().join("flags")).unwrap();
            fs::write(world.active().join("thesis.txt"), "mine").unwrap();
        },
        &["no libraries folder"],
    ),
    (
        "install.sh",
        |world| {
            fs::rename(world.active(), world.tools().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", world.active()).unwrap();
        },
        &["no libraries folder"],
    ),
    (
        "install.sh",
        |world| libraries(&world.stock(), Some("patched")),
        &["does not hold stock"],
    ),
    (
        "install.sh",
        |world| libraries(&world.stock(), None),
        &["both", "keep both"],
    ),
    (
        "revert.sh",
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
    for shell in shells("what_is_refused_changes_nothing") {
        for (script, spoil, words) in REFUSED {
            let world = World::new("a & b");
            spoil(&world);
            let (gone, _) = world.cache(&world.home().join(".cache/arduino"));
            let before = files(&world.root);
            world.run(shell, script).expect(1, words);
            assert_eq!(files(&world.root), before, "{words:?}");
            assert!(gone.iter().all(|entry| entry.exists()));
        }
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    const TEST: &str = "a_folder_that_cannot_be_written_to_is_named";
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    let is_root = rustix::process::getuid().is_root();
    if is_root && which::which("setpriv").is_err() {
        return testing::skipped(TEST, "run by root, and there is no setpriv");
    }
    for shell in shells(TEST) {
        let world = World::new("plain");
        mode(world.root.parent().unwrap(), 0o755);
        mode(&world.tools(), 0o555);
        let before = files(&world.root);
        let said = if is_root {
            let as_nobody: Vec<&str> = ["setpriv", "--reuid=65534", "--clear-groups"]
                .into_iter()
                .chain(shell.iter().copied())
                .collect();
            world.run(&as_nobody, "install.sh")
        } else {
            world.run(shell, "install.sh")
        };
        said.expect(1, &["cannot be written to", "esp32s3-libs"]);
        assert_eq!(files(&world.root), before);
        mode(&world.tools(), 0o755);
    }
}

#[test]
fn two_installations_are_told_and_neither_is_touched() {
    for shell in shells("two_installations_are_told_and_neither_is_touched") {
        let world = World::new("plain");
        for home in [".arduino15", "snap/arduino/current/.arduino15"] {
            libraries(
                &world
                    .home()
                    .join(home)
                    .join("packages/esp32/tools/esp32s3-libs/3.3.12"),
                None,
            );
        }
        let before = files(&world.home());
        let mut command = world.command(shell, &world.shop().join("install.sh"));
        command.env_remove("ARDUINO_DIRECTORIES_DATA");
        Said::of(&command.output().unwrap()).expect(
            1,
            &[
                "more than once",
                "/.arduino15",
                "/snap/",
                "ARDUINO_DIRECTORIES_DATA=",
            ],
        );
        assert_eq!(files(&world.home()), before);
        fs::remove_dir_all(world.home().join("snap")).unwrap();
        if can_unpack("two_installations_are_told_and_neither_is_touched") {
            Said::of(&command.output().unwrap()).expect(0, &["Installed"]);
            assert!(
                world
                    .home()
                    .join(".arduino15/packages/esp32/tools/esp32s3-libs/3.3.12.stock")
                    .is_dir()
            );
        }
    }
}

/// The lock is the one that the tool takes.
#[test]
fn a_second_run_is_refused_while_one_is_at_work() {
    const TEST: &str = "a_second_run_is_refused_while_one_is_at_work";
    if which::which("flock").is_err() && which::which("perl").is_err() {
        return testing::skipped(TEST, "there is neither flock nor perl");
    }
    for shell in shells(TEST) {
        let world = World::new("plain");
        fs::create_dir(world.tools().join(".xip")).unwrap();
        let lock = std::fs::File::create(world.tools().join(".xip/lock")).unwrap();
        lock.lock().unwrap();
        let before = files(&world.tools());
        world.run(shell, "install.sh").expect(1, &["another run"]);
        assert_eq!(files(&world.tools()), before);
    }
}

/// Where a program is; what the PATH has for Python may be a script that finds it.
fn program(name: &str) -> Option<PathBuf> {
    let found = which::which(name).ok()?;
    if name != "python3" {
        return Some(found);
    }
    let mut asked = call(found);
    let said = asked
        .args(["-c", "import sys; print(sys.executable)"])
        .output()
        .ok()?;
    Some(PathBuf::from(
        String::from_utf8(said.stdout).ok()?.trim_end(),
    ))
}

/// Every unpacker and both programs for sums do, and so does perl in place of flock, as on macOS.
#[test]
fn each_of_the_programs_that_may_be_there_does() {
    const TEST: &str = "each_of_the_programs_that_may_be_there_does";
    let always = [
        "sh", "cat", "sed", "head", "cut", "grep", "awk", "wc", "find", "mkdir", "rm", "mv", "ln",
        "tr", "sync", "dirname",
    ];
    let sets: [&[&str]; 4] = [
        &["unzip", "sha256sum", "flock"],
        &["bsdtar", "sha256sum", "perl"],
        &["python3", "shasum", "perl"],
        &["unzip", "shasum"],
    ];
    for programs in sets {
        let world = World::new("plain");
        let bin = world.root.join("bin");
        fs::create_dir(&bin).unwrap();
        let found: Vec<PathBuf> = always
            .iter()
            .chain(programs)
            .filter_map(|name| program(name))
            .collect();
        if found.len() != always.len() + programs.len() {
            testing::skipped(TEST, &format!("not all of {programs:?} are here"));
            continue;
        }
        for (name, program) in always.iter().chain(programs).zip(found) {
            std::os::unix::fs::symlink(&program, bin.join(name)).unwrap();
        }
        let mut command = world.command(&["sh"], &world.shop().join("install.sh"));
        Said::of(&command.env("PATH", &bin).output().unwrap()).expect(0, &["Installed"]);
        fs::remove_file(bin.join(programs[0])).unwrap();
        fs::remove_dir_all(world.active()).unwrap();
        fs::rename(world.stock(), world.active()).unwrap();
        Said::of(&command.output().unwrap()).expect(1, &["can unpack a zip", "unzip"]);
    }
}

/// Lines of a script before which it may be cut off: those that do something, of the functions that change something.
fn cuts(script: &str) -> Vec<usize> {
    const DO: [&str; 11] = [
        "rename ",
        "rm ",
        "mkdir ",
        "ln ",
        "set_aside",
        "finish",
        "begin",
        "clear_caches",
        "lock ",
        "if rename",
        "elif rm",
    ];
    let from = script
        .lines()
        .position(|line| line.starts_with("stage() {"))
        .unwrap();
    let mut cuts = Vec::new();
    let mut continued = false;
    for (index, line) in script.lines().enumerate() {
        let text = line.trim_start();
        if index > from
            && line.starts_with(' ')
            && !continued
            && DO.iter().any(|word| text.starts_with(word))
        {
            cuts.push(index);
        }
        continued = line.ends_with('\\') || line.ends_with("||");
    }
    cuts
}

/// Cut off before every line that does something: by a kill, which nothing in a script can catch.
#[test]
fn a_run_that_is_cut_off_anywhere_is_put_in_order_by_the_next() {
    const TEST: &str = "a_run_that_is_cut_off_anywhere_is_put_in_order_by_the_next";
    if !can_unpack(TEST) {
        return;
    }
    let shells = shells(TEST);
    let Some(shell) = shells.first() else { return };
    let world = World::new("a & b");
    let stock = files(&world.active());
    let built = files(&world.root.join("built"));
    let whole = fs::read_to_string(world.shop().join("install.sh")).unwrap();
    let cut_script = world.shop().join("cut.sh");
    let cache = world.home().join(".cache/arduino");
    let mut died = [0, 0];
    for cut in cuts(&whole) {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines.insert(cut, "kill -9 $$");
        fs::write(&cut_script, lines.join("\n")).unwrap();
        let context = format!("cut off before line {}: {}", cut + 1, lines[cut + 1].trim());
        for next in ["install.sh", "revert.sh"] {
            for (step, argument) in [None, Some("--revert")].into_iter().enumerate() {
                // From the stock libraries for an install, from the patched ones for a revert.
                world
                    .run(shell, if step == 0 { "revert.sh" } else { "install.sh" })
                    .expect(0, &[]);
                let (gone, _) = world.cache(&cache);
                let mut command = world.command(shell, &cut_script);
                let ended = command.args(argument).output().unwrap();
                died[step] += usize::from(ended.status.code().is_none());
                nothing_is_lost(&world, &stock);
                world.run(shell, next).expect(0, &[]);
                nothing_is_lost(&world, &stock);
                let patched = next == "install.sh";
                if patched {
                    assert_eq!(without_manifest(&world.active()), built, "{context}");
                } else {
                    assert_eq!(files(&world.active()), stock, "{context}");
                }
                assert!(!world.tools().join(".xip/new").exists(), "{context}");
                assert!(!world.tools().join(".xip/old.script").exists(), "{context}");
                let changed = (step == 0) == patched;
                assert!(
                    !changed || gone.iter().all(|entry| !entry.exists()),
                    "{context}: the cache is cleared, whoever came last"
                );
            }
        }
    }
    assert!(
        died[0] >= 12 && died[1] >= 8,
        "only {died:?} runs were cut off: are the lines still found?"
    );
}

/// The tool puts in order what a script that was cut off left, and the other way round.
#[test]
fn the_tool_finishes_what_a_script_began() {
    const TEST: &str = "the_tool_finishes_what_a_script_began";
    if !can_unpack(TEST) {
        return;
    }
    let world = World::new("a & b");
    let stock = files(&world.active());
    let built = files(&world.root.join("built"));
    let whole = fs::read_to_string(world.shop().join("install.sh")).unwrap();
    let cut_script = world.shop().join("cut.sh");
    let tool = |arguments: &[&str]| {
        let mut command = call(env!("CARGO_BIN_EXE_xtask"));
        command
            .args(arguments)
            .arg("--data-dir")
            .arg(world.data())
            .env("HOME", world.home())
            .env("TMPDIR", world.home().join("tmp"))
            .env("XDG_CACHE_HOME", world.home().join(".cache"));
        Said::of(&command.output().unwrap())
    };
    let zip = world.zip();
    for (number, cut) in cuts(&whole).into_iter().enumerate() {
        let mut lines: Vec<&str> = whole.lines().collect();
        lines.insert(cut, "kill -9 $$");
        fs::write(&cut_script, lines.join("\n")).unwrap();
        for argument in [None, Some("--revert")] {
            world
                .command(&["sh"], &cut_script)
                .args(argument)
                .output()
                .unwrap();
            nothing_is_lost(&world, &stock);
            let active = if world.active().is_dir() {
                "3.3.12"
            } else {
                "3.3.12.stock"
            };
            tool(&["status", "--verify"]).expect(0, &[active]);
            if (number % 2 == 0) == argument.is_none() {
                tool(&["install", "--zip", zip.to_str().unwrap()]).expect(0, &[]);
                assert_eq!(without_manifest(&world.active()), built);
            } else {
                tool(&["install", "--revert"]).expect(0, &[]);
                assert_eq!(files(&world.active()), stock);
            }
            nothing_is_lost(&world, &stock);
        }
        world.run(&["sh"], "revert.sh").expect(0, &[]);
        assert_eq!(files(&world.active()), stock);
    }
}

/// The same at random moments, in the programs that the script calls too.
#[test]
fn a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next() {
    const TEST: &str = "a_run_that_is_killed_at_any_time_is_put_in_order_by_the_next";
    if !can_unpack(TEST) {
        return;
    }
    let shells = shells(TEST);
    let Some(shell) = shells.first() else { return };
    let world = World::new("plain");
    let stock = files(&world.active());
    let mut kills = 0;
    for round in 0..60_u64 {
        let mut command = world.command(shell, &world.shop().join("install.sh"));
        if round % 3 == 2 {
            command.arg("--revert");
        }
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(round * 37 % 61 * 2500));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        nothing_is_lost(&world, &stock);
    }
    assert!(
        kills >= 20,
        "only {kills} runs were still at work when they were killed"
    );
    // A program that the last one called may hold the lock until it is done.
    let next = (0..50)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            world.run(shell, "install.sh")
        })
        .find(|said| !said.text.contains("another run"));
    next.unwrap().expect(0, &[]);
    world.run(shell, "revert.sh").expect(0, &["Reverted"]);
    assert_eq!(files(&world.active()), stock);
}
