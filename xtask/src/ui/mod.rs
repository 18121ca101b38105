//! Terminal output: tables, progress, colour only on a terminal.

mod bar;
mod verdict;

pub use bar::Bar;
pub use verdict::verdict;

use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use comfy_table::{ContentArrangement, Table, presets};

/// A table without frames, aligned, with a header; wrapped only on a terminal.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    if std::io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// The pieces of a line that stands behind `indent` columns, broken at blanks to the terminal's width; the whole line
/// where standard output is no terminal, so that what reads it finds it on one line.
pub fn fold(line: &str, indent: usize) -> Vec<String> {
    fold_to(
        line,
        Table::new()
            .width()
            .map(|width| usize::from(width).saturating_sub(indent)),
    )
}

fn fold_to(line: &str, width: Option<usize>) -> Vec<String> {
    // Narrower than this, folded text is harder to read than what the terminal makes of the whole line.
    let Some(width) = width.filter(|width| *width >= 20) else {
        return vec![line.to_owned()];
    };
    let mut pieces = vec![String::new()];
    for word in line.split(' ') {
        let last = pieces.len() - 1;
        let piece = &mut pieces[last];
        if piece.is_empty() {
            piece.push_str(word);
        } else if piece.chars().count() + 1 + word.chars().count() <= width {
            piece.push(' ');
            piece.push_str(word);
        } else {
            pieces.push(word.to_owned());
        }
    }
    pieces
}

/// Prints to standard output; a reader that has gone away (`| head`) ends the output, not the program.
///
/// # Errors
/// The output cannot be written, for example to a file on a full disk.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing the result to standard output")
        }
        _ => Ok(()),
    }
}

/// [`print()`] with a line end.
///
/// # Errors
/// As [`print()`].
pub fn println(text: &str) -> Result<()> {
    print(&format!("{text}\n"))
}

/// Prints a line to standard error. Where that cannot be written there is nobody left to tell.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Bytes as a person reads them, for example `70.1 MB` (powers of ten, as in download pages).
pub fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

/// A duration as a person reads it, for example `1.5 s` or `3 min 20 s`.
pub fn duration(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_folded_at_blanks_and_only_where_there_is_a_width() {
        let line = "sketches with quad PSRAM, or with PSRAM disabled";
        assert_eq!(fold_to(line, None), [line]);
        assert_eq!(fold_to(line, Some(19)), [line]);
        assert_eq!(
            fold_to(line, Some(24)),
            ["sketches with quad", "PSRAM, or with PSRAM", "disabled"]
        );
        assert_eq!(
            fold_to("a components/spi_flash/spi_flash_os_func_app.c", Some(20)),
            ["a", "components/spi_flash/spi_flash_os_func_app.c"]
        );
        assert_eq!(fold_to("", Some(80)), [""]);
    }
}
