//! `cargo xtask install --as menu`: what is said of it.

use crate::swap::Outcome;
use crate::swap::menu::{MENU, MenuInstalled, MenuReverted};
use crate::ui;

pub(super) fn shown_install(done: &MenuInstalled, again: &str) -> String {
    let set = match &done.patch_set {
        Some(set) => format!("patch set {}", set.name),
        None => "unverified: no manifest".to_owned(),
    };
    let suffix = &done.offer.suffix;
    let zip = done.zip.display();
    let size = format!("{} files, {}", done.files, ui::bytes(done.bytes));
    let mut lines = Vec::new();
    match done.outcome {
        Outcome::Nothing => lines.push(format!(
            "{zip} ({set}) is in the menu already, every file as it should be; nothing was changed"
        )),
        Outcome::Planned => {
            lines.push(format!("would unpack  {zip} ({set}): {size}"));
            lines.push(format!("        to    {}", done.libraries.display()));
            lines.push(format!(
                "would write   a menu for {} into {}",
                boards(done.boards),
                done.file.display()
            ));
        }
        Outcome::Done => {
            lines.push(format!("installed {zip} ({set}): {size}"));
            lines.push(format!("libraries  {}", done.libraries.display()));
            lines.push(format!(
                "menu       for {} in {}",
                boards(done.boards),
                done.file.display()
            ));
        }
    }
    let remove = match done.outcome {
        Outcome::Planned => "would remove ",
        _ => "removed   ",
    };
    if let Some(replaced) = &done.replaced {
        lines.push(format!("{remove} what stood there: {replaced}"));
    }
    let removed = done.removed.iter().chain(&done.caches.removed);
    lines.extend(removed.map(|path| format!("{remove} {}", path.display())));
    lines.extend(done.left_out.iter().map(|why| format!("no menu for {why}")));
    if done.outcome == Outcome::Done {
        lines.push(String::new());
        lines.push(format!(
            "Next: restart the Arduino IDE if it is open, and choose Tools > Core libraries > Patched: {suffix}, on a board with octal \
             PSRAM. Stock stays the default."
        ));
        lines.push(format!(
            "arduino-cli: --fqbn {}, or {MENU}={suffix} added to the options that you use",
            done.fqbn
        ));
        lines.push(format!("Taken out again by: {again} --revert --as menu"));
    }
    lines.join("\n")
}

fn boards(count: usize) -> String {
    match count {
        1 => "1 board".to_owned(),
        count => format!("{count} boards"),
    }
}

pub(super) fn shown_revert(done: &MenuReverted) -> String {
    let mut lines = Vec::new();
    let [would, remove] = match done.outcome {
        Outcome::Planned => ["would take the menu out of", "would remove"],
        _ => ["the menu is taken out of", "removed"],
    };
    if done.outcome == Outcome::Nothing {
        lines.push("there is no menu to take out".to_owned());
    }
    if let Some(file) = &done.file {
        let also = match done.file_removed {
            true => ", which was made for it and goes, too",
            false => "",
        };
        lines.push(format!("{would} {}{also}", file.display()));
    }
    lines.extend(
        done.removed
            .iter()
            .map(|path| format!("{remove} {}", path.display())),
    );
    lines.extend(
        done.left
            .iter()
            .map(|left| format!("left as it is: {left}")),
    );
    if done.outcome == Outcome::Done {
        lines.push(format!(
            "\nNext: restart the Arduino IDE if it is open. Where a sketch's FQBN says {MENU}=..., take that out of it."
        ));
    }
    lines.join("\n")
}
