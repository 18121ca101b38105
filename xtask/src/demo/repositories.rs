//! Real git repositories of the sample upstream: a release, and branches that moved on after it.
//!
//! Author and times are fixed, so the same content gives the same commit ids on every machine.

use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use git2::build::TreeUpdateBuilder;
use git2::{Commit, FileMode, ObjectType, Oid, Repository, RepositoryInitOptions, Signature, Time};

use super::content::{self, Files};
use crate::release::{ComponentPin, Origin, Pins, SourcePin};

/// When the release was made, in seconds since 1970; each later commit is a day later.
const RELEASED: i64 = 1_780_000_000;
const DAY: i64 = 86_400;

/// Digits of a commit id in `versions.txt`: git's own choice in a small repository.
const SHORT: usize = 7;

/// One repository to be made.
struct Plan {
    /// Its name in `versions.txt`; empty for a submodule's.
    name: &'static str,
    /// Folder of the sample.
    folder: &'static str,
    /// The bare repository, relative to the folder that stands for `https://github.com/`.
    place: &'static str,
    branch: &'static str,
    /// Tag at the release, which HEAD of the released tree was at; else it was on the branch.
    tag: Option<&'static str>,
    /// Submodules: path, and the place of the repository.
    submodules: &'static [(&'static str, &'static str)],
    /// What came after the release: a line for the end of a file.
    later: Option<(&'static str, &'static str)>,
}

/// Submodules stand before the repositories that contain them.
const PLANS: [Plan; 7] = [
    Plan {
        name: "",
        folder: "mbedtls-framework",
        place: "Mbed-TLS/mbedtls-framework",
        branch: "main",
        tag: None,
        submodules: &[],
        later: None,
    },
    Plan {
        name: "",
        folder: "mbedtls",
        place: "espressif/mbedtls.git",
        branch: "mbedtls-3.6-idf",
        tag: None,
        submodules: &[("framework", "Mbed-TLS/mbedtls-framework")],
        later: Some(("library/sha256.c", "#error later than the release\n")),
    },
    Plan {
        name: "",
        folder: "tlsf",
        place: "espressif/tlsf.git",
        branch: "idf",
        tag: None,
        submodules: &[],
        later: Some(("tlsf.c", "#error later than the release\n")),
    },
    Plan {
        name: "lib-builder",
        folder: "lib-builder",
        place: "espressif/esp32-arduino-lib-builder.git",
        branch: "master",
        tag: None,
        submodules: &[],
        later: Some(("configs/defconfig.common", "CONFIG_FREERTOS_HZ=500\n")),
    },
    Plan {
        name: "esp-idf",
        folder: "esp-idf",
        place: "espressif/esp-idf.git",
        branch: "release/v5.5",
        tag: Some("v5.5.5"),
        submodules: &[
            ("components/heap/tlsf", "espressif/tlsf.git"),
            ("components/mbedtls/mbedtls", "espressif/mbedtls.git"),
        ],
        later: Some((
            "components/heap/heap_caps.c",
            "#error later than the release\n",
        )),
    },
    Plan {
        name: "arduino",
        folder: "arduino-esp32",
        place: "espressif/arduino-esp32.git",
        branch: "master",
        tag: None,
        submodules: &[],
        later: Some((
            "cores/esp32/esp32-hal-psram.c",
            "#error later than the release\n",
        )),
    },
    Plan {
        name: "tinyusb",
        folder: "tinyusb",
        place: "hathach/tinyusb.git",
        branch: "master",
        tag: None,
        submodules: &[],
        later: Some(("src/tusb.c", "#error later than the release\n")),
    },
];

/// Managed components that the release was made with. The sample's registry has a newer cbor by now.
const COMPONENTS: [(&str, Option<&str>); 3] = [
    ("espressif__cbor", Some("0.6.0~1")),
    ("espressif__esp-sr", Some("2.1.5")),
    ("espressif__esp32-camera", None),
];

/// Makes the repositories below `root`, which stands for `https://github.com/`, and tells what the release pins.
///
/// # Errors
/// Something stands at `root` already; what git or the disk refuses.
pub fn make(root: &Path) -> Result<Pins> {
    fs::create_dir(root)?;
    let mut commits: Vec<(&str, Oid)> = Vec::new();
    let mut sources = Vec::new();
    for plan in &PLANS {
        let commit = plan
            .make(root, &commits)
            .with_context(|| format!("making the repository {}", plan.place))?;
        commits.push((plan.place, commit));
        if !plan.name.is_empty() {
            sources.push(SourcePin {
                name: plan.name.to_owned(),
                refs: vec![plan.tag.unwrap_or(plan.branch).to_owned()],
                commit: commit.to_string()[..SHORT].to_owned(),
            });
        }
    }
    let component = |(name, version): (&str, Option<&str>)| ComponentPin {
        name: name.to_owned(),
        version: version.map(str::to_owned),
    };
    Ok(Pins {
        core: None,
        origin: Origin::File {
            path: root.join("versions.txt"),
        },
        sources,
        components: COMPONENTS.map(component).into(),
    })
}

