//! Engines: stand-ins on a private PATH, and the real docker and podman where they run.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test's own helpers may panic too")]

#[path = "../src/testing.rs"]
mod testing;

use std::ffi::OsString;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::engine::{Choice, Container, Ended, Engine, Image, ImageRecord, Job, Mount};

const IMAGE: &str = "xip-test-image";

const DOCKER: &str = r#"case $1 in
--version) echo 'Docker version 27.1' ;;
info) echo '{"ServerVersion":"27.1","OSType":"linux","SecurityOptions":["name=rootless"]}' ;;
esac"#;
const DOCKER_DOWN: &str = r#"case $1 in
--version) echo 'Docker version 27.1' ;;
info) echo '{"ServerErrors":["x"]}'; echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock.' >&2; exit 1 ;;
esac"#;
const PODMAN: &str = r#"case $1 in
--version) echo 'podman version 4.9.3' ;;
info) [ "$3" = json ] && echo '{"host":{"security":{"rootless":true}},"version":{"Version":"4.9.3"}}' ;;
esac"#;

/// A folder with programs of the given names and shell scripts, as a PATH.
fn path_of(programs: &[(&str, &str)]) -> (tempfile::TempDir, Option<OsString>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, script) in programs {
        let path = dir.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = dir.path().as_os_str().to_owned();
    (dir, Some(path))
}

fn found(choice: Choice, programs: &[(&str, &str)]) -> Result<Engine, String> {
    let (_dir, path) = path_of(programs);
    Engine::find_in(choice, path).map_err(|error| format!("{error:#}"))
}

#[test]
fn without_an_engine_the_error_says_what_to_install_and_what_needs_none() {
    let error = found(Choice::Auto, &[("sh", "true")]).unwrap_err();
    for part in [
        "docker",
        "podman",
        "install",
        "--engine host",
        "`cargo xtask demo` needs none",
    ] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    let error = found(Choice::Podman, &[("docker", DOCKER)]).unwrap_err();
    assert!(error.contains("no podman on the PATH"), "{error}");
}

#[test]
fn an_engine_that_does_not_run_is_told_in_its_own_words() {
    let error = found(Choice::Auto, &[("docker", DOCKER_DOWN)]).unwrap_err();
    assert!(
        error.contains("Cannot connect to the Docker daemon"),
        "{error}"
    );
    assert!(
        error.contains("does not run") && error.contains("systemctl start docker"),
        "{error}"
    );
    let denied = DOCKER_DOWN.replace(
        "Cannot connect to",
        "permission denied while trying to connect to",
    );
    let error = found(Choice::Docker, &[("docker", &denied)]).unwrap_err();
    assert!(error.contains("usermod -aG docker"), "{error}");
}

#[test]
fn auto_takes_what_runs_and_never_the_host() {
    assert_eq!(
        found(Choice::Auto, &[("docker", DOCKER), ("podman", PODMAN)])
            .unwrap()
            .name(),
        "docker"
    );
    assert_eq!(
        found(Choice::Auto, &[("docker", DOCKER_DOWN), ("podman", PODMAN)])
            .unwrap()
            .name(),
        "podman"
    );
    assert!(found(Choice::Auto, &[("sh", "true"), ("cc", "true")]).is_err());
    assert_eq!(
        found(Choice::Host, &[("sh", "true")]).unwrap().name(),
        "host"
    );
    assert!(found(Choice::Host, &[]).unwrap_err().contains("no `sh`"));
}

#[test]
fn a_docker_that_is_podman_is_podman() {
    let Engine::Container(container) = found(Choice::Docker, &[("docker", PODMAN)]).unwrap() else {
        panic!("not a container engine");
    };
    assert_eq!(container.facts().kind.name(), "podman");
    assert!(container.facts().rootless);
    let error = found(Choice::Docker, &[("docker", "echo something else")]).unwrap_err();
    assert!(error.contains("no docker on the PATH"), "{error}");
}

