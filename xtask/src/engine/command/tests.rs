use super::*;

fn facts(kind: Kind, rootless: bool, selinux: bool) -> Facts {
    Facts {
        kind,
        version: "1".into(),
        rootless,
        selinux,
        vm: false,
        storage: None,
    }
}

fn caller(os: HostOs) -> Caller {
    Caller {
        os,
        uid: 1000,
        gid: 100,
        open_files: Some(20_000),
        processes: None,
    }
}

fn job<'a>(root: &'a str, tree: &str, cache: &str) -> Job<'a> {
    Job {
        name: "build",
        root: Path::new(root),
        mounts: vec![
            Mount {
                folder: tree.into(),
                writable: true,
            },
            Mount {
                folder: cache.into(),
                writable: false,
            },
        ],
        folder: tree.into(),
        env: vec![("LC_ALL".into(), "C".into())],
        passed: vec!["https_proxy".into()],
        command: vec!["sh".into(), "/xip/job.sh".into(), "esp32s3".into()],
        network: true,
    }
}

fn job_on<'a>(os: HostOs) -> Job<'a> {
    match os {
        HostOs::Linux => job("/home/u/xip", "/home/u/xip/trees/k1", "/home/u/xip/cache"),
        HostOs::Macos => job(
            "/Users/u/xip",
            "/Users/u/xip/trees/k1",
            "/Users/u/xip/cache",
        ),
        HostOs::Windows => job(
            r"\\?\C:\Users\u\xip",
            r"C:\Users\u\xip\trees\k1",
            r"\\?\C:\Users\u\xip\cache",
        ),
    }
}

fn line(facts: &Facts, os: HostOs, job: &Job<'_>) -> String {
    let words = command_line(facts, caller(os), "sha256:1", "xip-build-7-0", job).unwrap();
    let words: Vec<String> = words
        .into_iter()
        .map(|word| word.into_string().unwrap())
        .collect();
    words.join(" ")
}

#[test]
fn rootful_docker_on_linux_word_for_word() {
    let text = line(
        &facts(Kind::Docker, false, false),
        HostOs::Linux,
        &job_on(HostOs::Linux),
    );
    assert_eq!(
        text,
        "run --rm --init --name xip-build-7-0 --label esp32-xip-libs.folder=/home/u/xip/trees/k1 --user 1000:100 \
         --volume /home/u/xip/trees/k1:/xip/trees/k1:rw --volume /home/u/xip/cache:/xip/cache:ro --workdir /xip/trees/k1 \
         --env LC_ALL=C --env https_proxy --entrypoint sh sha256:1 /xip/job.sh esp32s3"
    );
}

#[test]
fn rootless_podman_with_selinux_on_linux_word_for_word() {
    let mut job = job_on(HostOs::Linux);
    job.network = false;
    let text = line(&facts(Kind::Podman, true, true), HostOs::Linux, &job);
    assert_eq!(
        text,
        "run --rm --init --name xip-build-7-0 --label esp32-xip-libs.folder=/home/u/xip/trees/k1 --userns=keep-id \
         --ulimit nofile=20000:20000 --ulimit nproc=32768:32768 --network none \
         --volume /home/u/xip/trees/k1:/xip/trees/k1:rw,z --volume /home/u/xip/cache:/xip/cache:ro,z --workdir /xip/trees/k1 \
         --env LC_ALL=C --env https_proxy --entrypoint sh sha256:1 /xip/job.sh esp32s3"
    );
}

#[test]
fn docker_on_windows_word_for_word() {
    let text = line(
        &facts(Kind::Docker, false, false),
        HostOs::Windows,
        &job_on(HostOs::Windows),
    );
    assert_eq!(
        text,
        r"run --rm --init --name xip-build-7-0 --label esp32-xip-libs.folder=C:\Users\u\xip\trees\k1 --volume C:\Users\u\xip\trees\k1:/xip/trees/k1:rw --volume C:\Users\u\xip\cache:/xip/cache:ro --workdir /xip/trees/k1 --env LC_ALL=C --env https_proxy --entrypoint sh sha256:1 /xip/job.sh esp32s3"
    );
}

/// What differs between engines and systems, over all of them.
#[test]
fn users_labels_and_limits_over_every_engine_and_system() {
    let mut table = String::new();
    for os in [HostOs::Linux, HostOs::Macos, HostOs::Windows] {
        for kind in [Kind::Docker, Kind::Podman] {
            for rootless in [false, true] {
                for selinux in [false, true] {
                    let text = line(&facts(kind, rootless, selinux), os, &job_on(os));
                    let has = |word: &'static str| if text.contains(word) { word } else { "-" };
                    table += &format!(
                        "{os:?} {} {} {}: {} {} {} {}\n",
                        kind.name(),
                        if rootless { "rootless" } else { "rootful" },
                        if selinux { "selinux" } else { "plain" },
                        has("--user 1000:100"),
                        has("--userns=keep-id"),
                        has("rw,z"),
                        has("nofile=20000:20000"),
                    );
                }
            }
        }
    }
    assert_eq!(
        table,
        "\
Linux docker rootful plain: --user 1000:100 - - -
Linux docker rootful selinux: --user 1000:100 - rw,z -
Linux docker rootless plain: - - - -
Linux docker rootless selinux: - - rw,z -
Linux podman rootful plain: --user 1000:100 - - nofile=20000:20000
Linux podman rootful selinux: --user 1000:100 - rw,z nofile=20000:20000
Linux podman rootless plain: - --userns=keep-id - nofile=20000:20000
Linux podman rootless selinux: - --userns=keep-id rw,z nofile=20000:20000
Macos docker rootful plain: - - - -
Macos docker rootful selinux: - - - -
Macos docker rootless plain: - - - -
Macos docker rootless selinux: - - - -
Macos podman rootful plain: - - - -
Macos podman rootful selinux: - - - -
Macos podman rootless plain: - - - -
Macos podman rootless selinux: - - - -
Windows docker rootful plain: - - - -
Windows docker rootful selinux: - - - -
Windows docker rootless plain: - - - -
Windows docker rootless selinux: - - - -
Windows podman rootful plain: - - - -
Windows podman rootful selinux: - - - -
Windows podman rootless plain: - - - -
Windows podman rootless selinux: - - - -
"
    );
}

#[test]
fn docker_desktop_on_linux_maps_owners_itself() {
    let mut desktop = facts(Kind::Docker, false, true);
    desktop.vm = true;
    let text = line(&desktop, HostOs::Linux, &job_on(HostOs::Linux));
    assert!(!text.contains("--user") && !text.contains(",z"), "{text}");
}

#[test]
fn a_folder_that_a_container_cannot_have_is_named() {
    let docker = facts(Kind::Docker, false, false);
    let colon = job("/home/u:x", "/home/u:x/trees", "/home/u:x/cache");
    let error = command_line(&docker, caller(HostOs::Linux), "i", "n", &colon)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/home/u:x/trees") && error.contains("--work-dir"),
        "{error}"
    );
    let outside = job("/home/u/xip", "/home/u/xip-other", "/home/u/xip/cache");
    let error = command_line(&docker, caller(HostOs::Linux), "i", "n", &outside)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/home/u/xip-other is not below /home/u/xip"),
        "{error}"
    );
}

#[test]
fn no_token_is_ever_passed() {
    for name in PASSED {
        assert!(!name.to_ascii_uppercase().contains("TOKEN"), "{name}");
    }
}
