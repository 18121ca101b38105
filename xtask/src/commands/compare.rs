//! `cargo xtask compare`.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::build::quick::trees::{self, Comparison, Folder};
use crate::exit::Refusal;
use crate::ui;

/// Hold two packages or libraries trees against each other, for example one of the quick and one of the full build.
///
/// Archives are compared member by member: code and data, and debug information apart. Other files are compared as bytes;
/// the manifest, which says how a tree was made, is left out. Exit code 0: the same; 3: something differs.
#[derive(Debug, clap::Args)]
pub struct Compare {
    /// A package (zip) or a libraries tree (folder)
    left: PathBuf,
    /// What to hold it against
    right: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// Carries the command out.
    ///
    /// # Errors
    /// What is neither a tree nor a package; [`Refusal::Check`] where something differs.
    pub fn run(self) -> Result<()> {
        let comparison = trees::compare(&self.left, &self.right)?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&comparison)?)?;
        } else {
            print(&comparison)?;
        }
        if comparison.same {
            return Ok(());
        }
        bail!(Refusal::Check(format!(
            "{} and {} are not the same",
            self.left.display(),
            self.right.display()
        )))
    }
}

fn print(comparison: &Comparison) -> Result<()> {
    let mut table = ui::table(&[
        "folder",
        "same bytes",
        "same code, other debug information",
        "differ",
    ]);
    for (name, folder) in &comparison.folders {
        table.add_row([
            name.clone(),
            folder.same_bytes.to_string(),
            folder.same_code.len().to_string(),
            differing(folder).len().to_string(),
        ]);
    }
    ui::println(&table.trim_fmt())?;
    let lines = comparison.folders.values().flat_map(differing);
    let left = comparison
        .only_left
        .iter()
        .map(|path| format!("{path}: only in the first"));
    let right = comparison
        .only_right
        .iter()
        .map(|path| format!("{path}: only in the second"));
    for line in lines.chain(left).chain(right) {
        ui::println(&line)?;
    }
    if comparison.same {
        ui::println("code, data and all other files agree")?;
    }
    Ok(())
}

/// A line for everything that differs.
fn differing(folder: &Folder) -> Vec<String> {
    let member = |found: &trees::MemberDifference| match &found.member {
        Some(member) => format!("{}, {member}: {}", found.archive, found.what),
        None => format!("{}: {}", found.archive, found.what),
    };
    let files = folder
        .differ
        .iter()
        .map(|path| format!("{path}: the bytes differ"));
    folder.members.iter().map(member).chain(files).collect()
}
