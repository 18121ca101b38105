//! The git repositories that upstream's build is made of, and where it expects each one.

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::digest::{hex, sha256};
use crate::release::{Origin, Pins, SourcePin};

/// A repository that `versions.txt` pins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// Its name in `versions.txt` (lib-builder `build.sh`, where `component_version` is put together).
    pub(super) name: &'static str,
    /// The canonical address (lib-builder `tools/config.sh` and `tools/update-components.sh`).
    pub(super) url: &'static str,
    /// Where its work tree stands, relative to the lib-builder's root; empty for the lib-builder.
    pub(super) path: &'static str,
    /// Whether its build asks `git describe --match=v*.*` for its version (ESP-IDF `tools/cmake/build.cmake`).
    pub(super) described: bool,
}

/// Every repository of a release, the lib-builder first. All are required.
pub(super) const ALL: [Repository; 4] = [
    Repository {
        name: "lib-builder",
        url: "https://github.com/espressif/esp32-arduino-lib-builder.git",
        path: "",
        described: false,
    },
    Repository {
        name: "esp-idf",
        url: "https://github.com/espressif/esp-idf.git",
        path: "esp-idf",
        described: true,
    },
    Repository {
        name: "arduino",
        url: "https://github.com/espressif/arduino-esp32.git",
        path: "components/arduino",
        described: false,
    },
    Repository {
        name: "tinyusb",
        url: "https://github.com/hathach/tinyusb.git",
        path: "components/arduino_tinyusb/tinyusb",
        described: false,
    },
];

/// Pairs every repository with its pin.
///
/// # Errors
/// A source that is not known here, and a repository without a pin; both name where the pins came from.
pub(super) fn pair(pins: &Pins) -> Result<Vec<(&'static Repository, &SourcePin)>> {
    let known = ALL.map(|repository| repository.name).join(", ");
    for pin in &pins.sources {
        if !ALL.iter().any(|repository| repository.name == pin.name) {
            bail!(
                "{} pins the source `{}`, which is none of those that a build is made of ({known}); \
                 remove that line, or use a versions.txt of a supported release",
                origin(&pins.origin),
                pin.name
            );
        }
    }
    ALL.iter()
        .map(|repository| {
            let pin = pins.source(repository.name).with_context(|| {
                format!(
                    "{} has no line for `{}`; a build needs {known}",
                    origin(&pins.origin),
                    repository.name
                )
            })?;
            check(pin).with_context(|| format!("in {}", origin(&pins.origin)))?;
            Ok((repository, pin))
        })
        .collect()
}

/// Refuses what git could not take as a commit or a name, before it reaches git.
fn check(pin: &SourcePin) -> Result<()> {
    let hex = pin
        .commit
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if !hex || !(4..=40).contains(&pin.commit.len()) {
        bail!(
            "`{}` of {} is not a commit id of 4 to 40 lower-case hex digits",
            pin.commit,
            pin.name
        );
    }
    for name in &pin.refs {
        if !git2::Reference::is_valid_name(&format!("refs/heads/{name}")) {
            bail!(
                "`{name}` of {} is not a name that git allows for a branch or tag",
                pin.name
            );
        }
    }
    Ok(())
}

/// Where pins came from, for an error.
fn origin(origin: &Origin) -> String {
    match origin {
        Origin::File { path } | Origin::Installed { path } => path.display().to_string(),
        Origin::OfficialZip { url, .. } => format!("versions.txt of {url}"),
    }
}

/// The folder name of a tree set: equal pins share one, and nothing else does.
///
/// Components count as well: `managed_components/` and `dependencies.lock` stay in the tree between builds.
pub(super) fn tree_key(pins: &Pins) -> String {
    let mut hash = Sha256::new();
    let mut sources: Vec<_> = pins.sources.iter().collect();
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    for pin in sources {
        hash.update(format!(
            "source {} {:?} {}\n",
            pin.name, pin.refs, pin.commit
        ));
    }
    let mut components: Vec<_> = pins.components.iter().collect();
    components.sort_by(|a, b| a.name.cmp(&b.name));
    for pin in components {
        hash.update(format!("component {} {:?}\n", pin.name, pin.version));
    }
    let core = pins
        .core
        .as_ref()
        .map_or("pins".to_owned(), ToString::to_string);
    format!("{core}-{}", &hex(&hash.finalize())[..12])
}

