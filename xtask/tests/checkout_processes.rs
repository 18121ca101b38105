//! Checkouts by other processes: killed, without a git program, on a full disk, under hostile settings.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "checkout_forge/mod.rs"]
mod checkout_forge;
#[path = "checkout_forge/run.rs"]
mod run;
#[path = "checkout_forge/server.rs"]
mod server;
#[path = "../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use checkout_forge::{CRLF, DEFCONFIG, Forge, Node, bare, commit};
use fs_err as fs;
use run::{Line, Run, assert_pinned, pins};
use server::{Abilities, Http};
use xshell::{Shell, cmd};
use xtask::config::Mirror;
use xtask::upstream::Mirrors;
use xtask::workdir::WorkDir;

const MODERN: Abilities = Abilities {
    any_id: true,
    protocol_2: true,
    filter: true,
    locked: false,
};

/// This very test program, to be run as another process with `role` (see [`as_another_process`]).
fn another_process(test: &str, work: &Path, forge: &Forge) -> Command {
    let sh = Shell::new().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command: Command = cmd!(sh, "{program} --exact as_another_process --nocapture").into();
    command
        .env("CHECKOUT_ROLE", test)
        .env("CHECKOUT_WORK", work)
        .env("CHECKOUT_FORGE", forge.path())
        .env("CHECKOUT_PINS", spelled(&forge.versions()))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command
}

/// Lines as text: name, names in git, id.
fn spelled(lines: &[Line]) -> String {
    let line = |(name, refs, commit): &Line| format!("{name} {} {commit}\n", refs.join(" "));
    lines.iter().map(line).collect()
}

/// Not a test of its own: the other process of the tests below. Does nothing unless one of them started it.
#[test]
fn as_another_process() {
    let Ok(lines) = std::env::var("CHECKOUT_PINS") else {
        return;
    };
    let names = ["lib-builder", "esp-idf", "arduino", "tinyusb"];
    let lines: Vec<Line> = lines
        .lines()
        .zip(names)
        .map(|(line, name)| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            (
                name,
                words[1..words.len() - 1].to_vec(),
                words[words.len() - 1].clone(),
            )
        })
        .collect();
    let work = std::env::var_os("CHECKOUT_WORK").unwrap();
    let run = Run {
        work: WorkDir::open(Path::new(&work)).unwrap(),
        mirrors: Mirrors::new(vec![Mirror {
            from: "https://github.com/".into(),
            to: std::env::var("CHECKOUT_FORGE").unwrap(),
        }]),
        offline: false,
        told: Mutex::default(),
    };
    match run.check_out(&pins(&lines)) {
        Ok(_) => println!("\nCHECKED OUT"),
        Err(error) => println!("\nFAILED {error:#}"),
    }
}

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn local_sources_need_no_git_program() {
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let mut command = another_process("no git", dir.path(), &forge);
    command.env("PATH", "");
    let said = output(command);
    assert!(said.contains("CHECKED OUT"), "{said}");
    // Not a word of a git program: the trees alone are looked at.
    forge.reachable(false);
    let sources = Run::new(dir.path(), &forge)
        .check_out(&pins(&forge.versions()))
        .unwrap();
    assert_pinned(&sources, &forge);
}

#[test]
fn without_a_git_program_https_says_what_to_do() {
    if git2::Version::get().https() {
        testing::skipped(
            "without_a_git_program_https_says_what_to_do",
            "libgit2 has https here",
        );
        return;
    }
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let mut command = another_process("no git", dir.path(), &forge);
    command
        .env("PATH", "")
        .env("CHECKOUT_FORGE", "https://127.0.0.1:1/");
    let said = output(command);
    assert!(
        said.contains("FAILED") && said.contains("install git") && said.contains("--mirror"),
        "{said}"
    );
}

