//! The quick build on the real ESP-IDF v5.5.5, compiled by a real Xtensa compiler of another make.
//!
//! Espressif's compiler is not among the parts of the tests; Debian's gcc-xtensa-lx106 stands in for it, with the headers of
//! libnewlib-dev. So these tests say that the recipe names the right files, that the tree's public headers and the recipe's
//! private ones are all that the sources need, and that headers from a tree and from ESP-IDF's own folders give the same
//! code. They do not say what Espressif's compiler makes of it.
//!
//! `XTASK_REAL_IDF` names a git repository that has commit b774170ff46c (v5.5.5); `XTASK_REAL_SDKCONFIG` a folder with
//! `stock.h` and `patched.h`, the sdkconfig.h of qio_opi that ESP-IDF's kconfgen makes without and with the set's lines.

#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/testing.rs"]
mod testing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fs_err as fs;
use xshell::{Shell, cmd};
use xtask::build::quick::recipe::Recipe;
use xtask::build::quick::{self, QuickPlan, archive::Archive, compare, inputs, sdkconfig};
use xtask::config::Mirror;
use xtask::libs::manifest::BuildRecord;
use xtask::patchset;
use xtask::progress::Event;
use xtask::release;
use xtask::upstream::Mirrors;
use xtask::workdir::WorkDir;

/// The memory variants that the set changes.
const VARIANTS: [&str; 3] = ["qio_opi", "dio_opi", "opi_opi"];

const COMMIT: &str = "b774170ff46c393eeb5e495ea37936038d3f4f4f";

/// Public include folders of the components that the seven sources read, after their CMakeLists.txt for the ESP32-S3; in
/// flags/includes of a release there are more.
const PUBLIC: &str = "newlib/platform_include freertos/config/include freertos/config/include/freertos \
    freertos/config/xtensa/include freertos/FreeRTOS-Kernel/include \
    freertos/FreeRTOS-Kernel/portable/xtensa/include freertos/FreeRTOS-Kernel/portable/xtensa/include/freertos \
    freertos/esp_additions/include esp_hw_support/include esp_hw_support/include/soc \
    esp_hw_support/include/soc/esp32s3 esp_hw_support/mspi_timing_tuning/include esp_hw_support/port/esp32s3 \
    esp_hw_support/port/esp32s3/include heap/include log/include soc/include soc/esp32s3 soc/esp32s3/include \
    soc/esp32s3/register hal/platform_port/include hal/esp32s3/include hal/include esp_rom/include \
    esp_rom/esp32s3/include esp_rom/esp32s3/include/esp32s3 esp_rom/esp32s3 esp_common/include esp_system/include \
    esp_system/port/soc esp_system/port/include/private xtensa/esp32s3/include xtensa/include spi_flash/include \
    esp_psram/include esp_psram/device/include esp_psram/xip_impl/include esp_mm/include esp_timer/include \
    bootloader_support/include bootloader_support/bootloader_flash/include";

/// Flags of the release (shared by all sources) that the stand-in knows.
const C_FLAGS: &str = "-mlongcalls -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-bzero -ffunction-sections \
    -fdata-sections -gdwarf-4 -ggdb -freorder-blocks -Wwrite-strings -fstack-protector -fstrict-volatile-bitfields \
    -fno-jump-tables -fno-tree-switch-conversion -std=gnu17 -w -MMD -c";
const DEFINES: &str = r#"-DESP_PLATFORM -DIDF_VER=\"v5.5.5\" -DSOC_MMU_PAGE_SIZE=CONFIG_MMU_PAGE_SIZE -DSOC_XTAL_FREQ_MHZ=CONFIG_XTAL_FREQ -D_GLIBCXX_HAVE_POSIX_SEMAPHORE -D_GLIBCXX_USE_POSIX_SEMAPHORE -D_GNU_SOURCE -D_POSIX_READER_WRITER_LOCKS"#;

fn folder(test: &str, variable: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.exists());
    if found.is_none() {
        testing::unasked(test, &format!("{variable} names nothing that is there"));
    }
    found
}

