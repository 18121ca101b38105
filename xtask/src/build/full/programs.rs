//! Which programs upstream's build will call, read from its own scripts before anything runs.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::script;

/// A program, and the Debian package that brings it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
}

/// What a build needs where it runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) programs: BTreeSet<Program>,
    /// Modules of python3.
    pub(super) modules: Vec<&'static str>,
}

/// Programs that scripts of upstream and of ESP-IDF call, apart from what every system has. curl and wget are not among
/// them: tools/config.sh calls them only in functions for releases, and a machine without them can build.
const KNOWN: [(&str, &str); 39] = [
    ("ar", "binutils"),
    ("awk", "gawk"),
    ("basename", "coreutils"),
    ("bash", "bash"),
    ("bison", "bison"),
    ("bunzip2", "bzip2"),
    ("bzip2", "bzip2"),
    ("cc", "gcc"),
    ("cmake", "cmake"),
    ("cut", "coreutils"),
    ("diff", "diffutils"),
    ("dirname", "coreutils"),
    ("file", "file"),
    ("find", "findutils"),
    ("flex", "flex"),
    ("g++", "g++"),
    ("gcc", "gcc"),
    ("git", "git"),
    ("gperf", "gperf"),
    ("grep", "grep"),
    ("head", "coreutils"),
    ("jq", "jq"),
    ("ld", "binutils"),
    ("make", "make"),
    ("ninja", "ninja-build"),
    ("objcopy", "binutils"),
    ("patch", "patch"),
    ("perl", "perl"),
    ("python3", "python3"),
    ("ranlib", "binutils"),
    ("realpath", "coreutils"),
    ("sed", "sed"),
    ("sort", "coreutils"),
    ("strip", "binutils"),
    ("tar", "tar"),
    ("tr", "coreutils"),
    ("unzip", "unzip"),
    ("xargs", "findutils"),
    ("xz", "xz-utils"),
];

/// Programs that tools/config.sh calls on macOS in place of the system's own.
const MACOS: [(&str, &str); 3] = [
    ("gawk", "gawk"),
    ("grealpath", "coreutils"),
    ("gsed", "gnu-sed"),
];

/// Scripts that build.sh calls only for options that we do not give (`-s` leaves the set-up out; no `-c`, `-d`, `-e`).
const NOT_CALLED: [&str; 7] = [
    "update-components.sh",
    "install-arduino.sh",
    "install-esp-idf.sh",
    "copy-to-arduino.sh",
    "push-to-arduino.sh",
    "archive-build.sh",
    "build-hosted.sh",
];

/// Reads the scripts that a build in the work tree `root` will run.
pub(super) fn needs(root: &Path, macos: bool) -> Result<Needs> {
    let mut needs = Needs::default();
    let mut words = BTreeSet::new();
    let mut bash = false;
    for path in scripts(root)? {
        let text = String::from_utf8_lossy(&fs::read(root.join(&path))?).into_owned();
        let Some(interpreter) = interpreter(&path, &text) else {
            continue;
        };
        bash |= interpreter == "bash";
        words.extend(script::commands(&text));
    }
    if bash {
        words.insert("bash".to_owned());
    }
    if is_real_idf(root) {
        // idf.py's own: idf_tools.py makes a virtual environment, cmake and ninja are the system's (tools.json: on request).
        words.extend(["python3", "git", "cmake", "ninja"].map(String::from));
        needs.modules = vec!["venv", "ensurepip"];
    }
    let macos: &[(&str, &str)] = if macos { &MACOS } else { &[] };
    needs.programs = KNOWN
        .iter()
        .chain(macos)
        .filter(|(name, _)| words.contains(*name))
        .map(|&(name, package)| Program { name, package })
        .collect();
    Ok(needs)
}

/// Whether the work tree holds Espressif's own ESP-IDF, with its installer of toolchains, and not a small stand-in.
pub(super) fn is_real_idf(root: &Path) -> bool {
    let tools = root.join("esp-idf").join("tools");
    tools.join("idf_tools.py").is_file() && tools.join("tools.json").is_file()
}

/// Paths of the scripts, relative to `root`, each once.
fn scripts(root: &Path) -> Result<BTreeSet<String>> {
    let mut found: BTreeSet<String> = [
        "build.sh",
        "tools/config.sh",
        "esp-idf/install.sh",
        "esp-idf/export.sh",
        "esp-idf/tools/detect_python.sh",
        "esp-idf/tools/idf.py",
    ]
    .map(String::from)
    .into();
    for caller in ["build.sh", "CMakeLists.txt"] {
        let path = root.join(caller);
        if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
            found.extend(named_scripts(&text));
        }
    }
    found.retain(|path| root.join(path).is_file());
    Ok(found)
}

/// `tools/NAME.sh` in a text.
fn named_scripts(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("tools/").filter_map(|(at, _)| {
        let rest = &text[at..];
        let end = rest.find(".sh")? + ".sh".len();
        let path = &rest[..end];
        let name = &path["tools/".len()..];
        let plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        (plain && !NOT_CALLED.contains(&name)).then(|| path.to_owned())
    })
}

/// `bash` or `sh`; `None` for a file that is no shell script. A script that is sourced may have no first line of that kind.
fn interpreter(path: &str, text: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default();
    // Upstream has scripts that begin with `#/bin/bash`.
    if first.starts_with('#') && first.contains("bash") {
        Some("bash")
    } else if path.ends_with(".sh")
        || (first.starts_with("#!") && first.trim_end().ends_with("/sh"))
    {
        Some("sh")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(needs: &Needs) -> Vec<&str> {
        needs.programs.iter().map(|program| program.name).collect()
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn a_small_upstream_needs_only_what_its_scripts_call() {
        let dir = tree(&[
            (
                "build.sh",
                "#!/bin/sh\n. ./tools/config.sh\n./tools/copy.sh\n./tools/push-to-arduino.sh\nidf.py\n",
            ),
            ("tools/config.sh", "sed p x\n"),
            ("tools/copy.sh", "#!/bin/sh\nar r a b\n"),
            ("tools/push-to-arduino.sh", "#!/bin/bash\ncurl x\n"),
            ("esp-idf/install.sh", "#!/bin/sh\ncc x.c\n"),
            ("esp-idf/tools/idf.py", "#!/bin/sh\ngit describe\n"),
        ]);
        let needs = needs(dir.path(), false).unwrap();
        assert_eq!(names(&needs), ["ar", "cc", "git", "sed"]);
        assert!(needs.modules.is_empty());
    }

    #[test]
    fn espressifs_idf_needs_python_with_venv_and_the_build_tools() {
        let dir = tree(&[
            ("build.sh", "#!/bin/bash\nx=`jq . y`\n"),
            ("tools/config.sh", "if macos; then command -v gsed; fi\n"),
            ("esp-idf/install.sh", "#!/usr/bin/env bash\nset -e\n"),
            ("esp-idf/tools/idf_tools.py", ""),
            ("esp-idf/tools/tools.json", "{}"),
            (
                "esp-idf/tools/idf.py",
                "#!/usr/bin/env python\nimport sys\n",
            ),
        ]);
        let linux = needs(dir.path(), false).unwrap();
        assert_eq!(
            names(&linux),
            ["bash", "cmake", "git", "jq", "ninja", "python3"]
        );
        assert_eq!(linux.modules, ["venv", "ensurepip"]);
        assert!(names(&needs(dir.path(), true).unwrap()).contains(&"gsed"));
    }
}
