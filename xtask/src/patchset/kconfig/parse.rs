//! The Kconfig language, as far as definitions, types, choices and includes go.

use super::{Kind, Symbol};
use crate::libs::Value;

/// What one Kconfig file says.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) symbols: Vec<(String, Symbol)>,
    /// Files that it includes, as it writes them.
    pub(super) sources: Vec<Source>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) path: String,
    /// `rsource` and `orsource` are relative to the file, `source` to the ESP-IDF.
    pub(super) relative: bool,
}

/// Reads the definitions in a Kconfig file. `place` names unnamed choices.
pub(super) fn parse(text: &str, place: &str) -> File {
    let mut file = File::default();
    let mut help = Help::Outside;
    let mut choice: Option<String> = None;
    let mut in_symbol = false;
    for (number, line) in (1..).zip(text.lines()) {
        if help.covers(line) {
            continue;
        }
        let mut words = line.split_whitespace();
        let keyword = words.next().unwrap_or_default();
        let rest = line.trim_start()[keyword.len()..].trim();
        match keyword {
            "config" | "menuconfig" => {
                in_symbol = true;
                let name = words.next().unwrap_or_default();
                let symbol = Symbol {
                    choice: choice.clone(),
                    ..Symbol::default()
                };
                file.symbols.push((format!("CONFIG_{name}"), symbol));
            }
            "choice" => {
                in_symbol = false;
                choice = Some(match words.next() {
                    Some(name) if !name.starts_with('#') => name.to_owned(),
                    _ => format!("{place}:{number}"),
                });
            }
            "endchoice" => (choice, in_symbol) = (None, false),
            "menu" | "endmenu" | "if" | "endif" | "comment" | "mainmenu" => in_symbol = false,
            "source" | "rsource" | "osource" | "orsource" => {
                in_symbol = false;
                file.sources
                    .extend(rest.split('"').nth(1).map(|path| Source {
                        path: path.to_owned(),
                        relative: keyword.ends_with("rsource"),
                    }));
            }
            "help" | "---help---" => help = Help::Begins(indent(line)),
            _ if in_symbol => {
                if let Some((_, symbol)) = file.symbols.last_mut() {
                    symbol.property(keyword, rest);
                }
            }
            _ => {}
        }
    }
    for (_, symbol) in &mut file.symbols {
        // A range that is not plain numbers was marked by bounds that cannot be met.
        if symbol.ranges.iter().any(|(low, high)| low > high) {
            symbol.ranges.clear();
        }
    }
    file
}

impl Symbol {
    fn property(&mut self, keyword: &str, rest: &str) {
        match keyword {
            "bool" | "def_bool" | "tristate" | "def_tristate" => self.kind = Some(Kind::Bool),
            "int" | "def_int" => self.kind = Some(Kind::Int),
            "hex" | "def_hex" => self.kind = Some(Kind::Hex),
            "string" | "def_string" => self.kind = Some(Kind::Text),
            "range" => {
                let mut words = rest
                    .split_whitespace()
                    .take_while(|word| !word.starts_with('#'));
                let mut bound = || match words.next().and_then(Value::parse) {
                    Some(Value::Number(number)) => Some(number),
                    _ => None,
                };
                let bounds = bound().zip(bound());
                // The range of a condition counts beside the others; one that ends in a symbol makes all unknown.
                self.ranges.push(bounds.unwrap_or((1, 0)));
            }
            _ => {}
        }
    }
}

/// Where a help text is: it is indented deeper than its `help` line, and ends with the first line that is less so.
enum Help {
    Outside,
    Begins(usize),
    Inside(usize),
}

impl Help {
    fn covers(&mut self, line: &str) -> bool {
        if matches!(self, Self::Outside) {
            return false;
        }
        if line.trim().is_empty() {
            return true;
        }
        let depth = indent(line);
        match *self {
            Self::Begins(help) if depth > help => *self = Self::Inside(depth),
            Self::Inside(text) if depth >= text => {}
            _ => *self = Self::Outside,
        }
        !matches!(self, Self::Outside)
    }
}

/// Columns of blanks before the text; a tab goes to the next multiple of eight.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for next in line.chars() {
        match next {
            ' ' => columns += 1,
            '\t' => columns = columns / 8 * 8 + 8,
            _ => break,
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
menu \"SPI RAM\"
    config SPIRAM_ECC
        bool \"ECC\"
        help
            Long text.

            config NOT_ONE of the symbols
    choice
        prompt \"Speed\"
        config SPEED_40M
            bool \"40\"
        config SPEED_80M  # comment
            bool
    endchoice
    config STACK
        int \"Stack\" if ADVANCED
        range 1024 16384
    config COUNT
        int
        range 1 LIMIT
    menuconfig NAME
        string \"Name\"
    orsource \"./$IDF_TARGET/Kconfig.spiram\"
    source \"$IDF_PATH/components/bt/controller/esp32c3/Kconfig.in\"
endmenu
";

    #[test]
    fn definitions_types_choices_and_includes() {
        let file = parse(TEXT, "a/Kconfig");
        let names: Vec<&str> = file.symbols.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names.join(" "),
            "CONFIG_SPIRAM_ECC CONFIG_SPEED_40M CONFIG_SPEED_80M CONFIG_STACK CONFIG_COUNT CONFIG_NAME"
        );
        let symbol = |index: usize| &file.symbols[index].1;
        assert_eq!(
            (symbol(0).kind, &symbol(0).choice),
            (Some(Kind::Bool), &None)
        );
        assert_eq!(symbol(1).choice, symbol(2).choice);
        assert_eq!(symbol(1).choice.as_deref(), Some("a/Kconfig:8"));
        assert_eq!(
            (symbol(3).kind, symbol(3).ranges.as_slice()),
            (Some(Kind::Int), &[(1024, 16384)][..])
        );
        assert!(symbol(4).ranges.is_empty());
        assert_eq!(
            (symbol(5).kind, &symbol(5).choice),
            (Some(Kind::Text), &None)
        );
        let sources: Vec<(&str, bool)> = file
            .sources
            .iter()
            .map(|source| (source.path.as_str(), source.relative))
            .collect();
        assert_eq!(
            sources,
            [
                ("./$IDF_TARGET/Kconfig.spiram", true),
                (
                    "$IDF_PATH/components/bt/controller/esp32c3/Kconfig.in",
                    false
                )
            ]
        );
    }
}
