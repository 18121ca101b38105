//! From facts and a job to the words of an engine's call. No effects, so it is tested as text.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::detect::{Facts, Kind};

/// The folder of a container below which a job's root folder appears.
pub(super) const INSIDE: &str = "/xip";

/// Variables that a job takes from the caller's environment: the network's proxies and certificates, and the settings by
/// which ESP-IDF's tools, the component manager and pip are pointed at mirrors. No token is among them, and the container
/// engine is given their names alone, so that values do not show in its command line.
pub const PASSED: [&str; 16] = [
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "IDF_GITHUB_ASSETS",
    "IDF_MIRROR_PREFIX_MAP",
    "IDF_PIP_WHEELS_URL",
    "IDF_COMPONENT_REGISTRY_URL",
    "IDF_COMPONENT_STORAGE_URL",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
];

/// A program to run, and what it sees.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// What it does, for the container's name, such as `build-esp32s3`.
    pub name: &'a str,
    /// The folder that appears as `/xip`; only [`Job::mounts`] of it do.
    pub root: &'a Path,
    /// Folders below [`Job::root`].
    pub mounts: Vec<Mount>,
    /// The folder to run in, below one of the mounts.
    pub folder: PathBuf,
    /// Environment, with paths as the job sees them.
    pub env: Vec<(String, String)>,
    /// Names of variables that keep the caller's value.
    pub passed: Vec<String>,
    /// Program and arguments, with paths as the job sees them.
    pub command: Vec<String>,
    /// Whether it may use the network. On the host this cannot be kept from it.
    pub network: bool,
}

/// A folder that a job sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The folder.
    pub folder: PathBuf,
    /// Whether the job may write to it.
    pub writable: bool,
}

/// Operating system of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostOs {
    /// Linux, WSL included.
    Linux,
    /// macOS.
    Macos,
    /// Windows.
    Windows,
}

/// Who calls the engine, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The operating system.
    pub os: HostOs,
    /// User id; 0 on Windows.
    pub uid: u32,
    /// Group id; 0 on Windows.
    pub gid: u32,
    /// Hard limit of open files; `None` where there is none.
    pub open_files: Option<u64>,
    /// Hard limit of processes; `None` where there is none.
    pub processes: Option<u64>,
}

/// Limits asked for where the caller has none or higher ones: what podman would take by itself, and the kernel's usual `pid_max`,
/// to which podman lowers its own limit.
const MOST_OPEN_FILES: u64 = 1_048_576;
const MOST_PROCESSES: u64 = 32_768;

impl Caller {
    /// This process.
    pub fn of_this_process() -> Self {
        let os = if cfg!(windows) {
            HostOs::Windows
        } else if cfg!(target_os = "macos") {
            HostOs::Macos
        } else {
            HostOs::Linux
        };
        #[cfg(unix)]
        {
            use rustix::process::{Resource, getgid, getrlimit, getuid};
            Self {
                os,
                uid: getuid().as_raw(),
                gid: getgid().as_raw(),
                open_files: getrlimit(Resource::Nofile).maximum,
                processes: getrlimit(Resource::Nproc).maximum,
            }
        }
        #[cfg(not(unix))]
        Self {
            os,
            uid: 0,
            gid: 0,
            open_files: None,
            processes: None,
        }
    }
}

/// Who a job is inside, so that its files are the caller's outside.
#[derive(Debug, PartialEq, Eq)]
enum User {
    /// The caller's own ids: a rootful engine.
    Ids,
    /// Podman's mapping of the caller to the same ids inside.
    KeepId,
    /// Whoever the image names (root): rootless docker and the file sharing of virtual machines give root's files to the caller.
    Image,
}

impl Facts {
    fn user(&self, caller: Caller) -> User {
        if caller.os != HostOs::Linux || self.vm {
            User::Image
        } else if !self.rootless {
            User::Ids
        } else if self.kind == Kind::Podman {
            User::KeepId
        } else {
            User::Image
        }
    }

    /// Mounts need a label that containers may use. A virtual machine's shared folders cannot be labelled.
    fn labels_mounts(&self, caller: Caller) -> bool {
        self.selinux && caller.os == HostOs::Linux && !self.vm
    }

    /// Podman asks for limits of its own, and where the caller's hard limits are lower the container cannot start
    /// ("error setting rlimit", seen with podman 4.3; its `--ulimit host` asks for the same).
    fn asks_for_limits(&self, caller: Caller) -> bool {
        self.kind == Kind::Podman && caller.os == HostOs::Linux && !self.vm
    }
}