#[test]
fn every_file_and_folder_of_the_recipe_is_in_the_commit() {
    let Some(idf) = folder(
        "every_file_and_folder_of_the_recipe_is_in_the_commit",
        "XTASK_REAL_IDF",
    ) else {
        return;
    };
    let repository = git2::Repository::open(idf).unwrap();
    let tree = repository
        .find_commit(COMMIT.parse().unwrap())
        .unwrap()
        .tree()
        .unwrap();
    let recipe = Recipe::of(&patchset::find("xip-ecc").unwrap()).unwrap();
    for path in recipe.idf_paths() {
        assert!(tree.get_path(Path::new(&path)).is_ok(), "{path}");
    }
}

#[test]
fn the_lines_stand_where_kconfig_writes_them() {
    let Some(configs) = folder(
        "the_lines_stand_where_kconfig_writes_them",
        "XTASK_REAL_SDKCONFIG",
    ) else {
        return;
    };
    let recipe = Recipe::of(&patchset::find("xip-ecc").unwrap()).unwrap();
    let stock = fs::read_to_string(configs.join("stock.h")).unwrap();
    let patched = fs::read_to_string(configs.join("patched.h")).unwrap();
    assert_eq!(sdkconfig::insert(&stock, &recipe.defines).unwrap(), patched);
}

#[test]
fn the_seven_real_sources_are_reproduced_and_all_change() {
    const TEST: &str = "the_seven_real_sources_are_reproduced_and_all_change";
    let (Some(idf), Some(configs)) = (
        folder(TEST, "XTASK_REAL_IDF"),
        folder(TEST, "XTASK_REAL_SDKCONFIG"),
    ) else {
        return;
    };
    if which::which("xtensa-lx106-elf-gcc").is_err() || !Path::new("/usr/include/newlib").is_dir() {
        return testing::skipped(TEST, "no gcc-xtensa-lx106 with libnewlib-dev");
    }
    let dir = tempfile::Builder::new()
        .prefix("real é ")
        .tempdir()
        .unwrap();
    let real = Real {
        dir: dir.path().to_owned(),
        configs,
    };
    let recipe = Recipe::of(&patchset::find("xip-ecc").unwrap()).unwrap();
    real.export(&idf, &recipe);
    real.write_compiler();
    let stock = real.objects("stock.h", &recipe);
    let patched = real.objects("patched.h", &recipe);
    for (name, object) in &stock {
        assert!(
            compare::objects(object, &patched[name]).unwrap().is_some(),
            "{name} does not change"
        );
    }
    real.write_tree(&recipe);

    let work = WorkDir::open(&dir.path().join("work")).unwrap();
    let (core, chip) = ("3.3.12".parse().unwrap(), "esp32s3".parse().unwrap());
    let begun = std::time::Instant::now();
    let report = |event: Event<'_>| {
        if let Event::Step(text) | Event::Note(text) | Event::Warning(text) = event {
            eprintln!("{:7.2} s  {text}", begun.elapsed().as_secs_f64());
        }
    };
    let stock = inputs::stock(
        Some(&real.dir.join("tree")),
        dir.path(),
        &core,
        &chip,
        &work,
        &report,
    )
    .unwrap();
    let compiler = inputs::compiler(
        Some(&real.dir.join("esp-x32")),
        dir.path(),
        &core,
        &chip,
        &report,
    )
    .unwrap();
    let pins = release::resolve(
        &release::Request {
            core: &core,
            chip: &chip,
            versions: Some(&stock.versions),
            data_dir: None,
            index: None,
            offline: true,
            downloads: dir.path(),
        },
        &report,
    );
    let built = quick::build(&QuickPlan {
        work: &work,
        lock: &quick::lock(&work, &report).unwrap(),
        core: &core,
        chip: &chip,
        set: &patchset::find("xip-ecc").unwrap(),
        stock: &stock,
        compiler: &compiler,
        pins: &pins.unwrap(),
        mirrors: &Mirrors::new(vec![Mirror {
            from: "https://github.com/espressif/esp-idf.git".into(),
            to: idf.to_str().unwrap().into(),
        }]),
        offline: false,
        accept_unproven: false,
        report: &report,
    });
    let built = built.unwrap();
    report(Event::Note("built"));
    assert_eq!(
        built
            .sources
            .iter()
            .find(|source| source.name == "esp-idf")
            .unwrap()
            .commit,
        COMMIT
    );
    let BuildRecord::Quick {
        proven, members, ..
    } = &built.build
    else {
        panic!("{:?}", built.build)
    };
    assert!(
        *proven && members.len() == 7 * VARIANTS.len(),
        "{members:?}"
    );
    for source in &recipe.sources {
        let bytes = fs::read(built.tree.join("qio_opi").join(&source.archive)).unwrap();
        let member = Archive::parse(&bytes)
            .unwrap()
            .member(&source.member)
            .unwrap()
            .data
            .to_vec();
        assert_eq!(
            compare::objects(&patched[&source.member], &member).unwrap(),
            None,
            "{}",
            source.member
        );
    }
    let nm = Shell::new().unwrap();
    let archive = built.tree.join("qio_opi/libesp_psram.a");
    let index = cmd!(nm, "xtensa-lx106-elf-nm -s {archive}").read().unwrap();
    assert!(
        index.contains("mmu_config_psram_text_segment in mmu_psram_flash.c.obj"),
        "{index}"
    );
}

