//! Reads a patch set from the contents of its files, and judges every line.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

use super::{Expect, Hazard, PatchSet, Replace, SetLine, Verdict, defconfig, refuse, syntax};
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
    hazard: Option<Hazard>,
    #[serde(default)]
    expect: Vec<ExpectToml>,
    #[serde(default)]
    replace: Vec<ReplaceToml>,
    #[serde(default)]
    managed: Vec<String>,
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
    };
    for (file, content) in files {
        match std::str::from_utf8(content) {
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
    set.hazard = parsed.hazard;
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
        if !set.files.values().flatten().any(|line| line.symbol == symbol) {
            faults.toml(format!(
                "`managed` names {symbol}, which no line of the set assigns"
            ));
        }
        set.managed.push(symbol);
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
        toml::Value::String(text) => Ok(Value::parse(text).unwrap_or_else(|| Value::Text(text.clone()))),
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
pub(crate) mod tests {
    use super::*;
    use crate::libs::layout::{Build, Product};

    /// A set of one file, for tests of other modules too.
    pub(crate) fn set(name: &str, toml: &str, files: &[(&str, &str)]) -> Result<PatchSet> {
        let toml = format!("summary = 'for a test'\nchips = ['esp32s3']\n{toml}");
        let mut map: BTreeMap<String, Vec<u8>> = files
            .iter()
            .map(|(file, text)| ((*file).to_owned(), text.as_bytes().to_vec()))
            .collect();
        map.insert("patch.toml".to_owned(), toml.into_bytes());
        load(name, name, &map)
    }

    fn verdicts(toml: &str, files: &[(&str, &str)]) -> Vec<String> {
        let text = set("my-set", toml, files).unwrap_err().to_string();
        text.lines().skip(1).map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn one_verdict_a_bad_line_all_at_once() {
        let text = "SPIRAM=y\n# why\nCONFIG_A=text\nCONFIG_B=y\nCONFIG_B=n\nCONFIG_C=y\nCONFIG_C=y\nconfig_d=y\n CONFIG_E=y\n";
        let found = verdicts("", &[("defconfig.opi_ram", text), ("configs.txt", "")]);
        assert_eq!(found.len(), 7, "{found:#?}");
        for (found, want) in found.iter().zip([
            "my-set/configs.txt: ",
            "my-set/defconfig.opi_ram:1: ",
            "my-set/defconfig.opi_ram:3: ",
            "my-set/defconfig.opi_ram:5: `CONFIG_B=n`: another value than line 4",
            "my-set/defconfig.opi_ram:7: `CONFIG_C=y`: already set by line 6",
            "my-set/defconfig.opi_ram:8: ",
            "my-set/defconfig.opi_ram:9: ",
        ]) {
            assert!(found.starts_with(want), "{found} | {want}");
        }
    }

    #[test]
    fn not_set_and_n_are_one_wish() {
        let text = "# CONFIG_A is not set\nCONFIG_A=n\n";
        let found = verdicts("", &[("defconfig.common", text)]);
        assert!(found[0].contains("already set by line 1"), "{found:?}");
        let layered = [
            ("defconfig.common", "CONFIG_A=y\n"),
            ("defconfig.qio_ram", "# CONFIG_A is not set\n"),
        ];
        assert!(
            set("my-set", "", &layered).is_ok(),
            "files are layers: two of them may differ"
        );
    }

    #[test]
    fn faults_of_patch_toml_are_named() {
        let file = [("defconfig.common", "CONFIG_A=y\n")];
        for (toml, want) in [
            ("sufix = 'x'\n", "patch.toml:3: unknown field `sufix`"),
            ("suffix = '../x'\n", "the suffix `../x`"),
            ("[[expect]]\nvariant = '*_opi'\n", "expects nothing"),
            ("[[expect]]\nvariant = '*_opi'\nA = 'y'\n", "write CONFIG_A"),
            (
                "[[expect]]\nvariant = '*_opi'\nCONFIG_A = true\n",
                "`true` is not a value",
            ),
            (
                "[[expect]]\nvariant = '***'\nCONFIG_A = 'y'\n",
                "`***` is not a pattern",
            ),
            (
                "[[replace]]\nfile = 'defconfig.common'\nsymbol = 'CONFIG_B'\nvalue = 'y'\n",
                "no line for CONFIG_B",
            ),
            (
                "[[replace]]\nfile = 'defconfig.qio'\nsymbol = 'CONFIG_A'\nvalue = 'y'\n",
                "defconfig.qio of this set",
            ),
            ("managed = ['CONFIG_B']\n", "CONFIG_B, which no line"),
        ] {
            let found = verdicts(toml, &file);
            assert!(found.len() == 1 && found[0].contains(want), "{toml}: {found:?}");
        }
        assert!(verdicts("", &[("defconfig.common", "# nothing\n")])[0].contains("does nothing"));
        let bare = BTreeMap::from([("defconfig.common".to_owned(), b"CONFIG_A=y".to_vec())]);
        assert!(
            load("x", "x", &bare)
                .unwrap_err()
                .to_string()
                .contains("patch.toml: it is missing")
        );
        let toml = BTreeMap::from([(
            "patch.toml".to_owned(),
            b"summary='s'\nchips=['esp32s9']\n".to_vec(),
        )]);
        assert!(
            load("x", "x", &toml)
                .unwrap_err()
                .to_string()
                .contains("unknown chip `esp32s9`")
        );
    }

    #[test]
    fn expected_values_in_all_their_forms() {
        let toml = "[[expect]]\nvariant = '*'\nCONFIG_A = 'off'\nCONFIG_B = 0x10\nCONFIG_C = '0x10'\nCONFIG_D = 'text'\n\
                    [[expect]]\nvariant = 'opi_*'\nCONFIG_A = 'y'\n";
        let files = [
            ("defconfig.common", "CONFIG_A=y\nCONFIG_E=1\nCONFIG_F=y\n"),
            ("defconfig.opi_ram", "CONFIG_E=2\n"),
        ];
        let set = set("my-set", toml, &files).unwrap();
        let build = |layers: &[&str]| Build {
            product: Product::Variant {
                variant: String::new(),
            },
            layers: layers.iter().map(|layer| format!("defconfig.{layer}")).collect(),
        };
        let octal = build(&["common", "opi_ram"]);
        let qio = set.expected("qio_opi", &octal);
        assert_eq!(qio["CONFIG_A"], &Value::Bool(false), "said so, against the line");
        assert_eq!(qio["CONFIG_B"], qio["CONFIG_C"]);
        assert_eq!(qio["CONFIG_D"], &Value::Text("text".into()));
        assert_eq!(
            (qio["CONFIG_E"], qio["CONFIG_F"]),
            (&Value::Number(2), &Value::Bool(true)),
            "the lines themselves"
        );
        assert_eq!(
            set.expected("opi_opi", &octal)["CONFIG_A"],
            &Value::Bool(true),
            "the later one wins"
        );
        assert!(
            !set.expected("qio_qspi", &build(&["qio_ram"]))
                .contains_key("CONFIG_E"),
            "not reached"
        );
    }
}
