//! `cargo xtask audit`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;

use super::release_args::ReleaseArgs;
use crate::audit::{self, Audit, Basis, Change, Effect, Kconfig, Kind, Mention};
use crate::config::Mirror;
use crate::exit::Refusal;
use crate::hazards::{self, Level};
use crate::patchset;
use crate::progress::{Event, Report};
use crate::ui;
use crate::upstream::{Checkout, Mirrors, Sources};
use crate::workdir::WorkDir;

/// Say what a patch set will really do, before anything is built.
///
/// Checks the release's sources out as build-libs does, evaluates upstream's Kconfig files over the defconfig files of every
/// build (libraries, bootloaders, memory variants), without and with the set's lines, and tells: which symbols change, which
/// lines do not take and why, which hazards the set brings, which archives and linker scripts can differ.
///
/// Kconfig is upstream's own kconfgen, a Python package that is set up in the work folder on first use. Without Python the
/// lines alone are looked at, and it is said that Kconfig was not asked.
///
/// Exit code 3 where a hazard of level error stands, or a line does not take that the set expects to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask audit
  cargo xtask audit --patch ~/my-set --core 3.3.11
  cargo xtask audit --patch ~/my-set --lib-builder ~/esp32-arduino-lib-builder
  cargo xtask audit --show CONFIG_SPIRAM_BOOT_INIT --json")]