struct Real {
    dir: PathBuf,
    configs: PathBuf,
}

impl Real {
    fn idf(&self) -> PathBuf {
        self.dir.join("build machine/esp-idf")
    }

    /// Puts what the recipe and the public folders name below `idf()`.
    fn export(&self, repository: &Path, recipe: &Recipe) {
        let repository = git2::Repository::open(repository).unwrap();
        let tree = repository
            .find_commit(COMMIT.parse().unwrap())
            .unwrap()
            .tree()
            .unwrap();
        let public = PUBLIC
            .split_whitespace()
            .map(|folder| format!("components/{folder}"));
        for path in recipe.idf_paths().into_iter().chain(public) {
            let entry = tree.get_path(Path::new(&path)).unwrap();
            let write = |path: String, id: git2::Oid| {
                let file = self.idf().join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, repository.find_blob(id).unwrap().content()).unwrap();
            };
            let Ok(below) = repository.find_tree(entry.id()) else {
                write(path, entry.id());
                continue;
            };
            below
                .walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
                    if entry.kind() == Some(git2::ObjectType::Blob) {
                        write(
                            format!("{path}/{parent}{}", entry.name().unwrap()),
                            entry.id(),
                        );
                    }
                    git2::TreeWalkResult::Ok
                })
                .unwrap();
        }
    }

    /// The stand-in: newlib's headers are not Espressif's, which leave a `const` out and have a name more.
    fn write_compiler(&self) {
        let (sh, newlib) = (Shell::new().unwrap(), self.dir.join("newlib"));
        cmd!(sh, "cp -r /usr/include/newlib {newlib}")
            .quiet()
            .run()
            .unwrap();
        let reent = newlib.join("sys/reent.h");
        let text = fs::read_to_string(&reent).unwrap();
        fs::write(
            &reent,
            text.replace(
                "_reent *const _global_impure_ptr",
                "_reent * _global_impure_ptr",
            ),
        )
        .unwrap();
        let program = self.dir.join("esp-x32/bin/xtensa-esp32s3-elf-gcc");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let line = format!(
            "#!/bin/sh\nexec xtensa-lx106-elf-gcc -D_RETARGETABLE_LOCKING -isystem '{}' \"$@\"\n",
            newlib.display()
        );
        fs::write(&program, line).unwrap();
        cmd!(sh, "chmod +x {program}").quiet().run().unwrap();
    }

    /// Each member compiled as ESP-IDF's CMake does: all headers from its own folders.
    fn objects(&self, config: &str, recipe: &Recipe) -> BTreeMap<String, Vec<u8>> {
        let (sh, idf) = (Shell::new().unwrap(), self.idf());
        let folder = self.dir.join("objects").join(config);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(self.configs.join(config), folder.join("sdkconfig.h")).unwrap();
        let program = self.dir.join("esp-x32/bin/xtensa-esp32s3-elf-gcc");
        let include = |path: String| format!("-I{}", idf.join(path).display());
        let compile = |source: &xtask::build::quick::recipe::Source| {
            let mut arguments: Vec<String> =
                C_FLAGS.split_whitespace().map(str::to_owned).collect();
            arguments.extend(DEFINES.split(' ').map(|define| define.replace('\\', "")));
            arguments.extend(recipe.flags.iter().chain(&source.flags).cloned());
            arguments.push(format!("-fmacro-prefix-map={}=/IDF", idf.display()));
            arguments.push(format!("-I{}", folder.display()));
            arguments.extend(
                recipe
                    .private_includes(&source.component)
                    .into_iter()
                    .map(include),
            );
            arguments.extend(
                PUBLIC
                    .split_whitespace()
                    .map(|path| include(format!("components/{path}"))),
            );
            let (file, object) = (idf.join(source.idf_path()), folder.join(&source.member));
            cmd!(sh, "{program} {arguments...} {file} -o {object}")
                .quiet()
                .run()
                .unwrap();
            (source.member.clone(), fs::read(object).unwrap())
        };
        recipe.sources.iter().map(compile).collect()
    }

    /// A stock tree of one variant, laid out as lib-builder's copy-libs.sh does.
    fn write_tree(&self, recipe: &Recipe) {
        let sh = Shell::new().unwrap();
        let tree = self.dir.join("tree");
        let write = |path: &str, text: &str| {
            fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
            fs::write(tree.join(path), text).unwrap();
        };
        let includes: String = PUBLIC
            .split_whitespace()
            .map(|folder| format!("-iwithprefixbefore {folder} "))
            .collect();
        for (file, text) in [
            ("c_flags", C_FLAGS),
            ("cpp_flags", "-mlongcalls"),
            ("S_flags", "-mlongcalls"),
            ("defines", DEFINES),
            ("includes", &includes),
            ("ld_flags", "-nostdlib"),
            ("ld_libs", "-lesp_psram"),
            ("ld_scripts", "-T memory.ld"),
        ] {
            write(&format!("flags/{file}"), text);
        }
        write(
            "versions.txt",
            "lib-builder: master ee57070\nesp-idf: v5.5.5 b774170ff4\narduino: master 411b5b190\ntinyusb: master 53f8c53c2\n",
        );
        write("lib/libheap.a", "!<arch>\nheap.c.obj/");
        write("ld/memory.ld", "MEMORY {}\n");
        write("sdkconfig", "CONFIG_SPIRAM=y\n");
        for variant in VARIANTS.into_iter().chain(["qio_qspi"]) {
            let config = fs::read_to_string(self.configs.join("stock.h")).unwrap();
            write(&format!("{variant}/include/sdkconfig.h"), &config);
            for source in &recipe.sources {
                let (archive, member) = (
                    tree.join(variant).join(&source.archive),
                    self.dir.join("objects/stock.h").join(&source.member),
                );
                cmd!(sh, "xtensa-lx106-elf-ar rcD {archive} {member}")
                    .quiet()
                    .run()
                    .unwrap();
            }
        }
        for folder in PUBLIC.split_whitespace() {
            let from = self.idf().join("components").join(folder);
            for entry in walkdir::WalkDir::new(&from).into_iter().map(Result::unwrap) {
                if entry
                    .path()
                    .extension()
                    .is_some_and(|extension| extension == "h")
                {
                    let below = entry.path().strip_prefix(&from).unwrap();
                    let to = tree.join("include").join(folder).join(below);
                    fs::create_dir_all(to.parent().unwrap()).unwrap();
                    fs::copy(entry.path(), to).unwrap();
                }
            }
        }
    }
}
