//! Was the build made of what was pinned? Upstream's own versions.txt says what it took.

use std::path::Path;

use anyhow::{Result, bail};

use crate::exit::Refusal;
use crate::release::{Pins, versions_txt};

/// Compares the content of the versions.txt of a build with the pins. Gives what is worth a warning: components that the
/// pins did not hold.
///
/// # Errors
/// [`Refusal::Check`] with every source at another commit, and every managed component of another version than its pin.
pub(super) fn compare(pins: &Pins, text: &[u8], file: &Path) -> Result<Vec<String>> {
    let built = versions_txt::parse(text, file.display())?;
    let mut wrong = Vec::new();
    for pin in &pins.sources {
        match built.sources.iter().find(|source| source.name == pin.name) {
            Some(source) if same_commit(&source.commit, &pin.commit) => {}
            Some(source) => wrong.push(format!(
                "{} is at {}, pinned is {}",
                pin.name, source.commit, pin.commit
            )),
            None => wrong.push(format!(
                "{} is not named, pinned is {}",
                pin.name, pin.commit
            )),
        }
    }
    let mut warnings = Vec::new();
    for component in &built.components {
        let (name, version) = (
            &component.name,
            component.version.as_deref().unwrap_or("of no version"),
        );
        match pins.components.iter().find(|pin| pin.name == *name) {
            Some(pin) => match &pin.version {
                Some(pinned) if pinned != version => {
                    wrong.push(format!("{name} is {version}, pinned is {pinned}"))
                }
                _ => {}
            },
            None => warnings.push(format!(
                "the build took {name} ({version}), which the release's versions.txt does not name"
            )),
        }
    }
    if !wrong.is_empty() {
        bail!(Refusal::Check(format!(
            "upstream built something else than what is pinned: {}; remove `managed_components` and `dependencies.lock` \
             in the work tree and run again",
            wrong.join("; ")
        )));
    }
    Ok(warnings)
}

/// Short ids of different lengths are the same where one begins the other.
fn same_commit(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Origin;

    const PINNED: &str = "lib-builder: master aaf47ab\nesp-idf: release/v5.1 d23b7a0361\narduino: 0a7b3353\ntinyusb: 3ec22e24e\n\
        espressif__cbor: 0.6.0~1\nespressif__esp-dl:\n";

    fn compared(text: &str) -> Result<Vec<String>> {
        let versions = versions_txt::parse(PINNED.as_bytes(), "pins").unwrap();
        let pins = Pins {
            core: None,
            origin: Origin::File {
                path: "pins".into(),
            },
            sources: versions.sources,
            components: versions.components,
        };
        compare(&pins, text.as_bytes(), Path::new("out/versions.txt"))
    }

    #[test]
    fn longer_ids_and_unpinned_components_are_no_difference() {
        let built = PINNED
            .replace("d23b7a0361", "d23b7a036125")
            .replace("esp-dl:", "esp-dl: 1.0.0");
        assert!(compared(&built).unwrap().is_empty());
        let extra = compared(&format!("{PINNED}espressif__mdns: 1.2.5\n")).unwrap();
        assert!(
            extra.len() == 1 && extra[0].contains("espressif__mdns (1.2.5)"),
            "{extra:?}"
        );
    }

    #[test]
    fn every_difference_is_named() {
        let built = PINNED
            .replace("aaf47ab", "bbf47ab")
            .replace("0.6.0~1", "0.6.1")
            .replace("arduino: 0a7b3353", "arduino: 1a7b3353");
        let error = compared(&built).unwrap_err();
        assert_eq!(crate::exit::code(&error), 3);
        let error = error.to_string();
        for part in [
            "lib-builder is at bbf47ab, pinned is aaf47ab",
            "arduino is at 1a7b3353",
            "espressif__cbor is 0.6.1, pinned is 0.6.0~1",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
}
