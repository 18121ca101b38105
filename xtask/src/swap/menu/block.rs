//! The managed block in boards.local.txt: put in and taken out so that every other byte of the file stays.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;

use super::properties::Properties;
use crate::names::{CHIPS, Chip};

/// Id of the menu. Arduino's own are words such as `PSRAM` or `UploadSpeed`; no core is known to use this one.
pub const MENU: &str = "CoreLibs";
/// What the menu is called in Tools.
pub(super) const TITLE: &str = "Core libraries";
/// Id of the first option, which is also what counts where a sketch says nothing.
pub(super) const STOCK: &str = "stock";

/// How the block's first and last lines begin.
const BEGIN: &str = "# >>> cargo xtask: menu \"Core libraries\"";
const END: &str = "# <<< cargo xtask: menu \"Core libraries\"";
/// Marks in the first line, for the way back: the file was made for the block; the line before it had no end.
const MADE: &str = "[file made]";
const ENDED: &str = "[line ended]";

/// Libraries that the menu offers: a chip, and the suffix of its patched libraries.
pub(super) type Offers = BTreeSet<(String, String)>;

/// Where the block stands in the file, and how it came there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    /// From the first byte of its first line to the last of its last.
    lines: Range<usize>,
    made: bool,
    ended: bool,
}

/// What the block offers; empty without one.
///
/// # Errors
/// A block that was half removed, or that stands there twice.
pub(super) fn offers(file: &[u8]) -> Result<Offers, String> {
    let Some(found) = find(file)? else {
        return Ok(Offers::new());
    };
    let mut properties = Properties::default();
    properties.add(&file[found.lines]);
    let ending = ".build.chip_variant";
    let variants = properties.iter().filter(|(key, _)| key.ends_with(ending));
    let offer = |(_, variant): (&str, &str)| {
        let (chip, suffix) = variant.split_once('-')?;
        CHIPS
            .contains(&chip)
            .then(|| (chip.to_owned(), suffix.to_owned()))
    };
    Ok(variants.filter_map(offer).collect())
}

/// The file with the block's lines for `boards` (per offer's chip) in place of those that it had; `file` is `None` where there
/// is none.
///
/// # Errors
/// As [`offers`].
pub(super) fn put(
    file: Option<&[u8]>,
    offers: &Offers,
    boards: &dyn Fn(&Chip) -> Vec<String>,
) -> Result<Vec<u8>, String> {
    let (before, found) = match file {
        Some(file) => (file, find(file)?),
        None => (&[][..], None),
    };
    let (place, made, ended) = match &found {
        Some(found) => (found.lines.clone(), found.made, found.ended),
        None => {
            let ended = !before.is_empty() && !before.ends_with(b"\n");
            (before.len()..before.len(), file.is_none(), ended)
        }
    };
    let end = line_end(before);
    let mut block = String::new();
    if found.is_none() && ended {
        block.push_str(end);
    }
    block.push_str(&lines(offers, boards, made, ended).replace('\n', end));
    let mut after = before[..place.start].to_vec();
    after.extend_from_slice(block.as_bytes());
    after.extend_from_slice(&before[place.end..]);
    Ok(after)
}

/// The file as it was before the block came: `Some(None)` where there was none; `None` where no block is in it.
///
/// # Errors
/// As [`offers`].
pub(super) fn take(file: &[u8]) -> Result<Option<Option<Vec<u8>>>, String> {
    let Some(found) = find(file)? else {
        return Ok(None);
    };
    let behind = &file[found.lines.end..];
    let mut start = found.lines.start;
    // Where the user wrote more behind the block since, the line before must keep its end.
    if found.ended && behind.is_empty() {
        start -= 1;
        if file[..start].ends_with(b"\r") && line_end(&file[..start]) == "\r\n" {
            start -= 1;
        }
    }
    let rest = [&file[..start], behind].concat();
    Ok(Some((!found.made || !rest.is_empty()).then_some(rest)))
}

fn lines(
    offers: &Offers,
    boards: &dyn Fn(&Chip) -> Vec<String>,
    made: bool,
    ended: bool,
) -> String {
    let mut text = format!(
        "{BEGIN}, written by it; taken out again by: cargo xtask install --revert --as menu"
    );
    for (mark, set) in [(MADE, made), (ENDED, ended)] {
        if set {
            let _ = write!(text, " {mark}");
        }
    }
    let _ = writeln!(text, "\nmenu.{MENU}={TITLE}");
    let chips: BTreeSet<&str> = offers.iter().map(|(chip, _)| chip.as_str()).collect();
    for chip in chips.iter().filter_map(|chip| chip.parse::<Chip>().ok()) {
        for board in boards(&chip) {
            let menu = format!("{board}.menu.{MENU}");
            let _ = writeln!(text, "{menu}.{STOCK}=Stock (Espressif's)");
            for (_, suffix) in offers.iter().filter(|(of, _)| of == chip.as_str()) {
                let _ = writeln!(text, "{menu}.{suffix}=Patched: {suffix}");
                let _ = writeln!(text, "{menu}.{suffix}.build.chip_variant={chip}-{suffix}");
            }
        }
    }
    let _ = writeln!(text, "{END}");
    text
}

/// The line ending of a file: that of its first line; a file without one gets LF, which Windows' programs read, too.
fn line_end(file: &[u8]) -> &'static str {
    match file.iter().position(|byte| *byte == b'\n') {
        Some(end) if end > 0 && file[end - 1] == b'\r' => "\r\n",
        _ => "\n",
    }
}

