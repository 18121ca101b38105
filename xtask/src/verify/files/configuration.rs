//! Each memory variant's sdkconfig.h against what the patch set expects, and against what the manifest recorded.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::libs::Value;
use crate::patchset::{self, PatchSet};
use crate::progress::Report;
use crate::verify::subject::{Account, ManifestFile, by_settings};
use crate::verify::{Expected, Outcome, Subject, by_kind, findings};

/// The variants that the ESP32-S3's board menus can choose (lib-builder's configs/builds.json, boards.txt).
const S3_VARIANTS: [&str; 5] = ["dio_opi", "dio_qspi", "opi_opi", "qio_opi", "qio_qspi"];

/// Memory variant -> symbol -> value.
type Wanted = BTreeMap<String, BTreeMap<String, Value>>;

pub(super) fn check(subject: &Subject, _: Report<'_>) -> Result<Outcome> {
    let mut faults: Vec<String> = missing_variants(subject);
    for config in subject.configs.values() {
        faults.extend(config.as_ref().err().cloned());
    }
    let wanted = wanted(subject)?;
    let mut differing = Vec::new();
    for (variant, symbols) in &wanted {
        let Some(Ok(config)) = subject.configs.get(variant) else {
            continue;
        };
        for (symbol, value) in symbols {
            if !config.is(symbol, value) {
                let shown = config.shown(symbol, value);
                let what = format!("{symbol} is {shown}, expected {value}");
                differing.push((variant.clone(), what));
            }
        }
    }
    faults.extend(by_kind(differing));
    if !faults.is_empty() {
        return Ok(Outcome::failed(
            findings(&faults),
            "install the package again, or build it anew; compiled cores in the Arduino cache are of the old settings",
        ));
    }
    if wanted.is_empty() && !matches!(subject.account(), Account::Stock) {
        return Ok(Outcome::not_run(
            "nothing says what they should be; --expect does",
        ));
    }
    let shown = subject
        .settings()
        .map(|(variant, settings)| (variant, settings.shown()));
    Ok(Outcome::passed(by_settings(shown)))
}

/// Variants that must be there: the chip's, and those that the manifest tells of.
fn missing_variants(subject: &Subject) -> Vec<String> {
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    if subject.chip.as_str() == "esp32s3" {
        needed.extend(S3_VARIANTS);
    }
    if let ManifestFile::Read(manifest) = &subject.manifest {
        needed.extend(manifest.effective.keys().map(String::as_str));
    }
    needed
        .into_iter()
        .filter(|variant| !subject.configs.contains_key(*variant))
        .map(|variant| format!("{variant}/include/sdkconfig.h is missing"))
        .collect()
}

/// What the settings should be. Of two sources that name the same symbol the manifest counts: it is what was built.
fn wanted(subject: &Subject) -> Result<Wanted> {
    let mut wanted = Wanted::new();
    match (&subject.expected, &subject.manifest) {
        (Expected::Stock, _) => stock(subject, &mut wanted)?,
        (Expected::Set(set), _) => of_set(subject, set, &mut wanted),
        (Expected::AsTheySay, ManifestFile::Read(manifest)) => {
            let name = &manifest.patch_set.name;
            // A set of the user's own is known only by what its build recorded.
            if let Some(set) = patchset::list()?.iter().find(|set| set.name == *name) {
                of_set(subject, set, &mut wanted);
            }
            for (variant, symbols) in &manifest.effective {
                let into = wanted.entry(variant.clone()).or_default();
                for (symbol, text) in symbols {
                    let value = Value::parse(text).unwrap_or_else(|| Value::Text(text.clone()));
                    into.insert(symbol.clone(), value);
                }
            }
        }
        (Expected::AsTheySay, _) => {}
    }
    Ok(wanted)
}

fn of_set(subject: &Subject, set: &PatchSet, wanted: &mut Wanted) {
    for variant in subject.configs.keys() {
        for expect in set
            .expects
            .iter()
            .filter(|expect| expect.variant.matches(variant))
        {
            let symbols = expect
                .symbols
                .iter()
                .map(|(symbol, value)| (symbol.clone(), value.clone()));
            wanted.entry(variant.clone()).or_default().extend(symbols);
        }
    }
}

/// In stock libraries every symbol that a bundled set switches on is off.
fn stock(subject: &Subject, wanted: &mut Wanted) -> Result<()> {
    let sets = patchset::list()?;
    let symbols: BTreeSet<&String> = sets
        .iter()
        .flat_map(|set| &set.expects)
        .flat_map(|expect| &expect.symbols)
        .filter(|(_, value)| **value == Value::Bool(true))
        .map(|(symbol, _)| symbol)
        .collect();
    for variant in subject.configs.keys() {
        let off = symbols
            .iter()
            .map(|symbol| ((*symbol).clone(), Value::Bool(false)));
        wanted.insert(variant.clone(), off.collect());
    }
    Ok(())
}
