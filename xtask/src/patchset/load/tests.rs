use super::*;
use crate::libs::layout::{Build, Product};

/// A set of one file, for tests of other modules too.
pub(crate) fn set(name: &str, toml: &str, files: &[(&str, &str)]) -> Result<PatchSet> {
    let toml = format!("summary = 'for a test'\nchips = ['esp32s3']\n{toml}");
    let mut map: BTreeMap<String, Vec<u8>> = files
        .iter()
        .map(|(file, text)| ((*file).to_owned(), text.as_bytes().to_vec()))
        .collect();
    map.insert("patch.toml".to_owned(), toml.into_bytes());
    load(name, name, &map)
}

fn verdicts(toml: &str, files: &[(&str, &str)]) -> Vec<String> {
    let text = set("my-set", toml, files).unwrap_err().to_string();
    text.lines()
        .skip(1)
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn one_verdict_a_bad_line_all_at_once() {
    let text = "SPIRAM=y\n# why\nCONFIG_A=text\nCONFIG_B=y\nCONFIG_B=n\nCONFIG_C=y\nCONFIG_C=y\nconfig_d=y\n CONFIG_E=y\n";
    let found = verdicts("", &[("defconfig.opi_ram", text), ("configs.txt", "")]);
    assert_eq!(found.len(), 7, "{found:#?}");
    for (found, want) in found.iter().zip([
        "my-set/configs.txt: ",
        "my-set/defconfig.opi_ram:1: ",
        "my-set/defconfig.opi_ram:3: ",
        "my-set/defconfig.opi_ram:5: `CONFIG_B=n`: another value than line 4",
        "my-set/defconfig.opi_ram:7: `CONFIG_C=y`: already set by line 6",
        "my-set/defconfig.opi_ram:8: ",
        "my-set/defconfig.opi_ram:9: ",
    ]) {
        assert!(found.starts_with(want), "{found} | {want}");
    }
}

#[test]
fn not_set_and_n_are_one_wish() {
    let text = "# CONFIG_A is not set\nCONFIG_A=n\n";
    let found = verdicts("", &[("defconfig.common", text)]);
    assert!(found[0].contains("already set by line 1"), "{found:?}");
    let layered = [
        ("defconfig.common", "CONFIG_A=y\n"),
        ("defconfig.qio_ram", "# CONFIG_A is not set\n"),
    ];
    assert!(
        set("my-set", "", &layered).is_ok(),
        "files are layers: two of them may differ"
    );
}

#[test]
fn faults_of_patch_toml_are_named() {
    let file = [("defconfig.common", "CONFIG_A=y\n")];
    for (toml, want) in [
        (
            "[hazard]\ntext = 't'\n",
            "[hazard] needs a `reason`, or the name of a `rule`",
        ),
        (
            "[hazard]\ntext = 't'\nreason = 'r'\nrule = 'auto-suspend'\n",
            "[hazard] needs a `reason`, or the name of a `rule`",
        ),
        (
            "[hazard]\ntext = 't'\nrule = 'xip'\n",
            "no rule is called `xip`; known are xip-without-boot-init",
        ),
        ("sufix = 'x'\n", "patch.toml:3: unknown field `sufix`"),
        ("suffix = '../x'\n", "the suffix `../x`"),
        ("[[expect]]\nvariant = '*_opi'\n", "expects nothing"),
        ("[[expect]]\nvariant = '*_opi'\nA = 'y'\n", "write CONFIG_A"),
        (
            "[[expect]]\nvariant = '*_opi'\nCONFIG_A = true\n",
            "`true` is not a value",
        ),
        (
            "[[expect]]\nvariant = '***'\nCONFIG_A = 'y'\n",
            "`***` is not a pattern",
        ),
        (
            "[[replace]]\nfile = 'defconfig.common'\nsymbol = 'CONFIG_B'\nvalue = 'y'\n",
            "no line for CONFIG_B",
        ),
        (
            "[[replace]]\nfile = 'defconfig.qio'\nsymbol = 'CONFIG_A'\nvalue = 'y'\n",
            "defconfig.qio of this set",
        ),
        ("managed = ['CONFIG_B']\n", "CONFIG_B, which no line"),
    ] {
        let found = verdicts(toml, &file);
        assert!(
            found.len() == 1 && found[0].contains(want),
            "{toml}: {found:?}"
        );
    }
    assert!(verdicts("", &[("defconfig.common", "# nothing\n")])[0].contains("does nothing"));
    let bare = BTreeMap::from([("defconfig.common".to_owned(), b"CONFIG_A=y".to_vec())]);
    assert!(
        load("x", "x", &bare)
            .unwrap_err()
            .to_string()
            .contains("patch.toml: it is missing")
    );
    let toml = BTreeMap::from([(
        "patch.toml".to_owned(),
        b"summary='s'\nchips=['esp32s9']\n".to_vec(),
    )]);
    assert!(
        load("x", "x", &toml)
            .unwrap_err()
            .to_string()
            .contains("unknown chip `esp32s9`")
    );
}

#[test]
fn expected_values_in_all_their_forms() {
    let toml = "[[expect]]\nvariant = '*'\nCONFIG_A = 'off'\nCONFIG_B = 0x10\nCONFIG_C = '0x10'\nCONFIG_D = 'text'\n\
                [[expect]]\nvariant = 'opi_*'\nCONFIG_A = 'y'\n";
    let files = [
        ("defconfig.common", "CONFIG_A=y\nCONFIG_E=1\nCONFIG_F=y\n"),
        ("defconfig.opi_ram", "CONFIG_E=2\n"),
    ];
    let set = set("my-set", toml, &files).unwrap();
    let build = |layers: &[&str]| Build {
        product: Product::Variant {
            variant: String::new(),
        },
        layers: layers
            .iter()
            .map(|layer| format!("defconfig.{layer}"))
            .collect(),
    };
    let octal = build(&["common", "opi_ram"]);
    let qio = set.expected("qio_opi", &octal);
    assert_eq!(
        qio["CONFIG_A"],
        &Value::Bool(false),
        "said so, against the line"
    );
    assert_eq!(qio["CONFIG_B"], qio["CONFIG_C"]);
    assert_eq!(qio["CONFIG_D"], &Value::Text("text".into()));
    assert_eq!(
        (qio["CONFIG_E"], qio["CONFIG_F"]),
        (&Value::Number(2), &Value::Bool(true)),
        "the lines themselves"
    );
    assert_eq!(
        set.expected("opi_opi", &octal)["CONFIG_A"],
        &Value::Bool(true),
        "the later one wins"
    );
    assert!(
        !set.expected("qio_qspi", &build(&["qio_ram"]))
            .contains_key("CONFIG_E"),
        "not reached"
    );
}
