//! Puts the lines of a patch set into the text of one defconfig file, and takes them out again.
//!
//! The lines go into a block at the end, where they win, between two comment lines that name the set.

use super::defconfig::{self, Line};
use super::{Replace, SetLine};
use crate::libs::Value;

const BEGIN: &str = "# >>> patch set ";
const END: &str = "# <<< patch set ";
/// Ends the block's first line where the file had no last newline, so that taking the block out gives the same bytes.
const NEWLINE_ADDED: &str = " (newline added above)";
const REPLACED: &str = "# replaced by patch set ";

/// What one set wants of one file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// Name of the set.
    pub(crate) set: &'a str,
    /// Its lines for this file.
    pub(crate) lines: &'a [SetLine],
    /// What it replaces in this file.
    pub(crate) replaces: &'a [&'a Replace],
}

/// The text with the set in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Injected {
    /// The whole text.
    pub(crate) text: String,
    /// One a line of the set, in its order.
    pub(crate) placed: Vec<Placed>,
}

/// Where a line of the set stands in the new text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// From 1.
    pub(crate) line: usize,
    /// The line that it replaced, or the line itself where it stood there already.
    pub(crate) before: Option<String>,
}

/// Why the set does not go into the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The line of the text, from 1.
    pub(crate) line: usize,
    /// Whose wish it is against: the set's line, from 1; `None` where the text itself is at fault.
    pub(crate) set_line: Option<usize>,
    /// What is wrong and what to do.
    pub(crate) text: String,
}

/// Puts `wish` into `text`; a text that holds it already comes back as it is.
pub(crate) fn inject(text: &str, wish: Wish<'_>) -> Result<Injected, Vec<Conflict>> {
    let Some(stripped) = strip(text, wish.set).map_err(|conflict| vec![conflict])? else {
        return place(text, wish);
    };
    let injected =
        place(&stripped.original, wish).map_err(|conflicts| stripped.renumber(conflicts))?;
    if injected.text == text {
        return Ok(injected);
    }
    let set = wish.set;
    Err(vec![conflict(
        stripped.begin,
        format!(
            "the block of patch set {set} is not as the set writes it: it was edited, lines follow it, or the set changed \
             since; remove the block with its two comment lines, or restore the file with git checkout"
        ),
    )])
}

/// A text from which a block was taken out.
#[derive(Debug)]
pub(crate) struct Stripped {
    /// The text as it was before.
    pub(crate) original: String,
    /// Where the block began, from 1.
    begin: usize,
    /// Lines of the block.
    length: usize,
}

impl Stripped {
    /// Turns line numbers of the original into those of the text that holds the block.
    fn renumber(&self, mut conflicts: Vec<Conflict>) -> Vec<Conflict> {
        for conflict in &mut conflicts {
            if conflict.line >= self.begin {
                conflict.line += self.length;
            }
        }
        conflicts
    }
}

/// Takes the set's block out, and gives back the lines that it replaced. `None` where the text holds no block.
pub(crate) fn strip(text: &str, set: &str) -> Result<Option<Stripped>, Conflict> {
    let lines = defconfig::lines(text);
    let prefix = format!("{REPLACED}{set}: ");
    let Some(block) = find_block(&lines, set)? else {
        if let Some(index) = lines.iter().position(|line| line.text.starts_with(&prefix)) {
            let text = format!(
                "patch set {set} was removed by half: this line of its is still there; \
                 restore what stands after `: `, or the file with git checkout"
            );
            return Err(conflict(index + 1, text));
        }
        return Ok(None);
    };
    let mut original = String::with_capacity(text.len());
    for (index, line) in lines.iter().enumerate() {
        if (block.begin..=block.end).contains(&index) {
            continue;
        }
        original.push_str(line.text.strip_prefix(&prefix).unwrap_or(line.text));
        if !(block.newline_added && index + 1 == block.begin) {
            original.push_str(line.end);
        }
    }
    Ok(Some(Stripped {
        original,
        begin: block.begin + 1,
        length: block.end - block.begin + 1,
    }))
}

/// The text above the first block of any set.
pub(crate) fn before_block(text: &str) -> &str {
    text.find(BEGIN).map_or(text, |at| &text[..at])
}

/// A block by the indexes of its two comment lines.
struct Block {
    begin: usize,
    end: usize,
    newline_added: bool,
}

