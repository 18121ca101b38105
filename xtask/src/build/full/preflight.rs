//! Is all there that the build will call? Asked where the build will run, before it runs.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::Plan;
use super::programs::{self, Needs};
use super::site::Site;
use super::transcript::Transcript;
use crate::engine::{Engine, ImageRecord};

/// Looks for programs and modules, and sees that git gives each work tree's pinned commit.
///
/// # Errors
/// All that is missing, with what to install; a work tree that git does not trust or that is at another commit; an engine
/// that does not see this machine's folders, or whose files are another user's.
pub(super) fn check(
    plan: &Plan<'_>,
    site: &Site<'_>,
    image: Option<&ImageRecord>,
    log: &mut Transcript,
) -> Result<()> {
    let on_host = matches!(plan.engine, Engine::Host(_));
    let needs = programs::needs(&plan.sources.root, on_host && cfg!(target_os = "macos"))?;
    let names: Vec<&str> = needs.programs.iter().map(|program| program.name).collect();
    let trees = if names.contains(&"git") {
        site.trees()
    } else {
        Vec::new()
    };
    let answer = site.answer();
    if answer.exists() {
        fs::remove_file(&answer)?;
    }
    let job = site.preflight(&names, &needs.modules, &trees)?;
    let ended = plan.engine.run(&job, image, &mut |line| log.line(line))?;
    if !ended.success() {
        return Err(log.failure(ended, "the look for what the build needs"));
    }
    if !answer.is_file() {
        bail!(
            "{} ran the preflight, but {} is not here: it runs where it does not see this machine's folders; \
             use an engine on this machine (see DOCKER_HOST, CONTAINER_HOST and `docker context`)",
            plan.engine.name(),
            answer.display()
        );
    }
    is_ours(plan, &answer)?;
    let found = Found::parse(&fs::read_to_string(&answer)?)?;
    let place = match image {
        Some(image) => format!("the image `{}`", image.name),
        None => "this machine".to_owned(),
    };
    if let Some(missing) = found.missing(&needs, &place, on_host) {
        bail!("{missing}");
    }
    for (tree, said) in plan.sources.trees.iter().zip(&found.trees) {
        if *said != tree.commit {
            bail!(
                "git in {place} does not see `{}` at its commit {}; it says: {said}",
                tree.name,
                tree.commit
            );
        }
    }
    if found.trees.len() != trees.len() {
        bail!(
            "the preflight told of {} work trees, and not of {}",
            found.trees.len(),
            trees.len()
        );
    }
    Ok(())
}

#[cfg(unix)]
fn is_ours(plan: &Plan<'_>, file: &PathBuf) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let (owner, ours) = (
        fs::metadata(file)?.uid(),
        rustix::process::getuid().as_raw(),
    );
    if owner != ours {
        bail!(
            "files from {} belong to user {owner}, and not to you ({ours}); see its user mapping (subuid), or use another engine",
            plan.engine.name()
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn is_ours(_plan: &Plan<'_>, _file: &PathBuf) -> Result<()> {
    Ok(())
}

/// What `preflight.sh` wrote.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    missing: Vec<String>,
    missing_modules: Vec<String>,
    trees: Vec<String>,
}

impl Found {
    fn parse(text: &str) -> Result<Self> {
        let mut found = Self::default();
        for line in text.lines() {
            let (kind, rest) = line
                .split_once(' ')
                .with_context(|| format!("preflight: `{line}` is not understood"))?;
            match (kind, rest.rsplit_once(' ')) {
                ("program", Some((name, "no"))) => found.missing.push(name.to_owned()),
                ("module", Some((name, "no"))) => found.missing_modules.push(name.to_owned()),
                ("program" | "module", Some((_, "yes"))) => {}
                ("tree", _) => found.trees.push(rest.to_owned()),
                _ => bail!("preflight: `{line}` is not understood"),
            }
        }
        Ok(found)
    }

    /// One error for all that is missing.
    fn missing(&self, needs: &Needs, place: &str, on_host: bool) -> Option<String> {
        if self.missing.is_empty() && self.missing_modules.is_empty() {
            return None;
        }
        let is_missing = |name: &str| self.missing.iter().any(|missing| missing == name);
        let mut packages: Vec<&str> = needs
            .programs
            .iter()
            .filter(|program| is_missing(program.name))
            .map(|program| program.package)
            .collect();
        let mut names: Vec<String> = self
            .missing
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        if !self.missing_modules.is_empty() {
            names.push(format!("python3's {}", self.missing_modules.join(" and ")));
            packages.push("python3-venv");
        }
        packages.sort_unstable();
        packages.dedup();
        let instead = if on_host {
            "or build in a container (--engine docker or podman)"
        } else {
            "or use our own image (without --image)"
        };
        Some(format!(
            "{place} lacks what upstream's build calls: {}; install the packages (Debian's names) {}, {instead}",
            names.join(", "),
            packages.join(" ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::full::programs::Program;

    fn needs() -> Needs {
        Needs {
            programs: [
                ("jq", "jq"),
                ("ninja", "ninja-build"),
                ("cut", "coreutils"),
                ("tr", "coreutils"),
            ]
            .map(|(name, package)| Program { name, package })
            .into(),
            modules: vec!["venv"],
        }
    }

    #[test]
    fn all_that_is_missing_is_one_error() {
        let text = "program jq no\nprogram ninja no\nprogram cut no\nprogram tr no\nmodule venv no\ntree abc\n";
        let found = Found::parse(text).unwrap();
        let error = found.missing(&needs(), "the image `x`", false).unwrap();
        assert!(
            error.contains("`jq`, `ninja`, `cut`, `tr`, python3's venv"),
            "{error}"
        );
        assert!(
            error.contains("coreutils jq ninja-build python3-venv, or use our own image"),
            "{error}"
        );
    }

    #[test]
    fn nothing_missing_and_what_git_said() {
        let found =
            Found::parse("program jq yes\ntree fatal: detected dubious ownership\n").unwrap();
        assert_eq!(found.missing(&needs(), "this machine", true), None);
        assert_eq!(found.trees, ["fatal: detected dubious ownership"]);
        assert!(Found::parse("program jq perhaps\n").is_err());
    }
}
