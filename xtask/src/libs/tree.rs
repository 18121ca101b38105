//! One chip's libraries on disk.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use fs_err as fs;

use super::sdkconfig::SdkConfig;

/// Flash modes that lib-builder's main/Kconfig.projbuild can name.
pub(super) const FLASH_MODES: [&str; 5] = ["qio", "qout", "dio", "dout", "opi"];
/// PSRAM kinds that lib-builder's tools/copy-mem-variant.sh can name.
pub(super) const PSRAM_KINDS: [&str; 2] = ["opi", "qspi"];

/// A folder that was looked at and is a libraries tree.
#[derive(Debug, Clone)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Opens the tree whose own folder is `root` (it holds `flags/`, `include/`, `lib/` and the memory variants).
    ///
    /// # Errors
    /// Says what is missing where the folder is something else.
    pub fn open(root: &Path) -> Result<Self> {
        let tree = Self {
            root: root.to_owned(),
        };
        let missing: Vec<&str> = ["flags", "include", "lib"]
            .into_iter()
            .filter(|dir| !root.join(dir).is_dir())
            .collect();
        if !missing.is_empty() {
            bail!(
                "{} is not a chip's libraries tree: it has no {}/; name the folder that holds flags/, include/ and lib/",
                root.display(),
                missing.join("/, no ")
            );
        }
        if tree.memory_variants()?.is_empty() {
            bail!(
                "{} is not a chip's libraries tree: no memory variant in it has an include/sdkconfig.h \
                 (expected one such as qio_qspi/include/sdkconfig.h)",
                root.display()
            );
        }
        Ok(tree)
    }

    /// The chip's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Memory variants such as `qio_opi`, sorted: folders of such a name with an `include/sdkconfig.h`.
    pub fn memory_variants(&self) -> Result<Vec<String>> {
        let mut variants = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if is_variant_name(&name) && sdkconfig_path(&self.root, &name).is_file() {
                variants.push(name);
            }
        }
        variants.sort();
        Ok(variants)
    }

    /// The configuration that `variant` was built with.
    pub fn sdkconfig(&self, variant: &str) -> Result<SdkConfig> {
        SdkConfig::read(&sdkconfig_path(&self.root, variant))
    }
}

fn sdkconfig_path(root: &Path, variant: &str) -> PathBuf {
    root.join(variant).join("include").join("sdkconfig.h")
}

fn is_variant_name(name: &str) -> bool {
    name.split_once('_')
        .is_some_and(|(flash, psram)| FLASH_MODES.contains(&flash) && PSRAM_KINDS.contains(&psram))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_judged_by_what_it_holds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("esp32s3-libs");
        for sub in ["flags", "include"] {
            fs::create_dir_all(root.join(sub)).unwrap();
        }
        let error = Tree::open(&root).unwrap_err().to_string();
        assert!(error.contains("has no lib/;"), "{error}");

        fs::create_dir(root.join("lib")).unwrap();
        fs::create_dir_all(root.join("qio_huge/include")).unwrap();
        fs::write(root.join("qio_huge/include/sdkconfig.h"), "").unwrap();
        assert!(
            Tree::open(&root)
                .unwrap_err()
                .to_string()
                .contains("no memory variant")
        );

        for variant in ["qio_qspi", "dio_opi"] {
            fs::create_dir_all(root.join(variant).join("include")).unwrap();
            fs::write(
                root.join(variant).join("include/sdkconfig.h"),
                "#define CONFIG_A 1\n",
            )
            .unwrap();
        }
        let tree = Tree::open(&root).unwrap();
        assert_eq!(tree.memory_variants().unwrap(), ["dio_opi", "qio_qspi"]);
        assert_eq!(
            tree.sdkconfig("dio_opi").unwrap().get("CONFIG_A"),
            Some("1")
        );
    }
}
