//! Any order of commands, with deaths in between.

use proptest::prelude::*;

use super::world::{FailingDisk, World};
use crate::swap::Content;

#[derive(Debug, Clone, Copy)]
enum Action {
    Install(&'static str),
    Revert {
        discard: bool,
    },
    /// What the Boards Manager leaves when the core is removed and installed again.
    Reinstall,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => Just(Action::Install("xip-ecc")),
        3 => Just(Action::Install("other")),
        3 => any::<bool>().prop_map(|discard| Action::Revert { discard }),
        1 => Just(Action::Reinstall),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_stock_tree_outlives_all(actions in prop::collection::vec((action(), prop::option::of(0_usize..30)), 1..10)) {
        let world = World::new();
        for (number, (action, dies_at)) in actions.iter().enumerate() {
            let when = format!("action {number} of {actions:?}");
            let disk = FailingDisk::new(dies_at.unwrap_or(usize::MAX), true);
            let outcome = match action {
                Action::Install(suffix) => world.install_on(&disk, suffix).map(drop),
                Action::Revert { discard } => world.revert_on(&disk, *discard).map(drop),
                Action::Reinstall => {
                    if world.place.active().exists() {
                        fs_err::remove_dir_all(world.place.active()).unwrap();
                    }
                    super::world::write(&world.place.active(), &world.stock);
                    Ok(())
                }
            };
            let died = disk.steps.into_inner() > disk.fails_at;
            prop_assert!(died || outcome.is_ok(), "{}: {:?}", when, outcome);
            world.assert_stock_is_whole(&when);
            world.assert_state_is_true(&when);
        }
        world.revert(true).unwrap();
        let back = matches!(world.state().active, Content::Stock { .. });
        prop_assert!(back);
        world.install("xip-ecc").unwrap();
        prop_assert!(matches!(world.state().active, Content::Patched(_)));
        world.assert_tidy("after all");
    }
}