/// The words after the engine's name that run `job` in a container called `name`, made from `image`.
///
/// # Errors
/// A folder that the engine's volume syntax cannot express, or that is outside the job's root.
pub fn command_line(
    facts: &Facts,
    caller: Caller,
    image: &str,
    name: &str,
    job: &Job<'_>,
) -> Result<Vec<OsString>> {
    let mut words: Vec<String> = ["run", "--rm", "--init", "--name", name]
        .map(String::from)
        .into();
    words.extend(["--label".to_owned(), label(job.folder.as_path())]);
    match facts.user(caller) {
        User::Ids => words.extend([
            "--user".to_owned(),
            format!("{}:{}", caller.uid, caller.gid),
        ]),
        User::KeepId => words.push("--userns=keep-id".to_owned()),
        User::Image => {}
    }
    if facts.asks_for_limits(caller) {
        for (name, limit, most) in [
            ("nofile", caller.open_files, MOST_OPEN_FILES),
            ("nproc", caller.processes, MOST_PROCESSES),
        ] {
            let limit = limit.unwrap_or(most).min(most);
            words.extend(["--ulimit".to_owned(), format!("{name}={limit}:{limit}")]);
        }
    }
    if !job.network {
        words.extend(["--network".to_owned(), "none".to_owned()]);
    }
    for mount in &job.mounts {
        words.extend([
            "--volume".to_owned(),
            volume(facts, caller, job.root, mount)?,
        ]);
    }
    words.extend([
        "--workdir".to_owned(),
        inside(caller.os, job.root, &job.folder)?,
    ]);
    for (key, value) in &job.env {
        words.extend(["--env".to_owned(), format!("{key}={value}")]);
    }
    for key in &job.passed {
        words.extend(["--env".to_owned(), key.clone()]);
    }
    // An image's entry point would run in the job's place (upstream's own image has one).
    let Some((program, arguments)) = job.command.split_first() else {
        bail!("the job `{}` has no command", job.name);
    };
    words.extend(["--entrypoint".to_owned(), program.clone(), image.to_owned()]);
    words.extend(arguments.iter().cloned());
    Ok(words.into_iter().map(OsString::from).collect())
}

/// The label of containers that work in `folder`; by it, one left over by a tool that was killed is found again.
pub(super) fn label(folder: &Path) -> String {
    format!("esp32-xip-libs.folder={}", folder.display())
}

/// The path inside a container of `path`, which is `root` or below it.
pub(super) fn inside(os: HostOs, root: &Path, path: &Path) -> Result<String> {
    let (root, path) = (plain(os, root)?, plain(os, path)?);
    let relative = match path.strip_prefix(root.as_str()) {
        Some("") => return Ok(INSIDE.to_owned()),
        Some(rest)
            if rest.starts_with('/') || (os == HostOs::Windows && rest.starts_with('\\')) =>
        {
            rest
        }
        _ => bail!("{path} is not below {root}, the folder that the container sees"),
    };
    Ok(match os {
        HostOs::Windows => format!("{INSIDE}{}", relative.replace('\\', "/")),
        _ => format!("{INSIDE}{relative}"),
    })
}

fn volume(facts: &Facts, caller: Caller, root: &Path, mount: &Mount) -> Result<String> {
    let source = plain(caller.os, &mount.folder)?;
    let beyond_drive = match caller.os {
        HostOs::Windows => source.get(2..).unwrap_or_default(),
        _ => &source,
    };
    if beyond_drive.contains(':') {
        bail!(
            "{source} cannot be given to a container: its name has a colon; choose another folder with --work-dir"
        );
    }
    let mut options = vec![if mount.writable { "rw" } else { "ro" }];
    if facts.labels_mounts(caller) {
        options.push("z");
    }
    let target = inside(caller.os, root, &mount.folder)?;
    Ok(format!("{source}:{target}:{}", options.join(",")))
}

/// A path as engines take it: on Windows without the `\\?\` of canonical paths.
fn plain(os: HostOs, path: &Path) -> Result<String> {
    let Some(text) = path.to_str() else {
        bail!(
            "{} cannot be given to a container: its name is not Unicode; choose another folder with --work-dir",
            path.display()
        );
    };
    Ok(match os {
        HostOs::Windows => text.strip_prefix(r"\\?\").unwrap_or(text).to_owned(),
        _ => text.to_owned(),
    })
}

#[cfg(test)]
mod tests;
