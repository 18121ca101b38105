//! Which boards get the menu, and whether the core's platform.txt heeds it.

use std::collections::BTreeSet;

use super::properties::Properties;
use crate::arduino::Os;
use crate::names::Chip;

/// The property by which platform.txt finds a chip's libraries (ARDUINO-FACTS A2, A3), and what it must lead to.
const LIBRARIES: &str = "compiler.sdk.path";
const BY_CHIP_VARIANT: &str = "{runtime.tools.{build.chip_variant}-libs.path}";

/// The boards of a chip.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Boards {
    /// Their ids, sorted.
    pub(super) ids: Vec<String>,
    /// Boards with that chip that take other libraries than the chip's, each with why it gets no menu.
    pub(super) left_out: Vec<String>,
}

/// The boards of `chip` in boards.txt, with what the user changed in boards.local.txt.
pub(super) fn of_chip(boards: &Properties, chip: &Chip) -> Boards {
    let ids: BTreeSet<&str> = boards
        .iter()
        .filter_map(|(key, _)| key.strip_suffix(".build.mcu"))
        .filter(|id| !id.contains('.'))
        .collect();
    let mut found = Boards::default();
    for id in ids {
        let mcu = boards.get(&format!("{id}.build.mcu")).unwrap_or_default();
        let variant = boards.get(&format!("{id}.build.chip_variant"));
        let takes = match variant {
            None | Some("{build.mcu}") => mcu,
            Some(variant) => variant,
        };
        let by_menu = variants_by_menu(boards, id);
        let concerned =
            takes == chip.as_str() || mcu == chip.as_str() || by_menu.contains(chip.as_str());
        if !concerned {
            continue;
        }
        if !by_menu.is_empty() {
            found
                .left_out
                .push(format!("{id}: another menu of it chooses the libraries"));
        } else if takes == chip.as_str() {
            found.ids.push(id.to_owned());
        } else {
            found
                .left_out
                .push(format!("{id}: it takes the libraries of {takes}"));
        }
    }
    found
}

/// The chip variants among which menus of the board choose. Two menus that set one property would win by chance.
fn variants_by_menu<'a>(boards: &'a Properties, id: &str) -> BTreeSet<&'a str> {
    let menus = format!("{id}.menu.");
    let values = boards
        .iter()
        .filter(|(key, _)| key.starts_with(&menus) && key.ends_with(".build.chip_variant"));
    values.map(|(_, value)| value).collect()
}

/// Whether a board's chip variant decides, in this platform.txt, which libraries are taken, and nothing else.
///
/// # Errors
/// What it says instead.
pub(super) fn check_platform(platform: &Properties, os: Os) -> Result<(), String> {
    let mut key = LIBRARIES.to_owned();
    let mut value = platform.get_on(&key, os);
    // In a release it leads there in one step: compiler.sdk.path={tools.esp32-arduino-libs.path}.
    for _ in 0..4 {
        let next = value
            .and_then(|value| value.strip_prefix('{')?.strip_suffix('}'))
            .filter(|name| platform.get_on(name, os).is_some());
        let Some(next) = next else { break };
        key = next.to_owned();
        value = platform.get_on(&key, os);
    }
    if value != Some(BY_CHIP_VARIANT) {
        return Err(match value {
            Some(value) => format!("in it {key} is {value}, not {BY_CHIP_VARIANT}"),
            None => format!("it has no {key}"),
        });
    }
    let elsewhere = platform.iter().find(|(_, value)| {
        value
            .replace(BY_CHIP_VARIANT, "")
            .contains("{build.chip_variant}")
    });
    match elsewhere {
        Some((key, _)) => Err(format!(
            "in it {key} uses build.chip_variant, too, which the menu would change"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(text: &str) -> Properties {
        let mut properties = Properties::default();
        properties.add(text.as_bytes());
        properties
    }

    const RELEASED: &str = "# a released core\n\
        tools.esp32-arduino-libs.path={runtime.tools.{build.chip_variant}-libs.path}\n\
        tools.esp32-arduino-libs.path.windows={runtime.tools.{build.chip_variant}-libs.path}\n\
        compiler.sdk.path={tools.esp32-arduino-libs.path}\n\
        build.chip_variant={build.mcu}\n";

    #[test]
    fn a_released_platform_heeds_the_menu_and_others_are_refused_by_what_they_say() {
        for os in [Os::Linux, Os::MacOs, Os::Windows] {
            check_platform(&properties(RELEASED), os).unwrap();
            let short = format!("compiler.sdk.path={BY_CHIP_VARIANT}\r\n");
            check_platform(&properties(&short), os).unwrap();
        }
        let in_git = "tools.esp32-arduino-libs.path={runtime.platform.path}/tools/esp32-arduino-libs\n\
                      compiler.sdk.path={tools.esp32-arduino-libs.path}/{build.chip_variant}\n";
        let moved = format!("{RELEASED}compiler.sdk.path.linux=/my/libs\n");
        let twice = format!("{RELEASED}tools.esptool.args=--chip {{build.chip_variant}}\n");
        let circle = "compiler.sdk.path={a}\na={compiler.sdk.path}\n";
        for (text, said) in [
            (
                in_git,
                "{tools.esp32-arduino-libs.path}/{build.chip_variant}",
            ),
            (moved.as_str(), "/my/libs"),
            (twice.as_str(), "tools.esptool.args"),
            (circle, "compiler.sdk.path"),
            ("name=ESP32\n", "it has no compiler.sdk.path"),
        ] {
            let error = check_platform(&properties(text), Os::Linux).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        check_platform(&properties(&moved), Os::MacOs).unwrap();
    }

    #[test]
    fn every_board_of_the_chip_is_found_and_those_with_other_libraries_are_told() {
        let boards = properties(
            "menu.PSRAM=PSRAM\n\
             esp32s3.name=ESP32S3 Dev Module\r\n\
             esp32s3.build.mcu=esp32s3\r\n\
             lolin_s3.build.mcu = esp32s3\n\
             lolin_s3.build.chip_variant=esp32s3\n\
             same_s3.build.mcu=esp32s3\n\
             same_s3.build.chip_variant={build.mcu}\n\
             odd_s3.build.mcu=esp32s3\n\
             odd_s3.build.chip_variant=esp32s3-mine\n\
             #off_s3.build.mcu=esp32s3\n\
             choosy_s3.build.mcu=esp32s3\n\
             choosy_s3.menu.Rev.old.build.chip_variant=esp32s3_es\n\
             p4.build.mcu=esp32p4\n\
             p4_es.build.mcu=esp32p4\n\
             p4_es.build.chip_variant=esp32p4_es\n\
             c6.build.mcu=esp32c6\n",
        );
        let found = of_chip(&boards, &"esp32s3".parse().unwrap());
        assert_eq!(found.ids, ["esp32s3", "lolin_s3", "same_s3"]);
        assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
        assert!(
            found.left_out[0].contains("choosy_s3") && found.left_out[1].contains("esp32s3-mine")
        );
        let early = of_chip(&boards, &"esp32p4_es".parse().unwrap());
        assert_eq!(early.ids, ["p4_es"]);
        assert_eq!(
            of_chip(&boards, &"esp32h2".parse().unwrap()),
            Boards::default()
        );
    }
}
