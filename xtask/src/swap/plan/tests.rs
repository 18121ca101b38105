use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::swap::content::Patched;

fn patched(suffix: &str) -> Content {
    Content::Patched(Box::new(Patched {
        suffix: suffix.to_owned(),
        patch_set: None,
        manifest_sha256: None,
        installed: None,
        extra: Vec::new(),
    }))
}

fn content() -> impl Strategy<Value = Content> {
    let lines = || vec!["lib/a.a: changed".to_owned()];
    prop_oneof![
        Just(Content::Missing),
        any::<bool>().prop_map(|recorded| Content::Stock {
            recorded,
            read: recorded,
            extra: Vec::new()
        }),
        prop_oneof![Just("xip-ecc"), Just("other")].prop_map(patched),
        any::<bool>().prop_map(|ecc| Content::PatchedByHand {
            xip: vec!["qio_opi".to_owned()],
            ecc
        }),
        Just(Content::Mixed { files: lines() }),
        Just(Content::Damaged {
            of: Origin::Stock,
            files: lines()
        }),
        Just(Content::Damaged {
            of: Origin::Package {
                suffix: "xip-ecc".to_owned()
            },
            files: lines()
        }),
        Just(Content::NotALibrariesTree {
            why: "it is a link".to_owned()
        }),
    ]
}

/// A tool folder: name -> content.
type Folder = BTreeMap<String, Content>;

fn folder() -> impl Strategy<Value = Folder> {
    let asides = prop::collection::btree_map(
        prop_oneof![
            Just("xip-ecc"),
            Just("other"),
            Just("damaged"),
            Just("mixed"),
            Just("xip-ecc-2")
        ],
        content(),
        0..4,
    );
    (content(), content(), asides).prop_map(|(active, stock, asides)| {
        let asides = asides
            .into_iter()
            .map(|(suffix, content)| (format!("3.3.12.{suffix}"), content));
        let mut folder: Folder = asides.collect();
        folder.insert("3.3.12".to_owned(), active);
        folder.insert("3.3.12.stock".to_owned(), stock);
        folder.retain(|_, content| *content != Content::Missing);
        folder
    })
}

