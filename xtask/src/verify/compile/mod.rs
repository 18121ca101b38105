//! What can be seen of a program: one that arduino-cli compiles for the purpose, or an ELF file that is there already.

mod answer;
mod arduino_cli;
mod built;

use std::path::{Path, PathBuf};

use fs_err as fs;
use serde::Serialize;

use super::program::{Placement, Program, Section};
use super::psram::{Left, Need, SIZES};
use super::{Check, Expected, Group, Outcome, Subject};
use crate::libs::Value;
use crate::names::Chip;
use crate::patchset::PatchSet;
use crate::progress::{Event, Report};

pub use arduino_cli::{ArduinoCli, Request, Upload};
use built::{Linked, Sdk, build};

/// The names of the checks and what must hold, in the order in which they are told.
const CHECKS: [(&str, &str); 5] = [
    ("compile.built", "The sketch compiles"),
    ("compile.libraries", "It is linked with these libraries"),
    ("compile.sections", "It is a program for this chip"),
    ("compile.placement", "It runs from where it should"),
    ("compile.psram", "It fits into PSRAM"),
];

/// The program that is looked at.
#[derive(Debug)]
pub enum Source<'a> {
    /// None, and why.
    Nothing(&'a str),
    /// This file.
    Elf(&'a Path),
    /// What arduino-cli makes of a sketch.
    Sketch {
        /// The program, or why there is none.
        cli: Result<ArduinoCli, String>,
        /// What it compiles.
        request: Request,
    },
}

/// How a program is looked at.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The program.
    pub source: Source<'a>,
    /// The chip that it is for.
    pub chip: &'a Chip,
    /// The libraries that it should be linked with, where some are looked at.
    pub subject: Option<&'a Subject>,
    /// What the user says that it is.
    pub expected: &'a Expected,
    /// PSRAM of the part that it must fit, in MB.
    pub psram_mb: u32,
}

/// What is known of a program, for a script and for the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Looked {
    /// The ELF file.
    pub elf: PathBuf,
    /// The board that it was compiled for.
    pub fqbn: Option<String>,
    /// The version of arduino-cli.
    pub arduino_cli: Option<String>,
    /// The libraries that it was linked with.
    pub libraries: Option<PathBuf>,
    /// The memory variant of these, for example `qio_opi`.
    pub memory_variant: Option<String>,
    /// Where it runs from, where its symbols tell.
    pub placement: Option<Placement>,
    /// Its sections.
    pub sections: Vec<Section>,
    /// What it takes of PSRAM.
    pub need: Option<Need>,
    /// What it leaves of it, by the part.
    pub left: Vec<Left>,
}

/// Runs every check; [`Looked`] where there was a program to look at.
pub fn check(plan: &Plan<'_>, report: Report<'_>) -> (Vec<Check>, Option<Looked>) {
    let mut outcomes: [Option<Outcome>; CHECKS.len()] = Default::default();
    let looked = plan.look(&mut outcomes, report);
    let asked = !matches!(plan.source, Source::Nothing(_));
    let compiled = matches!(plan.source, Source::Sketch { .. });
    let checks = CHECKS
        .into_iter()
        .zip(outcomes)
        .enumerate()
        .map(|(index, ((id, title), outcome))| Check {
            id,
            group: Group::Compile,
            title,
            outcome: outcome
                .unwrap_or_else(|| Outcome::not_run("there is no program to look at, see above")),
            // Of a finished program nobody asks how it was compiled.
            asked: asked && (compiled || index > 1),
        })
        .collect();
    (checks, looked)
}

