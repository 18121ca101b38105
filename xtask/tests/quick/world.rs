//! A small release of our own, in the real one's shape: an ESP-IDF repository, a stock libraries tree built from it the way
//! upstream builds, an Arduino data folder, and the host's compiler behind the Xtensa compiler's name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::build::BuiltLibs;
use xtask::build::quick::{self, QuickPlan, inputs};
use xtask::config::Mirror;
use xtask::patchset::{self, PatchSet};
use xtask::progress::Event;
use xtask::release::{self, Pins};
use xtask::upstream::Mirrors;
use xtask::workdir::WorkDir;

/// The seven sources of the bundled recipe, each with a use of the symbols as the real one has it.
const SOURCES: [(&str, &str, &str); 7] = [
    (
        "esp_psram/system_layer/esp_psram.c",
        "libesp_psram.a",
        "XIP_FROM_PSRAM",
    ),
    (
        "esp_psram/xip_impl/mmu_psram_flash.c",
        "libesp_psram.a",
        "FETCH_INSTRUCTIONS",
    ),
    (
        "esp_psram/esp32s3/esp_psram_impl_octal.c",
        "libesp_psram.a",
        "ECC_ENABLE",
    ),
    ("esp_system/port/cpu_start.c", "libesp_system.a", "RODATA"),
    (
        "spi_flash/spi_flash_os_func_app.c",
        "libspi_flash.a",
        "FETCH_INSTRUCTIONS",
    ),
    ("spi_flash/cache_utils.c", "libspi_flash.a", "RODATA"),
    ("spi_flash/flash_mmap.c", "libspi_flash.a", "RODATA"),
];

const INLINE: [&str; 3] = [
    "-fno-inline-functions",
    "-fno-inline-small-functions",
    "-fno-inline-functions-called-once",
];
const C_FLAGS: &str = "-mlongcalls -ffunction-sections -fdata-sections -gdwarf-4 -ggdb -fstack-protector -std=gnu17 -MMD -c";
const DEFINES: &str = r#"-DESP_PLATFORM -DIDF_VER=\"v5.5.5\" -D_GNU_SOURCE"#;
/// Public include folders, in the order of the tree's `flags/includes`.
const PUBLIC: [&str; 2] = ["esp_psram/include", "spi_flash/include"];
pub(crate) const VARIANTS: [&str; 3] = ["qio_qspi", "qio_opi", "opi_opi"];

/// The host's compiler, which does not know the one flag that every Xtensa tree has.
const STAND_IN: &str =
    r#"case $1 in @*) sed -i '/^"-mlongcalls"$/d' "${1#@}" ;; esac; exec cc "$@""#;

/// The lines that the patch set leads to in an octal variant.
pub(crate) const PATCHED: [&str; 4] = [
    "XIP_FROM_PSRAM",
    "FETCH_INSTRUCTIONS",
    "RODATA",
    "ECC_ENABLE",
];

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    /// The work tree of our ESP-IDF.
    pub(crate) idf: PathBuf,
    /// Its commit.
    pub(crate) commit: String,
    /// The Arduino data folder.
    pub(crate) data: PathBuf,
    pub(crate) set: PatchSet,
    pub(crate) accept_unproven: bool,
    pub(crate) core: xtask::names::CoreVersion,
    pub(crate) chip: xtask::names::Chip,
}

/// How a stock archive is made other than usual.
#[derive(Default, Clone)]
pub(crate) struct Otherwise {
    /// Flags of `spi_flash`'s sources.
    pub(crate) flags: Vec<&'static str>,
    /// What the objects say of their compiler.
    pub(crate) comment: Option<&'static str>,
    /// A second member called `cpu_start.c.obj`.
    pub(crate) twice: bool,
}

impl World {
    /// `None`, said as SKIPPED, where the host lacks a part.
    pub(crate) fn new(test: &str) -> Option<Self> {
        Self::made(test, &Otherwise::default())
    }

    pub(crate) fn made(test: &str, otherwise: &Otherwise) -> Option<Self> {
        for program in ["cc", "ar", "objcopy", "git"] {
            if !cfg!(target_os = "linux") || which::which(program).is_err() {
                crate::testing::skipped(test, &format!("no Linux with {program}"));
                return None;
            }
        }
        let dir = tempfile::Builder::new()
            .prefix("quick é ")
            .tempdir()
            .unwrap();
        let idf = dir.path().join("build machine/esp-idf");
        let data = dir.path().join("Arduino 15 ü");
        let mut world = Self {
            idf,
            commit: String::new(),
            data,
            set: patchset::find("xip-ecc").unwrap(),
            accept_unproven: false,
            core: "3.3.12".parse().unwrap(),
            chip: "esp32s3".parse().unwrap(),
            dir,
        };
        world.write_idf();
        world.commit = world.commit_idf();
        world.write_compiler("2601");
        world.write_tree(&world.stock(), &[], otherwise);
        Some(world)
    }

