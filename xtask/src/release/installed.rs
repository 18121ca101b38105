//! The `versions.txt` of an installed core's stock libraries.

use std::path::{Path, PathBuf};

use crate::libs::manifest;
use crate::names::{Chip, CoreVersion};

/// What a folder of libraries holds only when it is not the official zip's content: our manifest, or files that
/// upstream's build leaves there and the release leaves out (arduino-esp32 `.github/scripts/on-release.sh`).
const MARKS_OF_A_BUILD: [&str; 3] = [
    manifest::FILE_NAME,
    "dependencies.lock",
    "pioarduino-build.py",
];

/// The folder of the stock libraries below the data folder, or why there is none to trust.
///
/// Where `<core>.stock` stands, the folder `<core>` was swapped and says nothing about the release.
pub fn stock_folder(data_dir: &Path, chip: &Chip, core: &CoreVersion) -> Result<PathBuf, String> {
    let tools = data_dir.join("packages").join("esp32").join("tools");
    let tool = tools.join(chip.tool_name());
    let active = tool.join(core.to_string());
    let set_aside = tool.join(format!("{core}.stock"));
    let folder = if set_aside.is_dir() {
        set_aside
    } else {
        active
    };
    if !folder.is_dir() {
        return Err(format!(
            "{}: not installed, nor {core}.stock beside it",
            folder.display()
        ));
    }
    if let Some(mark) = MARKS_OF_A_BUILD
        .iter()
        .find(|mark| folder.join(mark).exists())
    {
        return Err(format!(
            "{}: not the stock libraries ({mark} stands in it), and they are not set aside beside it",
            folder.display()
        ));
    }
    Ok(folder)
}

/// The `versions.txt` of the stock libraries below the data folder, or why there is none to trust.
pub(super) fn stock_versions(
    data_dir: &Path,
    chip: &Chip,
    core: &CoreVersion,
) -> Result<PathBuf, String> {
    let folder = stock_folder(data_dir, chip, core)?;
    let versions = folder.join("versions.txt");
    if !versions.is_file() {
        return Err(format!("{}: no versions.txt in it", folder.display()));
    }
    Ok(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[&str]) -> Result<String, String> {
        let data = tempfile::tempdir().unwrap();
        let tool = data.path().join("packages/esp32/tools/esp32s3-libs");
        for file in files {
            let file = tool.join(file);
            fs_err::create_dir_all(file.parent().unwrap()).unwrap();
            fs_err::write(file, "").unwrap();
        }
        let path = stock_versions(
            data.path(),
            &"esp32s3".parse().unwrap(),
            &"3.3.12".parse().unwrap(),
        )?;
        Ok(path
            .strip_prefix(&tool)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/"))
    }

    #[test]
    fn the_stock_folder_is_read_wherever_it_stands() {
        assert_eq!(
            found(&["3.3.12/versions.txt"]).unwrap(),
            "3.3.12/versions.txt"
        );
        let swapped = [
            "3.3.12/versions.txt",
            "3.3.12/libs-manifest.json",
            "3.3.12.stock/versions.txt",
        ];
        assert_eq!(found(&swapped).unwrap(), "3.3.12.stock/versions.txt");
        let swapped_by_hand = ["3.3.12/versions.txt", "3.3.12.stock/versions.txt"];
        assert_eq!(
            found(&swapped_by_hand).unwrap(),
            "3.3.12.stock/versions.txt"
        );
        let in_the_middle_of_a_swap = ["3.3.12.stock/versions.txt"];
        assert_eq!(
            found(&in_the_middle_of_a_swap).unwrap(),
            "3.3.12.stock/versions.txt"
        );
    }

    #[test]
    fn what_is_not_stock_is_never_taken_for_it() {
        for mark in MARKS_OF_A_BUILD {
            let mark = format!("3.3.12/{mark}");
            assert!(
                found(&["3.3.12/versions.txt", &mark])
                    .unwrap_err()
                    .contains("not the stock libraries")
            );
        }
        let mixed_up = [
            "3.3.12.stock/versions.txt",
            "3.3.12.stock/libs-manifest.json",
            "3.3.12/versions.txt",
        ];
        assert!(found(&mixed_up).unwrap_err().contains("3.3.12.stock"));
        assert!(
            found(&["3.3.12/flags/defines"])
                .unwrap_err()
                .contains("no versions.txt")
        );
        assert!(
            found(&["3.3.11/versions.txt"])
                .unwrap_err()
                .contains("not installed")
        );
    }
}