fn plan(folder: &Folder, decide: impl FnOnce(&Standing<'_>) -> Result<Plan>) -> Result<Plan> {
    let place = Place {
        tools: "tools".into(),
        chip: "esp32s3".parse().unwrap(),
        core: "3.3.12".parse().unwrap(),
    };
    let of = |name: &str| folder.get(name).cloned().unwrap_or(Content::Missing);
    let asides = folder
        .keys()
        .filter_map(|name| name.strip_prefix("3.3.12."));
    decide(&Standing {
        place: &place,
        active: of("3.3.12"),
        stock: of("3.3.12.stock"),
        asides: asides
            .filter(|suffix| *suffix != STOCK)
            .map(str::to_owned)
            .collect(),
        look: &|suffix| Ok(of(&format!("3.3.12.{suffix}"))),
        taken: &|name| folder.contains_key(name),
    })
}

/// Carries a plan out on the model; fails where a rename has no source or something is in its way.
fn carry_out(folder: &Folder, plan: &Plan) -> Folder {
    let mut folder = folder.clone();
    for step in &plan.moves {
        let content = folder
            .remove(&step.from)
            .unwrap_or_else(|| panic!("no {} for {plan:?}", step.from));
        let before = folder.insert(step.to.clone(), content);
        assert!(before.is_none(), "{} is in the way of {plan:?}", step.to);
    }
    for name in &plan.remove {
        let content = folder
            .remove(name)
            .expect("what is removed was renamed before");
        let foreign = matches!(
            content,
            Content::NotALibrariesTree { .. }
                | Content::Damaged {
                    of: Origin::Stock,
                    ..
                }
        );
        assert!(name.starts_with(OWN) && !foreign, "{name}: {content:?}");
    }
    folder
}

fn count(folder: &Folder, wanted: impl Fn(&Content) -> bool) -> usize {
    folder.values().filter(|content| wanted(content)).count()
}

fn is_stock(content: &Content) -> bool {
    matches!(content, Content::Stock { .. })
}

fn is_foreign(content: &Content) -> bool {
    matches!(
        content,
        Content::NotALibrariesTree { .. }
            | Content::Damaged {
                of: Origin::Stock,
                ..
            }
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_install_keeps_stock_and_foreign_trees(folder in folder(), same in any::<bool>()) {
        let Ok(plan) = plan(&folder, |standing| standing.install(|| Ok(same))) else { return Ok(()) };
        let mut with_staged = folder.clone();
        with_staged.insert(STAGING.to_owned(), patched("new"));
        let after = carry_out(&with_staged, &plan);
        prop_assert_eq!(after.get("3.3.12"), Some(&patched("new")));
        // Only a second copy of the stock tree may go, and only if it was found to be one.
        let of = |name: &str| folder.get(name).cloned().unwrap_or(Content::Missing);
        let copies = [of("3.3.12"), of("3.3.12.stock")];
        let second = copies.iter().all(is_stock) && same;
        prop_assert_eq!(count(&after, is_stock) + usize::from(second), count(&folder, is_stock));
        prop_assert_eq!(count(&after, is_foreign), count(&folder, is_foreign));
        // What is kept as stock is stock.
        if let Some(kept) = after.get("3.3.12.stock") {
            prop_assert!(is_stock(kept) || folder.get("3.3.12.stock") == Some(kept));
        }
    }

    #[test]
    fn a_revert_ends_with_stock_or_is_refused(folder in folder(), discard in any::<bool>()) {
        let Ok(plan) = plan(&folder, |standing| standing.revert(discard)) else { return Ok(()) };
        let after = carry_out(&folder, &plan);
        prop_assert!(is_stock(&after["3.3.12"]));
        prop_assert_eq!(count(&after, is_stock), count(&folder, is_stock));
        prop_assert_eq!(count(&after, is_foreign), count(&folder, is_foreign));
        if discard {
            prop_assert_eq!(count(&after, Content::is_patched), usize::from(
                folder.get("3.3.12.stock").is_some_and(|kept| kept.is_patched())));
        }
        // The names that the renames pass through tell how many of them are done.
        let names: BTreeSet<&String> = plan.moves.iter().flat_map(|step| [&step.from, &step.to]).collect();
        prop_assert!(names.iter().all(|name| name.starts_with("3.3.12") || name.starts_with(OWN)));
    }
}

#[test]
fn what_is_refused_says_what_to_do() {
    let folder = |names: &[(&str, Content)]| -> Folder {
        names
            .iter()
            .map(|(name, content)| ((*name).to_owned(), content.clone()))
            .collect()
    };
    let stock = Content::Stock {
        recorded: true,
        read: true,
        extra: Vec::new(),
    };
    let damaged = Content::Damaged {
        of: Origin::Stock,
        files: vec!["a: missing".to_owned()],
    };
    let cases = [
        (folder(&[]), "install esp32 3.3.12 in the Boards Manager"),
        (folder(&[("3.3.12", damaged.clone())]), "a: missing"),
        (
            folder(&[
                ("3.3.12", stock.clone()),
                ("3.3.12.stock", patched("xip-ecc")),
            ]),
            "is in the way",
        ),
    ];
    for (folder, word) in cases {
        let error = plan(&folder, |standing| standing.install(|| Ok(true)))
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{error}");
    }
    let cases = [
        (
            folder(&[("3.3.12", patched("xip-ecc"))]),
            "delete the folder",
        ),
        (
            folder(&[("3.3.12", patched("xip-ecc")), ("3.3.12.stock", damaged)]),
            "not as they were recorded",
        ),
    ];
    for (folder, word) in cases {
        let error = plan(&folder, |standing| standing.revert(false))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(word) && error.contains("Nothing was touched"),
            "{error}"
        );
    }
}
