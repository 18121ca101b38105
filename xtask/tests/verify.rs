//! `cargo xtask verify` as a whole: its exit codes and its JSON; and with the real arduino-cli, a real Xtensa compiler and a
//! real linker, on libraries and a core of our own in the real ones' shape.
//!
//! Debian's gcc-xtensa-lx106 stands in for Espressif's compiler, which is not among the parts of the tests.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test program: a panic is its verdict")]

#[path = "../src/verify/made_up.rs"]
mod made_up;
#[path = "../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};

use fs_err as fs;
use made_up::{VARIANTS, write};
use serde_json::Value;
use xshell::{Shell, cmd};

/// Sources of the libraries: archive, file, text. Each has what the real one has of the names that show a setting.
const SOURCES: [(&str, &str, &str); 5] = [
    (
        "libspi_flash.a",
        "spi_flash_os_func_app.c",
        "#include \"sdkconfig.h\"\n\
         void spi_flash_disable_interrupts_caches_and_other_cpu(void);\n\
         #if CONFIG_SPIRAM_FETCH_INSTRUCTIONS && CONFIG_SPIRAM_RODATA\n\
         static volatile int s_spi1_flash_mutex;\n\
         void esp_flash_init_os_functions(void) { s_spi1_flash_mutex++; }\n\
         #else\n\
         static __attribute__((noinline)) void cache_disable(void *arg)\n\
         { (void) arg; spi_flash_disable_interrupts_caches_and_other_cpu(); }\n\
         void esp_flash_init_os_functions(void) { cache_disable(0); }\n\
         #endif\n",
    ),
    (
        "libspi_flash.a",
        "cache_utils.c",
        "static volatile int cache_disable;\n\
         void spi_flash_disable_interrupts_caches_and_other_cpu(void) { cache_disable++; }\n",
    ),
    (
        "libesp_psram.a",
        "esp_psram.c",
        "#include \"sdkconfig.h\"\n\
         void mmu_config_psram_text_segment(void); void mmu_config_psram_rodata_segment(void);\n\
         void esp_psram_init(void) {\n\
         #if CONFIG_SPIRAM_RODATA\n mmu_config_psram_rodata_segment();\n#endif\n\
         #if CONFIG_SPIRAM_FETCH_INSTRUCTIONS\n mmu_config_psram_text_segment();\n#endif\n}\n",
    ),
    (
        "libesp_psram.a",
        "mmu_psram_flash.c",
        "#include \"sdkconfig.h\"\n\
         #if CONFIG_SPIRAM_FETCH_INSTRUCTIONS\nvoid mmu_config_psram_text_segment(void) {}\n#endif\n\
         #if CONFIG_SPIRAM_RODATA\nvoid mmu_config_psram_rodata_segment(void) {}\n#endif\n",
    ),
    (
        "libesp_system.a",
        "cpu_start.c",
        "#include \"sdkconfig.h\"\n\
         void esp_psram_init(void); void esp_flash_init_os_functions(void); void app_main(void);\n\
         int started = 1;\n\
         void __attribute__((section(\".iram1\"))) call_start_cpu0(void) {\n\
         #if CONFIG_SPIRAM_BOOT_INIT\n esp_psram_init();\n#endif\n\
         started++; esp_flash_init_os_functions(); app_main(); }\n",
    ),
];

/// Where the ESP32-S3's linker scripts put things, in short.
const SECTIONS_LD: &str = "ENTRY(call_start_cpu0)
SECTIONS {
  .iram0.text 0x40374000 : { *(.iram1.literal .iram1 .iram1.*) }
  .dram0.data 0x3FC88000 : { *(.data .data.*) }
  .dram0.bss (NOLOAD) : { *(.bss .bss.* COMMON) }
  .flash.text 0x42000020 : { *(.literal .text .literal.* .text.*) }
  .flash_rodata_dummy 0x3C000020 (NOLOAD) : { . = . + SIZEOF(.flash.text); . = ALIGN(0x10000) + 0x20; }
  .flash.rodata : { *(.rodata .rodata.*) }
}
";

