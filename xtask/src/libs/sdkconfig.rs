//! `sdkconfig.h`: the configuration that a memory variant was really built with.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::value::{Value, unquote};

/// The `#define CONFIG_...` lines of one sdkconfig.h. A symbol without a line is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SdkConfig(BTreeMap<String, String>);

impl SdkConfig {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)?;
        Self::parse(&text).with_context(|| format!("reading {}", path.display()))
    }

    /// Reads the text of the file, as ESP-IDF's kconfgen writes it and lib-builder's scripts append to it.
    ///
    /// # Errors
    /// A line of another form (a file that was cut short), or a symbol defined twice with two values; both with their line numbers.
    pub fn parse(text: &str) -> Result<Self> {
        let mut defines: BTreeMap<String, String> = BTreeMap::new();
        let mut in_comment = false;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if in_comment || line.starts_with("/*") {
                in_comment = !line.ends_with("*/");
                continue;
            }
            if line.is_empty() || line == "#pragma once" || line.starts_with("//") {
                continue;
            }
            let Some((name, value)) = define(line) else {
                bail!("line {number} is not `#define CONFIG_NAME value`: `{line}`");
            };
            match defines.insert(name.to_owned(), value.to_owned()) {
                Some(before) if before != value => {
                    bail!(
                        "line {number} defines {name} as `{value}`, an earlier line as `{before}`"
                    )
                }
                _ => {}
            }
        }
        if in_comment {
            bail!("the file ends inside a comment");
        }
        Ok(Self(defines))
    }

    /// The text that `symbol` (with `CONFIG_`) is defined as; an old name leads to its new one. `None` is off.
    pub fn get(&self, symbol: &str) -> Option<&str> {
        let mut value = self.0.get(symbol)?;
        // An old name stands for its new one. No chain is longer than the file, so a circle ends too.
        for _ in 0..self.0.len() {
            match self.0.get(value.as_str()) {
                Some(next) => value = next,
                None => break,
            }
        }
        Some(value)
    }

    /// Whether `symbol` has the value `wanted`.
    ///
    /// The header writes both `y` and the number one as `1`, so either is met by it.
    pub fn is(&self, symbol: &str, wanted: &Value) -> bool {
        match (self.get(symbol), wanted) {
            (None, Value::Bool(on)) => !on,
            (Some("1"), Value::Bool(on)) => *on,
            (Some(text), Value::Number(_) | Value::Text(_)) => {
                Value::parse(text).as_ref() == Some(wanted)
            }
            _ => false,
        }
    }

    /// The value of `symbol` as a person reads it: `n` where it is off, `y` for a `1` where `wanted` is on or off,
    /// else the number as written or the text without quotes.
    pub fn shown(&self, symbol: &str, wanted: &Value) -> String {
        match self.get(symbol) {
            None => "n".to_owned(),
            Some("1") if matches!(wanted, Value::Bool(_)) => "y".to_owned(),
            Some(text) => unquote(text).unwrap_or_else(|| text.to_owned()),
        }
    }
}

