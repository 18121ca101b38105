//! The folders and the environment of a build, as the build sees them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use super::Plan;
use crate::engine::{Engine, ImageRecord, Job, Mount, PASSED};

const JOB: &str = include_str!("job.sh");
const PREFLIGHT: &str = include_str!("preflight.sh");

/// A build's own folder below the work folder, with our scripts and settings, beside the tree and the caches.
pub(super) struct Site<'a> {
    plan: &'a Plan<'a>,
    folder: PathBuf,
    /// ESP-IDF's tools: what a host or image installed fits no other (paths and libraries of its python).
    pub(super) tools: PathBuf,
}

impl<'a> Site<'a> {
    /// Makes the folders and writes scripts, component constraints and git's settings.
    pub(super) fn new(plan: &'a Plan<'a>, image: Option<&ImageRecord>) -> Result<Self> {
        let key = plan
            .sources
            .root
            .file_name()
            .context("the work tree's folder has no name")?;
        let folder = plan
            .work
            .root()
            .join("jobs")
            .join(key)
            .join(plan.chip.as_str());
        let place = image.map_or("host", |image| {
            image.id.rsplit(':').next().unwrap_or_default()
        });
        let tools = plan
            .work
            .cache()
            .join("idf-tools")
            .join(place.get(..12).unwrap_or(place));
        let site = Self {
            plan,
            folder,
            tools,
        };
        for folder in [
            &site.folder,
            &site.tools,
            &site.cache("home"),
            &site.cache("ccache"),
            &site.cache("components"),
        ] {
            fs::create_dir_all(folder)?;
        }
        fs::write(site.folder.join("job.sh"), JOB)?;
        fs::write(site.folder.join("preflight.sh"), PREFLIGHT)?;
        fs::write(site.folder.join("constraints.txt"), plan.constraints)?;
        fs::write(site.folder.join("gitconfig"), site.git_config()?)?;
        Ok(site)
    }

