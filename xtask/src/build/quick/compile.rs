//! Compiles the recipe's sources as upstream does: the tree's own flags and public headers, the recipe's additions, and the
//! sources and private headers of ESP-IDF at the release's commit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use rayon::prelude::*;
use xshell::{Shell, cmd};

use super::inputs::Compiler;
use super::recipe::{Recipe, Source};
use crate::libs::flags::Flags;
use crate::progress::{Event, Report};
use crate::slashed::slashed;

/// What upstream's build calls ESP-IDF's folder in `__FILE__` (ESP-IDF tools/cmake/prefix_map.cmake).
const IDF: &str = "/IDF";

/// Variables that change what GCC does; a user's own must not reach an object.
const GCC_VARIABLES: [&str; 9] = [
    "COMPILER_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "DEPENDENCIES_OUTPUT",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "SOURCE_DATE_EPOCH",
    "SUNPRO_DEPENDENCIES",
    "XTENSA_GNU_CONFIG",
];

/// How a libraries tree says that C is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFlags {
    /// `flags/c_flags`, without what only concerns output.
    pub c: Vec<String>,
    /// `flags/defines`.
    pub defines: Vec<String>,
    /// `flags/includes`: folders below `include/`, in order.
    pub includes: Vec<String>,
}

impl TreeFlags {
    /// Reads the three files of the tree at `tree`.
    ///
    /// # Errors
    /// One is missing, refers to a file or folder of the machine that built the tree, or has an unknown form.
    pub fn read(tree: &Path) -> Result<Self> {
        let flags = Flags::read(tree)?;
        let wanted = ["c_flags", "defines", "includes"];
        if let Some((file, why)) = flags.faults.iter().find(|fault| wanted.contains(&fault.0)) {
            bail!(
                "{} cannot be used: {why}",
                tree.join("flags").join(file).display()
            );
        }
        if let Some((file, token, why)) = flags
            .foreign()
            .into_iter()
            .find(|found| wanted.contains(&found.0))
        {
            bail!(
                "{}, `{}`: {why}",
                tree.join("flags").join(file).display(),
                token.raw
            );
        }
        let values = |file| flags.tokens(file).iter().map(|token| token.value.clone());
        let includes = include_folders(&values("includes").collect::<Vec<_>>())
            .with_context(|| format!("reading {}", tree.join("flags/includes").display()))?;
        Ok(Self {
            c: values("c_flags")
                .filter(|flag| !matches!(flag.as_str(), "-c" | "-MMD" | "-MD"))
                .collect(),
            defines: values("defines").collect(),
            includes,
        })
    }

    /// The release of ESP-IDF that the tree was built with: `IDF_VER` of the defines.
    pub fn idf_version(&self) -> Result<semver::Version> {
        let text = self
            .defines
            .iter()
            .find_map(|define| define.strip_prefix("-DIDF_VER="))
            .context("flags/defines does not say IDF_VER, so the release of ESP-IDF is unknown")?;
        semver::Version::parse(text.trim_matches('"').trim_start_matches('v')).with_context(|| {
            format!("flags/defines has IDF_VER={text}, which is no version such as v5.5.5")
        })
    }
}

fn include_folders(tokens: &[String]) -> Result<Vec<String>> {
    let mut folders = Vec::new();
    for pair in tokens.chunks(2) {
        match pair {
            [option, folder] if option == "-iwithprefixbefore" => folders.push(folder.clone()),
            _ => bail!("`{}` is not `-iwithprefixbefore FOLDER`", pair.join(" ")),
        }
    }
    Ok(folders)
}

/// What all compilations share.
#[derive(Debug, Clone, Copy)]
pub struct Kit<'a> {
    /// The compiler.
    pub compiler: &'a Compiler,
    /// The stock libraries tree.
    pub tree: &'a Path,
    /// The sources of ESP-IDF.
    pub idf: &'a Path,
    /// The tree's flags.
    pub flags: &'a TreeFlags,
    /// The recipe.
    pub recipe: &'a Recipe,
}

/// One object to be made.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The source.
    pub source: &'a Source,
    /// The folder that holds `sdkconfig.h`.
    pub config: PathBuf,
    /// Where the object goes.
    pub object: PathBuf,
}