#[test]
fn an_image_is_built_once_and_not_without_network() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    // An engine that has an image once it was built, and keeps what it was asked.
    let script = format!(
        r#"{DOCKER}
echo "$@" >> {log}
case "$1 $2" in
"image inspect") [ -f {log}.built ] || exit 1; echo '[{{"Id":"sha256:1"}}]' ;;
"build "*) for file; do :; done; grep -q ccache "$file/Containerfile" && touch {log}.built; echo building ;;
esac"#,
        log = log.display()
    );
    let (_programs, path) = path_of(&[("docker", &script)]);
    let Engine::Container(container) = Engine::find_in(Choice::Docker, path).unwrap() else {
        panic!("not a container engine");
    };
    let image = Image::Ours {
        base: "debian:12".into(),
    };
    let error = container
        .image(&image, true, &|_| {})
        .unwrap_err()
        .to_string();
    assert!(error.contains("--offline"), "{error}");
    for _ in 0..2 {
        let record = container.image(&image, false, &|_| {}).unwrap();
        assert_eq!(record.text(), format!("{}@sha256:1", image.name()));
    }
    let asked = fs::read_to_string(&log).unwrap();
    assert_eq!(
        asked.matches("--build-arg BASE=debian:12").count(),
        1,
        "{asked}"
    );
}