fn find(file: &[u8]) -> Result<Option<Found>, String> {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut start = 0;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(BEGIN.as_bytes()) {
            begins.push((start, String::from_utf8_lossy(line).into_owned()));
        } else if line.starts_with(END.as_bytes()) {
            ends.push(start + line.len());
        }
        start += line.len();
    }
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([(start, first)], [end]) if start < end => Ok(Some(Found {
            lines: *start..*end,
            made: first.contains(MADE),
            ended: first.contains(ENDED) && *start > 0,
        })),
        _ => Err(format!(
            "the lines between \"{BEGIN}\" and \"{END}\" in it were changed by hand: one of the two is missing or stands there twice; \
             remove both and all that is between them"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer(chip: &str, suffix: &str) -> Offers {
        [(chip.to_owned(), suffix.to_owned())].into()
    }

    fn boards(chip: &Chip) -> Vec<String> {
        vec![format!("{chip}"), format!("{chip}_other")]
    }

    fn with_block(file: Option<&[u8]>) -> Vec<u8> {
        put(file, &offer("esp32s3", "xip-ecc"), &boards).unwrap()
    }

    #[test]
    fn each_board_gets_the_menu_with_stock_first() {
        let text = String::from_utf8(with_block(None)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..lines.len() - 1],
            [
                "menu.CoreLibs=Core libraries",
                "esp32s3.menu.CoreLibs.stock=Stock (Espressif's)",
                "esp32s3.menu.CoreLibs.xip-ecc=Patched: xip-ecc",
                "esp32s3.menu.CoreLibs.xip-ecc.build.chip_variant=esp32s3-xip-ecc",
                "esp32s3_other.menu.CoreLibs.stock=Stock (Espressif's)",
                "esp32s3_other.menu.CoreLibs.xip-ecc=Patched: xip-ecc",
                "esp32s3_other.menu.CoreLibs.xip-ecc.build.chip_variant=esp32s3-xip-ecc",
            ]
        );
        assert!(lines[0].starts_with('#') && lines[lines.len() - 1].starts_with('#'));
    }

    #[test]
    fn the_file_comes_back_byte_for_byte() {
        let own: [&[u8]; 7] = [
            b"",
            b"my.name=Mine\n",
            b"my.name=Mine",
            b"a=1\r\nb=2\r\n",
            b"a=1\r\nb=2",
            b"\xff\xfe no text at all \x00",
            b"a=1\r",
        ];
        for file in own {
            let with = with_block(Some(file));
            assert!(with.starts_with(file));
            assert_eq!(take(&with).unwrap(), Some(Some(file.to_vec())), "{file:?}");
        }
        assert_eq!(
            take(&with_block(None)).unwrap(),
            Some(None),
            "a file of ours goes"
        );
        assert_eq!(take(b"my.name=Mine\n").unwrap(), None);
        let windows = with_block(Some(b"a=1\r\nb=2"));
        let plain = windows.iter().filter(|byte| **byte == b'\n').count();
        let pairs = windows.windows(2).filter(|pair| pair == b"\r\n").count();
        assert_eq!(plain, pairs, "no mixture of line ends");
    }

    #[test]
    fn what_the_user_wrote_since_stays() {
        let mut with = with_block(Some(b"a=1"));
        with.extend_from_slice(b"b=2\n");
        assert_eq!(take(&with).unwrap(), Some(Some(b"a=1\nb=2\n".to_vec())));
        let mut made = with_block(None);
        made.splice(0..0, *b"# mine\n");
        assert_eq!(take(&made).unwrap(), Some(Some(b"# mine\n".to_vec())));
    }

    #[test]
    fn offers_are_read_back_and_the_block_is_renewed_in_its_place() {
        let mut with = with_block(Some(b"a=1"));
        with.extend_from_slice(b"b=2\n");
        assert_eq!(offers(&with).unwrap(), offer("esp32s3", "xip-ecc"));
        let mut both = offer("esp32s3", "xip-ecc");
        both.extend(offer("esp32p4_es", "mine"));
        let renewed = put(Some(&with), &both, &boards).unwrap();
        assert_eq!(offers(&renewed).unwrap(), both);
        assert_eq!(take(&renewed).unwrap(), take(&with).unwrap());
        assert_eq!(put(Some(&renewed), &both, &boards).unwrap(), renewed);
    }

    #[test]
    fn a_block_that_was_half_removed_is_refused() {
        let with = String::from_utf8(with_block(Some(b"a=1\n"))).unwrap();
        let without = |line: &str| {
            let kept = with.lines().filter(|kept| !kept.starts_with(line));
            kept.map(|line| format!("{line}\n")).collect::<String>()
        };
        for text in [without(BEGIN), without(END), format!("{with}{with}")] {
            for error in [
                offers(text.as_bytes()).unwrap_err(),
                take(text.as_bytes()).unwrap_err(),
                put(Some(text.as_bytes()), &Offers::new(), &boards).unwrap_err(),
            ] {
                assert!(error.contains("changed by hand"), "{error}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_file_comes_back(file in prop::collection::vec(prop::sample::select(b"a=\r\n#\xff. ".to_vec()), 0..40)) {
            let with = with_block(Some(&file));
            prop_assert_eq!(take(&with).unwrap(), Some(Some(file.clone())));
            let renewed = put(Some(&with), &offer("esp32s3", "other"), &boards).unwrap();
            prop_assert_eq!(take(&renewed).unwrap(), Some(Some(file)));
        }
    }
}
