//! `quick.toml`, the file beside a patch set that says which objects the set changes and how upstream compiles them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::exit::Refusal;
use crate::libs::Value;
use crate::patchset::PatchSet;

/// Name of the recipe's file in a patch set's folder.
pub const FILE_NAME: &str = "quick.toml";

/// A recipe. Paths in it use `/` and are relative to ESP-IDF's `components/<component>/`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recipe {
    /// Releases of ESP-IDF that it was measured on.
    pub idf: semver::VersionReq,
    /// Memory variants that the set changes: names in which `*` stands for anything, for example `*_opi`.
    #[serde(deserialize_with = "patterns")]
    pub variants: Vec<glob::Pattern>,
    /// Compiler flags of every object that the tree's `flags/c_flags` does not carry.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Lines that the set adds to `sdkconfig.h`, in order.
    #[serde(rename = "define")]
    pub defines: Vec<Define>,
    /// Private include folders, a component.
    #[serde(default, rename = "component")]
    pub components: BTreeMap<String, Component>,
    /// The sources whose objects the set changes.
    #[serde(rename = "source")]
    pub sources: Vec<Source>,
}

/// A line of `sdkconfig.h`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Define {
    /// The symbol, with `CONFIG_`.
    pub symbol: String,
    /// What it is defined as, for example `1`.
    pub value: String,
    /// The symbol of the line after which Kconfig writes it.
    pub after: String,
}

/// What a component's own sources see and others do not.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Include folders, in the order of the component's CMakeLists.txt.
    pub include: Vec<String>,
}

/// A source and the archive member that it becomes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The component.
    pub component: String,
    /// The source file.
    pub path: String,
    /// The archive in the memory variant's folder.
    pub archive: String,
    /// The member of that archive.
    pub member: String,
    /// The source's own compiler flags.
    #[serde(default)]
    pub flags: Vec<String>,
}

impl Source {
    /// The source file relative to ESP-IDF's root, with `/`.
    pub fn idf_path(&self) -> String {
        format!("components/{}/{}", self.component, self.path)
    }
}

impl Recipe {
    /// The recipe of a patch set.
    ///
    /// # Errors
    /// [`Refusal::Usage`] where the set has none. What does not parse or does not hold together, by file and key. A line of the
    /// set that the recipe does not carry out.
    pub fn of(set: &PatchSet) -> Result<Self> {
        let Some(text) = &set.quick else {
            bail!(Refusal::Usage(format!(
                "the patch set {} has no {FILE_NAME}, so it cannot be built the quick way; build without --quick",
                set.name
            )));
        };
        let context = || format!("reading {}/{FILE_NAME}", set.place);
        let recipe = Self::parse(text).with_context(context)?;
        recipe.carries_out(set).with_context(context)?;
        Ok(recipe)
    }

    /// Reads a recipe's text.
    pub fn parse(text: &str) -> Result<Self> {
        let recipe: Self = toml::from_str(text)?;
        recipe.validate()?;
        Ok(recipe)
    }

    /// Every line of the set turns a symbol on that the recipe defines; what else the set could ask for, no recipe can do.
    fn carries_out(&self, set: &PatchSet) -> Result<()> {
        for line in set.files.values().flatten() {
            let value = match &line.value {
                Value::Bool(true) => "1".to_owned(),
                other => other.to_string(),
            };
            if !self
                .defines
                .iter()
                .any(|define| define.symbol == line.symbol && define.value == value)
            {
                bail!(
                    "no `define` has the set's line {}, so the quick build would leave it out",
                    line.text
                );
            }
        }
        Ok(())
    }

    /// Whether the set changes the memory variant called `name`.
    pub fn covers(&self, name: &str) -> bool {
        self.variants.iter().any(|pattern| pattern.matches(name))
    }