/// The compiler's arguments for one object.
///
/// Paths are absolute, with `/` on every system. `__FILE__` and debug information name the places of upstream's build (so the
/// code is upstream's, asserts included) or, where that has none, a name that is the same on every machine.
///
/// # Errors
/// A path that is not UTF-8, or that holds `=`, which GCC's prefix maps cannot take.
pub fn arguments(kit: &Kit<'_>, job: &Job<'_>) -> Result<Vec<String>> {
    let (tree, idf) = (slashed(kit.tree)?, slashed(kit.idf)?);
    let config = slashed(&job.config)?;
    let mut arguments = kit.flags.c.clone();
    arguments.extend(kit.flags.defines.iter().cloned());
    arguments.extend(kit.recipe.flags.iter().cloned());
    arguments.extend(job.source.flags.iter().cloned());
    for (from, to) in [
        (slashed(&kit.compiler.root)?, "/TOOLCHAIN".to_owned()),
        (config.clone(), "/IDF_BUILD/config".to_owned()),
        (format!("{tree}/include"), format!("{IDF}/components")),
        (idf.clone(), IDF.to_owned()),
    ] {
        if from.contains('=') {
            bail!(
                "the path {from} holds `=`, which GCC's -ffile-prefix-map cannot take; use a folder without it"
            );
        }
        arguments.push(format!("-ffile-prefix-map={from}={to}"));
    }
    arguments.push(format!("-I{config}"));
    arguments.extend(
        kit.recipe
            .private_includes(&job.source.component)
            .iter()
            .map(|folder| format!("-I{idf}/{folder}")),
    );
    arguments.extend(
        kit.flags
            .includes
            .iter()
            .map(|folder| format!("-I{tree}/include/{folder}")),
    );
    arguments.extend(["-c".to_owned(), format!("{idf}/{}", job.source.idf_path())]);
    arguments.extend(["-o".to_owned(), slashed(&job.object)?]);
    Ok(arguments)
}

/// The text of a response file. GCC reads it the same on all systems: quotes join, a backslash takes the next character.
///
/// The include folders alone are longer than the 32 kB that Windows allows a command line.
pub fn response_file(arguments: &[String]) -> String {
    let mut text = String::new();
    for argument in arguments {
        let escaped = argument.replace('\\', "\\\\").replace('"', "\\\"");
        _ = writeln!(text, "\"{escaped}\"");
    }
    text
}

/// Compiles all jobs, as many at once as there are processors.
///
/// # Errors
/// The first job that fails, with the source's name and what the compiler said.
pub fn all(kit: &Kit<'_>, jobs: &[Job<'_>], report: Report<'_>) -> Result<()> {
    let done = AtomicU64::new(0);
    jobs.par_iter().try_for_each(|job| {
        one(kit, job)?;
        report(Event::Count {
            done: done.fetch_add(1, Ordering::Relaxed) + 1,
            total: jobs.len() as u64,
            unit: "objects",
        });
        Ok(())
    })
}

fn one(kit: &Kit<'_>, job: &Job<'_>) -> Result<()> {
    let name = job.source.idf_path();
    if let Some(folder) = job.object.parent() {
        fs::create_dir_all(folder)?;
    }
    let response = job.object.with_extension("rsp");
    fs::write(&response, response_file(&arguments(kit, job)?))?;
    let sh = Shell::new()?;
    sh.change_dir(kit.idf);
    sh.set_var("LC_ALL", "C");
    let program = &kit.compiler.program;
    let at = format!("@{}", slashed(&response)?);
    let mut command = cmd!(sh, "{program} {at}").quiet().ignore_status();
    for variable in GCC_VARIABLES {
        command = command.env_remove(variable);
    }
    let output = command
        .output()
        .with_context(|| format!("running {}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let missing = said.contains("No such file or directory") && said.contains("fatal error");
    let hint = if missing {
        format!(
            "\na header of ESP-IDF that no include folder has: if it is private to {0}, name its folder in \
                 `component.{0}.include` of quick.toml",
            job.source.component
        )
    } else {
        String::new()
    };
    bail!(
        "compiling {name} failed ({}):\n{}{hint}",
        output.status,
        first_lines(&said, 20)
    );
}

fn first_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().take(count).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