/// Our sketches need none of their functions declared, so no ctags, which arduino-cli would fetch, has to find them.
const PLATFORM: &str = r#"tools.ctags.pattern=true
name=ESP32 Arduino
version=3.3.12
compiler.sdk.path={runtime.tools.{build.chip_variant}-libs.path}
build.memory_type={build.boot}_{build.psram_type}
recipe.cpp.o.pattern="xtensa-lx106-elf-gcc" -x c++ -c "@{compiler.sdk.path}/flags/cpp_flags" "-I{compiler.sdk.path}/{build.memory_type}/include" {includes} "{source_file}" -o "{object_file}"
recipe.c.o.pattern="xtensa-lx106-elf-gcc" -c "@{compiler.sdk.path}/flags/c_flags" {includes} "{source_file}" -o "{object_file}"
recipe.ar.pattern="xtensa-lx106-elf-ar" cr "{archive_file_path}" "{object_file}"
recipe.c.combine.pattern="xtensa-lx106-elf-gcc" -nostdlib "-L{compiler.sdk.path}/lib" "-L{compiler.sdk.path}/ld" "-L{compiler.sdk.path}/{build.memory_type}" "@{compiler.sdk.path}/flags/ld_flags" "@{compiler.sdk.path}/flags/ld_scripts" -Wl,--start-group {object_files} "{archive_file_path}" "@{compiler.sdk.path}/flags/ld_libs" -Wl,--end-group -o "{build.path}/{build.project_name}.elf"
"#;

const BOARDS: &str = "menu.PSRAM=PSRAM
esp32s3.name=ESP32S3 Dev Module
esp32s3.build.board=ESP32S3_DEV
esp32s3.build.mcu=esp32s3
esp32s3.build.chip_variant=esp32s3
esp32s3.build.core=esp32
esp32s3.build.boot=qio
esp32s3.menu.PSRAM.disabled=Disabled
esp32s3.menu.PSRAM.disabled.build.psram_type=qspi
esp32s3.menu.PSRAM.opi=OPI PSRAM
esp32s3.menu.PSRAM.opi.build.psram_type=opi
";

/// An Arduino data folder with a core and its libraries, and a sketch.
struct World {
    dir: tempfile::TempDir,
}

/// What a run ended with.
struct Ended {
    code: Option<i32>,
    json: Value,
    error: String,
}

impl World {
    /// Libraries of objects that the tests write: nothing can be compiled with them.
    fn made_up(patched: bool) -> Self {
        let world = Self {
            dir: tempfile::Builder::new()
                .prefix("verify é ")
                .tempdir()
                .unwrap(),
        };
        made_up::write_tree(&world.libraries(), patched);
        if patched {
            world.write_manifest();
        }
        world
    }

    /// Libraries and a core that a real compiler and a real arduino-cli work with; `None`, said as SKIPPED, without these.
    fn real(test: &str, patched: bool) -> Option<Self> {
        for program in ["arduino-cli", "xtensa-lx106-elf-gcc", "xtensa-lx106-elf-ar"] {
            if which::which(program).is_err() {
                testing::skipped(test, &format!("no {program}"));
                return None;
            }
        }
        let world = Self::made_up(false);
        let libraries = world.libraries();
        for variant in VARIANTS {
            let made = made_up::settings(variant, patched);
            made_up::write_variant(&libraries, variant, made, made);
            world.compile_archives(variant);
            write(&libraries, &format!("{variant}/sections.ld"), SECTIONS_LD);
        }
        world.compile_heap();
        for (file, text) in [
            ("c_flags", "-mlongcalls -Os"),
            ("cpp_flags", "-mlongcalls -Os -fno-exceptions -fno-rtti"),
            ("ld_flags", "-mlongcalls -Wl,--gc-sections"),
            (
                "ld_libs",
                "-lspi_flash -lesp_psram -lesp_system -lheap -lgcc",
            ),
        ] {
            write(&libraries, &format!("flags/{file}"), text);
        }
        write(&libraries, "ld/memory.ld", "/* as the sections say */\n");
        if patched {
            world.write_manifest();
        }
        let core = "packages/esp32/hardware/esp32/3.3.12";
        for (path, text) in [
            (format!("{core}/platform.txt"), PLATFORM),
            (format!("{core}/boards.txt"), BOARDS),
            (
                format!("{core}/cores/esp32/Arduino.h"),
                "#pragma once\nvoid setup();\nvoid loop();\n",
            ),
            (
                format!("{core}/cores/esp32/main.cpp"),
                "#include \"Arduino.h\"\nextern \"C\" void app_main() { setup(); for (;;) loop(); }\n",
            ),
            ("package_index.json".into(), "{\"packages\": []}"),
            ("library_index.json".into(), "{\"libraries\": []}"),
        ] {
            write(&world.data(), &path, text);
        }
        world.write_sketch(
            "const char *volatile text = \"constant\";\nvoid setup() {}\nvoid loop() { text++; }\n",
        );
        Some(world)
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("Arduino 15")
    }

    fn libraries(&self) -> PathBuf {
        self.data().join("packages/esp32/tools/esp32s3-libs/3.3.12")
    }

    fn write_manifest(&self) {
        let manifest = made_up::manifest(&self.libraries()).to_string();
        write(&self.libraries(), "libs-manifest.json", manifest);
    }

    fn write_sketch(&self, text: &str) {
        write(self.dir.path(), "Blink/Blink.ino", text);
    }