#[test]
fn an_image_that_cannot_be_made_shows_the_engines_words() {
    let script = format!(
        "{DOCKER}\ncase $1 in image) exit 1 ;; build) echo 'E: Unable to locate package ninja'; exit 100 ;; esac"
    );
    let (_programs, path) = path_of(&[("docker", &script)]);
    let Engine::Container(container) = Engine::find_in(Choice::Docker, path).unwrap() else {
        panic!("not a container engine");
    };
    let image = Image::Ours {
        base: "old:1".into(),
    };
    let error = format!("{:#}", container.image(&image, false, &|_| {}).unwrap_err());
    for part in ["old:1", "--base-image", "Unable to locate package ninja"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

/// Every real engine that has the tests' image.
fn real(test: &str) -> Vec<(Engine, ImageRecord)> {
    let mut engines = Vec::new();
    for (choice, name) in [(Choice::Docker, "docker"), (Choice::Podman, "podman")] {
        match Engine::find(choice) {
            Ok(Engine::Container(container)) => {
                match container.image(&Image::Ready(IMAGE.into()), true, &|_| {}) {
                    Ok(image) => engines.push((Engine::Container(container), image)),
                    Err(error) => testing::skipped(
                        test,
                        &format!("{name}: {error:#}; make it with .ci/test-image"),
                    ),
                }
            }
            Ok(Engine::Host(_)) => unreachable!("a container was asked for"),
            Err(error) => testing::skipped(test, &format!("{error:#}")),
        }
    }
    engines
}

/// A job that runs `script` in the folder `work` of `root`.
fn job<'a>(root: &'a Path, name: &'a str, script: &str) -> Job<'a> {
    Job {
        name,
        root,
        mounts: ["work", "cache"]
            .map(|folder| Mount {
                folder: root.join(folder),
                writable: folder == "work",
            })
            .into(),
        folder: root.join("work"),
        env: vec![("GREETING".into(), "a b".into())],
        passed: Vec::new(),
        command: vec!["sh".into(), "-c".into(), script.into()],
        network: false,
    }
}

fn output(engine: &Engine, image: &ImageRecord, job: &Job<'_>) -> (Ended, Vec<String>) {
    let mut lines = Vec::new();
    let ended = engine
        .run(job, Some(image), &mut |line| {
            lines.push(line.to_owned());
            Ok(())
        })
        .unwrap();
    (ended, lines)
}

#[test]
fn a_job_in_a_real_container_sees_its_folders_and_nothing_more() {
    for (engine, image) in real("a_job_in_a_real_container_sees_its_folders_and_nothing_more") {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let script = "echo \"$GREETING in $PWD\"; echo err >&2; echo x > made; touch ../cache/no 2>/dev/null || echo read-only; \
                      ls /xip; grep -c : /proc/net/dev; exit 7";
        let (ended, lines) = output(&engine, &image, &job(&root, "test", script));
        // One network device: loopback.
        let mut lines = lines;
        lines.sort();
        assert_eq!(
            lines,
            ["1", "a b in /xip/work", "cache", "err", "read-only", "work"],
            "{}",
            engine.name()
        );
        assert!(
            matches!(ended, Ended::Status(status) if status.code() == Some(7)),
            "{ended:?}"
        );
        assert_eq!(fs::read_to_string(root.join("work/made")).unwrap(), "x\n");
        let ours = fs::metadata(&root).unwrap().uid();
        assert_eq!(fs::metadata(root.join("work/made")).unwrap().uid(), ours);
        // The engine would have made them as root's.
        assert_eq!(fs::metadata(root.join("cache")).unwrap().uid(), ours);
    }
}

#[test]
fn leftovers_of_a_killed_run_are_found_by_their_folder() {
    for (engine, _) in real("leftovers_of_a_killed_run_are_found_by_their_folder") {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let Engine::Container(container) = &engine else {
            panic!("not a container engine")
        };
        let mut helper = helper("helper_sleeps", engine.name(), &root);
        let mut child = helper.spawn().unwrap();
        wait_for("the container", || running(container, &root) == 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            running(container, &root),
            1,
            "the container outlives its tool"
        );
        assert!(
            container
                .end_leftovers(&root.join("cache"))
                .unwrap()
                .is_empty(),
            "another folder"
        );
        assert_eq!(
            container.end_leftovers(&root.join("work")).unwrap().len(),
            1
        );
        wait_for("the end of the container", || {
            running(container, &root) == 0
        });
    }
}

#[test]
fn ctrl_c_stops_a_real_container() {
    for (engine, _) in real("ctrl_c_stops_a_real_container") {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let Engine::Container(container) = &engine else {
            panic!("not a container engine")
        };
        let child = helper("helper_sleeps", engine.name(), &root)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        wait_for("the container", || running(container, &root) == 1);
        interrupt(child.id());
        assert!(said(child).contains("ended: Interrupted"));
        wait_for("the end of the container", || {
            running(container, &root) == 0
        });
    }
}

#[test]
fn a_second_ctrl_c_kills_a_container_that_does_not_stop() {
    for (engine, _) in real("a_second_ctrl_c_kills_a_container_that_does_not_stop") {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let Engine::Container(container) = &engine else {
            panic!("not a container engine")
        };
        let child = helper("helper_is_stubborn", engine.name(), &root)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        wait_for("the container", || root.join("work/ready").exists());
        interrupt(child.id());
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        interrupt(child.id());
        assert!(said(child).contains("ended: Interrupted"));
        wait_for("the end of the container", || {
            running(container, &root) == 0
        });
        // `stop` waits longer before it kills.
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn ctrl_c_ends_a_host_job_and_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let child = helper("helper_sleeps", "host", &root)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let ready = root.join("work/ready");
    wait_for("the job", || {
        fs::read_to_string(&ready).is_ok_and(|text| text.ends_with('\n'))
    });
    let sleeper = fs::read_to_string(&ready).unwrap().trim().to_owned();
    let alive = || Path::new("/proc").join(&sleeper).join("stat").exists() && !is_zombie(&sleeper);
    assert!(alive() || !Path::new("/proc/self").exists());
    interrupt(child.id());
    assert!(said(child).contains("ended: Interrupted"));
    wait_for("the end of the job's child", || !alive());
}

#[test]
fn a_host_job_does_not_outlive_a_run_that_is_killed() {
    if !Path::new("/proc/self").exists() {
        return testing::skipped(
            "a_host_job_does_not_outlive_a_run_that_is_killed",
            "needs /proc",
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let mut child = helper("helper_sleeps", "host", &root).spawn().unwrap();
    let ready = root.join("work/ready");
    wait_for("the job", || {
        fs::read_to_string(&ready).is_ok_and(|text| text.ends_with('\n'))
    });
    let sleeper = fs::read_to_string(&ready).unwrap().trim().to_owned();
    let alive = || Path::new("/proc").join(&sleeper).join("stat").exists() && !is_zombie(&sleeper);
    assert!(alive());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the end of the job's child", || !alive());
}

#[test]
fn files_belong_to_the_user_who_calls_a_rootful_docker() {
    const TEST: &str = "files_belong_to_the_user_who_calls_a_rootful_docker";
    const USER: u32 = 4321;
    let Some((engine, _)) = real(TEST)
        .into_iter()
        .find(|(engine, _)| engine.name() == "docker")
    else {
        return;
    };
    let Engine::Container(container) = &engine else {
        panic!("not a container engine")
    };
    if container.facts().rootless
        || fs::metadata("/proc/self")
            .map(|meta| meta.uid())
            .unwrap_or(1)
            != 0
    {
        return testing::skipped(
            TEST,
            "needs root and a rootful docker, to call it as another user",
        );
    }
    let Ok(socket) = fs::metadata("/var/run/docker.sock") else {
        return testing::skipped(TEST, "docker's socket is not at its usual place");
    };
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    std::os::unix::fs::chown(&root, Some(USER), Some(USER)).unwrap();
    let (user, group) = (format!("--reuid={USER}"), format!("--regid={USER}"));
    let groups = format!("--groups={}", socket.gid());
    let program = std::env::current_exe().unwrap();
    let helper = helper("helper_writes", "docker", &root);
    let arguments: Vec<_> = helper.get_args().collect();
    let shell = Shell::new().unwrap();
    let output: Command = cmd!(
        shell,
        "setpriv {user} {group} {groups} {program} {arguments...}"
    )
    .into();
    let mut output = output;
    let output = output
        .envs(
            helper
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .env("HOME", &root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for path in ["work", "work/made", "cache"] {
        let meta = fs::metadata(root.join(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (USER, USER), "{path}");
    }
}

/// This test program, told to run one of its helpers as a process of its own.
fn helper(name: &str, engine: &str, root: &Path) -> Command {
    let (shell, program) = (Shell::new().unwrap(), std::env::current_exe().unwrap());
    let mut command: Command = cmd!(shell, "{program} --ignored --exact {name} --nocapture").into();
    command
        .env("XIP_TEST_ENGINE", engine)
        .env("XIP_TEST_ROOT", root);
    command
}

fn run_as_helper(script: &str) {
    let (Ok(engine), Some(root)) = (
        std::env::var("XIP_TEST_ENGINE"),
        std::env::var_os("XIP_TEST_ROOT"),
    ) else {
        return testing::unasked("helper", "it is started by other tests");
    };
    let root = PathBuf::from(root);
    let choice = match engine.as_str() {
        "docker" => Choice::Docker,
        "podman" => Choice::Podman,
        _ => Choice::Host,
    };
    let engine = Engine::find(choice).unwrap();
    let image = match &engine {
        Engine::Container(container) => Some(
            container
                .image(&Image::Ready(IMAGE.into()), true, &|_| {})
                .unwrap(),
        ),
        Engine::Host(_) => None,
    };
    fs::create_dir_all(root.join("work")).unwrap();
    let ended = engine
        .run(&job(&root, "helper", script), image.as_ref(), &mut |_| {
            Ok(())
        })
        .unwrap();
    println!("ended: {ended:?}");
}

#[test]
#[ignore = "run by other tests as a process of its own"]
fn helper_sleeps() {
    run_as_helper("sleep 300 & echo $! > ready; wait");
}

#[test]
#[ignore = "run by other tests as a process of its own"]
fn helper_is_stubborn() {
    run_as_helper("trap '' TERM; touch ready; while :; do sleep 1; done");
}

#[test]
#[ignore = "run by other tests as a process of its own"]
fn helper_writes() {
    run_as_helper("echo x > made");
}

/// How many containers work in the folder `work` of `root`.
fn running(container: &Container, root: &Path) -> usize {
    let (shell, program) = (Shell::new().unwrap(), container.program());
    let filter = format!(
        "label=esp32-xip-libs.folder={}",
        root.join("work").display()
    );
    let names = cmd!(shell, "{program} ps --quiet --filter {filter}")
        .quiet()
        .read()
        .unwrap();
    names.split_whitespace().count()
}

/// What a helper printed, once it has ended; one that does not end is a failure, and not a test that hangs.
fn said(mut child: Child) -> String {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("waited in vain for the helper's end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn interrupt(id: u32) {
    let (shell, id) = (Shell::new().unwrap(), id.to_string());
    cmd!(shell, "kill -INT {id}").quiet().run().unwrap();
}

fn is_zombie(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "waited in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}