pub struct AuditCommand {
    #[command(flatten)]
    release: ReleaseArgs,
    /// Patch set: a name listed by `patches`, or the path of a folder of your own
    #[arg(long, value_name = "NAME|DIR", default_value = patchset::DEFAULT)]
    patch: String,
    /// Audit on this checked out lib-builder, with an ESP-IDF in its folder esp-idf; nothing is fetched or changed there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["mirrors", "core", "versions", "index"])]
    lib_builder: Option<PathBuf>,
    /// Replace a prefix of the git addresses, for example `https://github.com/=/srv/git/` (repeatable)
    #[arg(long = "mirror", value_name = "FROM=TO")]
    mirrors: Vec<Mirror>,
    /// Where mirrors, work trees and caches are kept [default: target/xip, or work-dir of the config file]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Let this hazard stand (repeatable)
    #[arg(long = "accept-hazard", value_name = "NAME", value_parser = hazard_names())]
    accepted: Vec<String>,
    /// Also tell this symbol's value in every build, whether it changes or not (repeatable)
    #[arg(long, value_name = "SYMBOL")]
    show: Vec<String>,
    /// Fail where Kconfig cannot be asked, instead of looking at the lines alone
    #[arg(long)]
    require_kconfig: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Places told of one hazard; more are counted.
const FOUND_SHOWN: usize = 12;

/// The names of `--accept-hazard`.
pub(super) fn hazard_names() -> PossibleValuesParser {
    PossibleValuesParser::new(hazards::RULES.map(|rule| rule.name))
}

impl AuditCommand {
    /// Carries the command out.
    ///
    /// # Errors
    /// Those of pins and checkout; a set that cannot be used; what [`Audit::verdict`] says no to.
    pub fn run(self) -> Result<()> {
        let bar = ui::Bar::new(self.json);
        let audit = self.audit(&|event: Event<'_>| bar.event(event));
        bar.finish();
        let audit = audit?;
        if self.json {
            ui::println(&serde_json::to_string_pretty(&audit)?)?;
        } else {
            ui::println(&shown(&audit))?;
        }
        match &audit.basis {
            Basis::Lines { why } if self.require_kconfig => {
                bail!("--require-kconfig was given, and Kconfig was not asked: {why}")
            }
            _ => audit.verdict(&self.accepted),
        }
    }

    fn audit(&self, report: Report<'_>) -> Result<Audit> {
        let config = super::config()?;
        let set = patchset::find(&self.patch)?;
        let chip = &self.release.chip;
        set.check_chip(chip)?;
        for symbol in &self.show {
            if !symbol.starts_with("CONFIG_") {
                bail!(Refusal::Usage(format!(
                    "--show {symbol}: a symbol's name begins with CONFIG_; write CONFIG_{symbol}"
                )));
            }
        }
        let work = super::work_dir(self.work_dir.as_deref(), &config)?;
        // Held, so that no other run changes the trees meanwhile.
        let sources;
        let lib_builder = match &self.lib_builder {
            Some(folder) => folder,
            None => {
                let mirrors = self.mirrors.iter().chain(&config.mirrors).cloned();
                sources = self.check_out(&work, Mirrors::new(mirrors.collect()), report)?;
                &sources.root
            }
        };
        audit::run(&audit::Request {
            lib_builder: &dunce::canonicalize(lib_builder)?,
            chip,
            set: &set,
            kconfig: Kconfig::Ask {
                work: &work,
                offline: self.release.offline,
            },
            show: &self.show,
            report,
        })
    }

    fn check_out(&self, work: &WorkDir, mirrors: Mirrors, report: Report<'_>) -> Result<Sources> {
        let data_dir = self.release.data_dir(report)?.map(|found| found.path);
        let downloads = work.downloads();
        let pins = self
            .release
            .resolve(data_dir.as_deref(), &downloads, report)?;
        let checkout = Checkout {
            work,
            mirrors: &mirrors,
            offline: self.release.offline,
            report,
        };
        let mut sources = checkout.lib_builder(&pins)?;
        checkout.complete(&pins, &mut sources)?;
        Ok(sources)
    }
}

/// The result for a person.
fn shown(audit: &Audit) -> String {
    let mut parts = vec![basis(audit), changes(audit)];
    parts.extend(unmet(audit));
    parts.extend(values(audit));
    parts.push(found(audit));
    parts.push(impact(audit));
    parts.join("\n\n")
}

fn basis(audit: &Audit) -> String {
    let asked = match &audit.basis {
        Basis::Kconfgen { version } => {
            format!("Kconfig was asked for every build (esp-idf-kconfig {version}).")
        }
        Basis::Lines { why } => {
            format!("Kconfig was NOT asked, the set's lines alone were looked at: {why}")
        }
    };
    let mut text = format!("Patch set {} on {}\n{asked}", audit.set, audit.chip);
    if let [first, ..] = audit.not_seen.as_slice() {
        text += &format!(
            "\nNot seen, because a build fetches them or the checkout lacks them: {} folders, such as {first}",
            audit.not_seen.len()
        );
    }
    text
}

/// Builds that change alike stand in one row.
fn changes(audit: &Audit) -> String {
    let mut alike: BTreeMap<Vec<String>, Vec<&Effect>> = BTreeMap::new();
    for effect in &audit.builds {
        let lines = match (&effect.variant, &effect.bootloader) {
            (None, None) => {
                vec!["not known: Kconfig was not asked about its own project".to_owned()]
            }
            _ => effect.felt().iter().map(change).collect(),
        };
        alike.entry(lines).or_default().push(effect);
    }
    let mut table = ui::table(&["build", "what changes"]);
    for (lines, effects) in alike.iter().rev() {
        let names: Vec<&str> = effects.iter().map(|effect| effect.build.as_str()).collect();
        let what = match lines.is_empty() {
            true => "nothing".to_owned(),
            false => lines.join("\n"),
        };
        table.add_row([names.join("\n"), what]);
    }
    table.trim_fmt()
}

fn change(change: &Change) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "off".to_owned());
    format!(
        "{}  {} -> {}",
        change.symbol,
        value(&change.stock),
        value(&change.patched)
    )
}