    fn compile_archives(&self, variant: &str) {
        let folder = self.libraries().join(variant);
        for archive in ["libspi_flash.a", "libesp_psram.a", "libesp_system.a"] {
            let sources = SOURCES.iter().filter(|(of, ..)| *of == archive);
            let sources: Vec<(&str, &str)> =
                sources.map(|(_, file, text)| (*file, *text)).collect();
            self.archive(&folder.join(archive), &sources, &folder.join("include"));
        }
    }

    fn compile_heap(&self) {
        let archive = self.libraries().join("lib/libheap.a");
        self.archive(&archive, &[("heap.c", "int heap;\n")], self.dir.path());
    }

    fn archive(&self, archive: &Path, sources: &[(&str, &str)], include: &Path) {
        let shell = Shell::new().unwrap();
        shell.change_dir(tempfile::tempdir_in(self.dir.path()).unwrap().keep());
        let mut objects = Vec::new();
        for (file, text) in sources {
            shell.write_file(file, text).unwrap();
            let object = format!("{file}.obj");
            cmd!(shell, "xtensa-lx106-elf-gcc -c -Os -mlongcalls -ffunction-sections -I {include} {file} -o {object}")
                .quiet()
                .run()
                .unwrap();
            objects.push(object);
        }
        fs::remove_file(archive).unwrap();
        cmd!(shell, "xtensa-lx106-elf-ar rcD {archive} {objects...}")
            .quiet()
            .run()
            .unwrap();
    }

