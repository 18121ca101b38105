//! What a chip's output must hold, read from lib-builder's `configs/builds.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde::Deserialize;

use super::tree::FLASH_MODES;
use crate::names::Chip;

/// The builds that upstream's build.sh runs for one chip, and the files that they leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The chip (upstream's `chip_variant`).
    pub chip: Chip,
    /// The ESP-IDF target; differs from the chip for `esp32p4_es` alone.
    pub target: String,
    /// The builds, in build.sh's order: libraries, bootloaders, memory variants.
    pub builds: Vec<Build>,
    /// Files that every memory variant's folder holds beside `include/sdkconfig.h`, for example `libspi_flash.a`.
    pub variant_files: Vec<String>,
    /// The folder of builds.json, in which the defconfig files stand.
    pub configs: PathBuf,
}

/// One run of idf.py.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// What it leaves.
    pub product: Product,
    /// Names of its defconfig files in `configs/`, in the order in which they are read; a later one wins.
    pub layers: Vec<String>,
}

/// What a build leaves in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Product {
    /// All libraries, and one memory variant.
    Libraries {
        /// The variant, for example `qio_qspi`.
        variant: String,
    },
    /// A bootloader.
    Bootloader {
        /// Path in the output, for example `bin/bootloader_qio_80m.elf`.
        file: String,
    },
    /// A memory variant.
    Variant {
        /// The variant, for example `qio_opi`.
        variant: String,
    },
}

impl Build {
    /// The memory variant that this build leaves.
    pub fn variant(&self) -> Option<&str> {
        match &self.product {
            Product::Libraries { variant } | Product::Variant { variant } => Some(variant),
            Product::Bootloader { .. } => None,
        }
    }

    /// What a person calls it, for example `memory variant qio_opi`.
    pub fn name(&self) -> String {
        match &self.product {
            Product::Libraries { variant } => format!("the libraries and memory variant {variant}"),
            Product::Variant { variant } => format!("memory variant {variant}"),
            Product::Bootloader { file } => file.clone(),
        }
    }
}

