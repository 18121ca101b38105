//! The hazards that an audit found, each with what it was found in.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::impact::{Impact, Kind};
use super::view::{Values, View};
use crate::hazards::{
    self, Case, LINKER_SCRIPT, Level, OUTPUT_RENAMED, Rule, SHARED_ARCHIVE, SHARED_THROUGH_HEADER,
    Settings,
};
use crate::libs::Value;
use crate::libs::layout::{Layout, Product};
use crate::libs::sdkconfig::SdkConfig;
use crate::patchset::PatchSet;

/// A hazard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub name: String,
    /// The rule's level.
    pub level: Level,
    /// In what: builds, an archive, a linker script.
    pub subject: String,
    /// What happens.
    pub says: String,
    /// Symbols, and files that read them, for a rule about files.
    pub found: Vec<String>,
    /// Why.
    pub reason: String,
    /// Where that is written.
    pub source: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.name, self.subject, self.says)
    }
}

impl Finding {
    /// With what to do where it is to stand.
    pub(super) fn with_way_out(&self) -> String {
        format!(
            "{self} (to go on all the same: --accept-hazard {})",
            self.name
        )
    }

    fn new(rule: &Rule, subject: String, found: Vec<String>) -> Self {
        Self {
            name: rule.name.to_owned(),
            level: rule.level,
            subject,
            says: rule.says.to_owned(),
            found,
            reason: rule.reason.to_owned(),
            source: rule.source.to_owned(),
        }
    }
}

/// The rules about settings that the set breaks, one finding a rule with all its memory variants.
pub(super) fn of_values(set: &PatchSet, layout: &Layout, views: &[View<'_>]) -> Vec<Finding> {
    let bootloaders = layout.bootloaders();
    let broken = layout.builds.iter().zip(views).filter_map(|(build, view)| {
        let lines = set.reaching(build).into_iter();
        let case = Case {
            variant: build.variant()?,
            stock: view.stock,
            patched: view.patched,
            asked: lines
                .map(|(symbol, (_, line))| (symbol, &line.value))
                .collect(),
            bootloaders: &bootloaders,
        };
        Some((case.variant, hazards::found(&case)))
    });
    a_rule(&broken.collect::<Vec<_>>())
}

/// A memory variant and the rules that are broken in it.
type Broken<'a> = (&'a str, Vec<&'static Rule>);

fn a_rule(broken: &[Broken<'_>]) -> Vec<Finding> {
    let in_rule = |rule: &&'static Rule| {
        let variants = broken.iter().filter(|(_, rules)| rules.contains(rule));
        let variants: BTreeSet<&str> = variants.map(|(variant, _)| *variant).collect();
        let names: Vec<&str> = variants.into_iter().collect();
        let subject = match names.as_slice() {
            [] => return None,
            [one] => format!("memory variant {one}"),
            several => format!("memory variants {}", several.join(", ")),
        };
        Some(Finding::new(rule, subject, Vec::new()))
    };
    hazards::RULES.iter().filter_map(in_rule).collect()
}

/// The settings of stock libraries with lines that a quick build adds.
struct WithDefines<'a> {
    config: &'a SdkConfig,
    defines: &'a BTreeMap<String, String>,
}

impl Settings for WithDefines<'_> {
    fn on(&self, symbol: &str) -> bool {
        match self.defines.get(symbol) {
            Some(value) => value == "1",
            None => self.config.is(symbol, &Value::Bool(true)),
        }
    }
}

/// One memory variant of stock libraries, and what a quick build adds to it.
#[derive(Debug)]
pub struct Ready {
    /// Its name.
    pub variant: String,
    /// Its sdkconfig.h.
    pub config: SdkConfig,
    /// Symbol -> what it is defined as, of the lines that are added.
    pub defines: BTreeMap<String, String>,
}

/// The rules about settings that `set` breaks when a quick build adds its lines to stock libraries.
pub fn of_stock_libraries(set: &PatchSet, ready: &[Ready]) -> Vec<Finding> {
    let none = BTreeMap::new();
    let with = |one: &Ready| {
        let lines = set.files.values().flatten();
        let lines = lines.filter(|line| one.defines.contains_key(&line.symbol));
        let settings = |defines| WithDefines {
            config: &one.config,
            defines,
        };
        hazards::found(&Case {
            variant: &one.variant,
            stock: &settings(&none),
            patched: &settings(&one.defines),
            asked: lines
                .map(|line| (line.symbol.as_str(), &line.value))
                .collect(),
            bootloaders: &[],
        })
    };
    let broken: Vec<Broken<'_>> = ready
        .iter()
        .map(|one| (one.variant.as_str(), with(one)))
        .collect();
    a_rule(&broken)
}

/// What is read by files that are not built for each memory variant, and by linker scripts; one finding a rule.
pub(super) fn of_impact(impact: &Impact, differing: &BTreeSet<String>) -> Vec<Finding> {
    let mut shared = Readers::default();
    let mut by_header = Readers::default();
    let mut scripts = Readers::default();
    for mention in &impact.mentions {
        let at = |symbol: &String| format!("{symbol} in {}", mention.file);
        let unequal: Vec<String> = mention
            .symbols
            .iter()
            .filter(|symbol| differing.contains(*symbol))
            .map(at)
            .collect();
        for name in &mention.becomes {
            let mut products = impact.products.iter();
            let once = products.any(|product| product.name == *name && !product.per_variant);
            if once && !unequal.is_empty() {
                match mention.kind {
                    Kind::Includes | Kind::Header => by_header.add(name, [mention.file.clone()]),
                    _ => shared.add(name, unequal.clone()),
                }
            }
            if matches!(mention.kind, Kind::LinkerScript | Kind::LinkerFragment) {
                scripts.add(name, mention.symbols.iter().map(at));
            }
        }
    }
    // What reads a symbol itself need not be told to include it as well.
    by_header.0.retain(|name, _| !shared.0.contains_key(name));
    let findings = [
        (&SHARED_ARCHIVE, shared),
        (&SHARED_THROUGH_HEADER, by_header),
        (&LINKER_SCRIPT, scripts),
    ];
    findings
        .into_iter()
        .filter_map(|(rule, readers)| readers.finding(rule))
        .collect()
}

