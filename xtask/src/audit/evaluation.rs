//! Kconfig's own answer for every build of a chip, without and with a patch set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::components::Components;
use super::kconfgen::Kconfgen;
use super::view::{Circumstances, Values, View};
use crate::hazards::Settings;
use crate::libs::layout::{Layout, Product};
use crate::patchset::Stacks;
use crate::patchset::layers::Stack;
use crate::slashed::slashed;

/// The script that kconfgen's Python runs.
const SCRIPT: &str = include_str!("evaluate.py");

/// What Kconfig says of one build.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Answer {
    /// Symbol with `CONFIG_` -> value as a defconfig file writes it. What sdkconfig does not have is not in it.
    pub values: BTreeMap<String, String>,
    /// The symbols that were asked for by name, where a Kconfig file defines them.
    pub asked: BTreeMap<String, Circumstances>,
}

impl Values for Answer {
    fn symbols(&self) -> Vec<&str> {
        self.values.keys().map(String::as_str).collect()
    }

    fn written(&self, symbol: &str) -> Option<&str> {
        self.values.get(symbol).map(String::as_str)
    }

    fn knows(&self, _: &str) -> bool {
        true
    }

    fn circumstances(&self, symbol: &str) -> Option<Circumstances> {
        self.asked.get(symbol).cloned()
    }
}

impl Settings for Answer {
    fn on(&self, symbol: &str) -> bool {
        self.value(symbol) == Some("y")
    }
}

/// The answers for one build.
#[derive(Debug, Clone)]
pub struct Evaluated {
    /// As upstream has it.
    pub stock: Answer,
    /// With the patch set.
    pub patched: Answer,
    /// For a bootloader's build: the same of the bootloader's own project, which is what becomes the bootloader.
    pub bootloader: Option<Box<(Answer, Answer)>>,
}

impl Evaluated {
    pub(super) fn view(&self) -> View<'_> {
        View {
            stock: &self.stock,
            patched: &self.patched,
            bootloader: self
                .bootloader
                .as_deref()
                .map(|(stock, patched)| (stock as &dyn Values, patched as &dyn Values)),
        }
    }
}

#[derive(Serialize)]
struct Job<'a> {
    environment: BTreeMap<&'a str, String>,
    kconfig: String,
    rename: Option<String>,
    builds: Vec<JobBuild<'a>>,
}

#[derive(Serialize)]
struct JobBuild<'a> {
    defaults: Vec<String>,
    config: Option<String>,
    asked: &'a [&'a str],
    output: String,
}

/// The checked out sources, and a folder for what goes to Kconfig and comes back.
pub(super) struct Ground<'a> {
    pub(super) kconfgen: &'a Kconfgen,
    pub(super) lib_builder: &'a Path,
    pub(super) layout: &'a Layout,
    pub(super) components: &'a Components,
    pub(super) folder: &'a Path,
}