impl Plan {
    /// The repository with its release and what came after; gives the release's commit.
    fn make(&self, root: &Path, commits: &[(&str, Oid)]) -> Result<Oid> {
        let branch = format!("refs/heads/{}", self.branch);
        let mut options = RepositoryInitOptions::new();
        options
            .bare(true)
            .mkpath(true)
            .external_template(false)
            .initial_head(&branch);
        let repo = Repository::init_opts(root.join(self.place), &options)?;
        // A server gives single commits and leaves content out when asked; so does this folder, to git itself.
        let mut config = repo.config()?;
        config.set_bool("uploadpack.allowFilter", true)?;
        config.set_bool("uploadpack.allowAnySHA1InWant", true)?;
        let mut files = content::files(self.folder)?;
        let released = commit(
            &repo,
            &branch,
            None,
            RELEASED,
            "Release",
            &files,
            &self.links(commits)?,
        )?;
        if let Some(tag) = self.tag {
            let target = repo.find_object(released, Some(ObjectType::Commit))?;
            repo.tag(
                tag,
                &target,
                &signature(RELEASED)?,
                &format!("Release {tag}"),
                false,
            )?;
        }
        if let Some((path, line)) = self.later {
            let file = files
                .get_mut(path)
                .with_context(|| format!("the sample has no {}/{path}", self.folder))?;
            file.extend_from_slice(line.as_bytes());
            let parent = repo.find_commit(released)?;
            commit(
                &repo,
                &branch,
                Some(&parent),
                RELEASED + DAY,
                "Go on",
                &files,
                &self.links(commits)?,
            )?;
        }
        Ok(released)
    }

    /// Submodules: path and commit.
    fn links(&self, commits: &[(&str, Oid)]) -> Result<Vec<(&'static str, Oid)>> {
        let link = |(path, place): &(&'static str, &str)| {
            let made = commits.iter().find(|(made, _)| made == place);
            let (_, commit) =
                made.with_context(|| format!("{place} stands behind what contains it"))?;
            Ok((*path, *commit))
        };
        self.submodules.iter().map(link).collect()
    }
}

fn signature(time: i64) -> Result<Signature<'static>> {
    Ok(Signature::new(
        "Sample upstream",
        "sample@example.org",
        &Time::new(time, 0),
    )?)
}

fn commit(
    repo: &Repository,
    branch: &str,
    parent: Option<&Commit<'_>>,
    time: i64,
    message: &str,
    files: &Files,
    links: &[(&str, Oid)],
) -> Result<Oid> {
    let empty = repo.find_tree(repo.treebuilder(None)?.write()?)?;
    let mut tree = TreeUpdateBuilder::new();
    for (path, content) in files {
        let mode = if content.starts_with(b"#!") {
            FileMode::BlobExecutable
        } else {
            FileMode::Blob
        };
        tree.upsert(path.as_str(), repo.blob(content)?, mode);
    }
    for (path, commit) in links {
        tree.upsert(*path, *commit, FileMode::Commit);
    }
    let tree = repo.find_tree(tree.create_updated(repo, &empty)?)?;
    let who = signature(time)?;
    let parents: Vec<&Commit<'_>> = parent.into_iter().collect();
    Ok(repo.commit(Some(branch), &who, &who, message, &tree, &parents)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_gives_the_same_commits_anywhere() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let pins = make(&one.path().join("git")).unwrap();
        assert_eq!(pins.sources, make(&two.path().join("ü b")).unwrap().sources);
        let idf = pins.source("esp-idf").unwrap();
        assert_eq!(
            (idf.refs.as_slice(), idf.commit.len()),
            (&["v5.5.5".to_owned()][..], 7)
        );
    }

    #[test]
    fn the_release_is_behind_its_branch_and_holds_its_submodules() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("git");
        let pins = make(&root).unwrap();
        let repo = Repository::open(root.join("espressif/esp-idf.git")).unwrap();
        let tip = repo
            .revparse_single("release/v5.5")
            .unwrap()
            .peel_to_commit()
            .unwrap();
        let tag = repo.revparse_single("v5.5.5").unwrap();
        assert_eq!(
            tag.kind(),
            Some(ObjectType::Tag),
            "an annotated tag, as upstream's"
        );
        let released = tag.peel_to_commit().unwrap();
        assert_eq!(tip.parent_id(0).unwrap(), released.id());
        assert!(
            released
                .id()
                .to_string()
                .starts_with(&pins.source("esp-idf").unwrap().commit)
        );
        let tree = released.tree().unwrap();
        let mode = |path: &str| tree.get_path(Path::new(path)).unwrap().filemode();
        assert_eq!(mode("components/heap/tlsf"), i32::from(FileMode::Commit));
        assert_eq!(mode("install.sh"), i32::from(FileMode::BlobExecutable));
        assert_eq!(mode("export.sh"), i32::from(FileMode::Blob));
        assert!(
            make(&root).is_err(),
            "what stands there is not written into"
        );
    }
}