/// Product -> what makes it part of a finding.
#[derive(Default)]
struct Readers<'a>(BTreeMap<&'a str, BTreeSet<String>>);

impl<'a> Readers<'a> {
    fn add(&mut self, product: &'a str, found: impl IntoIterator<Item = String>) {
        self.0.entry(product).or_default().extend(found);
    }

    fn finding(self, rule: &Rule) -> Option<Finding> {
        let names: Vec<&str> = self.0.keys().copied().collect();
        let found = self
            .0
            .iter()
            .flat_map(|(name, found)| found.iter().map(move |one| format!("{name}: {one}")));
        (!names.is_empty()).then(|| Finding::new(rule, names.join(", "), found.collect()))
    }
}

/// What lib-builder makes the names of a build's output of.
const NAMING: [&str; 3] = [
    "CONFIG_LIB_BUILDER_FLASHMODE",
    "CONFIG_LIB_BUILDER_FLASHFREQ",
    "CONFIG_SPIRAM_MODE_OCT",
];

/// Builds whose output the set gives another name.
pub(super) fn of_names(layout: &Layout, views: &[View<'_>]) -> Option<Finding> {
    let mut found = Vec::new();
    let mut builds = Vec::new();
    for (build, view) in layout.builds.iter().zip(views) {
        // The speed is no part of a variant's name, nor the kind of PSRAM of a bootloader's.
        let naming = match build.product {
            Product::Bootloader { .. } => &NAMING[..2],
            _ => &[NAMING[0], NAMING[2]],
        };
        let value =
            |view: &dyn Values, symbol: &str| view.value(symbol).unwrap_or("off").to_owned();
        let changes = naming.iter().map(|symbol| {
            (
                symbol,
                value(view.stock, symbol),
                value(view.patched, symbol),
            )
        });
        let changed: Vec<String> = changes
            .filter(|(_, stock, patched)| stock != patched)
            .map(|(symbol, stock, patched)| {
                format!("{}: {symbol} {stock} -> {patched}", build.name())
            })
            .collect();
        if !changed.is_empty() {
            builds.push(build.name());
            found.extend(changed);
        }
    }
    (!builds.is_empty()).then(|| Finding::new(&OUTPUT_RENAMED, builds.join(", "), found))
}

/// The changed symbols of which a memory variant has another value than the libraries build, whose archives all variants
/// share.
pub(super) fn differing(
    layout: &Layout,
    views: &[View<'_>],
    changed: &BTreeSet<String>,
) -> BTreeSet<String> {
    let builds = || layout.builds.iter().zip(views);
    let libraries = builds().find(|(build, _)| matches!(build.product, Product::Libraries { .. }));
    let Some((_, libraries)) = libraries else {
        return BTreeSet::new();
    };
    let differs = |symbol: &&String| {
        let variants = builds().filter(|(build, _)| build.variant().is_some());
        let mut values = variants.map(|(_, view)| view.patched.value(symbol));
        values.any(|value| value != libraries.patched.value(symbol))
    };
    changed.iter().filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patchset;

    fn ready(variant: &str, header: &str, defines: &[&str]) -> Ready {
        Ready {
            variant: variant.to_owned(),
            config: SdkConfig::parse(header).unwrap(),
            defines: defines
                .iter()
                .map(|name| (format!("CONFIG_{name}"), "1".to_owned()))
                .collect(),
        }
    }

    const XIP: [&str; 3] = [
        "SPIRAM_XIP_FROM_PSRAM",
        "SPIRAM_FETCH_INSTRUCTIONS",
        "SPIRAM_RODATA",
    ];

    #[test]
    fn a_quick_build_is_judged_by_the_headers_that_it_changes() {
        let set = patchset::find("xip-ecc").unwrap();
        let octal = "#define CONFIG_SPIRAM_MODE_OCT 1\n#define CONFIG_SPIRAM_BOOT_INIT 1\n";
        let quad = "#define CONFIG_SPIRAM_MODE_QUAD 1\n";
        let good = [ready("qio_opi", octal, &XIP), ready("qio_qspi", quad, &[])];
        assert!(of_stock_libraries(&set, &good).is_empty());
        let bad = [
            ready("qio_qspi", quad, &XIP),
            ready(
                "dio_qspi",
                quad,
                &[&XIP[..], &["SPIRAM_ECC_ENABLE"]].concat(),
            ),
            ready("qio_opi", octal, &XIP[..2]),
        ];
        let found = of_stock_libraries(&set, &bad);
        let told: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.subject.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (
                    "xip-without-boot-init",
                    "memory variants dio_qspi, qio_qspi"
                ),
                ("ecc-without-octal", "memory variant dio_qspi"),
                ("half-of-the-program-moved", "memory variant qio_opi"),
            ]
        );
    }
}
