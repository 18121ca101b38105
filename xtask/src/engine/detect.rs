//! What an engine is, by its own words: `docker` may be podman under another name, and either may be installed but not run.

use std::path::PathBuf;

use serde::Deserialize;

/// Whose command line an engine understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Docker's.
    Docker,
    /// Podman's, whatever the program is called.
    Podman,
}

impl Kind {
    /// `docker` or `podman`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// From the answer to `--version`.
    pub fn from_version(answer: &str) -> Option<Self> {
        let answer = answer.to_ascii_lowercase();
        if answer.contains("podman") {
            Some(Self::Podman)
        } else if answer.contains("docker") {
            Some(Self::Docker)
        } else {
            None
        }
    }

    /// The words that make it print its state as JSON.
    pub(super) fn info(self) -> [&'static str; 3] {
        match self {
            Self::Docker => ["info", "--format", "{{json .}}"],
            Self::Podman => ["info", "--format", "json"],
        }
    }
}

/// What decides an engine's command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Whose command line.
    pub kind: Kind,
    /// Version of the running engine.
    pub version: String,
    /// It runs without root's rights: root in a container is the user outside.
    pub rootless: bool,
    /// It separates containers by SELinux labels.
    pub selinux: bool,
    /// It runs in a virtual machine (Docker Desktop, `podman machine`), whose file sharing maps owners itself.
    pub vm: bool,
    /// Where it keeps images, where that is a folder of this machine.
    pub storage: Option<PathBuf>,
}

impl Facts {
    /// Reads the engine's answer to `info`.
    ///
    /// # Errors
    /// The engine's own message, where it does not run, or what is wrong with the answer.
    pub fn from_info(kind: Kind, json: &str, foreign_os: bool) -> Result<Self, String> {
        let mut facts = match kind {
            Kind::Docker => docker(json)?,
            Kind::Podman => podman(json)?,
        };
        facts.vm |= foreign_os;
        if facts.vm {
            facts.storage = None;
        }
        Ok(facts)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerInfo {
    #[serde(default)]
    server_version: String,
    #[serde(default)]
    server_errors: Option<Vec<String>>,
    #[serde(default)]
    security_options: Option<Vec<String>>,
    #[serde(default)]
    operating_system: String,
    #[serde(default, rename = "OSType")]
    os_type: String,
    #[serde(default)]
    docker_root_dir: String,
}

fn docker(json: &str) -> Result<Facts, String> {
    let info: DockerInfo = serde_json::from_str(json)
        .map_err(|error| format!("its answer to `info` is not understood ({error})"))?;
    if let Some(errors) = info.server_errors.filter(|errors| !errors.is_empty()) {
        return Err(errors.join("; "));
    }
    if info.server_version.is_empty() {
        return Err("it names no server version".to_owned());
    }
    if info.os_type == "windows" {
        return Err("it runs Windows containers; switch it to Linux containers".to_owned());
    }
    let options = info.security_options.unwrap_or_default();
    let has = |name: &str| {
        options
            .iter()
            .any(|option| option.split(',').any(|part| part == format!("name={name}")))
    };
    Ok(Facts {
        kind: Kind::Docker,
        version: info.server_version,
        rootless: has("rootless"),
        selinux: has("selinux"),
        vm: info.operating_system.contains("Docker Desktop"),
        storage: (!info.docker_root_dir.is_empty()).then(|| info.docker_root_dir.into()),
    })
}

#[derive(Deserialize)]
struct PodmanInfo {
    host: PodmanHost,
    #[serde(default)]
    store: PodmanStore,
    version: PodmanVersion,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodmanHost {
    security: PodmanSecurity,
    #[serde(default)]
    service_is_remote: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodmanSecurity {
    rootless: bool,
    #[serde(default)]
    selinux_enabled: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct PodmanStore {
    #[serde(default)]
    graph_root: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PodmanVersion {
    version: String,
}

fn podman(json: &str) -> Result<Facts, String> {
    let info: PodmanInfo = serde_json::from_str(json)
        .map_err(|error| format!("its answer to `info` is not understood ({error})"))?;
    Ok(Facts {
        kind: Kind::Podman,
        version: info.version.version,
        rootless: info.host.security.rootless,
        selinux: info.host.security.selinux_enabled,
        vm: info.host.service_is_remote,
        storage: (!info.store.graph_root.is_empty()).then(|| info.store.graph_root.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_known_by_its_answer_and_not_by_its_name() {
        assert_eq!(
            Kind::from_version("Docker version 28.2.2, build e6534b4"),
            Some(Kind::Docker)
        );
        // What the package `podman-docker` prints when called as `docker`.
        let alias = "Emulate Docker CLI using podman. Create /etc/containers/nodocker to quiet msg.\npodman version 4.9.3";
        assert_eq!(Kind::from_version(alias), Some(Kind::Podman));
        assert_eq!(Kind::from_version("nerdctl version 1.7.6"), None);
    }

    #[test]
    fn docker_tells_rootless_selinux_and_the_desktop() {
        let info = r#"{"ServerVersion":"27.1","OSType":"linux","OperatingSystem":"Fedora Linux 40","DockerRootDir":"/home/u/.local/share/docker",
            "SecurityOptions":["name=seccomp,profile=builtin","name=rootless","name=selinux"]}"#;
        let facts = Facts::from_info(Kind::Docker, info, false).unwrap();
        assert!(facts.rootless && facts.selinux && !facts.vm);
        assert_eq!(facts.storage, Some("/home/u/.local/share/docker".into()));
        let info = r#"{"ServerVersion":"27.1","OSType":"linux","OperatingSystem":"Docker Desktop","DockerRootDir":"/var/lib/docker","SecurityOptions":null}"#;
        let facts = Facts::from_info(Kind::Docker, info, false).unwrap();
        assert!(facts.vm && !facts.rootless);
        assert_eq!(facts.storage, None, "a folder of the virtual machine");
    }

    #[test]
    fn a_docker_that_does_not_run_or_runs_windows_containers_is_no_engine() {
        let down = r#"{"ID":"","ServerErrors":["Cannot connect to the Docker daemon"]}"#;
        assert_eq!(
            Facts::from_info(Kind::Docker, down, false).unwrap_err(),
            "Cannot connect to the Docker daemon"
        );
        let windows = r#"{"ServerVersion":"27.1","OSType":"windows"}"#;
        assert!(
            Facts::from_info(Kind::Docker, windows, true)
                .unwrap_err()
                .contains("Linux containers")
        );
        assert!(Facts::from_info(Kind::Docker, "{}", false).is_err());
        assert!(Facts::from_info(Kind::Podman, "{}", false).is_err());
    }

    #[test]
    fn podman_tells_rootless_selinux_and_the_machine() {
        let info = r#"{"host":{"security":{"rootless":true,"selinuxEnabled":true},"serviceIsRemote":false},
            "store":{"graphRoot":"/home/u/.local/share/containers/storage"},"version":{"Version":"4.9.3"}}"#;
        let facts = Facts::from_info(Kind::Podman, info, false).unwrap();
        assert!(facts.rootless && facts.selinux && !facts.vm && facts.storage.is_some());
        assert!(
            Facts::from_info(Kind::Podman, info, true).unwrap().vm,
            "podman on macOS and Windows is a machine"
        );
    }
}
