//! The image that a build runs in: ours, made once, or a ready one.

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use xshell::{Shell, cmd};

use super::container::Container;
use super::run::{Ended, stream};
use crate::digest::hex;
use crate::progress::{Event, Report};

const CONTAINERFILE: &str = include_str!("../../Containerfile");

/// The image that ours stands on where none is named; the default of `ARG BASE` in the Containerfile.
pub const DEFAULT_BASE: &str = "docker.io/library/debian:bookworm-20250721-slim";

/// Which image a build runs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image {
    /// Ours: the packages of `xtask/Containerfile` on a Debian or Ubuntu base.
    Ours {
        /// The base image.
        base: String,
    },
    /// One that has all that upstream's build needs.
    Ready(String),
}

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRecord {
    /// The name by which it was asked for.
    pub name: String,
    /// The engine's id of its content; containers are made from it, so that a moved tag changes nothing.
    pub id: String,
    /// The registry's digest, where it came from one.
    pub digest: Option<String>,
}

impl ImageRecord {
    /// Name and digest for a package's record: the registry's digest, else the id.
    pub fn text(&self) -> String {
        let digest = self.digest.as_deref().unwrap_or(&self.id);
        format!("{}@{digest}", self.name)
    }
}

impl Image {
    /// The name under which the engine holds it. For ours, it changes with everything that the image is made from.
    pub fn name(&self) -> String {
        match self {
            Self::Ready(name) => name.clone(),
            Self::Ours { base } => {
                let mut hash = Sha256::new();
                hash.update(CONTAINERFILE);
                hash.update([0]);
                hash.update(base);
                format!("localhost/xip-build:{}", &hex(&hash.finalize())[..12])
            }
        }
    }
}

impl Container {
    /// Sees that `image` is there: ours is built, a ready one is pulled, each only where the engine does not have it yet.
    ///
    /// # Errors
    /// It cannot be built or pulled; or it is not there and `offline` forbids to fetch anything.
    pub fn image(&self, image: &Image, offline: bool, report: Report<'_>) -> Result<ImageRecord> {
        let name = image.name();
        if let Some(found) = self.inspect(&name)? {
            return Ok(found);
        }
        if offline {
            bail!(
                "{} has no image `{name}`, and --offline forbids to fetch one; run once without --offline",
                self.facts().kind.name()
            );
        }
        match image {
            Image::Ready(name) => {
                report(Event::Step("pull the image"));
                self.stream_words(&["pull", name], report)
                    .with_context(|| format!("pulling the image `{name}` (named by --image)"))?;
            }
            Image::Ours { base } => self.build_image(&name, base, report)?,
        }
        self.inspect(&name)?.with_context(|| {
            format!(
                "{} says that it made `{name}`, but does not have it",
                self.facts().kind.name()
            )
        })
    }

    /// Whether the engine has `image` already.
    pub fn has_image(&self, image: &Image) -> Result<bool> {
        Ok(self.inspect(&image.name())?.is_some())
    }

    fn build_image(&self, name: &str, base: &str, report: Report<'_>) -> Result<()> {
        report(Event::Step("make the build image"));
        // A folder of its own as context: every engine takes that, and nothing else gets in.
        let context = tempfile::tempdir().context("making a temporary folder")?;
        let file = context.path().join("Containerfile");
        fs::write(&file, CONTAINERFILE)?;
        let (file, folder) = (text(&file)?, text(context.path())?);
        let argument = format!("BASE={base}");
        self.stream_words(&["build", "--build-arg", &argument, "--tag", name, "--file", &file, &folder], report)
            .with_context(|| {
                format!("making the build image on `{base}`; another base can be named by --base-image, a ready image by --image")
            })
    }

    fn stream_words(&self, words: &[&str], report: Report<'_>) -> Result<()> {
        let (shell, program) = (Shell::new()?, self.program());
        let command = cmd!(shell, "{program} {words...}").into();
        let mut last = Vec::new();
        let ended = stream(command, &mut |line| {
            report(Event::Detail(line));
            if !line.trim().is_empty() {
                last.push(line.to_owned());
            }
            if last.len() > 20 {
                last.remove(0);
            }
            Ok(())
        })?;
        match ended {
            Ended::Interrupted => bail!("interrupted"),
            Ended::Status(status) if status.success() => Ok(()),
            Ended::Status(status) => bail!(
                "{} ended with {status}:\n  {}",
                words.first().unwrap_or(&""),
                last.join("\n  ")
            ),
        }
    }

    fn inspect(&self, name: &str) -> Result<Option<ImageRecord>> {
        let answer = self.answer(&["image", "inspect", name])?;
        if !answer.success {
            return Ok(None);
        }
        parse(name, &answer.out).map(Some)
    }
}

fn text(path: &std::path::Path) -> Result<String> {
    path.to_str()
        .map(String::from)
        .with_context(|| format!("{} is not Unicode", path.display()))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Inspected {
    id: String,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
}

fn parse(name: &str, json: &str) -> Result<ImageRecord> {
    let images: Vec<Inspected> = serde_json::from_str(json)
        .with_context(|| format!("reading what the engine says of the image `{name}`"))?;
    let image = images
        .into_iter()
        .next()
        .with_context(|| format!("the engine says nothing of the image `{name}`"))?;
    // Podman leaves the algorithm out.
    let id = match image.id.contains(':') {
        true => image.id,
        false => format!("sha256:{}", image.id),
    };
    let digests = image.repo_digests.unwrap_or_default();
    let digest = digests
        .iter()
        // Podman gives local images a digest as well; it says nothing that another machine could look up.
        .filter(|digest| !digest.starts_with("localhost/"))
        .find_map(|digest| digest.split_once('@'))
        .map(|(_, digest)| digest.to_owned());
    Ok(ImageRecord {
        name: name.to_owned(),
        id,
        digest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_base_is_the_containerfiles() {
        assert!(CONTAINERFILE.contains(&format!("ARG BASE={DEFAULT_BASE}\n")));
    }

    #[test]
    fn our_images_name_changes_with_its_base() {
        let name = |base: &str| Image::Ours { base: base.into() }.name();
        assert_eq!(name("debian:12"), name("debian:12"));
        assert_ne!(name("debian:12"), name("debian:13"));
        assert!(name("debian:12").starts_with("localhost/xip-build:"));
    }

    #[test]
    fn a_record_prefers_the_registrys_digest() {
        let docker = r#"[{"Id":"sha256:aa","RepoDigests":["espressif/idf@sha256:bb"]}]"#;
        assert_eq!(
            parse("espressif/idf:v5.5", docker).unwrap().text(),
            "espressif/idf:v5.5@sha256:bb"
        );
        let podman = r#"[{"Id":"aa","RepoDigests":["localhost/t@sha256:bb"]}]"#;
        assert_eq!(parse("t", podman).unwrap().text(), "t@sha256:aa");
        assert!(parse("t", "[]").is_err());
    }
}
