use super::*;
use crate::swap::place::Place;

/// A tree of two octal variants and one quad; XIP and ECC on in those named.
fn tree(on: &[&str], ecc: &[&str]) -> (tempfile::TempDir, Place) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place {
        tools: dir.path().to_owned(),
        chip: "esp32s3".parse().unwrap(),
        core: "3.3.12".parse().unwrap(),
    };
    let root = place.active();
    for folder in ["flags", "include", "lib"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for variant in ["dio_opi", "qio_opi", "qio_qspi"] {
        let mut text = "#pragma once\n#define CONFIG_SPIRAM 1\n".to_owned();
        if on.contains(&variant) {
            text += "#define CONFIG_SPIRAM_XIP_FROM_PSRAM 1\n";
        }
        if ecc.contains(&variant) {
            text += "#define CONFIG_SPIRAM_ECC_ENABLE 1\n";
        }
        let path = root.join(variant).join("include");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("sdkconfig.h"), text).unwrap();
    }
    (dir, place)
}

fn seen(place: &Place) -> Content {
    look(&place.active(), place.records(), Depth::Full).unwrap()
}

#[test]
fn settings_tell_stock_from_patched_by_hand_and_mixed() {
    let by_hand = |xip: &[&str], ecc| Content::PatchedByHand {
        xip: xip.iter().map(|variant| (*variant).to_owned()).collect(),
        ecc,
    };
    let both = ["dio_opi", "qio_opi"];
    assert_eq!(
        seen(&tree(&[], &[]).1),
        Content::Stock {
            recorded: false,
            read: false,
            extra: Vec::new()
        }
    );
    assert_eq!(seen(&tree(&both, &both).1), by_hand(&both, true));
    assert_eq!(seen(&tree(&both, &["qio_opi"]).1), by_hand(&both, false));
    // The article's own form reaches quad PSRAM too.
    let all = ["dio_opi", "qio_opi", "qio_qspi"];
    assert_eq!(seen(&tree(&all, &both).1), by_hand(&all, false));
    let Content::Mixed { files } = seen(&tree(&["qio_opi"], &[]).1) else {
        panic!("one octal variant of two is patched");
    };
    assert_eq!(files[0], "dio_opi: XIP from PSRAM is off");
}

#[test]
fn the_two_halves_of_xip_are_the_same_as_the_whole() {
    let (_dir, place) = tree(&[], &[]);
    let set = |variant: &str, text: &str| {
        fs::write(
            place.active().join(variant).join("include/sdkconfig.h"),
            text,
        )
        .unwrap();
    };
    let halves =
        "#define CONFIG_SPIRAM_FETCH_INSTRUCTIONS 1\r\n#define  CONFIG_SPIRAM_RODATA 1\r\n";
    set("dio_opi", halves);
    set("qio_opi", halves);
    assert!(matches!(seen(&place), Content::PatchedByHand { .. }));
    let one = "#define CONFIG_SPIRAM_FETCH_INSTRUCTIONS 1\n// #define CONFIG_SPIRAM_RODATA 1\n";
    set("dio_opi", one);
    set("qio_opi", one);
    assert_eq!(
        seen(&place),
        Content::Stock {
            recorded: false,
            read: false,
            extra: Vec::new()
        }
    );
}

#[test]
fn a_build_of_somebodys_own_is_not_stock() {
    for mark in MARKS_OF_A_BUILD {
        let (_dir, place) = tree(&[], &[]);
        fs::write(place.active().join(mark), "").unwrap();
        let content = seen(&place);
        assert_eq!(content.suffix(), Some("by-hand"));
        assert_eq!(content.summary(), "built by somebody else, not the release");
    }
}

#[test]
fn a_manifest_that_does_not_fit_is_damage() {
    for (text, word) in [
        ("", "EOF"),
        ("{\"schema\": 7}", "schema 7"),
        ("\u{0}", "expected value"),
    ] {
        let (_dir, place) = tree(&[], &[]);
        fs::write(place.active().join(manifest::FILE_NAME), text).unwrap();
        let Content::Damaged { files, .. } = seen(&place) else {
            panic!("{:?}", seen(&place));
        };
        assert!(files[0].contains(word), "{files:?}");
    }
}

#[test]
fn what_a_user_reads_is_one_line() {
    let damaged = Content::Damaged {
        of: Origin::Stock,
        files: (0..9).map(|n| format!("lib/{n}.a: missing")).collect(),
    };
    let text = damaged.summary();
    assert!(
        text.contains("lib/0.a: missing") && text.contains("and 4 more"),
        "{text}"
    );
    assert!(!text.contains('\n'));
    let json = serde_json::to_value(&damaged).unwrap();
    assert_eq!(
        (json["is"].as_str(), json["of"]["is"].as_str()),
        (Some("damaged"), Some("stock"))
    );
}
