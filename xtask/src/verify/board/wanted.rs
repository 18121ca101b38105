//! What a board must show: by the user's word, else what rebuilt libraries are for.

use std::collections::BTreeMap;

use flightlog::report::read::Info;

use crate::libs::Value;
use crate::patchset::PatchSet;
use crate::verify::Expected;
use crate::verify::program::Placement;

/// Memory variants of programs for octal PSRAM, and for quad PSRAM or none.
const OCTAL: [&str; 3] = ["qio_opi", "dio_opi", "opi_opi"];
const QUAD: [&str; 3] = ["qio_qspi", "dio_qspi", "opi_qspi"];

pub(super) const CODE: &str = "CONFIG_SPIRAM_FETCH_INSTRUCTIONS";
pub(super) const CONSTANTS: &str = "CONFIG_SPIRAM_RODATA";
pub(super) const ECC: &str = "CONFIG_SPIRAM_ECC_ENABLE";
const MODE: &str = "CONFIG_SPIRAM_MODE_OCT";

/// What is wanted of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Who wants it, behind "with": `stock libraries`, `patch set xip-ecc`.
    pub(super) by: String,
    /// Where code and constants must be.
    pub(super) placement: Placement,
    /// Whether ECC must be in force; `None`: as it was compiled.
    pub(super) ecc: Option<bool>,
    /// Values that compile-time symbols must have.
    pub(super) symbols: BTreeMap<String, Value>,
    /// Whether the loop may be held up: then its thresholds are not asked for.
    pub(super) may_stall: bool,
}

impl Wanted {
    /// What `expected` asks of the board that `info` tells of.
    pub(super) fn of(expected: &Expected, info: Option<&Info>) -> Self {
        let flags = |names: &[&str], on: bool| {
            let named = names
                .iter()
                .map(|name| ((*name).to_owned(), Value::Bool(on)));
            named.collect::<BTreeMap<_, _>>()
        };
        match expected {
            Expected::AsTheySay => Self {
                by: "libraries that run programs from PSRAM".into(),
                placement: Placement::Psram,
                ecc: None,
                symbols: flags(&[CODE, CONSTANTS], true),
                may_stall: false,
            },
            Expected::Stock => Self {
                by: "stock libraries".into(),
                placement: Placement::Flash,
                ecc: Some(false),
                symbols: flags(&[CODE, CONSTANTS, ECC], false),
                may_stall: true,
            },
            Expected::Set(set) => Self::of_set(set, info),
        }
    }

    fn of_set(set: &PatchSet, info: Option<&Info>) -> Self {
        let variants = if info.is_some_and(is_quad) {
            QUAD
        } else {
            OCTAL
        };
        let mut symbols = BTreeMap::new();
        for expect in &set.expects {
            if variants
                .iter()
                .any(|variant| expect.variant.matches(variant))
            {
                symbols.extend(expect.symbols.clone());
            }
        }
        let on = |symbol| symbols.get(symbol) == Some(&Value::Bool(true));
        Self {
            by: format!("patch set {}", set.name),
            placement: if on(CODE) && on(CONSTANTS) {
                Placement::Psram
            } else {
                Placement::Flash
            },
            ecc: symbols.get(ECC).map(|value| *value == Value::Bool(true)),
            symbols,
            may_stall: false,
        }
    }
}

/// Whether the program was compiled for quad PSRAM or none.
pub(super) fn is_quad(info: &Info) -> bool {
    info.symbols.get(MODE) == Some(&None)
}

/// Whether the value that a report gives a symbol is `wanted`.
pub(super) fn is_value(told: Option<i64>, wanted: &Value) -> bool {
    match (wanted, told) {
        (Value::Bool(on), told) => *on == (told.unwrap_or(0) != 0),
        (Value::Number(number), Some(told)) => *number == i128::from(told),
        _ => false,
    }
}