impl Plan<'_> {
    fn look(
        &self,
        outcomes: &mut [Option<Outcome>; CHECKS.len()],
        report: Report<'_>,
    ) -> Option<Looked> {
        let [built, libraries, sections, placement, psram] = outcomes;
        let (elf, linked, mut looked) = match &self.source {
            Source::Nothing(why) => {
                outcomes.fill(Some(Outcome::not_run(*why)));
                return None;
            }
            Source::Elf(path) => {
                let why = "the program was compiled elsewhere; --compile compiles one";
                *built = Some(Outcome::not_run(why));
                *libraries = Some(Outcome::not_run(why));
                ((*path).to_owned(), None, Looked::of(path))
            }
            Source::Sketch { cli, request } => {
                let program = match build(cli, request, report) {
                    Ok(program) => program,
                    Err(outcome) => {
                        *built = Some(outcome);
                        return None;
                    }
                };
                *built = Some(Outcome::passed(program.detail));
                let mut looked = Looked::of(&program.elf);
                looked.fqbn = Some(request.fqbn.clone());
                looked.arduino_cli = cli.as_ref().ok().map(|cli| cli.version.clone());
                let linked = program.sdk.and_then(Sdk::open);
                *libraries = Some(self.libraries(&linked));
                let linked = linked.ok();
                if let Some(linked) = &linked {
                    looked.libraries = Some(linked.root.clone());
                    looked.memory_variant = Some(linked.variant.clone());
                }
                (program.elf, linked, looked)
            }
        };
        report(Event::Step("look at the program"));
        let program = match fs::read(&elf)
            .map_err(anyhow::Error::from)
            .and_then(|bytes| Program::read(&bytes, self.chip))
        {
            Ok(program) => program,
            Err(error) => {
                let name = elf.file_name().unwrap_or(elf.as_os_str()).to_string_lossy();
                *sections = Some(Outcome::failed(
                    format!("{name}: {error:#}"),
                    "name the .elf file that the Arduino programs leave in their build folder",
                ));
                return Some(looked);
            }
        };
        *sections = Some(has_sections(&program));
        let found = program.placement();
        *placement = Some(self.placement(linked.as_ref(), &found));
        looked.sections = program.sections.clone();
        looked.placement = found.as_ref().ok().copied();
        *psram = Some(match found {
            Ok(found) => {
                // An ELF file does not tell of ECC; a program in PSRAM is counted with it, which is never too little.
                let ecc = linked.as_ref().map(|linked| linked.settings.ecc);
                let need = Need::of(&program, found, ecc.unwrap_or(found == Placement::Psram));
                looked.need = Some(need);
                looked.left = SIZES.map(|size| need.left(size)).into();
                fits(need, self.psram_mb)
            }
            Err(why) => Outcome::not_run(why),
        });
        Some(looked)
    }

    /// Whether the libraries that were linked are those that are looked at.
    fn libraries(&self, linked: &Result<Linked, String>) -> Outcome {
        let linked = match linked {
            Ok(linked) => linked,
            Err(why) => return Outcome::not_run(why),
        };
        let same =
            |other: &Path| dunce::canonicalize(other).is_ok_and(|other| other == linked.root);
        match self.subject {
            Some(subject) if !same(subject.root()) => Outcome::failed(
                format!(
                    "it was linked with {}, not with {}",
                    linked.root.display(),
                    subject.root().display()
                ),
                "name the core's data folder with --data-dir, or the libraries with --tree; where the board's menu chooses \
                 them, --fqbn does",
            ),
            _ => Outcome::passed(format!(
                "memory variant {} of {}",
                linked.variant,
                linked.root.display()
            )),
        }
    }

    /// Whether the program runs from where the linked libraries and the user say.
    fn placement(&self, linked: Option<&Linked>, found: &Result<Placement, String>) -> Outcome {
        let found = match found {
            Ok(found) => *found,
            Err(why) => {
                return Outcome::failed(
                    why,
                    "compile it anew, without what the Arduino cache holds",
                );
            }
        };
        if let Some(linked) = linked
            && linked.settings.placement() != found
        {
            return Outcome::failed(
                format!(
                    "it runs {}, but {}/include/sdkconfig.h says {}",
                    found.shown(),
                    linked.variant,
                    linked.settings.placement().shown()
                ),
                "the archives are of other settings than their headers: install the libraries again",
            );
        }
        let variant = linked.map(|linked| linked.variant.as_str());
        let wanted = match self.expected {
            Expected::AsTheySay => None,
            Expected::Stock => Some((Placement::Flash, "stock libraries".to_owned())),
            Expected::Set(set) => Some((of_set(set, variant), format!("patch set {}", set.name))),
        };
        match wanted {
            Some((wanted, by)) if wanted != found => Outcome::failed(
                format!(
                    "it runs {}; with {by} it runs {}",
                    found.shown(),
                    wanted.shown()
                ),
                "are the right libraries installed, is OPI PSRAM chosen in the board's menu, was the core compiled anew?",
            ),
            _ => Outcome::passed(found.shown()),
        }
    }
}

/// Where programs run from with libraries of `set`; where the variant is not known, in any that it moves to PSRAM.
fn of_set(set: &PatchSet, variant: Option<&str>) -> Placement {
    let on = |symbol: &str| {
        set.expects
            .iter()
            .filter(|expect| variant.is_none_or(|variant| expect.variant.matches(variant)))
            .any(|expect| expect.symbols.get(symbol) == Some(&Value::Bool(true)))
    };
    if on("CONFIG_SPIRAM_FETCH_INSTRUCTIONS") && on("CONFIG_SPIRAM_RODATA") {
        Placement::Psram
    } else {
        Placement::Flash
    }
}

fn has_sections(program: &Program) -> Outcome {
    let lacks = program.lacks();
    if !lacks.is_empty() {
        return Outcome::failed(
            format!("it lacks {}", lacks.join(", ")),
            "name the program of a sketch, not a bootloader or a library",
        );
    }
    let told: Vec<String> = [".flash.text", ".flash.rodata", ".iram0", ".dram0"]
        .into_iter()
        .map(|prefix| {
            let sections = program.sections.iter();
            let size: u64 = sections
                .filter(|section| {
                    section.name.starts_with(prefix) && !section.name.ends_with("dummy")
                })
                .map(|section| section.size)
                .sum();
            format!("{prefix} {}", kb(size))
        })
        .collect();
    Outcome::passed(told.join(", "))
}

fn fits(need: Need, size_mb: u32) -> Outcome {
    let left = need.left(size_mb);
    let takes = format!(
        "code {} and constants {} in 64 KB pages{}",
        kb(need.code),
        kb(need.constants),
        match need.variables {
            0 => String::new(),
            bytes => format!(", variables {}", kb(bytes)),
        }
    );
    let ecc = if need.ecc {
        ", ECC's sixteenth taken off"
    } else {
        ""
    };
    match left.left {
        Some(bytes) => Outcome::passed(format!(
            "{takes}; of {size_mb} MB {} are left{ecc}",
            kb(bytes)
        )),
        None => Outcome::failed(
            format!(
                "{takes}: {} in all, but of {size_mb} MB only {} are there{ecc}; it would abort at boot",
                kb(need.total()),
                kb(left.usable)
            ),
            "make the sketch smaller, or use a part with more PSRAM (--psram MB)",
        ),
    }
}

/// Kilobytes of 1024, as the chip's papers count memory.
fn kb(bytes: u64) -> String {
    format!("{} KB", bytes.div_ceil(1024))
}

impl Looked {
    fn of(elf: &Path) -> Self {
        Self {
            elf: elf.to_owned(),
            fqbn: None,
            arduino_cli: None,
            libraries: None,
            memory_variant: None,
            placement: None,
            sections: Vec::new(),
            need: None,
            left: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
