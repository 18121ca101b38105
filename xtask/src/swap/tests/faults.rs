//! Every step that changes something fails once, and is once the last one of its process.

use super::world::{CORE, FailingDisk, World};
use crate::swap::{Content, Outcome};

/// What stands there before the run.
#[derive(Debug, Clone, Copy)]
enum Before {
    Stock,
    Swapped,
    SwappedByHand,
    /// Reverted once, so that a tree is set aside.
    SetAside,
    /// Patched, and an older tree of the same name is set aside.
    SwappedWithOlder,
}

#[derive(Debug, Clone, Copy)]
enum Command {
    Install(&'static str),
    Revert { discard: bool },
}

impl Before {
    fn world(self) -> World {
        let world = World::new();
        match self {
            Self::Stock => {}
            Self::Swapped => drop(world.install("xip-ecc").unwrap()),
            Self::SwappedByHand => world.swap_by_hand(),
            Self::SetAside => {
                world.install("xip-ecc").unwrap();
                world.revert(false).unwrap();
            }
            Self::SwappedWithOlder => {
                world.install("xip-ecc").unwrap();
                world.revert(false).unwrap();
                world.install("xip-ecc").unwrap();
            }
        }
        world.fill_caches();
        world
    }
}

impl Command {
    fn run(self, world: &World, disk: &FailingDisk) -> anyhow::Result<Outcome> {
        match self {
            Self::Install(suffix) => world.install_on(disk, suffix).map(|done| done.outcome),
            Self::Revert { discard } => world.revert_on(disk, discard).map(|done| done.outcome),
        }
    }
}

/// Runs the command with every step failing in turn, and then `next` without a fault; gives the number of steps.
fn at_every_step(before: Before, command: Command, dies: bool, next: Command) -> usize {
    let sound = FailingDisk::new(usize::MAX, dies);
    for step in 0.. {
        let when = format!(
            "{before:?}, {command:?}, {} at step {step}, then {next:?}",
            if dies { "dead" } else { "failed" }
        );
        let world = before.world();
        // Made before the fault, as a user has it.
        world.zip("xip-ecc");
        world.zip("other");
        let disk = FailingDisk::new(step, dies);
        let outcome = command.run(&world, &disk);
        let steps = disk.steps.into_inner();
        if steps <= step {
            assert_eq!(outcome.unwrap(), Outcome::Done, "{when}");
            return steps;
        }
        world.assert_stock_is_whole(&when);
        world.assert_state_is_true(&when);
        if !dies {
            // A process that lives puts the active tree back, or has the new one there.
            assert!(world.place.active().is_dir(), "{when}: {:?}", world.names());
        }
        next.run(&world, &sound)
            .unwrap_or_else(|error| panic!("{when}: {error:#}"));
        world.assert_stock_is_whole(&when);
        world.assert_state_is_true(&when);
        world.assert_tidy(&when);
        let state = world.state();
        match next {
            Command::Install(suffix) => match state.active {
                Content::Patched(patched) => assert_eq!(patched.suffix, suffix, "{when}"),
                other => panic!("{when}: {other:?}"),
            },
            Command::Revert { discard } => {
                assert!(
                    matches!(state.active, Content::Stock { .. }),
                    "{when}: {:?}",
                    state.active
                );
                if discard {
                    assert_eq!(world.names(), [CORE], "{when}");
                }
            }
        }
        // Whatever the caches were compiled against, it is not there any more; unless the command came to nothing at all.
        if !matches!(before, Before::SetAside) || matches!(next, Command::Install(_)) {
            assert!(
                world.caches().iter().all(|entry| !entry.exists()) || unchanged(before, next),
                "{when}"
            );
        }
    }
    unreachable!()
}

/// Whether `next` leaves active what was active `before` the faulty command, so that old caches fit.
fn unchanged(before: Before, next: Command) -> bool {
    match next {
        Command::Install(suffix) => {
            suffix == "xip-ecc" && matches!(before, Before::Swapped | Before::SwappedWithOlder)
        }
        Command::Revert { .. } => matches!(before, Before::Stock | Before::SetAside),
    }
}

const NEXT: [Command; 3] = [
    Command::Install("xip-ecc"),
    Command::Revert { discard: false },
    Command::Revert { discard: true },
];

fn all(before: Before, command: Command) {
    for dies in [false, true] {
        for next in NEXT {
            let steps = at_every_step(before, command, dies, next);
            assert!(steps >= 5, "{before:?}, {command:?}: {steps} steps only");
        }
    }
}

#[test]
fn install_over_stock() {
    all(Before::Stock, Command::Install("xip-ecc"));
}

#[test]
fn install_over_a_patched_tree() {
    all(Before::Swapped, Command::Install("other"));
}

#[test]
fn install_over_a_tree_swapped_by_hand() {
    all(Before::SwappedByHand, Command::Install("xip-ecc"));
}

#[test]
fn install_with_a_tree_set_aside() {
    all(Before::SetAside, Command::Install("xip-ecc"));
}

#[test]
fn install_where_an_older_tree_makes_room() {
    all(Before::SwappedWithOlder, Command::Install("other"));
}

#[test]
fn revert() {
    for before in [
        Before::Swapped,
        Before::SwappedByHand,
        Before::SwappedWithOlder,
    ] {
        all(before, Command::Revert { discard: false });
    }
}

#[test]
fn revert_that_discards() {
    for before in [
        Before::Swapped,
        Before::SwappedByHand,
        Before::SwappedWithOlder,
        Before::SetAside,
    ] {
        all(before, Command::Revert { discard: true });
    }
}
