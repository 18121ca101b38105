use proptest::prelude::*;

use super::*;

fn kit<'a>(compiler: &'a Compiler, flags: &'a TreeFlags, recipe: &'a Recipe) -> Kit<'a> {
    Kit {
        compiler,
        tree: Path::new("/home/josé/.arduino15/esp32s3-libs/3.3.12"),
        idf: Path::new("/work files/idf"),
        flags,
        recipe,
    }
}

fn compiler() -> Compiler {
    Compiler {
        program: "/tools/esp-x32/2601/bin/xtensa-esp32s3-elf-gcc".into(),
        root: "/tools/esp-x32/2601".into(),
        version: "xtensa-esp-elf-gcc (crosstool-NG esp-14.2.0_20260121) 14.2.0".into(),
    }
}

fn write_flags(dir: &Path, c_flags: &str, defines: &str, includes: &str) {
    std::fs::create_dir_all(dir.join("flags")).unwrap();
    for (name, text) in [
        ("c_flags", c_flags),
        ("defines", defines),
        ("includes", includes),
    ] {
        std::fs::write(dir.join("flags").join(name), text).unwrap();
    }
}

#[test]
fn the_whole_command_line_of_cpu_start() {
    let dir = tempfile::tempdir().unwrap();
    write_flags(
        dir.path(),
        "-mlongcalls -Wno-frame-address -std=gnu17 -MMD -c",
        r#"-DESP_PLATFORM -DIDF_VER=\"v5.5.5\" -DSOC_MMU_PAGE_SIZE=CONFIG_MMU_PAGE_SIZE"#,
        "-iwithprefixbefore hal/esp32s3/include -iwithprefixbefore hal/include ",
    );
    let flags = TreeFlags::read(dir.path()).unwrap();
    assert_eq!(flags.idf_version().unwrap(), semver::Version::new(5, 5, 5));
    let recipe = Recipe::of(&crate::patchset::find("xip-ecc").unwrap()).unwrap();
    let source = recipe
        .sources
        .iter()
        .find(|source| source.component == "esp_system")
        .unwrap();
    let job = Job {
        source,
        config: "/home/josé/.arduino15/esp32s3-libs/3.3.12/qio_opi/include".into(),
        object: "/work files/stock/qio_opi/libesp_system.a/cpu_start.c.obj".into(),
    };
    let compiler = compiler();
    let arguments = arguments(&kit(&compiler, &flags, &recipe), &job).unwrap();
    assert_eq!(
        arguments,
        [
            "-mlongcalls",
            "-Wno-frame-address",
            "-std=gnu17",
            "-DESP_PLATFORM",
            "-DIDF_VER=\"v5.5.5\"",
            "-DSOC_MMU_PAGE_SIZE=CONFIG_MMU_PAGE_SIZE",
            "-Os",
            "-fno-stack-protector",
            "-ffile-prefix-map=/tools/esp-x32/2601=/TOOLCHAIN",
            "-ffile-prefix-map=/home/josé/.arduino15/esp32s3-libs/3.3.12/qio_opi/include=/IDF_BUILD/config",
            "-ffile-prefix-map=/home/josé/.arduino15/esp32s3-libs/3.3.12/include=/IDF/components",
            "-ffile-prefix-map=/work files/idf=/IDF",
            "-I/home/josé/.arduino15/esp32s3-libs/3.3.12/qio_opi/include",
            "-I/work files/idf/components/esp_system/port/include",
            "-I/home/josé/.arduino15/esp32s3-libs/3.3.12/include/hal/esp32s3/include",
            "-I/home/josé/.arduino15/esp32s3-libs/3.3.12/include/hal/include",
            "-c",
            "/work files/idf/components/esp_system/port/cpu_start.c",
            "-o",
            "/work files/stock/qio_opi/libesp_system.a/cpu_start.c.obj",
        ]
    );
    let text = response_file(&arguments);
    assert!(text.contains("\"-DIDF_VER=\\\"v5.5.5\\\"\"\n"), "{text}");
}

#[test]
fn what_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let text = |c_flags: &str, defines: &str, includes: &str| {
        write_flags(dir.path(), c_flags, defines, includes);
        let outcome = TreeFlags::read(dir.path()).and_then(|flags| flags.idf_version().map(drop));
        format!("{:#}", outcome.unwrap_err())
    };
    let (defines, includes) = (r#"-DIDF_VER=\"v5.5.5\""#, "-iwithprefixbefore hal/include");
    for (told, words) in [
        (
            text("@\"/opt/build/toolchain/cflags\" -Os", defines, includes),
            ["c_flags", "/opt/build/toolchain/cflags"],
        ),
        (
            text("-Os", defines, "-I hal/include"),
            ["includes", "`-I hal/include`"],
        ),
        (
            text("-Os", defines, "-iwithprefixbefore hal -iwithprefixbefore"),
            ["includes", "`-iwithprefixbefore`"],
        ),
        (
            text("-Os", "-DESP_PLATFORM", includes),
            ["IDF_VER", "unknown"],
        ),
        (
            text("-Os", r#"-DIDF_VER=\"five\""#, includes),
            ["IDF_VER", "five"],
        ),
        (text("", defines, includes), ["c_flags", "empty"]),
    ] {
        assert!(
            words.iter().all(|word| told.contains(word)),
            "{words:?} in {told}"
        );
    }
    write_flags(dir.path(), "-Os", defines, includes);
    std::fs::remove_file(dir.path().join("flags/defines")).unwrap();
    assert!(format!("{:#}", TreeFlags::read(dir.path()).unwrap_err()).contains("missing"));
}

#[test]
fn a_folder_that_a_prefix_map_cannot_take_is_refused() {
    let (compiler, recipe) = (
        compiler(),
        Recipe::of(&crate::patchset::find("xip-ecc").unwrap()).unwrap(),
    );
    let flags = TreeFlags {
        c: Vec::new(),
        defines: Vec::new(),
        includes: Vec::new(),
    };
    let mut kit = kit(&compiler, &flags, &recipe);
    kit.idf = Path::new("/work=files");
    let job = Job {
        source: &recipe.sources[0],
        config: "/config".into(),
        object: "/x.obj".into(),
    };
    let error = arguments(&kit, &job).unwrap_err().to_string();
    assert!(
        error.contains("/work=files") && error.contains("`=`"),
        "{error}"
    );
}

proptest! {
    /// GCC splits a response file as the tree's own flag files are split.
    #[test]
    fn a_response_file_gives_back_its_arguments(arguments in prop::collection::vec("[^\r\n\0]{0,20}", 0..8)) {
        let read = crate::libs::flags::tokens(&response_file(&arguments)).unwrap();
        let values: Vec<String> = read.into_iter().map(|token| token.value).collect();
        prop_assert_eq!(values, arguments);
    }
}
