//! The header is what cbindgen writes today. `FLIGHTLOG_WRITE_HEADER=1` writes it.

use std::path::Path;

/// The modules in the order in which the header has them.
const MODULES: [&str; 13] = [
    "status", "handle", "bytes", "panic", "sample", "delta", "ring", "flash", "logger", "log",
    "command", "bench", "tasks",
];

fn written() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml"))
        .expect("cbindgen.toml is a configuration of cbindgen");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for module in MODULES.into_iter().chain(["report"]) {
        builder = builder.with_src(folder.join(format!("src/{module}.rs")));
    }
    let mut header = Vec::new();
    builder
        .generate()
        .expect("cbindgen reads the sources")
        .write(&mut header);
    String::from_utf8(header).expect("a header is text")
}

#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/flightlog.h");
    let header = written();
    if std::env::var_os("FLIGHTLOG_WRITE_HEADER").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == header,
        "include/flightlog.h is not what the sources say; run FLIGHTLOG_WRITE_HEADER=1 cargo test -p flightlog-ffi --test \
         header and commit it"
    );
}

#[test]
fn every_module_is_in_the_header() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.trim_end_matches(".rs");
        assert!(
            name == "lib" || name == "report" || MODULES.contains(&name),
            "{name}.rs is not in the header"
        );
    }
}

#[test]
fn the_header_declares_for_cpp_and_only_names_of_its_own() {
    let header = written();
    assert!(
        header.contains("extern \"C\" {"),
        "F3: C++ would look for mangled names"
    );
    for line in header
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
    {
        let named = line
            .strip_prefix("#define ")
            .or(line.strip_prefix("} "))
            .filter(|rest| !rest.starts_with(" //"));
        let declared = (line.contains('(') && line.ends_with(';') && !line.starts_with(' '))
            .then(|| {
                line.split('(')
                    .next()
                    .and_then(|head| head.split([' ', '*']).next_back())
            })
            .flatten();
        for name in named.into_iter().chain(declared) {
            assert!(
                name.to_ascii_lowercase().starts_with("flightlog_") || line.starts_with("typedef"),
                "{line}"
            );
        }
    }
}