    /// Include folders of `component`'s own sources, relative to ESP-IDF's root.
    pub fn private_includes(&self, component: &str) -> Vec<String> {
        let folders = self
            .components
            .get(component)
            .map(|own| own.include.as_slice())
            .unwrap_or_default();
        folders
            .iter()
            .map(|folder| format!("components/{component}/{folder}"))
            .collect()
    }

    /// What the build reads of ESP-IDF, files and folders, relative to its root: sorted, each once.
    pub fn idf_paths(&self) -> Vec<String> {
        let mut paths: BTreeSet<String> = self.sources.iter().map(Source::idf_path).collect();
        for component in self.components.keys() {
            paths.extend(self.private_includes(component));
        }
        paths.into_iter().collect()
    }

    fn validate(&self) -> Result<()> {
        for (key, empty) in [
            ("variants", self.variants.is_empty()),
            ("define", self.defines.is_empty()),
            ("source", self.sources.is_empty()),
        ] {
            if empty {
                bail!("`{key}` is empty: the recipe would change nothing");
            }
        }
        let mut symbols = BTreeSet::new();
        for (number, define) in self.defines.iter().enumerate() {
            for (key, text) in [("symbol", &define.symbol), ("after", &define.after)] {
                if !is_symbol(text) {
                    bail!(
                        "`define[{number}].{key}`: `{text}` is no symbol such as CONFIG_SPIRAM_RODATA"
                    );
                }
            }
            if define.value.trim().is_empty() || define.value.contains(['\r', '\n']) {
                bail!(
                    "`define[{number}].value`: `{}` is no value of one line",
                    define.value
                );
            }
            if !symbols.insert(&define.symbol) {
                bail!(
                    "`define[{number}].symbol`: `{}` is there twice",
                    define.symbol
                );
            }
        }
        for (name, component) in &self.components {
            for folder in &component.include {
                check_path(folder).with_context(|| format!("`component.{name}.include`"))?;
            }
            if !self.sources.iter().any(|source| source.component == *name) {
                bail!("`component.{name}`: no source is of this component");
            }
        }
        let mut members = BTreeSet::new();
        for (number, source) in self.sources.iter().enumerate() {
            source
                .validate()
                .with_context(|| format!("`source[{number}]`"))?;
            if !members.insert((&source.archive, &source.member)) {
                bail!(
                    "`source[{number}].member`: {} of {} is there twice",
                    source.member,
                    source.archive
                );
            }
        }
        Ok(())
    }
}

impl Source {
    fn validate(&self) -> Result<()> {
        check_path(&self.path).context("`path`")?;
        for (key, name) in [
            ("component", &self.component),
            ("archive", &self.archive),
            ("member", &self.member),
        ] {
            check_path(name).with_context(|| format!("`{key}`"))?;
            if name.contains('/') {
                bail!("`{key}`: `{name}` is a path, where a bare name is due");
            }
        }
        // CMake names an object after its source.
        let file = self.path.rsplit('/').next().unwrap_or_default();
        if self.member != format!("{file}.obj") {
            bail!(
                "`member`: `{}` is not `{file}.obj`, which {} becomes",
                self.member,
                self.path
            );
        }
        Ok(())
    }
}

fn patterns<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<glob::Pattern>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let pattern = |text: &String| glob::Pattern::new(text).map_err(serde::de::Error::custom);
    texts.iter().map(pattern).collect()
}

fn is_symbol(text: &str) -> bool {
    let name = text.strip_prefix("CONFIG_").unwrap_or_default();
    !name.is_empty()
        && name
            .chars()
            .all(|next| next.is_ascii_alphanumeric() || next == '_')
}

