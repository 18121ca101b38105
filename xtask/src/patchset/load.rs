//! Reads a patch set from the contents of its files, and judges every line.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

use super::{Expect, Hazard, PatchSet, Replace, SetLine, Verdict, defconfig, refuse, syntax};
use crate::hazards;
use crate::libs::Value;
use crate::names::Chip;

/// Files that a set may hold beside its defconfig files; `quick.toml` is the recipe of the quick build.
const OTHER_FILES: [&str; 3] = ["patch.toml", "quick.toml", "README.md"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchToml {
    summary: String,
    chips: Vec<String>,
    suffix: Option<String>,
    hazard: Option<HazardToml>,
    #[serde(default)]
    expect: Vec<ExpectToml>,
    #[serde(default)]
    replace: Vec<ReplaceToml>,
    #[serde(default)]
    managed: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HazardToml {
    text: String,
    reason: Option<String>,
    rule: Option<String>,
}

#[derive(Deserialize)]
struct ExpectToml {
    variant: String,
    #[serde(flatten)]
    symbols: BTreeMap<String, toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplaceToml {
    file: String,
    symbol: String,
    value: toml::Value,
    by: Option<String>,
}

/// Reads the set called `name`. `place` stands for its folder in messages; `files` are the contents by file name.
///
/// # Errors
/// One refusal with a verdict for every fault.
pub(crate) fn load(name: &str, place: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<PatchSet> {
    let mut faults = Faults {
        place,
        verdicts: Vec::new(),
    };
    let mut set = PatchSet {
        name: name.to_owned(),
        place: place.to_owned(),
        summary: String::new(),
        chips: Vec::new(),
        suffix: name.to_owned(),
        hazard: None,
        files: BTreeMap::new(),
        expects: Vec::new(),
        replaces: Vec::new(),
        managed: Vec::new(),
        quick: None,
    };
    for (file, content) in files {
        match std::str::from_utf8(content) {
            Ok(text) if file == "quick.toml" => set.quick = Some(text.to_owned()),
            Err(_) if file == "quick.toml" => faults.add(file, None, "it is not UTF-8 text"),
            _ if OTHER_FILES.contains(&file.as_str()) => {}
            _ if !file.starts_with("defconfig.") => faults.add(
                file,
                None,
                "a patch set holds patch.toml and files named as those in upstream's configs/, such as defconfig.opi_ram",
            ),
            Err(_) => faults.add(file, None, "it is not UTF-8 text"),
            Ok(text) => {
                let lines = read_lines(file, text, &mut faults);
                set.files.insert(file.clone(), lines);
            }
        }
    }
    if set.files.values().all(Vec::is_empty) && faults.verdicts.is_empty() {
        faults.add(
            "patch.toml",
            None,
            "no defconfig file beside it holds a line, so the set does nothing",
        );
    }
    match files.get("patch.toml") {
        None => faults.add(
            "patch.toml",
            None,
            "it is missing; see defconfig-patches/README.md for the format",
        ),
        Some(content) => read_toml(&String::from_utf8_lossy(content), &mut set, &mut faults),
    }
    refuse(name, &faults.verdicts)?;
    Ok(set)
}

/// Collects verdicts.
struct Faults<'a> {
    place: &'a str,
    verdicts: Vec<Verdict>,
}

impl Faults<'_> {
    fn add(&mut self, file: &str, line: Option<usize>, text: impl Into<String>) {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        self.verdicts.push(Verdict {
            place: format!("{}/{file}{line}", self.place),
            text: text.into(),
        });
    }

    fn toml(&mut self, text: impl Into<String>) {
        self.add("patch.toml", None, text);
    }
}

fn read_lines(file: &str, text: &str, faults: &mut Faults<'_>) -> Vec<SetLine> {
    let mut lines: Vec<SetLine> = Vec::new();
    let without_mark = text.strip_prefix('\u{feff}');
    if without_mark.is_some() {
        faults.add(
            file,
            Some(1),
            "it begins with a byte order mark, for which Kconfig passes over the line; save it without",
        );
    }
    for (number, line) in (1..).zip(defconfig::lines(without_mark.unwrap_or(text))) {
        match syntax::read(line.text) {
            Ok(None) => {}
            Ok(Some((symbol, value))) => {
                if let Some(earlier) = lines.iter().find(|line| line.symbol == symbol) {
                    let same = if earlier.value == value {
                        "already set by"
                    } else {
                        "another value than"
                    };
                    faults.add(
                        file,
                        Some(number),
                        format!(
                            "`{}`: {same} line {} (`{}`); keep one of them",
                            line.text, earlier.number, earlier.text
                        ),
                    );
                    continue;
                }
                lines.push(SetLine {
                    number,
                    text: line.text.to_owned(),
                    symbol,
                    value,
                });
            }
            Err(why) => faults.add(file, Some(number), format!("`{}`: {why}", line.text)),
        }
    }
    lines
}

fn read_toml(text: &str, set: &mut PatchSet, faults: &mut Faults<'_>) {
    let parsed: PatchToml = match toml::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let line = error
                .span()
                .map(|span| text[..span.start].matches('\n').count() + 1);
            return faults.add("patch.toml", line, error.message());
        }
    };
    set.summary = parsed.summary;
    set.hazard = parsed.hazard.and_then(|hazard| read_hazard(hazard, faults));
    set.suffix = parsed.suffix.unwrap_or_else(|| set.name.clone());
    if !is_file_word(&set.name) {
        faults.toml(format!(
            "its folder's name `{}` is not made of a-z, 0-9 and `-`; rename the folder",
            set.name
        ));
    } else if !is_file_word(&set.suffix) {
        faults.toml(format!(
            "the suffix `{}` is not made of a-z, 0-9 and `-`; it becomes part of file names",
            set.suffix
        ));
    }
    if parsed.chips.is_empty() {
        faults.toml("`chips` is empty; name the chips that the set is for, such as [\"esp32s3\"]");
    }
    for chip in parsed.chips {
        match chip.parse::<Chip>() {
            Ok(chip) => set.chips.push(chip),
            Err(why) => faults.toml(why),
        }
    }
    for expect in parsed.expect {
        read_expect(expect, set, faults);
    }
    for replace in parsed.replace {
        read_replace(replace, set, faults);
    }
    for symbol in parsed.managed {
        if !set
            .files
            .values()
            .flatten()
            .any(|line| line.symbol == symbol)
        {
            faults.toml(format!(
                "`managed` names {symbol}, which no line of the set assigns"
            ));
        }
        set.managed.push(symbol);
    }
}

