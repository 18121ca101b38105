//! The value of a Kconfig symbol, as a defconfig file writes it and as sdkconfig.h defines it.

use std::fmt;

/// A value that a symbol is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `y` or `n`; `# CONFIG_X is not set` is `n`.
    Bool(bool),
    /// A decimal or hexadecimal number; `16` and `0x10` are the same value.
    Number(i128),
    /// A text, without quotes and escapes.
    Text(String),
}

impl Value {
    /// Reads what stands right of `=` in a defconfig file; `None` if it is none of the three forms.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "y" => Some(Self::Bool(true)),
            "n" => Some(Self::Bool(false)),
            _ if text.starts_with('"') => unquote(text).map(Self::Text),
            _ => number(text).map(Self::Number),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(on) => f.write_str(if *on { "y" } else { "n" }),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => {
                write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    }
}

fn number(text: &str) -> Option<i128> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    let plain = digits
        .strip_prefix('-')
        .filter(|_| radix == 10)
        .unwrap_or(digits);
    let well_formed = !plain.is_empty() && plain.chars().all(|digit| digit.is_digit(radix));
    well_formed
        .then(|| i128::from_str_radix(digits, radix).ok())
        .flatten()
}

/// The text between the quotes; Kconfig escapes `"` and `\` with a backslash.
pub(crate) fn unquote(quoted: &str) -> Option<String> {
    let inner = quoted
        .strip_prefix('"')?
        .strip_suffix('"')
        .filter(|_| quoted.len() >= 2)?;
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(next) = chars.next() {
        match next {
            '"' => return None,
            '\\' => text.push(chars.next()?),
            _ => text.push(next),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_are_told_apart() {
        assert_eq!(Value::parse("y"), Some(Value::Bool(true)));
        assert_eq!(Value::parse("0x1F"), Value::parse("31"));
        assert_ne!(Value::parse("y"), Value::parse("1"));
        for bad in [
            "", "yes", "Y", "m", "0x", "-", "0x-1", "+1", "1 ", "\"", "\"a\"b\"", "\"a\\\"", "text",
        ] {
            assert_eq!(Value::parse(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_value_reads_back(text in any::<String>(), number in any::<i64>(), on in any::<bool>()) {
            for value in [Value::Text(text), Value::Number(number.into()), Value::Bool(on)] {
                prop_assert_eq!(Value::parse(&value.to_string()), Some(value));
            }
        }
    }
}