/// The folder name of a repository's mirror, without `.git`: the pinned name, or one made from the address.
///
/// The digits at the end keep apart addresses that differ in what a file name cannot show.
pub(super) fn mirror_name(url: &str) -> String {
    let url = super::mirrors::bare(url);
    if let Some(repository) = ALL
        .iter()
        .find(|known| super::mirrors::bare(known.url) == url)
    {
        return repository.name.to_owned();
    }
    let tail: Vec<&str> = url.rsplit(['/', ':']).take(2).collect();
    let slug: String = tail
        .into_iter()
        .rev()
        .collect::<Vec<_>>()
        .join("+")
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "+-_".contains(c) {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    format!("{slug}-{}", &sha256(url.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::ComponentPin;

    fn pins() -> Pins {
        let source = |name: &str, refs: &[&str], commit: &str| SourcePin {
            name: name.into(),
            refs: refs.iter().map(|&name| name.into()).collect(),
            commit: commit.into(),
        };
        Pins {
            core: None,
            origin: Origin::File {
                path: "some/versions.txt".into(),
            },
            sources: vec![
                source("lib-builder", &["master"], "aaf47ab"),
                source("esp-idf", &["release/v5.1"], "d23b7a0361"),
                source("arduino", &["idf-release/v5.1"], "0a7b3353"),
                source("tinyusb", &["master"], "3ec22e24e"),
            ],
            components: vec![ComponentPin {
                name: "espressif__cbor".into(),
                version: Some("0.6.0~1".into()),
            }],
        }
    }

    #[test]
    fn every_repository_gets_its_pin() {
        let pins = pins();
        let pairs = pair(&pins).unwrap();
        let text: Vec<_> = pairs
            .iter()
            .map(|(repo, pin)| (repo.path, pin.commit.as_str()))
            .collect();
        assert_eq!(
            text,
            [
                ("", "aaf47ab"),
                ("esp-idf", "d23b7a0361"),
                ("components/arduino", "0a7b3353"),
                ("components/arduino_tinyusb/tinyusb", "3ec22e24e"),
            ]
        );
    }

    #[test]
    fn unknown_missing_and_malformed_pins_are_named_with_their_file() {
        type Spoil = fn(&mut Pins);
        let cases: [(Spoil, &str); 4] = [
            (
                |pins| pins.sources[2].name = "esp-rainmaker".into(),
                "`esp-rainmaker`",
            ),
            (|pins| drop(pins.sources.remove(3)), "`tinyusb`"),
            (
                |pins| pins.sources[1].commit = "D23B".into(),
                "`D23B` of esp-idf",
            ),
            (
                |pins| pins.sources[1].refs[0] = "a..b".into(),
                "`a..b` of esp-idf",
            ),
        ];
        for (spoil, named) in cases {
            let mut pins = pins();
            spoil(&mut pins);
            let error = format!("{:#}", pair(&pins).unwrap_err());
            assert!(
                error.contains(named) && error.contains("some/versions.txt"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_tree_key_covers_every_pin_and_no_order() {
        let key = tree_key(&pins());
        assert!(key.starts_with("pins-") && key.len() == 17, "{key}");
        let mut turned = pins();
        turned.sources.reverse();
        assert_eq!(tree_key(&turned), key);
        let spoils: [fn(&mut Pins); 4] = [
            |pins| pins.sources[3].commit = "3ec22e24f".into(),
            |pins| pins.sources[1].refs.clear(),
            |pins| pins.components[0].version = None,
            |pins| pins.core = Some("3.3.12".parse().unwrap()),
        ];
        for spoil in spoils {
            let mut other = pins();
            spoil(&mut other);
            assert_ne!(tree_key(&other), key);
        }
    }

    #[test]
    fn mirrors_of_different_addresses_never_share_a_folder() {
        assert_eq!(
            mirror_name("https://github.com/espressif/esp-idf"),
            "esp-idf"
        );
        let lwip = mirror_name("https://github.com/espressif/esp-lwip.git");
        assert!(lwip.starts_with("espressif+esp-lwip-"), "{lwip}");
        assert_eq!(lwip, mirror_name("https://github.com/espressif/esp-lwip/"));
        assert_ne!(
            lwip,
            mirror_name("https://example.org/espressif/esp-lwip.git")
        );
        assert_ne!(mirror_name("ssh://a/b/c+d"), mirror_name("ssh://a/b+c/d"));
        assert_ne!(mirror_name("ssh://a/B/c"), mirror_name("ssh://a/b/c"));
    }
}
