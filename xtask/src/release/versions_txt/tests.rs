use super::*;

use proptest::prelude::*;

use crate::testing::shared;

const REAL_HEAD: &str = "lib-builder: master aaf47ab\nesp-idf: v5.5.4 735507283d\narduino: master 6cb835025\ntinyusb: master 3ec22e24e\n";

fn read(text: &str) -> Versions {
    parse(text.as_bytes(), "versions.txt").unwrap()
}

fn with(line: &str) -> Versions {
    read(&format!("{REAL_HEAD}{line}\n"))
}

fn refused(text: &str) -> String {
    parse(text.as_bytes(), "x/versions.txt")
        .unwrap_err()
        .to_string()
}

fn component<'a>(versions: &'a Versions, name: &str) -> Option<&'a str> {
    let pin = versions.components.iter().find(|pin| pin.name == name);
    pin.expect(name).version.as_deref()
}

#[test]
fn a_real_file_is_read_whole() {
    let Some(path) = shared("a_real_file_is_read_whole", "upstream/versions-idf-5.1.txt") else {
        return;
    };
    let versions = parse(&fs_err::read(path).unwrap(), "versions.txt").unwrap();
    let sources: Vec<_> = versions
        .sources
        .iter()
        .map(|pin| format!("{} {:?} {}", pin.name, pin.refs, pin.commit))
        .collect();
    assert_eq!(
        sources,
        [
            r#"lib-builder ["master"] aaf47ab"#,
            r#"esp-idf ["release/v5.1"] d23b7a0361"#,
            r#"arduino ["idf-release/v5.1"] 0a7b3353"#,
            r#"tinyusb ["master"] 3ec22e24e"#,
        ]
    );
    assert_eq!(versions.components.len(), 23);
    assert_eq!(component(&versions, "espressif__cbor"), Some("0.6.0~1"));
    assert_eq!(component(&versions, "espressif__esp32-camera"), None);
}

#[test]
fn tags_replace_the_branch_of_a_detached_head() {
    let refs = |text: &str| {
        read(&format!("{text}\n{REAL_HEAD}")).sources[0]
            .refs
            .clone()
    };
    assert_eq!(
        refs("esp-idf: v5.5.4 v5.5-x 735507283d"),
        ["v5.5.4", "v5.5-x"][..]
    );
    assert_eq!(refs("other: 735507283d"), [""; 0][..]);
    assert_eq!(refs("other:   735507283d  "), [""; 0][..]);
}

#[test]
fn a_file_from_windows_reads_the_same() {
    let unix = with("espressif__cbor: 0.6.1~4");
    let windows =
        format!("\u{feff}\r\n{REAL_HEAD}\n  \nespressif__cbor: 0.6.1~4").replace('\n', "\r\n");
    assert_eq!(read(&windows), unix);
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(REAL_HEAD.bytes().flat_map(|byte| [byte, 0]))
        .collect();
    let error = parse(&utf16, "v.txt").unwrap_err().to_string();
    assert!(
        error.contains("v.txt") && error.contains("UTF-8"),
        "{error}"
    );
}

#[test]
fn a_component_without_a_usable_version_is_kept_without_one() {
    assert_eq!(
        component(&with("espressif__esp-dl:"), "espressif__esp-dl"),
        None
    );
    assert_eq!(
        component(
            &with("espressif__esp-dl: master 0a7b335"),
            "espressif__esp-dl"
        ),
        None
    );
    assert_eq!(
        component(&with("espressif__esp-dl: \"1.0\""), "espressif__esp-dl"),
        Some("1.0")
    );
}

#[test]
fn a_repeated_line_counts_once() {
    assert_eq!(read(&format!("{REAL_HEAD}{REAL_HEAD}")), read(REAL_HEAD));
    let joined = with("tinyusb: 0.18.0 3ec22e24e");
    assert_eq!(joined.sources[3].refs, ["master", "0.18.0"]);
    assert_eq!(joined.sources.len(), 4);
}

