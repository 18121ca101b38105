//! Compiles the program, and finds the libraries behind it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use super::{ArduinoCli, Request};
use crate::libs::Tree;
use crate::progress::{Event, Report};
use crate::verify::Outcome;
use crate::verify::settings::Settings;

/// The libraries that a program was linked with.
pub(super) struct Linked {
    pub(super) root: PathBuf,
    pub(super) variant: String,
    pub(super) settings: Settings,
}

/// A program that was compiled.
pub(super) struct Built {
    pub(super) elf: PathBuf,
    pub(super) sdk: Result<Sdk, String>,
    pub(super) detail: String,
}

/// Compiles; what came of the check where there is no program.
pub(super) fn build(
    cli: &Result<ArduinoCli, String>,
    request: &Request,
    report: Report<'_>,
) -> Result<Built, Outcome> {
    let cli = cli.as_ref().map_err(Outcome::not_run)?;
    let version = &cli.version;
    let sketch = request
        .sketch
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    report(Event::Step(&format!("compile {sketch}")));
    report(Event::Detail(&format!(
        "arduino-cli {version}, {}",
        request.fqbn
    )));
    let answer = cli.compile(request).map_err(|error| {
        let what_to_do = "run the same arduino-cli compile by hand and see what holds it up";
        Outcome::failed(format!("{error:#}"), what_to_do)
    })?;
    if !answer.success {
        let why = answer.essence().join("\n");
        return Err(Outcome::failed(why, answer.advice(&request.fqbn)));
    }
    let properties = answer.properties();
    let told = |name: &str| {
        properties.get(name).cloned().ok_or_else(|| {
            format!(
                "arduino-cli {version} does not tell the build's {name}; version 1.0 and later do"
            )
        })
    };
    let folder = answer.build_path().unwrap_or_else(|| request.build.clone());
    let elf = elf_in(&folder, told("build.project_name").ok().as_deref()).map_err(|error| {
        let what_to_do = "does the core's platform.txt link an .elf file?";
        Outcome::failed(format!("{error:#}"), what_to_do)
    })?;
    Ok(Built {
        elf,
        sdk: told("compiler.sdk.path").and_then(|root| {
            Ok(Sdk {
                root: root.into(),
                variant: told("build.memory_type")?,
            })
        }),
        detail: format!("{sketch} for {}, by arduino-cli {version}", request.fqbn),
    })
}

/// The libraries that a build used, as its properties name them.
pub(super) struct Sdk {
    root: PathBuf,
    variant: String,
}

impl Sdk {
    pub(super) fn open(self) -> Result<Linked, String> {
        let open = || -> Result<Linked> {
            let root = dunce::canonicalize(&self.root)
                .with_context(|| format!("resolving {}", self.root.display()))?;
            let settings = Settings::of(&Tree::open(&root)?.sdkconfig(&self.variant)?);
            Ok(Linked {
                root,
                variant: self.variant.clone(),
                settings,
            })
        };
        open().map_err(|error| format!("the libraries behind it cannot be read: {error:#}"))
    }
}

/// The linked program in a build folder.
fn elf_in(folder: &Path, project: Option<&str>) -> Result<PathBuf> {
    if let Some(project) = project {
        let elf = folder.join(format!("{project}.elf"));
        if elf.is_file() {
            return Ok(elf);
        }
    }
    fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|found| found == "elf"))
        .with_context(|| format!("the build left no .elf file in {}", folder.display()))
}