    /// The build itself.
    pub(super) fn build(&self, target: &str) -> Result<Job<'_>> {
        self.job(
            "build",
            "job.sh",
            vec![self.plan.chip.to_string(), target.to_owned()],
        )
    }

    /// The look for programs, python modules and trusted work trees; its answer is in [`Site::answer`].
    pub(super) fn preflight(
        &self,
        programs: &[&str],
        modules: &[&str],
        trees: &[PathBuf],
    ) -> Result<Job<'_>> {
        let mut arguments = vec![self.inside(&self.answer())?];
        arguments.extend(programs.iter().map(|name| (*name).to_owned()));
        arguments.push("--".to_owned());
        arguments.extend(modules.iter().map(|name| (*name).to_owned()));
        arguments.push("--".to_owned());
        for tree in trees {
            arguments.push(self.inside(tree)?);
        }
        self.job("preflight", "preflight.sh", arguments)
    }

    /// The file that the preflight writes.
    pub(super) fn answer(&self) -> PathBuf {
        self.folder.join("preflight.txt")
    }

    /// Every work tree, submodules excepted, in the order of [`crate::upstream::Sources`].
    pub(super) fn trees(&self) -> Vec<PathBuf> {
        let root = &self.plan.sources.root;
        self.plan
            .sources
            .trees
            .iter()
            .map(|tree| below(root, &tree.path))
            .collect()
    }

    fn job(&self, name: &'static str, script: &str, arguments: Vec<String>) -> Result<Job<'_>> {
        let mount = |folder: PathBuf, writable| Mount { folder, writable };
        let work = self.plan.work;
        let mut command = vec!["sh".to_owned(), self.inside(&self.folder.join(script))?];
        command.extend(arguments);
        Ok(Job {
            name,
            root: work.root(),
            mounts: vec![
                mount(self.plan.sources.root.clone(), true),
                mount(work.mirrors(), false),
                mount(work.cache(), true),
                mount(self.folder.clone(), true),
            ],
            folder: self.plan.sources.root.clone(),
            env: self.environment()?,
            passed: PASSED
                .iter()
                .filter(|name| std::env::var_os(name).is_some())
                .map(|&name| name.to_owned())
                .collect(),
            command,
            network: !self.plan.offline,
        })
    }

    fn environment(&self) -> Result<Vec<(String, String)>> {
        let root = &self.plan.sources.root;
        let paths = [
            ("HOME", self.cache("home")),
            ("IDF_PATH", root.join("esp-idf")),
            ("IDF_TOOLS_PATH", self.tools.clone()),
            ("IDF_COMPONENT_CACHE_PATH", self.cache("components")),
            (
                "IDF_COMPONENT_CONSTRAINT_FILES",
                self.folder.join("constraints.txt"),
            ),
            ("CCACHE_DIR", self.cache("ccache")),
            ("GIT_CONFIG_GLOBAL", self.folder.join("gitconfig")),
        ];
        let mut environment = Vec::new();
        for (name, path) in paths {
            environment.push((name.to_owned(), self.inside(&path)?));
        }
        let time = commit_time(root)?.to_string();
        let values = [
            // The switch that upstream's build.sh sets as well (case: "modified on the disk").
            ("IDF_COMPONENT_OVERWRITE_MANAGED_COMPONENTS", "1"),
            // They were laid out at their recorded commits; ESP-IDF would fetch where it thinks one is missing.
            ("IDF_SKIP_CHECK_SUBMODULES", "1"),
            // A compiler that was installed again has another time, and another compiler may have the same.
            ("CCACHE_COMPILERCHECK", "content"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
            ("LC_ALL", "C.UTF-8"),
            ("TZ", "UTC"),
            // What compilers put where a source says __DATE__, so that two builds give the same bytes.
            ("SOURCE_DATE_EPOCH", &time),
        ];
        environment.extend(values.map(|(name, value)| (name.to_owned(), value.to_owned())));
        if self.plan.offline {
            environment.push(("XIP_OFFLINE".to_owned(), "1".to_owned()));
        }
        Ok(environment)
    }

    /// Settings that stand in for the user's own git configuration, which so stays as it is: trust in exactly these work
    /// trees. A file and not `GIT_CONFIG_COUNT`, since git before 2.38 does not take trust from the environment.
    fn git_config(&self) -> Result<String> {
        let mut text = String::new();
        if matches!(self.plan.engine, Engine::Host(_)) {
            // Read, never written: proxies and address rewriting still hold.
            for path in user_git_configs() {
                text += &format!(
                    "[include]\n\tpath = {}\n",
                    quote(&path.display().to_string())
                );
            }
        }
        text += "[safe]\n";
        for tree in &self.plan.sources.trees {
            let path = below(&self.plan.sources.root, &tree.path);
            for path in std::iter::once(path.clone())
                .chain(tree.submodules.iter().map(|sub| below(&path, sub)))
            {
                text += &format!("\tdirectory = {}\n", quote(&self.inside(&path)?));
            }
        }
        Ok(text)
    }

    fn cache(&self, name: &str) -> PathBuf {
        self.plan.work.cache().join(name)
    }

    fn inside(&self, path: &Path) -> Result<String> {
        self.plan.engine.inside(self.plan.work.root(), path)
    }
}

/// `path`, with `/` and relative to `root`; `.` is `root` itself.
fn below(root: &Path, path: &str) -> PathBuf {
    path.split('/')
        .filter(|part| *part != ".")
        .fold(root.to_owned(), |folder, part| folder.join(part))
}

/// A value of git's configuration in quotes.
fn quote(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn user_git_configs() -> Vec<PathBuf> {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    config
        .map(|config| config.join("git").join("config"))
        .into_iter()
        .chain(home.map(|home| home.join(".gitconfig")))
        .collect()
}

/// Seconds since 1970 of the commit that the lib-builder's work tree is at.
fn commit_time(root: &Path) -> Result<i64> {
    let read = || {
        Ok::<_, git2::Error>(
            git2::Repository::open(root)?
                .head()?
                .peel_to_commit()?
                .time()
                .seconds(),
        )
    };
    read().with_context(|| format!("reading the commit of {}", root.display()))
}