#[test]
fn a_name_with_two_values_is_refused_with_both_lines() {
    for (line, first) in [
        ("tinyusb: master 3ec22e24f", 4),
        ("espressif__esp-dsp: 1.6.0", 5),
        ("espressif__esp-dsp:", 5),
    ] {
        let error = refused(&format!("{REAL_HEAD}espressif__esp-dsp: 1.7.0\n\n{line}\n"));
        assert!(
            error.contains("x/versions.txt, line 7") && error.contains(line),
            "{error}"
        );
        assert!(
            error.contains(&format!("line {first} gives another value")),
            "{error}"
        );
        assert!(error.contains("chip's own folder"), "{error}");
    }
}

#[test]
fn a_bad_line_is_named() {
    for (line, why) in [
        ("what is this", "expected `name:"),
        ("esp-nn: ", "no commit"),
        ("esp-nn: master", "`master` is not a commit"),
        ("esp-nn: master 12345", "`12345` is not a commit"),
        ("a b: master aaf47ab", "`a b` is not a name"),
        (": aaf47ab", "`` is not a name"),
        ("espressif__cbor: latest", "`latest` is not a version"),
        ("espressif__cbor: 1.0 ; 2.0", "expected one version"),
        ("espressif__cbor: 1.0;python", "is not a version"),
    ] {
        let error = refused(&format!("{REAL_HEAD}{line}\n"));
        assert!(
            error.contains("x/versions.txt, line 5") && error.contains(line.trim()),
            "{error}"
        );
        assert!(error.contains(why), "{error}");
    }
    let error = parse(b"lib-builder: \xff aaf47ab", "v.txt")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("v.txt, line 1") && error.contains("not UTF-8"),
        "{error}"
    );
    let long = refused(&"x".repeat(5_000));
    assert!(long.len() < 300, "{long}");
}

#[test]
fn a_file_cut_short_is_refused() {
    let error = refused("lib-builder: master aaf47ab\nesp-idf: v5.5.4 735507283d\n");
    assert!(
        error.contains("x/versions.txt") && error.contains("`arduino: ...`"),
        "{error}"
    );
    assert!(refused("").contains("lib-builder"));
}

/// The lines as `build.sh` writes them: `echo` of unquoted words.
fn render(versions: &Versions) -> String {
    let sources = versions.sources.iter().map(|pin| {
        let words: Vec<&str> = pin
            .refs
            .iter()
            .chain([&pin.commit])
            .map(String::as_str)
            .collect();
        format!("{}: {}\n", pin.name, words.join(" "))
    });
    let components = versions.components.iter().map(|pin| match &pin.version {
        Some(version) => format!("{}: {version}\n", pin.name),
        None => format!("{}:\n", pin.name),
    });
    sources.chain(components).collect()
}

fn any_versions() -> impl Strategy<Value = Versions> {
    let source = (
        proptest::collection::vec("[a-z][a-z0-9./-]{0,12}", 0..4),
        "[0-9a-f]{7,40}",
    );
    let sources = proptest::collection::vec(source, 4..8).prop_map(|sources| {
        let names = REQUIRED
            .into_iter()
            .map(str::to_owned)
            .chain((0..).map(|n| format!("component-{n}")));
        names
            .zip(sources)
            .map(|(name, (refs, commit))| SourcePin { name, refs, commit })
            .collect()
    });
    let component = (
        "[a-z][a-z0-9-]{0,8}__[a-z0-9_-]{1,12}",
        proptest::option::of("[0-9]{1,3}(\\.[0-9]{1,3}){0,2}(~[0-9])?"),
    );
    let components =
        proptest::collection::btree_map(component.0, component.1, 0..12).prop_map(|components| {
            components
                .into_iter()
                .map(|(name, version)| ComponentPin { name, version })
                .collect()
        });
    (sources, components).prop_map(|(sources, components)| Versions {
        sources,
        components,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(versions in any_versions()) {
        prop_assert_eq!(parse(render(&versions).as_bytes(), "v").unwrap(), versions);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = parse(&bytes, "v");
    }

    #[test]
    fn no_text_of_its_alphabet_makes_it_panic(text in "([a-z_]{0,4}(:|__|\"| |\r|\n|~|[0-9a-f]{7})){0,30}") {
        if let Err(error) = parse(text.as_bytes(), "v") {
            prop_assert!(error.to_string().starts_with('v'));
        }
    }
}