impl Ground<'_> {
    /// Asks for every build of the layout, in its order. `asked` are symbols to tell the circumstances of.
    ///
    /// # Errors
    /// kconfgen's own: a Kconfig file that it cannot read.
    pub(super) fn evaluate(&self, stacks: &Stacks, asked: &[&str]) -> Result<Vec<Evaluated>> {
        let script = self.folder.join("evaluate.py");
        fs::write(&script, SCRIPT)?;
        let stock = self.write_layers(&stacks.stock, "stock")?;
        let patched = self.write_layers(&stacks.patched, "patched")?;
        let mut jobs = Vec::new();
        for build in &self.layout.builds {
            for folder in [&stock, &patched] {
                let files = build.layers.iter().map(|file| folder.join(file));
                jobs.push((files.collect(), None));
            }
        }
        let answers = self.ask(&script, "project", self.components, jobs, asked)?;
        let mut evaluated: Vec<Evaluated> = Vec::new();
        let mut answers = answers.into_iter();
        while let (Some(stock), Some(patched)) = (answers.next(), answers.next()) {
            evaluated.push(Evaluated {
                stock,
                patched,
                bootloader: None,
            });
        }
        self.bootloaders(&script, &mut evaluated, asked)?;
        Ok(evaluated)
    }

    /// The bootloader is a project of its own: it takes the finished sdkconfig, of which its fewer components know a part.
    fn bootloaders(
        &self,
        script: &Path,
        evaluated: &mut [Evaluated],
        asked: &[&str],
    ) -> Result<()> {
        let Some(names) = self.bootloader_components()? else {
            return Ok(());
        };
        let builds = self.layout.builds.iter().zip(evaluated);
        let mut own: Vec<&mut Evaluated> = builds
            .filter(|(build, _)| matches!(build.product, Product::Bootloader { .. }))
            .map(|(_, evaluated)| evaluated)
            .collect();
        let mut jobs = Vec::new();
        for answer in own.iter().flat_map(|one| [&one.stock, &one.patched]) {
            let config = self.folder.join(format!("{}.sdkconfig", jobs.len()));
            fs::write(&config, sdkconfig(answer))?;
            jobs.push((Vec::new(), Some(config)));
        }
        let components = self.components.only(&names);
        let mut answers = self
            .ask(script, "bootloader", &components, jobs, asked)?
            .into_iter();
        for one in &mut own {
            one.bootloader = answers.next().zip(answers.next()).map(Box::new);
        }
        Ok(())
    }

    /// The components that the bootloader's project names; what those require in turn is not read.
    fn bootloader_components(&self) -> Result<Option<Vec<String>>> {
        let file = self
            .lib_builder
            .join("esp-idf/components/bootloader/subproject/CMakeLists.txt");
        if !file.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&file)?;
        let list = |begin: &str| {
            let (_, rest) = text.split_once(begin)?;
            rest.split_once(')').map(|(list, _)| list)
        };
        let names = [list("set(COMPONENTS"), list("set(common_req")]
            .into_iter()
            .flatten()
            .flat_map(str::split_whitespace);
        Ok(Some(names.map(str::to_owned).collect()))
    }

    fn write_layers(&self, stack: &Stack, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        for file in self.layout.builds.iter().flat_map(|build| &build.layers) {
            let text = stack
                .text(file)
                .with_context(|| format!("{file} was not read"))?;
            fs::write(folder.join(file), text)?;
        }
        Ok(folder)
    }

    /// One run of kconfgen's Python for `builds`: their defconfig files, or an sdkconfig.
    fn ask(
        &self,
        script: &Path,
        name: &str,
        components: &Components,
        builds: Vec<(Vec<PathBuf>, Option<PathBuf>)>,
        asked: &[&str],
    ) -> Result<Vec<Answer>> {
        let idf = self.lib_builder.join("esp-idf");
        let renames = components.files(&[
            "sdkconfig.rename",
            &format!("sdkconfig.rename.{}", self.layout.target),
        ]);
        let sources = |kind: &str, files: &[PathBuf]| -> Result<String> {
            let lines: Vec<String> = files
                .iter()
                .map(|file| Ok(format!("source \"{}\"\n", slashed(file)?)))
                .collect::<Result<_>>()?;
            let path = self.folder.join(format!("{name}-{kind}.in"));
            fs::write(&path, lines.concat())?;
            slashed(&path)
        };
        let kconfigs = components.files(&["Kconfig"]);
        let projbuild = components.files(&["Kconfig.projbuild"]);
        let version = idf_version(&idf)?;
        let renames: Vec<String> = renames
            .iter()
            .map(|file| slashed(file))
            .collect::<Result<_>>()?;
        let rename = idf.join("sdkconfig.rename");
        let output = |index: usize| self.folder.join(format!("{name}-{index}.json"));
        let mut job_builds = Vec::new();
        for (index, (defaults, config)) in builds.iter().enumerate() {
            job_builds.push(JobBuild {
                defaults: defaults
                    .iter()
                    .map(|file| slashed(file))
                    .collect::<Result<_>>()?,
                config: config.as_deref().map(slashed).transpose()?,
                asked,
                output: slashed(&output(index))?,
            });
        }
        // As tools/cmake/kconfig.cmake and tools/kconfig_new/config.env.in of ESP-IDF 5.5.5 have them.
        let environment = BTreeMap::from([
            (
                "COMPONENT_KCONFIGS_SOURCE_FILE",
                sources("kconfigs", &kconfigs)?,
            ),
            (
                "COMPONENT_KCONFIGS_PROJBUILD_SOURCE_FILE",
                sources("projbuild", &projbuild)?,
            ),
            ("COMPONENT_SDKCONFIG_RENAMES", renames.join(";")),
            ("IDF_TARGET", self.layout.target.clone()),
            ("IDF_TOOLCHAIN", "gcc".to_owned()),
            ("IDF_VERSION", version.clone()),
            ("IDF_INIT_VERSION", version),
            ("IDF_ENV_FPGA", String::new()),
            ("IDF_MINIMAL_BUILD", "n".to_owned()),
            ("IDF_PATH", slashed(&idf)?),
        ]);
        let job = Job {
            environment,
            kconfig: slashed(&idf.join("Kconfig"))?,
            rename: rename.is_file().then(|| slashed(&rename)).transpose()?,
            builds: job_builds,
        };
        let path = self.folder.join(format!("{name}.json"));
        fs::write(&path, serde_json::to_vec(&job)?)?;
        self.kconfgen.run(script, &path)?;
        (0..builds.len())
            .map(|index| {
                let text = fs::read_to_string(output(index))?;
                serde_json::from_str(&text).context("reading kconfgen's answer")
            })
            .collect()
    }
}

/// The text of an sdkconfig.
fn sdkconfig(answer: &Answer) -> String {
    let line = |(symbol, value): (&String, &String)| match value.as_str() {
        "n" => format!("# {symbol} is not set\n"),
        value => format!("{symbol}={value}\n"),
    };
    answer.values.iter().map(line).collect()
}

/// `5.5.5`, from tools/cmake/version.cmake.
fn idf_version(idf: &Path) -> Result<String> {
    let text = fs::read_to_string(idf.join("tools/cmake/version.cmake"))?;
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("set(IDF_VERSION_{name} "))?;
        rest.split_once(')').map(|(value, _)| value.trim())
    };
    let parts = [part("MAJOR"), part("MINOR"), part("PATCH")];
    let parts: Option<Vec<&str>> = parts.into_iter().collect();
    Ok(parts
        .context("tools/cmake/version.cmake does not tell ESP-IDF's version")?
        .join("."))
}