/// The reason of a hazard stands in the set, or is a known rule's.
fn read_hazard(hazard: HazardToml, faults: &mut Faults<'_>) -> Option<Hazard> {
    let HazardToml { text, reason, rule } = hazard;
    match (reason, rule) {
        (Some(reason), None) => Some(Hazard {
            text,
            reason,
            rule: None,
        }),
        (None, Some(name)) => match hazards::named(&name) {
            Some(rule) => Some(Hazard {
                text,
                reason: rule.reason.to_owned(),
                rule: Some(rule.name),
            }),
            None => {
                let known = hazards::RULES.map(|rule| rule.name).join(", ");
                faults.toml(format!(
                    "[hazard]: no rule is called `{name}`; known are {known}"
                ));
                None
            }
        },
        _ => {
            faults.toml("[hazard] needs a `reason`, or the name of a `rule` in its place");
            None
        }
    }
}

fn read_expect(expect: ExpectToml, set: &mut PatchSet, faults: &mut Faults<'_>) {
    let pattern = expect.variant;
    if expect.symbols.is_empty() {
        faults.toml(format!(
            "the [[expect]] for `{pattern}` expects nothing; add a line such as CONFIG_NAME = \"y\""
        ));
    }
    let mut symbols = BTreeMap::new();
    for (symbol, value) in expect.symbols {
        match (syntax::check_symbol(&symbol), read_value(&value)) {
            (Ok(()), Ok(value)) => drop(symbols.insert(symbol, value)),
            (symbol_check, value_check) => {
                for why in symbol_check.err().into_iter().chain(value_check.err()) {
                    faults.toml(format!("[[expect]] for `{pattern}`: {symbol}: {why}"));
                }
            }
        }
    }
    match glob::Pattern::new(&pattern) {
        Ok(variant) => set.expects.push(Expect { variant, symbols }),
        Err(error) => faults.toml(format!(
            "[[expect]]: `{pattern}` is not a pattern such as *_opi: {error}"
        )),
    }
}

fn read_replace(replace: ReplaceToml, set: &mut PatchSet, faults: &mut Faults<'_>) {
    let ReplaceToml {
        file,
        symbol,
        value,
        by,
    } = replace;
    let by = by.unwrap_or_else(|| symbol.clone());
    let assigned = set
        .files
        .get(&file)
        .is_some_and(|lines| lines.iter().any(|line| line.symbol == by));
    if !assigned {
        faults.toml(format!(
            "[[replace]] of {symbol}: {file} of this set has no line for {by}, so nothing takes its place"
        ));
    }
    match read_value(&value) {
        Ok(value) => set.replaces.push(Replace {
            file,
            symbol,
            value,
            by,
        }),
        Err(why) => faults.toml(format!("[[replace]] of {symbol}: {why}")),
    }
}

/// `"y"`, `"n"` or `"off"`, a number (also in quotes, as `"0x10"`), or a text.
fn read_value(value: &toml::Value) -> Result<Value, String> {
    match value {
        toml::Value::String(text) if text == "off" => Ok(Value::Bool(false)),
        toml::Value::String(text) => {
            Ok(Value::parse(text).unwrap_or_else(|| Value::Text(text.clone())))
        }
        toml::Value::Integer(number) => Ok(Value::Number((*number).into())),
        other => Err(format!(
            "`{other}` is not a value; write \"y\", \"off\", a number or a text in quotes"
        )),
    }
}

fn is_file_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
pub(crate) mod tests;
