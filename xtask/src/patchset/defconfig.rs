//! How Kconfig reads a defconfig file: line ends, assignments, and which of them wins.
//!
//! The rules are those of `load_config` in esp-idf-kconfig: trailing blanks do not count, a line that begins otherwise
//! than `CONFIG_NAME=` or `# CONFIG_NAME is not set` assigns nothing, the last assignment of a symbol wins.

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Without its end.
    pub(crate) text: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing for a last line without an end.
    pub(crate) end: &'a str,
}

/// Splits at all three kinds of line end, as Python's text files do; joined again the lines give the same text.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let end = match &rest[at..] {
            "" => 0,
            tail if tail.starts_with("\r\n") => 2,
            _ => 1,
        };
        lines.push(Line {
            text: &rest[..at],
            end: &rest[at..at + end],
        });
        rest = &rest[at + end..];
    }
    lines
}

/// The symbol (with `CONFIG_`) and the value that a line assigns; `n` for `# CONFIG_X is not set`.
pub(crate) fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end();
    if let Some(rest) = line.strip_prefix("# CONFIG_") {
        let name = rest.split(' ').next().unwrap_or_default();
        let unset = !name.is_empty() && rest[name.len()..].starts_with(" is not set");
        return unset.then(|| (&line["# ".len()..][.."CONFIG_".len() + name.len()], "n"));
    }
    let (symbol, value) = line.split_once('=')?;
    let named = symbol
        .strip_prefix("CONFIG_")
        .is_some_and(|name| !name.is_empty());
    named.then_some((symbol, value))
}

/// Every assignment of `symbol`: index of its line, and value.
pub(crate) fn assignments<'a>(lines: &[Line<'a>], symbol: &str) -> Vec<(usize, &'a str)> {
    let assigned = |(index, line): (usize, &Line<'a>)| {
        assignment(line.text)
            .filter(|(name, _)| *name == symbol)
            .map(|(_, value)| (index, value))
    };
    lines.iter().enumerate().filter_map(assigned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn assignments_are_kconfigs() {
        for (line, want) in [
            ("CONFIG_A=y", Some(("CONFIG_A", "y"))),
            ("CONFIG_A=y \t", Some(("CONFIG_A", "y"))),
            ("CONFIG_A=\"x=1\"", Some(("CONFIG_A", "\"x=1\""))),
            ("# CONFIG_A is not set", Some(("CONFIG_A", "n"))),
            ("# CONFIG_A=y", None),
            ("#CONFIG_A is not set", None),
            (" CONFIG_A=y", None),
            ("# CONFIG_A is set", None),
            ("CONFIG_=y", None),
            ("# CONFIG_ is not set", None),
            ("# Matter is not set", None),
            ("", None),
        ] {
            assert_eq!(assignment(line), want, "{line}");
        }
    }

    proptest! {
        #[test]
        fn lines_join_to_the_same_text(text in "([a-c=# ]|\r|\n|\r\n){0,30}") {
            let lines = lines(&text);
            let joined: String = lines.iter().flat_map(|line| [line.text, line.end]).collect();
            prop_assert_eq!(&joined, &text);
            prop_assert!(lines.iter().rev().skip(1).all(|line| !line.end.is_empty()));
        }
    }
}
