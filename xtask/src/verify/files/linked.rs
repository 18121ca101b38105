//! Every library and linker script that the flags name, for each memory variant.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::libs::flags::Flags;
use crate::progress::Report;
use crate::verify::{Outcome, Subject, some_of};

/// Libraries that the compiler brings.
const OF_THE_COMPILER: [&str; 6] = ["c", "g", "gcc", "gcov", "m", "stdc++"];

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let flags = Flags::read(subject.root())?;
    let present: BTreeSet<&str> = subject
        .files
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    let libraries = flags
        .tokens("ld_libs")
        .iter()
        .filter_map(|token| token.value.strip_prefix("-l"))
        .filter(|name| !OF_THE_COMPILER.contains(name))
        .map(|name| match name.strip_prefix(':') {
            Some(file) => file.to_owned(),
            None => format!("lib{name}.a"),
        });
    let needed: BTreeSet<String> = libraries.chain(scripts(&flags)).collect();
    if needed.is_empty() {
        return Ok(Outcome::failed(
            "flags/ld_libs and flags/ld_scripts name nothing",
            "install the libraries again",
        ));
    }
    // What is missing -> the variants that miss it.
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for variant in subject.configs.keys() {
        for name in &needed {
            // The order of the core's -L options (platform.txt).
            let there = ["lib", "ld", variant]
                .iter()
                .any(|folder| present.contains(format!("{folder}/{name}").as_str()));
            if !there {
                missing.entry(name).or_default().push(variant);
            }
        }
    }
    let faults: Vec<String> = missing
        .iter()
        .map(|(name, variants)| {
            if variants.len() == subject.configs.len() {
                (*name).to_owned()
            } else {
                format!("{name} (for {})", some_of(variants))
            }
        })
        .collect();
    Ok(if faults.is_empty() {
        Outcome::passed(format!(
            "{} libraries and scripts, for each memory variant",
            needed.len()
        ))
    } else {
        Outcome::failed(
            format!("{} missing: {}", faults.len(), some_of(&faults)),
            "install the libraries again",
        )
    })
}

/// The scripts behind `-T`, which the linker looks for in the -L folders.
fn scripts(flags: &Flags) -> impl Iterator<Item = String> {
    let tokens = flags.tokens("ld_scripts");
    let behind = tokens
        .iter()
        .zip(tokens.iter().skip(1))
        .filter(|(option, _)| option.value == "-T")
        .map(|(_, name)| name.value.as_str());
    let joined = tokens
        .iter()
        .filter_map(|token| token.value.strip_prefix("-T"))
        .filter(|name| !name.is_empty());
    behind
        .chain(joined)
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}