/// A home folder whose git settings would spoil everything, were they to count.
fn hostile_home(home: &Path) -> String {
    fs::create_dir_all(home.join("template/hooks")).unwrap();
    fs::create_dir_all(home.join("hooks")).unwrap();
    fs::write(home.join("attributes"), "* text eol=crlf\n").unwrap();
    for hook in [
        "template/hooks/post-checkout",
        "hooks/reference-transaction",
    ] {
        let path = home.join(hook);
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    let settings = format!(
        "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n\tattributesFile = {0}/attributes\n\thooksPath = {0}/hooks\n\
         [init]\n\ttemplateDir = {0}/template\n\tdefaultBranch = other\n[fetch]\n\tprune = true\n\
         [transfer]\n\tfsckObjects = true\n",
        home.display()
    );
    fs::write(home.join(".gitconfig"), &settings).unwrap();
    settings
}

#[test]
fn the_users_git_settings_change_no_byte_and_are_not_changed() {
    const TEST: &str = "the_users_git_settings_change_no_byte_and_are_not_changed";
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let home = dir.path().join("home");
    let settings = hostile_home(&home);
    // As in a git hook of a repository of the user's.
    let mine = bare(dir.path(), "mine");
    let before = listing(mine.path());
    let server = Http::serve(forge.path(), MODERN);
    if server.is_none() {
        testing::skipped(TEST, "there is no git program to fetch with");
    }
    let folder = forge.path().display().to_string();
    for (number, from) in [
        Some(folder),
        server.as_ref().map(|server| server.url.clone()),
    ]
    .into_iter()
    .flatten()
    .enumerate()
    {
        let work = dir.path().join(number.to_string());
        let mut command = another_process("settings", &work, &forge);
        command
            .env("CHECKOUT_FORGE", from)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("USERPROFILE", &home)
            .env("GIT_DIR", mine.path())
            .env("GIT_INDEX_FILE", mine.path().join("index"))
            .env("GIT_OBJECT_DIRECTORY", mine.path().join("objects"));
        let said = output(command);
        assert!(said.contains("CHECKED OUT"), "{said}");
        assert_eq!(
            fs::read_to_string(home.join(".gitconfig")).unwrap(),
            settings
        );
        assert_eq!(listing(mine.path()), before);
        let trees: Vec<_> = fs::read_dir(work.join("trees"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let [root] = trees.as_slice() else {
            panic!("{trees:?}")
        };
        for (path, bytes) in [
            ("crlf.txt", CRLF),
            ("lf.bat", b"one\ntwo\n".as_slice()),
            ("esp-idf/idf.txt", b"pinned\n"),
            ("configs/defconfig.esp32s3", DEFCONFIG),
        ] {
            assert_eq!(fs::read(root.join(path)).unwrap(), bytes, "{path}");
        }
        assert!(!root.join(".git/hooks/post-checkout").exists());
    }
}

/// Every file below a folder, with its content.
fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .map(Result::unwrap);
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[cfg(unix)]
#[test]
fn ssh_is_told_never_to_ask() {
    use std::os::unix::fs::PermissionsExt;
    if which::which("git").is_err() {
        testing::skipped("ssh_is_told_never_to_ask", "there is no git program");
        return;
    }
    let (forge, dir) = (Forge::new(), tempfile::tempdir().unwrap());
    let (ssh, log) = (dir.path().join("ssh"), dir.path().join("log"));
    fs::write(
        &ssh,
        format!("#!/bin/sh\necho \"$@\" >> {}\nexit 255\n", log.display()),
    )
    .unwrap();
    fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        dir.path().display(),
        std::env::var("PATH").unwrap()
    );
    let mut command = another_process("ssh", &dir.path().join("work"), &forge);
    command
        .env("PATH", path)
        .env("HOME", dir.path())
        .env_remove("GIT_SSH_COMMAND")
        .env("CHECKOUT_FORGE", "ssh://git@forge.invalid/");
    let said = output(command);
    assert!(
        said.contains("FAILED") && said.contains("forge.invalid"),
        "{said}"
    );
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("-oBatchMode=yes") && log.contains("git@forge.invalid"),
        "{log}"
    );
}

/// A file system of its own that is too small, seen by the other process alone.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_the_folder() {
    const TEST: &str = "a_full_disk_is_said_with_the_folder";
    let forge = Forge::new();
    let idf = forge.repo("espressif/esp-idf");
    let bulk = noise(7, 3_000_000);
    let bulky = commit(&idf, "release/v5.1", &[("bulk", Node::File(&bulk))]);
    let mut lines = forge.versions();
    lines[1].2 = bulky.to_string();
    let dir = tempfile::tempdir().unwrap();
    let inner = another_process(TEST, dir.path(), &forge);
    let sh = Shell::new().unwrap();
    let script = format!(
        "mount -t tmpfs -o size=2m tmpfs {0} && echo MOUNTED && exec \"$0\" \"$@\"",
        dir.path().display()
    );
    let (program, arguments) = (inner.get_program(), inner.get_args());
    let mut command: Command = cmd!(
        sh,
        "unshare --user --map-root-user --mount sh -c {script} {program} {arguments...}"
    )
    .into();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("CHECKOUT_PINS", spelled(&lines));
    let said = output(command);
    if !said.contains("MOUNTED") {
        testing::skipped(
            TEST,
            &format!("no file system can be mounted here: {}", said.trim()),
        );
        return;
    }
    let folder = dunce::canonicalize(dir.path())
        .unwrap()
        .display()
        .to_string();
    for part in [
        "FAILED the disk that holds",
        &folder,
        "MB free",
        "--work-dir",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Kills the run at ever later instants; whatever it leaves, the next run ends with whole trees.
fn kill_at_growing_delays(forge: &Forge, from: &str, step: u32) {
    // Enough that fetching and laying out take a while.
    let idf = forge.repo("espressif/esp-idf");
    let bulk: Vec<(String, Vec<u8>)> = (0..300u32)
        .map(|number| {
            (
                format!("bulk/{}/{number}.c", number % 7),
                noise(number, 20_000),
            )
        })
        .collect();
    let mut files: Vec<(&str, Node<'_>)> = bulk
        .iter()
        .map(|(path, bytes)| (path.as_str(), Node::File(bytes)))
        .collect();
    files.push(("idf.txt", Node::File(b"bulk\n")));
    let mut lines = forge.versions();
    lines[1].2 = commit(&idf, "release/v5.1", &files).to_string();
    let dir = tempfile::tempdir().unwrap();
    let (mut killed, mut delay) = (0, Duration::from_millis(20));
    for _ in 0..14 {
        let mut command = another_process("kill", dir.path(), forge);
        command
            .env("CHECKOUT_PINS", spelled(&lines))
            .env("CHECKOUT_FORGE", from);
        let mut child = command.spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!said.contains("FAILED"), "after {delay:?}: {said}");
        if said.contains("CHECKED OUT") {
            break;
        }
        killed += 1;
        delay = delay * step / 100;
    }
    assert!(killed > 3, "killed {killed} times only");
    let run = Run {
        mirrors: Mirrors::new(vec![Mirror {
            from: "https://github.com/".into(),
            to: from.into(),
        }]),
        ..Run::new(dir.path(), forge)
    };
    let sources = run.check_out(&pins(&lines)).unwrap();
    for (path, bytes) in &bulk {
        assert!(
            &fs::read(sources.root.join("esp-idf").join(path)).unwrap() == bytes,
            "{path}"
        );
    }
    let packs = sources.root.join("../../mirrors/esp-idf.git/objects/pack");
    for entry in fs::read_dir(packs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.starts_with("pack-"), "{name} was left behind");
    }
}

#[test]
fn a_run_killed_at_any_instant_leaves_nothing_that_the_next_trusts() {
    let forge = Forge::new();
    kill_at_growing_delays(&forge, &forge.path().display().to_string(), 135);
}

#[test]
fn neither_does_one_that_is_killed_while_the_git_program_fetches() {
    let forge = Forge::new();
    let Some(server) = Http::serve(forge.path(), MODERN) else {
        testing::skipped(
            "neither_does_one_that_is_killed_while_the_git_program_fetches",
            "there is no git program",
        );
        return;
    };
    kill_at_growing_delays(&forge, &server.url, 150);
}

/// Bytes that do not compress well, the same for the same seed.
fn noise(seed: u32, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}
