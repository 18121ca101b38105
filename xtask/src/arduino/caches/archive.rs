//! Whose core an archive holds, where its name does not say it.

use memchr::memmem;
use object::read::archive::ArchiveFile;

/// How the names of members begin that every core for the ESP32 has and no other.
const MEMBERS: &[u8] = b"esp32-hal-";
/// The architecture's name in paths.
const ARCHITECTURE: &[u8] = b"esp32";

/// Whether `content` is a compiled core of Espressif's package.
///
/// Its objects name their sources in their debug information. A core for the ESP32 that names no package counts as Espressif's:
/// compiling it again costs a minute, linking a wrong one costs more.
pub(super) fn is_espressifs(content: &[u8]) -> bool {
    let Ok(archive) = ArchiveFile::parse(content) else {
        return false;
    };
    let for_esp32 = archive
        .members()
        .flatten()
        .any(|member| member.name().starts_with(MEMBERS));
    if !for_esp32 {
        return false;
    }
    let mut packages = packages(content).peekable();
    packages.peek().is_none() || packages.any(|package| package == ARCHITECTURE)
}

/// The packages named by paths `packages/<package>/hardware/esp32`, of any system.
fn packages(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    memmem::find_iter(content, b"packages").filter_map(move |start| {
        let rest = &content[start + b"packages".len()..];
        let end = rest.iter().take(300).position(|byte| *byte == 0);
        let mut parts = rest[..end.unwrap_or(rest.len().min(300))].split(is_separator);
        // Nothing stands between the word and the separator behind it.
        let ours = parts.next() == Some(&[]);
        let package = parts.next()?;
        let hardware = parts.next() == Some(b"hardware");
        let architecture = parts.next() == Some(ARCHITECTURE);
        (ours && hardware && architecture).then_some(package)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one member of this name and content.
    fn archive(name: &str, content: &str) -> Vec<u8> {
        let header = format!(
            "{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            format!("{name}/"),
            0,
            0,
            0,
            "100644",
            content.len()
        );
        let pad = if content.len() % 2 == 1 { "\n" } else { "" };
        format!("!<arch>\n{header}{content}{pad}").into_bytes()
    }

    #[test]
    fn a_core_is_known_by_its_members_and_the_paths_in_them() {
        let hal = "esp32-hal-x.c.o";
        for (name, content, ours) in [
            (
                hal,
                "x\0/home/ann/.arduino15/packages/esp32/hardware/esp32/3.3.12/cores/esp32/x.c\0",
                true,
            ),
            (
                hal,
                "\0C:\\A\\packages\\esp32\\hardware\\esp32\\3.3.12\\cores\\esp32/x.c\0",
                true,
            ),
            (
                hal,
                "\0/a/packages/m5stack/hardware/esp32/3.2.1/cores/esp32/x.c\0",
                false,
            ),
            (
                hal,
                "\0/a/packages/arduino/hardware/esp32/2.0.18/cores/esp32/x.c\0",
                false,
            ),
            (
                hal,
                "\0/packages/esp32/tools/esp32s3-libs/3.3.12/include/a.h\0",
                true,
            ),
            (hal, "stripped of debug information", true),
            (
                "wiring.c.o",
                "\0/packages/esp32/hardware/esp32/1/x.c\0",
                false,
            ),
        ] {
            assert_eq!(
                is_espressifs(&archive(name, content)),
                ours,
                "{name} {content:?}"
            );
        }
        assert!(!is_espressifs(b"esp32-hal- but no archive"));
        assert!(!is_espressifs(b""));
    }
}