fn define(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("#define")?.strip_prefix([' ', '\t'])?;
    let (name, value) = rest.trim_start().split_once([' ', '\t'])?;
    let value = value.trim();
    let symbol = |text: &str| {
        text.strip_prefix("CONFIG_").is_some_and(|tail| {
            !tail.is_empty() && tail.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    (symbol(name) && (symbol(value) || Value::parse(value).is_some())).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    #[test]
    fn values_old_names_and_what_is_off() {
        let text = "/*\n * Automatically generated\n */\r\n#pragma once\n#define CONFIG_ON 1\r\n#define CONFIG_HEX 0x1F\n\
                    #define CONFIG_TEXT \"a \\\"b\\\"\"\n#define CONFIG_OLD CONFIG_HEX\n/* List of deprecated options */\n\
                    #define CONFIG_ARDUINO_IDF_COMMIT \"d23b7a0361\"\n";
        let config = SdkConfig::parse(text).unwrap();
        let (on, off) = (Value::Bool(true), Value::Bool(false));
        assert!(config.is("CONFIG_ON", &on) && config.is("CONFIG_ON", &Value::Number(1)));
        assert!(
            config.is("CONFIG_GONE", &off)
                && !config.is("CONFIG_GONE", &on)
                && !config.is("CONFIG_ON", &off)
        );
        assert!(!config.is("CONFIG_HEX", &on) && !config.is("CONFIG_HEX", &off));
        assert!(config.is("CONFIG_OLD", &Value::Number(31)));
        assert!(config.is("CONFIG_TEXT", &Value::Text("a \"b\"".into())));
        assert_eq!(config.shown("CONFIG_ON", &on), "y");
        assert_eq!(config.shown("CONFIG_ON", &Value::Number(4)), "1");
        assert_eq!(config.shown("CONFIG_GONE", &on), "n");
        assert_eq!(config.shown("CONFIG_TEXT", &on), "a \"b\"");
    }

    #[test]
    fn a_cut_file_and_two_values_are_errors_with_their_line() {
        for (text, want) in [
            ("#define CONFIG_A 1\n#define CONFIG_B", "line 2"),
            ("#define CONFIG_A 1\n\n#define CONFIG_A 2\n", "line 3"),
            ("#define CONFIG_A \"cut\n", "line 1"),
            ("/* no end\n", "inside a comment"),
            ("#define OTHER 1\n", "line 1"),
        ] {
            let error = SdkConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text:?}: {error}");
        }
        let circle = "#define CONFIG_A CONFIG_B\n#define CONFIG_B CONFIG_A\n";
        assert!(SdkConfig::parse(circle).unwrap().get("CONFIG_A").is_some());
    }

    #[test]
    fn real_files_are_read_whole() {
        const TEST: &str = "real_files_are_read_whole";
        for (file, octal) in [("qio_opi", true), ("qio_qspi", false)] {
            let Some(path) = testing::shared(
                TEST,
                &format!("upstream/sdkconfig-idf-5.1/{file}.sdkconfig.h"),
            ) else {
                return;
            };
            let config = SdkConfig::read(&path).unwrap();
            let defines = fs::read_to_string(&path)
                .unwrap()
                .matches("#define ")
                .count();
            assert_eq!(config.0.len(), defines);
            assert!(config.is("CONFIG_SPIRAM_MODE_OCT", &Value::Bool(octal)));
            assert!(config.is("CONFIG_SPIRAM_XIP_FROM_PSRAM", &Value::Bool(false)));
            assert!(config.is(
                "CONFIG_SOC_MPU_MIN_REGION_SIZE",
                &Value::Number(0x2000_0000)
            ));
            // CONFIG_TCP_MSS is an old name of CONFIG_LWIP_TCP_MSS.
            assert_eq!(
                config.get("CONFIG_TCP_MSS"),
                config.get("CONFIG_LWIP_TCP_MSS")
            );
            assert!(config.is(
                "CONFIG_ARDUINO_IDF_COMMIT",
                &Value::Text("d23b7a0361".into())
            ));
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Bool(true)),
            any::<i64>().prop_map(|number| Value::Number(number.into())),
            "[^\r\n\\p{C}]*".prop_map(Value::Text),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(defines in prop::collection::btree_map("CONFIG_[A-Z0-9_]{1,12}", value(), 0..20), crlf in any::<bool>()) {
            let end = if crlf { "\r\n" } else { "\n" };
            let text: String = defines.iter().map(|(name, value)| match value {
                Value::Bool(_) => format!("#define {name} 1{end}"),
                other => format!("#define {name} {other}{end}"),
            }).collect();
            let config = SdkConfig::parse(&text).unwrap();
            for (name, value) in &defines {
                prop_assert!(config.is(name, value), "{} {:?} in {}", name, value, text);
            }
            prop_assert_eq!(config.0.len(), defines.len());
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            drop(SdkConfig::parse(&text));
        }
    }
}
