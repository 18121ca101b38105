//! What a line of a patch set may look like. Stricter than Kconfig, which passes over a line that it does not understand.

use crate::libs::Value;

/// Reads one line: the symbol and its value, or `None` for a comment or an empty line.
///
/// # Errors
/// What is wrong with the line, and what to write instead.
pub(crate) fn read(line: &str) -> Result<Option<(String, Value)>, String> {
    let bare = line.trim();
    if bare.is_empty() {
        return Ok(None);
    }
    if let Some(comment) = bare.strip_prefix('#') {
        return read_comment(line, comment);
    }
    if bare != line {
        return Err(format!("blanks before or after the line; write `{bare}`"));
    }
    let Some((symbol, value)) = line.split_once('=') else {
        return Err(
            "no `=` in it; write CONFIG_NAME=value, or `# CONFIG_NAME is not set`".to_owned(),
        );
    };
    let (symbol_bare, value_bare) = (symbol.trim(), value.trim());
    if (symbol_bare, value_bare) != (symbol, value) {
        return Err(format!(
            "blanks around `=`; write `{symbol_bare}={value_bare}`"
        ));
    }
    check_symbol(symbol)?;
    match Value::parse(value) {
        Some(value) => Ok(Some((symbol.to_owned(), value))),
        None => Err(value_fault(symbol, value)),
    }
}

/// Whether `symbol` is a name that Kconfig can have, with its prefix.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_symbol(symbol: &str) -> Result<(), String> {
    let upper = symbol.to_ascii_uppercase();
    let name = upper.strip_prefix("CONFIG_").unwrap_or(&upper);
    if name.is_empty()
        || !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        return Err(format!(
            "`{symbol}` is not a symbol; write it as CONFIG_NAME"
        ));
    }
    if symbol != upper {
        return Err(format!("`{symbol}` is not upper case; write CONFIG_{name}"));
    }
    if !symbol.starts_with("CONFIG_") {
        return Err(format!("`{symbol}` lacks the prefix; write CONFIG_{name}"));
    }
    Ok(())
}

/// `# CONFIG_X is not set` is a wish, and must be written just so; any other comment is one.
fn read_comment(line: &str, comment: &str) -> Result<Option<(String, Value)>, String> {
    let words: Vec<&str> = comment.split_whitespace().collect();
    let [symbol, "is", "not", "set"] = words[..] else {
        return Ok(None);
    };
    check_symbol(symbol)?;
    let exact = format!("# {symbol} is not set");
    if line != exact {
        return Err(format!("Kconfig takes it for a comment; write `{exact}`"));
    }
    Ok(Some((symbol.to_owned(), Value::Bool(false))))
}

fn value_fault(symbol: &str, value: &str) -> String {
    let begins_number = value
        .trim_start_matches('-')
        .starts_with(|first: char| first.is_ascii_digit());
    match value.to_ascii_lowercase().as_str() {
        "" => format!("no value; write {symbol}=n to turn it off, {symbol}=\"\" for an empty text"),
        "y" | "yes" | "true" | "on" => format!("`{value}` is not a value; write {symbol}=y"),
        "n" | "no" | "false" | "off" => format!("`{value}` is not a value; write {symbol}=n"),
        "m" => "`m` is not a value: ESP-IDF has no modules; write y or n".to_owned(),
        _ if value.contains(" #") => {
            "a comment cannot follow a value; give it a line of its own".to_owned()
        }
        _ if value.starts_with('"') => {
            format!(
                "the quotes of {value} do not close at its end; write \\\" for a quote inside a text"
            )
        }
        _ if begins_number => {
            format!("`{value}` is not a number; write digits, or 0x and hexadecimal digits")
        }
        _ => format!("a text stands in quotes; write {symbol}=\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patchset::defconfig;
    use proptest::prelude::*;

    #[test]
    fn good_lines_and_comments() {
        let set = |line: &str| read(line).unwrap();
        assert_eq!(
            set("CONFIG_A=y"),
            Some(("CONFIG_A".into(), Value::Bool(true)))
        );
        assert_eq!(set("# CONFIG_A is not set"), set("CONFIG_A=n"));
        assert_eq!(set("CONFIG_A=0x10"), set("CONFIG_A=16"));
        assert_eq!(
            set("CONFIG_A=\"x y\""),
            Some(("CONFIG_A".into(), Value::Text("x y".into())))
        );
        for comment in [
            "",
            "# why",
            "#CONFIG_A=y",
            "  # indented",
            "# the default is not set here",
        ] {
            assert_eq!(set(comment), None, "{comment}");
        }
    }

    #[test]
    fn each_bad_line_is_told_what_to_write() {
        for (line, want) in [
            ("SPIRAM=y", "write CONFIG_SPIRAM"),
            ("config_spiram=y", "write CONFIG_SPIRAM"),
            ("spiram=y", "write CONFIG_SPIRAM"),
            (" CONFIG_A=y", "write `CONFIG_A=y`"),
            ("CONFIG_A=y ", "write `CONFIG_A=y`"),
            ("CONFIG_A = y", "write `CONFIG_A=y`"),
            ("CONFIG_A", "no `=`"),
            ("CONFIG_A:y", "no `=`"),
            ("CONFIG_=y", "not a symbol"),
            ("CONFIG_A-B=y", "not a symbol"),
            ("=y", "not a symbol"),
            ("CONFIG_A=", "no value"),
            ("CONFIG_A=Y", "write CONFIG_A=y"),
            ("CONFIG_A=off", "write CONFIG_A=n"),
            ("CONFIG_A=m", "no modules"),
            ("CONFIG_A=y # why", "line of its own"),
            ("CONFIG_A=\"x", "quotes"),
            ("CONFIG_A=\"x\"y\"", "quotes"),
            ("CONFIG_A=12k", "not a number"),
            ("CONFIG_A=0xg", "not a number"),
            ("CONFIG_A=text", "write CONFIG_A=\"text\""),
            ("#CONFIG_A is not set", "write `# CONFIG_A is not set`"),
            ("# CONFIG_A  is not set", "write `# CONFIG_A is not set`"),
            ("# SPIRAM is not set", "write CONFIG_SPIRAM"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(want), "{line}: {error}");
        }
    }

    proptest! {
        /// What this accepts, Kconfig reads as the same symbol and value; what it takes for a comment assigns nothing.
        #[test]
        fn never_laxer_than_kconfig(line in "(# ?)?(CONFIG_)?[A-Za-z_]{0,3}( is not set|=[yn\"0-9x ]{0,4})?") {
            match read(&line) {
                Ok(Some((symbol, value))) => {
                    let (name, text) = defconfig::assignment(&line).expect("Kconfig reads it");
                    prop_assert_eq!((name, Value::parse(text)), (symbol.as_str(), Some(value)));
                }
                Ok(None) => prop_assert_eq!(defconfig::assignment(&line), None),
                Err(_) => {}
            }
        }
    }
}