/// Wishes that are alike stand together, with all their builds.
fn unmet(audit: &Audit) -> Option<String> {
    let mut alike: BTreeMap<[&str; 4], Vec<&str>> = BTreeMap::new();
    for effect in &audit.builds {
        for unmet in &effect.unmet {
            let expected = match unmet.expected {
                true => "as the set expects",
                false => "against what the set expects",
            };
            let key = [expected, &unmet.symbol, &unmet.wanted, &unmet.reason];
            alike.entry(key).or_default().push(&effect.build);
        }
    }
    if alike.is_empty() {
        return None;
    }
    let mut text = "Did not take:".to_owned();
    for ([expected, symbol, wanted, reason], builds) in alike {
        text += &format!("\n  {symbol}={wanted}, {expected}");
        let lines = [
            format!("in {}", builds.join(", ")),
            format!("because {reason}"),
        ];
        for line in lines.iter().flat_map(|line| ui::fold(line, 6)) {
            text += &format!("\n      {line}");
        }
    }
    Some(text)
}

fn values(audit: &Audit) -> Option<String> {
    let mut table = ui::table(&["build", "symbol", "stock", "patched"]);
    for shown in &audit.shown {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "absent".to_owned());
        table.add_row([
            shown.build.clone(),
            shown.symbol.clone(),
            value(&shown.stock),
            value(&shown.patched),
        ]);
    }
    (!table.is_empty()).then(|| table.trim_fmt())
}

fn found(audit: &Audit) -> String {
    if audit.hazards.is_empty() {
        return format!("Hazards: none of {} known ones", hazards::RULES.len());
    }
    let mut text = "Hazards:".to_owned();
    for hazard in &audit.hazards {
        let mut lines = vec![format!("{}: {}", hazard.subject, hazard.says)];
        lines.extend(hazard.found.iter().take(FOUND_SHOWN).cloned());
        match hazard.found.len().saturating_sub(FOUND_SHOWN) {
            0 => {}
            more => lines.push(format!("and {more} more (--json has them all)")),
        }
        lines.push(format!("why: {}", hazard.reason));
        lines.push(format!("see: {}", hazard.source));
        text += &format!("\n{:<8}{}", hazard.level, hazard.name);
        for line in lines.iter().flat_map(|line| ui::fold(line, 8)) {
            text += &format!("\n        {line}");
        }
    }
    if audit
        .hazards
        .iter()
        .any(|hazard| hazard.level == Level::Error)
    {
        text += "\nAn error stops build-libs, unless --accept-hazard NAME lets it stand.";
    }
    text
}

fn impact(audit: &Audit) -> String {
    let mut table = ui::table(&["can differ", "kept", "because of"]);
    let products = audit.impact.products.iter();
    for product in products {
        let kept = match product.per_variant {
            true => "for each memory variant",
            false => "once for all",
        };
        let of_it = |mention: &&Mention| mention.becomes.contains(&product.name);
        let files: Vec<&Mention> = audit.impact.mentions.iter().filter(of_it).collect();
        table.add_row([&product.name, kept, &readers(&files)]);
    }
    let own: Vec<&Mention> = audit
        .impact
        .mentions
        .iter()
        .filter(|mention| mention.becomes.is_empty())
        .collect();
    if !own.is_empty() {
        table.add_row(["every sketch", "compiled with the sketch", &readers(&own)]);
    }
    if table.is_empty() {
        return "No source reads a changed symbol.".to_owned();
    }
    format!(
        "{}\nFound by text; comments do not count, and whether the chip compiles a file was not asked.",
        table.trim_fmt()
    )
}

/// Files that read symbols themselves by name; those that only include such a header are counted.
fn readers(mentions: &[&Mention]) -> String {
    let (through, direct): (Vec<&Mention>, Vec<&Mention>) = mentions
        .iter()
        .partition(|mention| mention.kind == Kind::Includes);
    let names = direct.iter().map(|mention| {
        let parts = mention.file.splitn(4, '/').collect::<Vec<_>>();
        match parts.as_slice() {
            ["esp-idf", "components", _, rest] => (*rest).to_owned(),
            _ => mention.file.clone(),
        }
    });
    let mut lines: Vec<String> = names.collect();
    if !through.is_empty() {
        let files = if through.len() == 1 { "file" } else { "files" };
        lines.push(format!("{} {files} by a header", through.len()));
    }
    lines.dedup();
    lines.join("\n")
}
