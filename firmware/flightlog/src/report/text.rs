//! Pieces of text: JSON strings, decimals, and a line that keeps its CRC.

use core::fmt::{self, Display, Write};

use crate::crc::Crc32;

/// Thousandths as a decimal number.
pub(super) struct Thousandths(pub(super) u32);

impl Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Thousandths as a person reads them: with one digit, rounded.
pub(super) struct Tenths(pub(super) u32);

impl Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (u64::from(self.0) + 50) / 100;
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}

/// A JSON line in the making: all that goes through it enters the CRC.
pub(super) struct Line<'o, W: Write + ?Sized> {
    out: &'o mut W,
    crc: Crc32,
}

impl<W: Write + ?Sized> Write for Line<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.crc.update(text.as_bytes());
        self.out.write_str(text)
    }
}

impl<'o, W: Write + ?Sized> Line<'o, W> {
    /// Begins with the text up to the first comma.
    pub(super) fn begin(out: &'o mut W, first: fmt::Arguments<'_>) -> Result<Self, fmt::Error> {
        let mut line = Self {
            out,
            crc: Crc32::new(),
        };
        line.write_fmt(first)?;
        Ok(line)
    }

    /// A field whose value is JSON as it stands: a number, `true`, `null`, an array.
    pub(super) fn raw(&mut self, name: &str, value: impl Display) -> fmt::Result {
        write!(self, ",\"{name}\":{value}")
    }

    /// A number, or null.
    pub(super) fn number(&mut self, name: &str, value: Option<impl Display>) -> fmt::Result {
        match value {
            Some(value) => self.raw(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A string.
    pub(super) fn string(&mut self, name: &str, value: &str) -> fmt::Result {
        write!(self, ",\"{name}\":")?;
        self.quoted(value)
    }

    /// An array, or an object's inside: `each` of the items, with commas between.
    pub(super) fn items<T>(
        &mut self,
        open: char,
        items: impl Iterator<Item = T>,
        close: char,
        mut each: impl FnMut(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        self.write_char(open)?;
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.write_char(',')?;
            }
            each(self, item)?;
        }
        self.write_char(close)
    }

    /// A JSON string in its quotes.
    pub(super) fn quoted(&mut self, text: &str) -> fmt::Result {
        self.write_char('"')?;
        for character in text.chars() {
            match character {
                '"' | '\\' => write!(self, "\\{character}")?,
                // Beside control characters all that is not ASCII: a serial monitor may not know UTF-8.
                ' '..='~' => self.write_char(character)?,
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        write!(self, "\\u{unit:04x}")?;
                    }
                }
            }
        }
        self.write_char('"')
    }

    /// Ends the line with its CRC.
    pub(super) fn end(self) -> fmt::Result {
        writeln!(self.out, ",\"crc\":\"{:08x}\"}}", self.crc.finish())
    }
}
