use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn scan_for(dir: &Path, symbols: &[&str]) -> Impact {
    let layout = Layout {
        chip: "esp32s3".parse().unwrap(),
        target: "esp32s3".to_owned(),
        builds: Vec::new(),
        variant_files: vec!["libspi_flash.a".to_owned(), "sections.ld".to_owned()],
        configs: dir.join("configs"),
    };
    let components = Components::read(dir, "esp32s3").unwrap();
    let symbols = symbols.iter().map(|name| (*name).to_owned()).collect();
    scan(dir, &components, &layout, &symbols).unwrap()
}

fn files(impact: &Impact) -> Vec<(&str, Kind)> {
    impact
        .mentions
        .iter()
        .map(|mention| {
            let file = mention.file.strip_prefix("esp-idf/components/");
            (file.unwrap_or(&mention.file), mention.kind)
        })
        .collect()
}

#[test]
fn what_reads_a_symbol_and_what_only_looks_so() {
    let dir = tree(&[
        ("esp-idf/components/spi_flash/a.c", "#if CONFIG_X\n#endif\n"),
        (
            "esp-idf/components/spi_flash/comment.c",
            "// CONFIG_X\n/* CONFIG_X */ int a;\n",
        ),
        (
            "esp-idf/components/spi_flash/longer.c",
            "#if CONFIG_X_LONG\n",
        ),
        ("esp-idf/components/spi_flash/test_apps/t.c", "CONFIG_X"),
        ("esp-idf/components/spi_flash/config_esp32c6.c", "CONFIG_X"),
        ("esp-idf/components/spi_flash/esp32c3/c.c", "CONFIG_X"),
        ("esp-idf/components/spi_flash/esp32s3/s.S", "CONFIG_X"),
        (
            "esp-idf/components/spi_flash/Kconfig",
            "config X\n    bool\n",
        ),
        (
            "esp-idf/components/bootloader/subproject/main/b.c",
            "CONFIG_X",
        ),
        (
            "esp-idf/components/lcd/CMakeLists.txt",
            "if(CONFIG_X)\n# CONFIG_Y\n",
        ),
        (
            "components/arduino/cores/esp32/psram.c",
            "#ifdef CONFIG_X\n",
        ),
    ]);
    let impact = scan_for(dir.path(), &["CONFIG_X", "CONFIG_Y"]);
    assert_eq!(
        files(&impact),
        [
            ("components/arduino/cores/esp32/psram.c", Kind::Source),
            ("lcd/CMakeLists.txt", Kind::BuildFile),
            ("spi_flash/a.c", Kind::Source),
            ("spi_flash/esp32s3/s.S", Kind::Source),
        ]
    );
    let products: Vec<(&str, bool)> = impact
        .products
        .iter()
        .map(|product| (product.name.as_str(), product.per_variant))
        .collect();
    assert_eq!(products, [("liblcd.a", false), ("libspi_flash.a", true)]);
}

#[test]
fn headers_reach_those_that_include_them() {
    let dir = tree(&[
        (
            "esp-idf/components/soc/include/soc/rtc.h",
            "#define T CONFIG_X\n",
        ),
        (
            "esp-idf/components/hal/include/hal/clk.h",
            "#include \"soc/rtc.h\"\n",
        ),
        ("esp-idf/components/lcd/lcd.c", "#include <hal/clk.h>\n"),
        (
            "esp-idf/components/lcd/other.c",
            "#include \"nearly_clk.h\"\n// #include \"hal/clk.h\"\n",
        ),
        ("esp-idf/components/log/log.c", "#include \"hal/rtc.h\"\n"),
    ]);
    let impact = scan_for(dir.path(), &["CONFIG_X"]);
    assert_eq!(
        files(&impact),
        [
            ("hal/include/hal/clk.h", Kind::Includes),
            ("lcd/lcd.c", Kind::Includes),
            ("soc/include/soc/rtc.h", Kind::Header),
        ]
    );
}

#[test]
fn linker_scripts_count_where_the_chip_uses_them() {
    let dir = tree(&[
        (
            "esp-idf/components/esp_system/ld/esp32s3/sections.ld.in",
            "#include \"ld.common\"\n",
        ),
        (
            "esp-idf/components/esp_system/ld/esp32s3/memory.ld.in",
            "#include \"ld.common\"\n// CONFIG_X\n",
        ),
        (
            "esp-idf/components/esp_system/ld/esp32c5/sections.ld.in",
            "#include \"ld.flash.sections\"\n",
        ),
        (
            "esp-idf/components/esp_system/ld/ld.common",
            "#if CONFIG_X\n",
        ),
        (
            "esp-idf/components/esp_system/ld/ld.flash.sections",
            "#if CONFIG_X\n",
        ),
        ("esp-idf/components/log/linker.lf", "if X = y:\n  # Y\n"),
        ("esp-idf/components/hal/linker.lf", "if X_LONG = y:\n"),
    ]);
    let impact = scan_for(dir.path(), &["CONFIG_X", "CONFIG_Y"]);
    assert_eq!(
        files(&impact),
        [
            ("esp_system/ld/ld.common", Kind::LinkerScript),
            ("log/linker.lf", Kind::LinkerFragment),
        ]
    );
    let products: Vec<(&str, bool)> = impact
        .products
        .iter()
        .map(|product| (product.name.as_str(), product.per_variant))
        .collect();
    assert_eq!(products, [("memory.ld", false), ("sections.ld", true)]);
}