    /// Where the core's stock libraries are installed.
    pub(crate) fn stock(&self) -> PathBuf {
        self.data.join("packages/esp32/tools/esp32s3-libs/3.3.12")
    }

    pub(crate) fn write_idf(&self) {
        let write = |path: &str, text: &str| write(&self.idf.join("components").join(path), text);
        write(
            "esp_psram/include/esp_psram.h",
            "#pragma once\nvoid fail(const char *file, int line);\n#define CHECK(x) ((x) ? (void)0 : fail(__FILE__, __LINE__))\n\
             static inline int checked(int x) { CHECK(x != 3); return x; }\n",
        );
        write(
            "spi_flash/include/esp_flash.h",
            "#pragma once\n#define FLASH_PAGE 4096\n",
        );
        write(
            "spi_flash/include/spi_flash/spi_flash_defs.h",
            "#pragma once\n",
        );
        write(
            "esp_system/port/include/esp_clk_internal.h",
            "#pragma once\n#define CLOCK 240\n",
        );
        for (path, _, symbol) in SOURCES {
            let name = path.rsplit('/').next().unwrap().trim_end_matches(".c");
            let private = if path.contains("cpu_start") {
                "#include \"esp_clk_internal.h\"\n"
            } else {
                "#define CLOCK 1\n"
            };
            write(
                path,
                &format!(
                    "#include \"sdkconfig.h\"\n#include \"esp_psram.h\"\n#include \"esp_flash.h\"\n{private}\
                 static int cache; extern int cache_disable(int); const char *{name}_version = IDF_VER;\n\
                 static int helper(int x) {{ return checked(x) * CLOCK; }}\n\
                 #if CONFIG_SPIRAM_{symbol}\nint {name}_in_psram(int x) {{ CHECK(x); cache += x; return helper(cache); }}\n\
                 #endif\nint {name}(int x) {{ char text[FLASH_PAGE / 64]; text[x] = 1;\n\
                 #if !CONFIG_SPIRAM_{symbol}\nx += cache_disable(text[0]);\n#endif\nreturn helper(x) + CONFIG_SPIRAM_SPEED; }}\n",
                ),
            );
        }
    }

    /// Commits what stands in the IDF's folder.
    pub(crate) fn commit_idf(&self) -> String {
        let repository = git2::Repository::init(&self.idf).unwrap();
        let mut config = repository.config().unwrap();
        config.set_bool("uploadpack.allowFilter", true).unwrap();
        config
            .set_bool("uploadpack.allowAnySHA1InWant", true)
            .unwrap();
        let mut index = repository.index().unwrap();
        index
            .add_all(["*"], git2::IndexAddOption::DEFAULT, None)
            .unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let who = git2::Signature::now("Test", "test@example.org").unwrap();
        let parent = repository
            .head()
            .ok()
            .map(|head| head.peel_to_commit().unwrap());
        let id = repository.commit(
            Some("HEAD"),
            &who,
            &who,
            "work",
            &tree,
            &parent.iter().collect::<Vec<_>>(),
        );
        id.unwrap().to_string()
    }

    /// The host's compiler behind the Xtensa compiler's name, as an Arduino tool that the core depends on.
    pub(crate) fn write_compiler(&self, version: &str) {
        let tool = self.data.join("packages/esp32/tools/esp-x32").join(version);
        script(&tool.join("bin/xtensa-esp32s3-elf-gcc"), STAND_IN);
        let installed = format!(
            "{{\"packages\":[{{\"name\":\"esp32\",\"platforms\":[{{\"version\":\"3.3.12\",\"toolsDependencies\":\
             [{{\"packager\":\"esp32\",\"name\":\"esp-x32\",\"version\":\"{version}\"}}]}}]}}]}}"
        );
        write(
            &self
                .data
                .join("packages/esp32/hardware/esp32/3.3.12/installed.json"),
            &installed,
        );
    }

