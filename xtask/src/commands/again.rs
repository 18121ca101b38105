//! The command line that acts on the same installation again, for the hints that name one.

use std::path::Path;

use super::{DEFAULT_CHIP, DEFAULT_CORE};
use crate::names::{Chip, CoreVersion};

/// `cargo xtask install` with the flags that lead to the same place, quoted for a shell; what is the default is left out.
pub(super) fn install(data_dir: Option<&Path>, core: &CoreVersion, chip: &Chip) -> String {
    let mut words = vec!["cargo".to_owned(), "xtask".to_owned(), "install".to_owned()];
    let mut flag = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if let Some(dir) = data_dir {
        flag("--data-dir", dir.display().to_string());
    }
    if core.to_string() != DEFAULT_CORE {
        flag("--core", core.to_string());
    }
    if chip.as_str() != DEFAULT_CHIP {
        flag("--chip", chip.to_string());
    }
    shell_words::join(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_repeats_what_led_to_the_place_and_a_shell_reads_it_back() {
        let (core, chip) = (DEFAULT_CORE.parse().unwrap(), DEFAULT_CHIP.parse().unwrap());
        assert_eq!(install(None, &core, &chip), "cargo xtask install");
        let (core, chip) = ("3.3.11".parse().unwrap(), "esp32p4".parse().unwrap());
        for dir in ["plain", "with space", "it's", "$HOME", "a;b"] {
            let line = install(Some(Path::new(dir)), &core, &chip);
            let expected = [
                "cargo",
                "xtask",
                "install",
                "--data-dir",
                dir,
                "--core",
                "3.3.11",
                "--chip",
                "esp32p4",
            ];
            assert_eq!(shell_words::split(&line).unwrap(), expected);
        }
    }
}