/// Relative, with `/` alone, without `.`, `..`, and what else could lead out of the component's folder.
fn check_path(path: &str) -> Result<()> {
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '*', '?', '[', '\n'])
    };
    if path.split('/').all(plain) {
        return Ok(());
    }
    bail!("`{path}` is no plain relative path such as port/include")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shipped() -> PatchSet {
        crate::patchset::find("xip-ecc").unwrap()
    }

    #[test]
    fn the_shipped_recipe_reads() {
        let recipe = Recipe::of(&shipped()).unwrap();
        assert_eq!(recipe.sources.len(), 7);
        assert!(recipe.covers("qio_opi") && recipe.covers("opi_opi") && !recipe.covers("qio_qspi"));
        assert!(recipe.idf.matches(&"5.5.5".parse().unwrap()));
        assert!(
            !recipe.idf.matches(&"5.5.4".parse().unwrap())
                && !recipe.idf.matches(&"5.5.5-3-gabc".parse().unwrap())
        );
        let paths = recipe.idf_paths();
        assert!(
            paths.contains(&"components/esp_system/port/cpu_start.c".to_owned()),
            "{paths:?}"
        );
        assert!(paths.contains(&"components/esp_system/port/include".to_owned()));
    }

    #[test]
    fn faults_are_named_by_their_key() {
        let cpu_start = "path = \"port/cpu_start.c\"";
        for (from, to, words) in [
            ("idf = \"=5.5.5\"", "idf = \"five\"", vec!["idf", "line 6"]),
            ("variants =", "varients =", vec!["varients", "line 7"]),
            (
                "variants = [\"*_opi\"]",
                "variants = []",
                vec!["`variants` is empty"],
            ),
            (
                "flags = [\"-fno-stack",
                "flag = [\"-fno-stack",
                vec!["unknown field `flag`"],
            ),
            (
                cpu_start,
                "path = \"../port/cpu_start.c\"",
                vec!["`source[3]`", "`path`", "../port/cpu_start.c"],
            ),
            (cpu_start, "path = \"C:/port/cpu_start.c\"", vec!["`path`"]),
            (
                "\"cpu_start.c.obj\"",
                "\"cpu.c.obj\"",
                vec!["`source[3]`", "`cpu.c.obj`", "cpu_start.c.obj"],
            ),
            (
                "\"libesp_system.a\"",
                "\"lib/libesp_system.a\"",
                vec!["`archive`", "bare name"],
            ),
            (
                "[\"port/include\"]",
                "[\"/usr/include\"]",
                vec!["`component.esp_system.include`"],
            ),
            (
                "[component.esp_system]",
                "[component.heap]",
                vec!["`component.heap`"],
            ),
            (
                "after = \"CONFIG_SPIRAM_SPEED\"",
                "after = \"SPIRAM_SPEED\"",
                vec!["`define[3].after`"],
            ),
            (
                "symbol = \"CONFIG_SPIRAM_RODATA\"",
                "symbol = \"CONFIG_SPIRAM_ECC_ENABLE\"",
                vec!["`define[3].symbol`", "twice"],
            ),
        ] {
            let mut set = shipped();
            let text = set.quick.take().unwrap();
            assert!(text.contains(from), "{from}");
            set.quick = Some(text.replacen(from, to, 1));
            let error = format!("{:#}", Recipe::of(&set).unwrap_err());
            assert!(
                error.contains("defconfig-patches/xip-ecc/quick.toml")
                    && words.iter().all(|word| error.contains(word)),
                "{to}: {error}"
            );
        }
    }

    #[test]
    fn a_set_without_a_recipe_and_a_line_that_it_leaves_out_are_refused() {
        let error = Recipe::of(&crate::patchset::find("xip-ecc-chip").unwrap()).unwrap_err();
        assert_eq!(crate::exit::code(&error), 2);
        assert!(
            error.to_string().contains("xip-ecc-chip has no quick.toml"),
            "{error}"
        );

        let mut set = shipped();
        let lines = set.files.values_mut().next().unwrap();
        lines[1].value = Value::Number(2);
        lines[1].text = "CONFIG_SPIRAM_ECC_ENABLE=2".into();
        let error = format!("{:#}", Recipe::of(&set).unwrap_err());
        assert!(
            error.contains("the set's line CONFIG_SPIRAM_ECC_ENABLE=2"),
            "{error}"
        );
    }
}