    /// A libraries tree built the way upstream builds: from the IDF's own folders. `symbols` are on in octal variants.
    pub(crate) fn write_tree(&self, root: &Path, symbols: &[&str], otherwise: &Otherwise) {
        let tree = |path: &str, text: &str| write(&root.join(path), text);
        for (file, text) in [
            ("c_flags", C_FLAGS),
            ("cpp_flags", C_FLAGS),
            ("S_flags", "-mlongcalls -x assembler-with-cpp"),
            ("defines", DEFINES),
            (
                "includes",
                &PUBLIC
                    .map(|folder| format!("-iwithprefixbefore {folder} "))
                    .concat(),
            ),
            ("ld_flags", "-nostdlib"),
            ("ld_libs", "-lesp_psram -lspi_flash"),
            ("ld_scripts", "-T memory.ld"),
        ] {
            tree(&format!("flags/{file}"), text);
        }
        for folder in PUBLIC {
            for entry in fs::read_dir(self.idf.join("components").join(folder)).unwrap() {
                let entry = entry.unwrap();
                if entry.path().is_dir() {
                    continue;
                }
                let to = root.join("include").join(folder).join(entry.file_name());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(entry.path(), to).unwrap();
            }
        }
        tree("lib/libheap.a", "!<arch>\nheap.c.obj/");
        tree("ld/memory.ld", "MEMORY {}\n");
        tree("bin/bootloader_qio_80m.elf", "ELF");
        tree("sdkconfig", "CONFIG_SPIRAM=y\n");
        tree("versions.txt", &self.versions(&self.commit));
        for variant in VARIANTS {
            let on = if variant.ends_with("_opi") {
                symbols
            } else {
                &[]
            };
            tree(
                &format!("{variant}/include/sdkconfig.h"),
                &sdkconfig(variant, on),
            );
            tree(&format!("{variant}/sections.ld"), "SECTIONS {}\n");
            self.write_archives(root, variant, otherwise);
        }
    }

    pub(crate) fn versions(&self, commit: &str) -> String {
        format!(
            "lib-builder: master ee57070\nesp-idf: v5.5.5 {commit}\narduino: master 411b5b190\n\
             tinyusb: master 53f8c53c2\nespressif__cbor: 0.6.0~1\nespressif__esp-dl:\n"
        )
    }

    fn write_archives(&self, root: &Path, variant: &str, otherwise: &Otherwise) {
        let objects = self.dir.path().join("objects").join(variant);
        _ = fs::remove_dir_all(&objects);
        let mut archives: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
        for folder in ["one", "two"] {
            let member = objects.join(folder).join("debug_stubs.c.obj");
            let source = objects.join(format!("{folder}.c"));
            write(&source, &format!("int debug_stub_{folder};\n"));
            self.compile(root, variant, &source, &member, &[]);
            archives.entry("libesp_system.a").or_default().push(member);
        }
        for (path, archive, _) in SOURCES {
            let source = self.idf.join("components").join(path);
            let member = objects.join(format!("{}.obj", path.rsplit('/').next().unwrap()));
            let mut own: Vec<&str> = match archive {
                "libspi_flash.a" => INLINE
                    .into_iter()
                    .chain(otherwise.flags.iter().copied())
                    .collect(),
                "libesp_system.a" => vec!["-fno-stack-protector"],
                _ => Vec::new(),
            };
            let private = format!(
                "-I{}",
                self.idf
                    .join("components/esp_system/port/include")
                    .display()
            );
            if archive == "libesp_system.a" {
                own.push(&private);
            }
            self.compile(root, variant, &source, &member, &own);
            if let Some(comment) = otherwise.comment {
                let (sh, text) = (Shell::new().unwrap(), objects.join("comment"));
                fs::write(&text, format!("{comment}\0")).unwrap();
                cmd!(sh, "objcopy --update-section .comment={text} {member}")
                    .quiet()
                    .run()
                    .unwrap();
            }
            archives.entry(archive).or_default().push(member);
        }
        if otherwise.twice {
            let again = objects.join("again/cpu_start.c.obj");
            fs::create_dir_all(again.parent().unwrap()).unwrap();
            fs::copy(objects.join("cpu_start.c.obj"), &again).unwrap();
            archives.entry("libesp_system.a").or_default().push(again);
        }
        for (name, members) in archives {
            let (sh, archive) = (Shell::new().unwrap(), root.join(variant).join(name));
            _ = fs::remove_file(&archive);
            cmd!(sh, "ar qcD {archive} {members...}")
                .quiet()
                .run()
                .unwrap();
        }
    }

