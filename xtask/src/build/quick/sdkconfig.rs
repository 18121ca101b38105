//! Puts a patch set's lines into a stock `sdkconfig.h` where Kconfig would have written them.

use anyhow::{Result, bail};

use super::recipe::Define;

/// The text of `sdkconfig.h` with the recipe's lines in place; every other byte stays.
///
/// # Errors
/// A symbol that is defined already: the tree is patched, or the release has it on. A line that is missing.
pub fn insert(stock: &str, defines: &[Define]) -> Result<String> {
    let mut lines: Vec<String> = stock.split_inclusive('\n').map(str::to_owned).collect();
    for define in defines {
        if let Some(line) = lines
            .iter()
            .find(|line| symbol(line) == Some(&define.symbol))
        {
            bail!(
                "it already has `{}`: these libraries are not stock",
                line.trim_end()
            );
        }
        let Some(place) = lines
            .iter()
            .position(|line| symbol(line) == Some(&define.after))
        else {
            bail!(
                "it has no line for {}, after which {} belongs; the recipe does not fit this release",
                define.after,
                define.symbol
            );
        };
        let end = if lines[place].ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        if !lines[place].ends_with('\n') {
            lines[place].push_str(end);
        }
        lines.insert(
            place + 1,
            format!("#define {} {}{end}", define.symbol, define.value),
        );
    }
    Ok(lines.concat())
}

/// The symbol that a line defines.
fn symbol(line: &str) -> Option<&str> {
    line.strip_prefix("#define ")?
        .split_ascii_whitespace()
        .next()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::build::quick::recipe::Recipe;
    use crate::testing;

    fn define(symbol: &str, after: &str) -> Define {
        Define {
            symbol: symbol.into(),
            value: "1".into(),
            after: after.into(),
        }
    }

    #[test]
    fn lines_stand_where_kconfig_writes_them() {
        let stock = "#pragma once\n#define CONFIG_SPIRAM_CS_IO 26\r\n#define CONFIG_SPIRAM_SPEED_80M 1\n#define CONFIG_SPIRAM_SPEED 80";
        let recipe = Recipe::of(&crate::patchset::find("xip-ecc").unwrap()).unwrap();
        assert_eq!(
            insert(stock, &recipe.defines).unwrap(),
            "#pragma once\n#define CONFIG_SPIRAM_CS_IO 26\r\n#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\r\n\
             #define CONFIG_SPIRAM_FETCH_INSTRUCTIONS 1\r\n#define CONFIG_SPIRAM_RODATA 1\r\n\
             #define CONFIG_SPIRAM_SPEED_80M 1\n#define CONFIG_SPIRAM_SPEED 80\n#define CONFIG_SPIRAM_ECC_ENABLE 1\n"
        );
    }

    #[test]
    fn a_patched_file_and_a_foreign_one_are_refused() {
        let add = [define("CONFIG_B", "CONFIG_A")];
        let patched = insert("#define CONFIG_A 1\n", &add).unwrap();
        let error = insert(&patched, &add).unwrap_err().to_string();
        assert!(
            error.contains("`#define CONFIG_B 1`") && error.contains("not stock"),
            "{error}"
        );
        let error = insert("#define CONFIG_AB 1\n", &add)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no line for CONFIG_A,"), "{error}");
    }

    #[test]
    fn a_real_file_gains_the_measured_lines_only() {
        let Some(path) = testing::shared(
            "sdkconfig insert",
            "upstream/sdkconfig-idf-5.1/qio_opi.sdkconfig.h",
        ) else {
            return;
        };
        let stock = std::fs::read_to_string(path).unwrap();
        let recipe = Recipe::of(&crate::patchset::find("xip-ecc").unwrap()).unwrap();
        let patched = insert(&stock, &recipe.defines).unwrap();
        assert_eq!(patched.lines().count(), stock.lines().count() + 4);
        let new: String = patched
            .split_inclusive('\n')
            .filter(|line| {
                !recipe
                    .defines
                    .iter()
                    .any(|d| symbol(line) == Some(&d.symbol))
            })
            .collect();
        assert_eq!(new, stock);
    }

    proptest! {
        #[test]
        fn every_other_line_stays(lines in prop::collection::vec("[ -~]{0,20}", 0..12), at in any::<prop::sample::Index>(), crlf in any::<bool>()) {
            let end = if crlf { "\r\n" } else { "\n" };
            let mut all = lines.clone();
            let at = at.index(all.len() + 1);
            all.insert(at, "#define CONFIG_ANCHOR 3".into());
            let text: String = all.iter().map(|line| format!("{line}{end}")).collect();
            let new = insert(&text, &[define("CONFIG_NEW_ONE", "CONFIG_ANCHOR")]).unwrap();
            all.insert(at + 1, "#define CONFIG_NEW_ONE 1".into());
            prop_assert_eq!(new, all.iter().map(|line| format!("{line}{end}")).collect::<String>());
        }
    }
}