    fn verify(&self, words: &[&str]) -> Ended {
        let program = assert_cmd::cargo::cargo_bin("xtask");
        let shell = Shell::new().unwrap();
        let home = self.dir.path();
        let (data, work) = (self.data(), home.join("work"));
        for (name, value) in [
            ("HOME", home.to_owned()),
            ("ARDUINO_DIRECTORIES_USER", home.join("Arduino")),
            ("XTASK_CONFIG", home.join("config.toml")),
        ] {
            shell.set_var(name, value);
        }
        write(home, "config.toml", "");
        let output = cmd!(
            shell,
            "{program} verify --json --data-dir {data} --work-dir {work} {words...}"
        )
        .quiet()
        .ignore_status()
        .output()
        .unwrap();
        Ended {
            code: output.status.code(),
            json: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            error: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn compile(&self, words: &[&str]) -> Ended {
        let sketch = self.dir.path().join("Blink");
        let mut all = vec!["--compile", "--sketch", sketch.to_str().unwrap()];
        all.extend(words);
        self.verify(&all)
    }
}

impl Ended {
    /// The check called `id`.
    fn check(&self, id: &str) -> &Value {
        let checks = self.json["checks"].as_array();
        let checks = checks.unwrap_or_else(|| panic!("{} {}", self.json, self.error));
        checks.iter().find(|check| check["id"] == id).unwrap()
    }

    fn ids(&self, outcome: &str) -> Vec<&str> {
        let checks = self.json["checks"].as_array().unwrap().iter();
        checks
            .filter(|check| check["outcome"] == outcome)
            .map(|check| check["id"].as_str().unwrap())
            .collect()
    }
}

#[test]
fn exit_codes_are_the_agreed_ones() {
    let package = World::made_up(true);
    let ended = package.verify(&[]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.json, ended.error);
    assert_eq!(ended.json["good"], true);
    assert_eq!(ended.json["libraries"]["patch_set"], "xip-ecc");
    assert_eq!(ended.ids("failed").len(), 0);

    let stock = World::made_up(false);
    let ended = stock.verify(&[]);
    assert_eq!(
        (ended.code, &ended.json["libraries"]["kind"]),
        (Some(0), &"stock".into())
    );
    let ended = stock.verify(&["--expect", "xip-ecc"]);
    assert_eq!(ended.code, Some(3));
    assert!(
        ended
            .error
            .contains("not good: files.manifest, files.settings"),
        "{}",
        ended.error
    );

    for (words, says) in [
        (&["--expect", "xip"][..], "unknown patch set `xip`"),
        (&["--core", "3.3.11"], "installed are those of 3.3.12"),
        (
            &["--tree", "nowhere"],
            "nowhere is not a chip's libraries tree",
        ),
        (&["--elf", "nowhere.elf"], "no such file"),
        (
            &["--compile", "--sketch", "nowhere"],
            "nowhere is no sketch",
        ),
        (&["--elf", "x.elf", "--compile"], "cannot be used with"),
        (&["--sketch", "x"], "--compile"),
        (&["--psram", "0"], "0 is not in 1..=32"),
    ] {
        let ended = stock.verify(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.error);
        assert!(ended.error.contains(says), "{words:?}: {}", ended.error);
    }
}

#[test]
fn what_was_asked_for_and_did_not_run_is_not_good() {
    let world = World::made_up(true);
    world.write_sketch("");
    let ended = world.compile(&["--arduino-cli", "/nowhere/arduino-cli"]);
    assert_eq!(ended.code, Some(3), "{}", ended.error);
    assert_eq!(ended.check("compile.built")["outcome"], "not-run");
    assert!(
        ended.error.contains("not good: compile.built"),
        "{}",
        ended.error
    );
}

#[test]
fn the_real_arduino_cli_links_what_is_looked_at() {
    const TEST: &str = "the_real_arduino_cli_links_what_is_looked_at";
    for (patched, placement) in [(true, "psram"), (false, "flash")] {
        let Some(world) = World::real(TEST, patched) else {
            return;
        };
        let ended = world.compile(&[]);
        assert_eq!(ended.code, Some(0), "{:#} {}", ended.json, ended.error);
        let program = &ended.json["program"];
        assert_eq!(program["placement"], placement);
        assert_eq!(program["memory_variant"], "qio_opi");
        assert_eq!(program["libraries"], world.libraries().to_str().unwrap());
        assert_eq!(program["need"]["ecc"], patched);
        // Of 2 MB: ECC's sixteenth and two pages, or nothing.
        let left = if patched {
            0x1E_0000 - (2 << 16)
        } else {
            0x20_0000
        };
        assert_eq!(program["left"][0]["left"], left);
        // What is compiled goes when it has been looked at.
        assert_eq!(
            fs::read_dir(world.dir.path().join("work/verify"))
                .unwrap()
                .count(),
            0
        );

        // The same board without PSRAM stays in flash, patched or not.
        let ended = world.compile(&["--fqbn", "esp32:esp32:esp32s3:PSRAM=disabled"]);
        assert_eq!(ended.code, Some(0), "{:#} {}", ended.json, ended.error);
        assert_eq!(ended.json["program"]["memory_variant"], "qio_qspi");
        assert_eq!(ended.json["program"]["placement"], "flash");
    }
}

#[test]
fn the_real_arduino_cli_says_what_is_wrong() {
    const TEST: &str = "the_real_arduino_cli_says_what_is_wrong";
    let Some(world) = World::real(TEST, true) else {
        return;
    };
    world.write_sketch("void setup() { nothing(); }\nvoid loop() {}\n");
    let ended = world.compile(&[]);
    let check = ended.check("compile.built");
    assert_eq!(ended.code, Some(3));
    let why = check["why"].as_str().unwrap();
    assert!(
        why.contains("Blink.ino:1: ") && why.contains("nothing"),
        "{check}"
    );
    assert_eq!(ended.check("compile.psram")["outcome"], "not-run");

    world.write_sketch("void missing();\nvoid setup() { missing(); }\nvoid loop() {}\n");
    let ended = world.compile(&[]);
    let check = ended.check("compile.built");
    assert!(
        check["why"]
            .as_str()
            .unwrap()
            .contains("undefined reference to `_Z7missingv'")
            || check["why"]
                .as_str()
                .unwrap()
                .contains("undefined reference to `missing()'"),
        "{check}"
    );

    for (fqbn, says) in [
        ("esp32:esp32:esp32s9", "--fqbn"),
        ("esp32:esp32:esp32s3:PSRAM=octal", "--fqbn"),
        ("esp8266:esp8266:generic", "core install esp8266:esp8266"),
    ] {
        let ended = world.compile(&["--fqbn", fqbn]);
        let check = ended.check("compile.built");
        assert_eq!((ended.code, &check["outcome"]), (Some(3), &"failed".into()));
        assert!(
            check["what_to_do"].as_str().unwrap().contains(says),
            "{fqbn}: {check}"
        );
    }
}

#[test]
fn an_old_archive_behind_new_headers_is_found_in_the_program() {
    const TEST: &str = "an_old_archive_behind_new_headers_is_found_in_the_program";
    let Some(world) = World::real(TEST, false) else {
        return;
    };
    let header = world.libraries().join("qio_opi/include/sdkconfig.h");
    fs::write(
        &header,
        made_up::sdkconfig(made_up::settings("qio_opi", true)),
    )
    .unwrap();
    let ended = world.compile(&[]);
    assert_eq!(ended.code, Some(3));
    assert_eq!(ended.ids("failed"), ["files.symbols", "compile.placement"]);
    // Other libraries than those that are linked.
    let copy = world.dir.path().join("3.3.12");
    made_up::write_tree(&copy, false);
    let ended = world.compile(&["--tree", copy.to_str().unwrap()]);
    assert!(
        ended.ids("failed").contains(&"compile.libraries"),
        "{:#}",
        ended.json
    );
}