/// Finds the block of `set`. A block of another set, or one that is not whole, is an error.
fn find_block(lines: &[Line<'_>], set: &str) -> Result<Option<Block>, Conflict> {
    let mut found: Option<Block> = None;
    let mut open: Option<(usize, bool)> = None;
    let half = |index: usize| {
        let text = format!(
            "the block of patch set {set} is not whole: its two comment lines do not pair up; \
             remove what is left of it, or restore the file with git checkout"
        );
        conflict(index + 1, text)
    };
    for (index, line) in lines.iter().enumerate() {
        let begins = line.text.strip_prefix(BEGIN);
        let Some(rest) = begins.or_else(|| line.text.strip_prefix(END)) else {
            continue;
        };
        let newline_added = rest.ends_with(NEWLINE_ADDED);
        let name = rest.strip_suffix(NEWLINE_ADDED).unwrap_or(rest);
        if name != set {
            let text = format!(
                "patch set {name} is in this file already; one set at a time: restore the file with git checkout"
            );
            return Err(conflict(index + 1, text));
        }
        match (begins.is_some(), open.take()) {
            (true, None) if found.is_none() => open = Some((index, newline_added)),
            (false, Some((begin, newline_added))) => {
                found = Some(Block {
                    begin,
                    end: index,
                    newline_added,
                });
            }
            _ => return Err(half(index)),
        }
    }
    match open {
        Some((begin, _)) => Err(half(begin)),
        None => Ok(found),
    }
}

/// Puts `wish` into a text without a block of its.
fn place(text: &str, wish: Wish<'_>) -> Result<Injected, Vec<Conflict>> {
    let lines = defconfig::lines(text);
    let mut fates = Vec::new();
    let mut conflicts = Vec::new();
    for line in wish.lines {
        match fate(&lines, line, wish) {
            Ok(fate) => fates.push(fate),
            Err(conflict) => conflicts.push(conflict),
        }
    }
    if conflicts.is_empty() {
        Ok(write(&lines, wish, &fates))
    } else {
        Err(conflicts)
    }
}

/// What becomes of one line of the set.
enum Fate {
    /// The line with this index says so already, and wins.
    Stands(usize),
    /// It goes into the block, and these lines are commented out.
    Added { replaced: Vec<usize> },
}

fn fate(lines: &[Line<'_>], line: &SetLine, wish: Wish<'_>) -> Result<Fate, Conflict> {
    let replaced = |own: bool| -> Vec<usize> {
        wish.replaces
            .iter()
            .filter(|replace| replace.by == line.symbol && (own || replace.symbol != line.symbol))
            .flat_map(|replace| {
                defconfig::assignments(lines, &replace.symbol)
                    .into_iter()
                    .filter(|(_, value)| Value::parse(value).as_ref() == Some(&replace.value))
                    .map(|(index, _)| index)
            })
            .collect()
    };
    // Only the last assignment counts; what stands above it has no effect.
    let Some((index, value)) = defconfig::assignments(lines, &line.symbol).pop() else {
        return Ok(Fate::Added {
            replaced: replaced(true),
        });
    };
    if Value::parse(value).as_ref() == Some(&line.value) {
        let replaced = replaced(false);
        return Ok(if replaced.is_empty() {
            Fate::Stands(index)
        } else {
            Fate::Added { replaced }
        });
    }
    let replaced = replaced(true);
    if replaced.contains(&index) {
        return Ok(Fate::Added { replaced });
    }
    Err(Conflict {
        line: index + 1,
        set_line: Some(line.number),
        text: format!(
            "the file says `{}`, the set wants `{}`; if the set is to replace that line, say so by a [[replace]] in its \
             patch.toml",
            lines[index].text.trim_end(),
            line.text
        ),
    })
}

fn write(lines: &[Line<'_>], wish: Wish<'_>, fates: &[Fate]) -> Injected {
    let set = wish.set;
    let replaced = |index: usize| {
        fates
            .iter()
            .any(|fate| matches!(fate, Fate::Added { replaced } if replaced.contains(&index)))
    };
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if replaced(index) {
            text.push_str(&format!("{REPLACED}{set}: "));
        }
        text.push_str(line.text);
        text.push_str(line.end);
    }
    let end = lines
        .iter()
        .rev()
        .map(|line| line.end)
        .find(|end| !end.is_empty())
        .unwrap_or("\n");
    let newline_added = lines.last().is_some_and(|line| line.end.is_empty());
    let mut block = Vec::new();
    let mut placed = Vec::new();
    for (line, fate) in wish.lines.iter().zip(fates) {
        placed.push(match fate {
            Fate::Stands(index) => Placed {
                line: index + 1,
                before: Some(lines[*index].text.to_owned()),
            },
            Fate::Added { replaced } => {
                block.push(line.text.as_str());
                Placed {
                    line: lines.len() + 1 + block.len(),
                    before: replaced.last().map(|index| lines[*index].text.to_owned()),
                }
            }
        });
    }
    if !block.is_empty() {
        let (added_end, note) = if newline_added {
            (end, NEWLINE_ADDED)
        } else {
            ("", "")
        };
        text.push_str(&format!("{added_end}{BEGIN}{set}{note}{end}"));
        for line in block {
            text.push_str(&format!("{line}{end}"));
        }
        text.push_str(&format!("{END}{set}{end}"));
    }
    Injected { text, placed }
}

fn conflict(line: usize, text: String) -> Conflict {
    Conflict {
        line,
        set_line: None,
        text,
    }
}

#[cfg(test)]
mod tests;
