//! A lib-builder with an ESP-IDF of a few files, in the form that upstream's kconfgen reads.

use std::path::Path;

use fs_err as fs;

const BUILDS: &str = r#"{
    "mem_variants_files": [
        {"file": "libspi_flash.a", "src": "a", "out": "b", "targets": ["esp32s3"]},
        {"file": "sections.ld", "src": "a", "out": "b", "targets": ["esp32s3"]}
    ],
    "targets": [{
        "target": "esp32s3", "features": [], "idf_libs": ["qio", "80m", "qio_ram"],
        "bootloaders": [["qio", "80m", "qio_ram"]],
        "mem_variants": [["qio", "80m", "opi_ram"], ["dio", "80m", "qio_ram"]]
    }]
}"#;

const KCONFIG: &str = r#"mainmenu "Small"

config IDF_TARGET
    string
    default "$IDF_TARGET"

config IDF_TARGET_ESP32S3
    bool
    default y if IDF_TARGET = "esp32s3"

source "$COMPONENT_KCONFIGS_PROJBUILD_SOURCE_FILE"

menu "Component config"
    source "$COMPONENT_KCONFIGS_SOURCE_FILE"
endmenu
"#;

const PSRAM: &str = r#"menu "PSRAM"
config SPIRAM
    bool "PSRAM"

choice SPIRAM_MODE
    prompt "Mode"
    depends on SPIRAM
    default SPIRAM_MODE_QUAD
    config SPIRAM_MODE_QUAD
        bool "Quad"
    config SPIRAM_MODE_OCT
        bool "Octal"
endchoice

config SPIRAM_BOOT_INIT
    bool "At boot"
    depends on SPIRAM
    default y

config SPIRAM_XIP_FROM_PSRAM
    bool "XIP"
    depends on SPIRAM
    select SPIRAM_FETCH_INSTRUCTIONS
    select SPIRAM_RODATA

config SPIRAM_FETCH_INSTRUCTIONS
    bool "Instructions"
    depends on SPIRAM

config SPIRAM_RODATA
    bool "Constants"
    depends on SPIRAM

config SPIRAM_ECC_ENABLE
    bool "ECC"
    depends on SPIRAM_MODE_OCT

config SPIRAM_RESERVE
    int "Reserve"
    range 16 64
    default 32
endmenu
"#;

const FLASH: &str = r#"menu "Flash"
choice FLASHFREQ
    prompt "Speed"
    default FLASHFREQ_40M
    config FLASHFREQ_80M
        bool "80"
    config FLASHFREQ_40M
        bool "40"
endchoice

config SPI_FLASH_AUTO_SUSPEND
    bool "Suspend"

config FLASH_HIDDEN
    bool
    default y if SPIRAM_RODATA
endmenu
"#;

/// Files by their paths. Layers end, and do not end, as upstream's do.
const FILES: [(&str, &str); 20] = [
    ("configs/builds.json", BUILDS),
    ("configs/defconfig.common", "CONFIG_SPIRAM_RESERVE=40\r\n"),
    ("configs/defconfig.esp32s3", "CONFIG_SPIRAM=y"),
    ("configs/defconfig.debug_default", ""),
    ("configs/defconfig.qio", "\n"),
    ("configs/defconfig.dio", "\n"),
    ("configs/defconfig.80m", "CONFIG_FLASHFREQ_80M=y\n"),
    (
        "configs/defconfig.qio_ram",
        "# CONFIG_SPIRAM_BOOT_INIT is not set",
    ),
    (
        "configs/defconfig.opi_ram",
        "CONFIG_SPIRAM_MODE_OCT=y\r\n# nothing more",
    ),
    (
        "main/Kconfig.projbuild",
        "config LIB_BUILDER\n    bool\n    default y\n",
    ),
    (
        "components/arduino/cores/esp32/psram.c",
        "#if CONFIG_SPIRAM_ECC_ENABLE\n#endif\n",
    ),
    ("esp-idf/Kconfig", KCONFIG),
    (
        "esp-idf/tools/cmake/version.cmake",
        "set(IDF_VERSION_MAJOR 5)\nset(IDF_VERSION_MINOR 5)\nset(IDF_VERSION_PATCH 5)\n",
    ),
    ("esp-idf/components/esp_psram/Kconfig", PSRAM),
    (
        "esp-idf/components/esp_psram/sdkconfig.rename",
        "CONFIG_OLD_RESERVE CONFIG_SPIRAM_RESERVE\n",
    ),
    ("esp-idf/components/spi_flash/Kconfig.projbuild", FLASH),
    (
        "esp-idf/components/spi_flash/os.c",
        "#if CONFIG_SPIRAM_FETCH_INSTRUCTIONS && CONFIG_SPIRAM_RODATA\n#endif\n",
    ),
    (
        "esp-idf/components/lcd/rgb.c",
        "int reserve = CONFIG_SPIRAM_RESERVE;\n",
    ),
    (
        "esp-idf/components/bootloader/subproject/CMakeLists.txt",
        "set(COMPONENTS\n    bootloader\n    spi_flash)\nset(common_req log)\n",
    ),
    ("esp-idf/components/log/log.c", "// CONFIG_SPIRAM_RODATA\n"),
];

/// Writes it below `root`.
pub(crate) fn write(root: &Path) {
    for (path, text) in FILES {
        put(root, path, text);
    }
}

/// Writes one file below `root`.
pub(crate) fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a patch set of one file below `root`, with more lines of patch.toml.
pub(crate) fn set(root: &Path, name: &str, file: &str, lines: &str, toml: &str) -> String {
    let folder = root.join(name);
    put(&folder, file, lines);
    put(
        &folder,
        "patch.toml",
        &format!("summary = \"s\"\nchips = [\"esp32s3\"]\n{toml}"),
    );
    folder.to_str().unwrap().to_owned()
}