#[derive(Deserialize)]
struct Builds {
    mem_variants_files: Vec<VariantFile>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct VariantFile {
    file: String,
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Target {
    target: String,
    /// Newer lib-builders only; else the target.
    chip_variant: Option<String>,
    #[serde(default)]
    features: Vec<String>,
    idf_libs: Vec<String>,
    bootloaders: Vec<Vec<String>>,
    mem_variants: Vec<Vec<String>>,
}

impl Layout {
    /// Reads `builds_json` for `chip`, with the debug level that build.sh takes by default.
    ///
    /// # Errors
    /// A file that does not parse (the error has line and column), a chip that it does not list, a build without a flash mode.
    pub fn read(builds_json: &Path, chip: &Chip) -> Result<Self> {
        let text = fs::read_to_string(builds_json).context("this is no checked out lib-builder")?;
        let configs = builds_json.parent().unwrap_or(Path::new(".")).to_owned();
        Self::parse(&text, chip, configs)
            .with_context(|| format!("reading {}", builds_json.display()))
    }

    fn parse(text: &str, chip: &Chip, configs: PathBuf) -> Result<Self> {
        let builds: Builds = serde_json::from_str(text)?;
        let name = |target: &Target| {
            target
                .chip_variant
                .clone()
                .unwrap_or_else(|| target.target.clone())
        };
        let Some(target) = builds
            .targets
            .iter()
            .find(|target| name(target) == chip.as_str())
        else {
            let known: Vec<String> = builds.targets.iter().map(name).collect();
            bail!(
                "it has no builds for {chip}; it has them for {}",
                known.join(", ")
            );
        };
        let variant_files = builds
            .mem_variants_files
            .into_iter()
            .filter(|file| file.targets.iter().any(|target| target == chip.as_str()))
            .map(|file| file.file)
            .collect();
        Ok(Self {
            chip: chip.clone(),
            target: target.target.clone(),
            builds: target.builds(chip)?,
            variant_files,
            configs,
        })
    }

    /// The memory variants that the output must hold, sorted, each with the build that leaves it.
    pub fn memory_variants(&self) -> BTreeMap<&str, &Build> {
        // Where two builds leave the same variant the later one stays: copy-mem-variant.sh removes the folder first.
        self.builds
            .iter()
            .filter_map(|build| build.variant().map(|variant| (variant, build)))
            .collect()
    }

    /// Paths of the bootloaders that the output must hold.
    pub fn bootloaders(&self) -> Vec<&str> {
        self.builds
            .iter()
            .filter_map(|build| match &build.product {
                Product::Bootloader { file } => Some(file.as_str()),
                _ => None,
            })
            .collect()
    }
}

impl Target {
    fn builds(&self, chip: &Chip) -> Result<Vec<Build>> {
        let common = ["common", chip.as_str(), "debug_default"].map(str::to_owned);
        let layers = |own: &[String]| -> Vec<String> {
            common
                .iter()
                .chain(&self.features)
                .chain(own)
                .map(|name| format!("defconfig.{name}"))
                .collect()
        };
        let variant = |own: &[String]| -> Result<String> {
            Ok(format!("{}_{}", flash_mode(own)?, self.psram_kind(own)))
        };
        let mut builds = vec![Build {
            product: Product::Libraries {
                variant: variant(&self.idf_libs)?,
            },
            layers: layers(&self.idf_libs),
        }];
        for own in &self.bootloaders {
            let file = format!(
                "bin/bootloader_{}_{}.elf",
                flash_mode(own)?,
                flash_frequency(own)?
            );
            builds.push(Build {
                product: Product::Bootloader { file },
                layers: layers(own),
            });
        }
        for own in &self.mem_variants {
            builds.push(Build {
                product: Product::Variant {
                    variant: variant(own)?,
                },
                layers: layers(own),
            });
        }
        Ok(builds)
    }

    /// `opi` with octal PSRAM, else `qspi` (tools/copy-mem-variant.sh).
    fn psram_kind(&self, own: &[String]) -> &'static str {
        if self
            .features
            .iter()
            .chain(own)
            .any(|layer| layer == "opi_ram")
        {
            "opi"
        } else {
            "qspi"
        }
    }
}

/// The layer that sets the flash mode (main/Kconfig.projbuild, LIB_BUILDER_FLASHMODE).
fn flash_mode(own: &[String]) -> Result<&str> {
    own.iter()
        .map(String::as_str)
        .find(|layer| FLASH_MODES.contains(layer))
        .with_context(|| {
            format!(
                "the build {own:?} names no flash mode ({})",
                FLASH_MODES.join(", ")
            )
        })
}

/// The layer that sets the flash frequency: `80m`; for `80m_200m`, which sets PSRAM's too, the first part.
fn flash_frequency(own: &[String]) -> Result<&str> {
    own.iter()
        .filter_map(|layer| layer.split('_').next())
        .find(|part| {
            part.strip_suffix('m').is_some_and(|digits| {
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            })
        })
        .with_context(|| format!("the build {own:?} names no flash frequency such as 80m"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const OLD_FORM: &str = r#"{
        "mem_variants_files": [
            {"file": "libspi_flash.a", "src": "x", "out": "lib/libspi_flash.a", "targets": ["esp32", "esp32s3"]},
            {"file": "sections.ld", "src": "x", "out": "ld/sections.ld", "targets": ["esp32s3"]}
        ],
        "targets": [
            {"target": "esp32", "features": ["qio_ram"], "idf_libs": ["qio", "80m"],
             "bootloaders": [["dio", "40m_200m"]], "mem_variants": [["dio", "80m"]]},
            {"target": "esp32s3", "features": ["esp_sr"], "idf_libs": ["qio", "80m", "qio_ram"],
             "bootloaders": [["qio", "120m", "qio_ram"]], "mem_variants": [["opi", "80m", "opi_ram"], ["opi", "80m", "qio_ram"]]}
        ]
    }"#;

    fn parse(text: &str, chip: &str) -> Result<Layout> {
        Layout::parse(text, &chip.parse().unwrap(), PathBuf::new())
    }

    #[test]
    fn names_follow_upstreams_scripts() {
        let s3 = parse(OLD_FORM, "esp32s3").unwrap();
        let variants: Vec<_> = s3.memory_variants().into_keys().collect();
        assert_eq!(variants, ["opi_opi", "opi_qspi", "qio_qspi"]);
        assert_eq!(s3.bootloaders(), ["bin/bootloader_qio_120m.elf"]);
        assert_eq!(s3.variant_files, ["libspi_flash.a", "sections.ld"]);
        assert_eq!(
            s3.builds[0].layers.join(" "),
            "defconfig.common defconfig.esp32s3 defconfig.debug_default defconfig.esp_sr defconfig.qio defconfig.80m \
             defconfig.qio_ram"
        );
        let esp32 = parse(OLD_FORM, "esp32").unwrap();
        assert_eq!(esp32.variant_files, ["libspi_flash.a"]);
        assert_eq!(esp32.bootloaders(), ["bin/bootloader_dio_40m.elf"]);
    }

    #[test]
    fn a_chip_variant_is_not_its_target() {
        let text = OLD_FORM.replacen(
            "\"target\": \"esp32\"",
            "\"chip_variant\": \"esp32p4_es\", \"target\": \"esp32p4\"",
            1,
        );
        assert_eq!(parse(&text, "esp32p4_es").unwrap().target, "esp32p4");
        let error = parse(&text, "esp32p4").unwrap_err().to_string();
        assert!(
            error.contains("no builds for esp32p4") && error.contains("esp32p4_es, esp32s3"),
            "{error}"
        );
    }

    #[test]
    fn what_cannot_be_named_is_an_error() {
        let error = parse(&OLD_FORM.replace("\"120m\"", "\"fast\""), "esp32s3")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("fast") && error.contains("frequency"),
            "{error}"
        );
        let error = parse(&OLD_FORM.replace("\"opi\",", "\"xpi\","), "esp32s3")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("xpi") && error.contains("flash mode"),
            "{error}"
        );
        assert!(
            parse("{\n\"targets\": 3}", "esp32")
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
    }

    #[test]
    fn a_real_file_gives_the_variants_of_the_release() {
        let Some(path) = testing::shared(
            "a_real_file_gives_the_variants_of_the_release",
            "upstream/configs/builds.json",
        ) else {
            return;
        };
        let layout = Layout::read(&path, &"esp32s3".parse().unwrap()).unwrap();
        let variants: Vec<_> = layout.memory_variants().into_keys().collect();
        assert_eq!(
            variants,
            ["dio_opi", "dio_qspi", "opi_opi", "qio_opi", "qio_qspi"]
        );
        assert_eq!(layout.builds.len(), 9);
        assert_eq!(layout.variant_files.len(), 7);
        for chip in crate::names::CHIPS {
            Layout::read(&path, &chip.parse().unwrap()).unwrap();
        }
    }
}
