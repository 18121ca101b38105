//! Carries a patch set into a lib-builder's work tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;

use super::inject::{self, Conflict, Wish};
use super::layers::Stack;
use super::{Applied, AppliedLine, PatchSet, Replace, SetLine, Verdict, nearest, refuse};
use crate::libs::layout::Layout;
use crate::names::Chip;
use crate::whole_file;

/// What applying a set will write.
struct Plan {
    applied: Applied,
    /// Whole new texts of the files that change.
    texts: Vec<(PathBuf, String)>,
}

/// The defconfig files of a chip's builds.
#[derive(Debug, Clone)]
pub struct Stacks {
    /// As upstream has them.
    pub stock: Stack,
    /// With a patch set's lines.
    pub patched: Stack,
}

impl PatchSet {
    /// Puts every line into the defconfig files of the work tree `lib_builder`. Applied a second time it changes nothing.
    ///
    /// All is judged before the first byte is written; files are replaced one by one, each in one step, so a run that
    /// dies between two of them is finished by the next.
    ///
    /// # Errors
    /// [`crate::exit::Refusal::Usage`] with every fault of the set against this tree: unknown files, conflicting lines,
    /// blocks that are not whole, lines that no build of the chip reads or that win in none.
    pub fn apply(&self, lib_builder: &Path, chip: &Chip) -> Result<Applied> {
        let plan = self.prepare(lib_builder, chip)?;
        for (path, text) in &plan.texts {
            whole_file::replace(path, text.as_bytes())?;
        }
        Ok(plan.applied)
    }

    /// The same as [`PatchSet::apply`], but writes nothing.
    pub fn plan(&self, lib_builder: &Path, chip: &Chip) -> Result<Applied> {
        Ok(self.prepare(lib_builder, chip)?.applied)
    }

    /// What is worth telling although the set can be applied: lines that a later layer takes back in some builds.
    pub fn warnings(&self, lib_builder: &Path, chip: &Chip) -> Result<Vec<String>> {
        let layout = Layout::read(&lib_builder.join("configs/builds.json"), chip)?;
        let plan = self.prepare(lib_builder, chip)?;
        let stack = Stack::read(&layout, &overlay(&plan.texts))?;
        Ok(stack.warnings(&layout, self))
    }

    /// All defconfig files that the builds of `layout` read, without and with the set's lines, whether it is applied or not.
    ///
    /// # Errors
    /// As [`PatchSet::apply`].
    pub fn stacks(&self, lib_builder: &Path, layout: &Layout) -> Result<Stacks> {
        let plan = self.prepare(lib_builder, &layout.chip)?;
        let mut originals = BTreeMap::new();
        for file in self.files.keys() {
            let text = fs::read_to_string(layout.configs.join(file))?;
            // A block that could not be taken out has been refused above.
            let stripped = inject::strip(&text, &self.name).ok().flatten();
            originals.insert(file.clone(), stripped.map_or(text, |found| found.original));
        }
        Ok(Stacks {
            stock: Stack::read(layout, &originals)?,
            patched: Stack::read(layout, &overlay(&plan.texts))?,
        })
    }

    fn prepare(&self, lib_builder: &Path, chip: &Chip) -> Result<Plan> {
        self.check_chip(chip)?;
        let configs = lib_builder.join("configs");
        let layout = Layout::read(&configs.join("builds.json"), chip)?;
        let mut plan = Plan {
            applied: Applied {
                set: self.name.clone(),
                lines: Vec::new(),
            },
            texts: Vec::new(),
        };
        let mut verdicts = Vec::new();
        for (file, lines) in &self.files {
            let path = configs.join(file);
            if path.is_file() {
                self.prepare_file(&path, file, lines, &mut plan, &mut verdicts)?;
            } else {
                verdicts.push(self.unknown_file(&configs, file)?);
            }
        }
        if verdicts.is_empty() {
            let stack = Stack::read(&layout, &overlay(&plan.texts))?;
            verdicts = stack.powerless(&layout, self);
        }
        refuse(&self.name, &verdicts)?;
        Ok(plan)
    }

    fn prepare_file(
        &self,
        path: &Path,
        file: &str,
        lines: &[SetLine],
        plan: &mut Plan,
        verdicts: &mut Vec<Verdict>,
    ) -> Result<()> {
        let text = fs::read_to_string(path)?;
        let replaces: Vec<&Replace> = self
            .replaces
            .iter()
            .filter(|replace| replace.file == file)
            .collect();
        let wish = Wish {
            set: &self.name,
            lines,
            replaces: &replaces,
        };
        match inject::inject(&text, wish) {
            Ok(injected) => {
                let placed = injected.placed.into_iter().zip(lines);
                plan.applied
                    .lines
                    .extend(placed.map(|(placed, line)| AppliedLine {
                        file: format!("configs/{file}"),
                        line: placed.line,
                        before: placed.before,
                        after: line.text.clone(),
                    }));
                if injected.text != text {
                    plan.texts.push((path.to_owned(), injected.text));
                }
            }
            Err(conflicts) => verdicts.extend(
                conflicts
                    .into_iter()
                    .map(|conflict| self.verdict(file, conflict)),
            ),
        }
        Ok(())
    }

    fn verdict(&self, file: &str, conflict: Conflict) -> Verdict {
        let theirs = format!("configs/{file}:{}", conflict.line);
        match conflict.set_line {
            Some(line) => Verdict {
                place: format!("{}/{file}:{line}", self.place),
                text: format!("{theirs}: {}", conflict.text),
            },
            None => Verdict {
                place: theirs,
                text: conflict.text,
            },
        }
    }

    fn unknown_file(&self, configs: &Path, file: &str) -> Result<Verdict> {
        let mut known = Vec::new();
        for entry in fs::read_dir(configs)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            known.extend(Some(name).filter(|name| name.starts_with("defconfig.")));
        }
        let hint = match nearest(file, known.iter().map(String::as_str)) {
            Some(name) => format!("the nearest is {name}"),
            None => format!("it has {}", known.join(", ")),
        };
        Ok(Verdict {
            place: format!("{}/{file}", self.place),
            text: format!("upstream's configs/ has no such file; {hint}"),
        })
    }
}

/// New texts by file name.
fn overlay(texts: &[(PathBuf, String)]) -> BTreeMap<String, String> {
    texts
        .iter()
        .filter_map(|(path, text)| Some((path.file_name()?.to_str()?.to_owned(), text.clone())))
        .collect()
}

#[cfg(test)]
mod tests;