    /// As ESP-IDF's CMake compiles: everything from the IDF's folders, their prefix mapped.
    fn compile(&self, root: &Path, variant: &str, source: &Path, object: &Path, own: &[&str]) {
        let sh = Shell::new().unwrap();
        fs::create_dir_all(object.parent().unwrap()).unwrap();
        let idf = self.idf.display();
        let mut arguments: Vec<String> = C_FLAGS.split(' ').skip(1).map(str::to_owned).collect();
        arguments.extend(DEFINES.split(' ').map(|define| define.replace('\\', "")));
        arguments.push("-Os".into());
        arguments.extend(own.iter().map(|flag| (*flag).to_owned()));
        arguments.push(format!("-fmacro-prefix-map={idf}=/IDF"));
        arguments.push(format!(
            "-I{}",
            root.join(variant).join("include").display()
        ));
        arguments.extend(PUBLIC.map(|folder| format!("-I{idf}/components/{folder}")));
        cmd!(sh, "cc {arguments...} {source} -o {object}")
            .quiet()
            .run()
            .unwrap();
    }

    pub(crate) fn pins_of(&self, versions: &Path) -> anyhow::Result<Pins> {
        let request = release::Request {
            core: &self.core,
            chip: &self.chip,
            versions: Some(versions),
            data_dir: Some(&self.data),
            index: None,
            offline: true,
            downloads: self.dir.path(),
        };
        release::resolve(&request, &|_| {})
    }

    /// Runs the whole quick build in a work folder called `work`; with what it told.
    pub(crate) fn build(&self, work: &str) -> (anyhow::Result<BuiltLibs>, Vec<String>) {
        self.build_from(None, work)
    }

    pub(crate) fn build_from(
        &self,
        stock: Option<&Path>,
        work: &str,
    ) -> (anyhow::Result<BuiltLibs>, Vec<String>) {
        let told = Mutex::new(Vec::new());
        let report = |event: Event<'_>| match event {
            Event::Step(text) | Event::Note(text) | Event::Warning(text) => {
                told.lock().unwrap().push(text.to_owned())
            }
            _ => {}
        };
        let outcome = (|| {
            let work = WorkDir::open(&self.dir.path().join(work))?;
            let lock = quick::lock(&work, &report)?;
            let stock = inputs::stock(stock, &self.data, &self.core, &self.chip, &work, &report)?;
            let compiler = inputs::compiler(None, &self.data, &self.core, &self.chip, &report)?;
            quick::build(&QuickPlan {
                work: &work,
                lock: &lock,
                core: &self.core,
                chip: &self.chip,
                set: &self.set,
                stock: &stock,
                compiler: &compiler,
                pins: &self.pins_of(&stock.versions)?,
                mirrors: &Mirrors::new(vec![Mirror {
                    from: "https://github.com/espressif/esp-idf".into(),
                    to: self.idf.to_str().unwrap().into(),
                }]),
                offline: false,
                accept_unproven: self.accept_unproven,
                report: &report,
            })
        })();
        (outcome, told.into_inner().unwrap())
    }
}

/// A variant's sdkconfig.h, with `symbols` where Kconfig writes them.
pub(crate) fn sdkconfig(variant: &str, symbols: &[&str]) -> String {
    let line = |symbol: &str| {
        if symbols.contains(&symbol) {
            format!("#define CONFIG_SPIRAM_{symbol} 1\n")
        } else {
            String::new()
        }
    };
    format!(
        "/* Automatically generated file */\n#pragma once\n#define CONFIG_SPIRAM 1\n#define CONFIG_SPIRAM_MODE_{} 1\n\
         #define CONFIG_SPIRAM_CS_IO 26\n{}{}{}#define CONFIG_SPIRAM_SPEED_80M 1\n#define CONFIG_SPIRAM_SPEED 80\n{}\
         #define CONFIG_ARDUINO_IDF_BRANCH \"v5.5.5\"\n",
        if variant.ends_with("_opi") {
            "OCT"
        } else {
            "QUAD"
        },
        line("XIP_FROM_PSRAM"),
        line("FETCH_INSTRUCTIONS"),
        line("RODATA"),
        line("ECC_ENABLE"),
    )
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A program for the tests, made of a line of shell.
pub(crate) fn script(path: &Path, line: &str) {
    write(path, &format!("#!/bin/sh\n{line}\n"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Every file of a folder with its content.
pub(crate) fn content(root: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let path = entry
                .path()
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            (path, fs::read(entry.path()).unwrap())
        })
        .collect()
}
