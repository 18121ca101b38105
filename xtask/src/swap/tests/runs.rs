//! Runs that nothing disturbs.

use fs_err as fs;

use super::world::{CORE, World, read, tree, write};
use crate::exit;
use crate::progress::Event;
use crate::swap::{
    self, Content, Depth, InstallOptions, Outcome, Patched, RealDisk, RevertOptions,
};

fn patched(content: &Content) -> &Patched {
    match content {
        Content::Patched(patched) => patched,
        other => panic!("{other:?}"),
    }
}

#[test]
fn install_and_revert_give_whole_trees_and_clear_the_caches() {
    let world = World::new();
    let installed = world.install("xip-ecc").unwrap();
    assert_eq!(installed.outcome, Outcome::Done);
    assert_eq!(installed.caches.removed, world.caches());
    assert!(world.caches().iter().all(|entry| !entry.exists()));
    assert_eq!(world.names(), [CORE, "3.3.12.stock"]);
    assert_eq!(read(&world.place.stock()), world.stock);
    let mut active = read(&world.place.active());
    assert!(active.remove("libs-manifest.json").is_some());
    assert_eq!(active, tree(Some("xip-ecc")));
    let state = world.state();
    assert_eq!(
        state.stock,
        Content::Stock {
            recorded: true,
            read: true,
            extra: Vec::new()
        }
    );
    let record = patched(&state.active).installed.clone().unwrap();
    assert!(record.by.starts_with("xtask ") && record.zip.ends_with("xip-ecc.zip"));
    world.assert_tidy("installed");

    world.fill_caches();
    let reverted = world.revert(false).unwrap();
    assert_eq!(reverted.outcome, Outcome::Done);
    assert_eq!(reverted.aside.unwrap(), world.place.at("3.3.12.xip-ecc"));
    assert!(world.caches().iter().all(|entry| !entry.exists()));
    assert_eq!(world.names(), [CORE, "3.3.12.xip-ecc"]);
    assert_eq!(read(&world.place.active()), world.stock);
    let state = world.state();
    assert_eq!(
        state.active,
        Content::Stock {
            recorded: true,
            read: true,
            extra: Vec::new()
        }
    );
    assert_eq!(patched(&state.asides[0].content).suffix, "xip-ecc");
    world.assert_tidy("reverted");
}

#[test]
fn a_second_time_there_is_nothing_to_do() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    world.fill_caches();
    let again = world.install("xip-ecc").unwrap();
    assert_eq!((again.outcome, again.moves.len()), (Outcome::Nothing, 0));
    assert!(
        world.caches()[0].exists(),
        "the caches fit to what is installed"
    );
    world.revert(false).unwrap();
    world.fill_caches();
    let again = world.revert(false).unwrap();
    assert_eq!((again.outcome, again.moves.len()), (Outcome::Nothing, 0));
    assert!(world.caches()[0].exists());
    let discarded = world.revert(true).unwrap();
    assert_eq!(discarded.outcome, Outcome::Done);
    assert_eq!(world.names(), [CORE]);
    assert!(
        world.caches()[0].exists(),
        "the active libraries did not change"
    );
}

#[test]
fn where_nothing_was_swapped_a_revert_leaves_no_trace() {
    let world = World::new();
    assert_eq!(world.revert(true).unwrap().outcome, Outcome::Nothing);
    assert!(!world.place.at(".xip").exists());
}

#[test]
fn another_patch_set_keeps_the_one_stock_folder() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    let installed = world.install("other").unwrap();
    assert_eq!(installed.aside.unwrap(), world.place.at("3.3.12.xip-ecc"));
    assert_eq!(world.names(), [CORE, "3.3.12.stock", "3.3.12.xip-ecc"]);
    assert_eq!(read(&world.place.stock()), world.stock);
    // And back: the older one of the same name makes room for the newer.
    world.install("xip-ecc").unwrap();
    world.revert(false).unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.other", "3.3.12.xip-ecc"]);
    assert_eq!(read(&world.place.active()), world.stock);
    world.install("xip-ecc").unwrap();
    world.revert(true).unwrap();
    assert_eq!(world.names(), [CORE]);
    world.assert_tidy("discarded");
}

#[test]
fn what_was_swapped_by_hand_is_handled() {
    let world = World::new();
    world.swap_by_hand();
    let content = Content::PatchedByHand {
        xip: vec!["qio_opi".to_owned()],
        ecc: true,
    };
    assert_eq!(world.state().active, content);
    world.revert(false).unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.xip-ecc"]);
    assert_eq!(read(&world.place.active()), world.stock);

    let world = World::new();
    world.swap_by_hand();
    world.install("xip-ecc").unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.stock", "3.3.12.xip-ecc"]);
    assert_eq!(
        world.state().stock,
        Content::Stock {
            recorded: true,
            read: true,
            extra: Vec::new()
        }
    );
    world.revert(true).unwrap();
    assert_eq!(read(&world.place.active()), world.stock);
}

#[test]
fn a_swap_by_hand_that_stopped_half_way_is_completed() {
    let world = World::new();
    fs::rename(world.place.active(), world.place.stock()).unwrap();
    world.revert(false).unwrap();
    assert_eq!(read(&world.place.active()), world.stock);
    fs::rename(world.place.active(), world.place.stock()).unwrap();
    world.install("xip-ecc").unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.stock"]);
}

#[test]
fn after_the_core_was_reinstalled_its_second_copy_goes() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    fs::remove_dir_all(world.place.active()).unwrap();
    write(&world.place.active(), &world.stock);
    assert_eq!(world.revert(false).unwrap().outcome, Outcome::Nothing);
    world.install("xip-ecc").unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.stock"]);
    assert_eq!(read(&world.place.stock()), world.stock);

    // Two that differ: neither is touched.
    fs::remove_dir_all(world.place.at(".xip")).unwrap();
    fs::remove_dir_all(world.place.active()).unwrap();
    write(&world.place.active(), &world.stock);
    fs::write(world.place.active().join("lib/libhal.a"), "newer").unwrap();
    let error = world.install("xip-ecc").unwrap_err();
    assert_eq!(exit::code(&error), 3);
    assert!(error.to_string().contains("are not the same"), "{error}");
    assert_eq!(world.names(), [CORE, "3.3.12.stock"]);
}

#[test]
fn a_folder_that_is_no_libraries_tree_is_never_renamed() {
    let world = World::new();
    fs::remove_dir_all(world.place.active()).unwrap();
    fs::create_dir(world.place.active()).unwrap();
    fs::write(world.place.active().join("thesis.txt"), "").unwrap();
    for error in [
        world.install("xip-ecc").unwrap_err(),
        world.revert(false).unwrap_err(),
    ] {
        assert_eq!(exit::code(&error), 3);
        let text = error.to_string();
        assert!(
            text.contains("is left as it is") && text.contains("not a chip's libraries tree"),
            "{text}"
        );
    }
    assert_eq!(world.names(), [CORE]);
    assert!(!world.place.at(".xip").exists());
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_libraries_is_never_renamed() {
    let world = World::new();
    let elsewhere = world.path("my-own-build");
    fs::rename(world.place.active(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.place.active()).unwrap();
    let text = world.install("xip-ecc").unwrap_err().to_string();
    assert!(text.contains("is a link"), "{text}");
    assert_eq!(read(&elsewhere), world.stock);
}

#[test]
fn a_core_that_is_not_installed_is_told() {
    let world = World::new();
    fs::remove_dir_all(&world.place.tools).unwrap();
    for error in [
        world.install("xip-ecc").unwrap_err(),
        world.revert(false).unwrap_err(),
    ] {
        assert_eq!(exit::code(&error), 2);
        assert!(
            error
                .to_string()
                .contains("install esp32 3.3.12 in the Boards Manager"),
            "{error}"
        );
    }
    assert!(!world.place.tools.exists());
}

#[test]
fn without_a_whole_stock_folder_nothing_is_reverted() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    fs::write(world.place.stock().join("lib/libhal.a"), "short").unwrap();
    let error = world.revert(false).unwrap_err();
    assert_eq!(exit::code(&error), 3);
    for word in [
        "lib/libhal.a: changed",
        "Nothing was touched",
        "Boards Manager",
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
    fs::remove_dir_all(world.place.stock()).unwrap();
    let error = world.revert(true).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no stock libraries to go back to"),
        "{error}"
    );
    assert_eq!(world.names(), [CORE]);
    assert_eq!(patched(&world.state().active).suffix, "xip-ecc");
}

#[test]
fn a_patched_tree_never_becomes_the_stock_one() {
    let world = World::new();
    fs::remove_dir_all(world.place.active()).unwrap();
    write(&world.place.active(), &tree(Some("hand")));
    world.install("xip-ecc").unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.xip-ecc"]);
    // Patched libraries where the stock ones should be kept.
    fs::rename(world.place.at("3.3.12.xip-ecc"), world.place.stock()).unwrap();
    let error = world.revert(false).unwrap_err();
    assert!(error.to_string().contains("patched by hand"), "{error}");
}

#[test]
fn mixed_and_damaged_trees_are_told_apart() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    let archive = "qio_opi/libspi_flash.a";
    fs::write(world.place.active().join(archive), &world.stock[archive]).unwrap();
    assert!(
        matches!(world.state().active, Content::Mixed { .. }),
        "{:?}",
        world.state().active
    );
    fs::write(world.place.active().join(archive), "neither").unwrap();
    let Content::Damaged { files, .. } = world.state().active else {
        panic!("{:?}", world.state().active);
    };
    assert_eq!(files, ["qio_opi/libspi_flash.a: changed"]);
    // A second install of the same package mends it.
    assert_eq!(world.install("xip-ecc").unwrap().outcome, Outcome::Done);
    assert_eq!(world.names(), [CORE, "3.3.12.damaged", "3.3.12.stock"]);
    assert_eq!(patched(&world.state().active).suffix, "xip-ecc");
    world.revert(true).unwrap();
    assert_eq!(world.names(), [CORE]);
}

#[test]
fn a_dry_run_tells_all_and_changes_nothing() {
    let world = World::new();
    let caches = world.caches();
    let before = read(&world.path(""));
    let options = InstallOptions {
        dry_run: true,
        caches: &|| world.caches(),
        running: &|| panic!("it matters only to a run"),
    };
    let zip = world.zip("xip-ecc");
    let plan = swap::install(&world.place, &zip, &options, &RealDisk, &|_| {}).unwrap();
    assert_eq!(plan.outcome, Outcome::Planned);
    assert_eq!(plan.caches.removed, caches);
    let moves: Vec<_> = plan
        .moves
        .iter()
        .map(|step| format!("{} -> {}", step.from, step.to))
        .collect();
    assert_eq!(moves, ["3.3.12 -> 3.3.12.stock", ".xip/new -> 3.3.12"]);
    let mut after = read(&world.path(""));
    after.retain(|path, _| !path.starts_with("dist/") && !path.starts_with("built-"));
    assert_eq!(after, before);

    world.install("xip-ecc").unwrap();
    let before = read(&world.path(""));
    let options = RevertOptions {
        dry_run: true,
        discard: false,
        caches: &|| world.caches(),
        running: &|| None,
    };
    let plan = swap::revert(&world.place, &options, &RealDisk, &|_| {}).unwrap();
    assert_eq!((plan.outcome, plan.moves.len()), (Outcome::Planned, 2));
    assert_eq!(read(&world.path("")), before);
}

#[test]
fn a_zip_made_by_hand_is_installed_as_unverified() {
    use std::io::Write;
    let world = World::new();
    let zip_path = world.path("esp32s3-libs-3.3.12-xip-ecc (1).zip");
    let mut zip = zip::ZipWriter::new(fs::File::create(&zip_path).unwrap());
    for (path, content) in tree(Some("hand")) {
        zip.start_file(
            format!("{CORE}/{path}"),
            zip::write::SimpleFileOptions::default(),
        )
        .unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap();
    assert_eq!(
        world.install_zip(&RealDisk, &zip_path).unwrap().outcome,
        Outcome::Done
    );
    assert_eq!(
        world.install_zip(&RealDisk, &zip_path).unwrap().outcome,
        Outcome::Nothing
    );
    let state = world.state();
    let found = patched(&state.active);
    assert_eq!(
        (found.suffix.as_str(), &found.patch_set),
        ("xip-ecc", &None)
    );
    assert_eq!(
        state.active.summary(),
        "patched, xip-ecc, unverified: no manifest"
    );
    world.revert(false).unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.xip-ecc"]);
}

#[cfg(unix)]
#[test]
fn links_in_a_cache_are_not_followed() {
    let world = World::new();
    let outside = world.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("mine"), "").unwrap();
    let [folder, file] = <[_; 2]>::try_from(world.caches()).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join("deep/link")).unwrap();
    let installed = world.install("xip-ecc").unwrap();
    assert_eq!(installed.caches.removed, [folder]);
    assert_eq!(installed.caches.links, [file]);
    assert!(outside.join("mine").exists());
}

#[test]
fn an_unfinished_run_is_seen_without_touching_it() {
    let world = World::new();
    let disk = super::world::FailingDisk::new(usize::MAX, true);
    world.install_on(&disk, "xip-ecc").unwrap();
    let steps = disk.steps.into_inner();
    world.revert(true).unwrap();
    // Dead right after its first rename: the journal is written, the tree renamed, the new one not in place.
    let mut seen = false;
    for step in 0..steps {
        let world = World::new();
        let disk = super::world::FailingDisk::new(step, true);
        drop(world.install_on(&disk, "xip-ecc"));
        if world.place.active().exists() {
            continue;
        }
        seen = true;
        let before = read(&world.place.tools);
        let state = swap::state(&world.place.tools, &world.place.chip, Depth::Full).unwrap();
        let unfinished = state.unfinished.unwrap();
        assert_eq!(
            (unfinished.done, unfinished.of, unfinished.remedy),
            (Some(1), 2, swap::Remedy::Undo)
        );
        assert_eq!(state.cores[0].active, Content::Missing);
        assert_eq!(
            state.cores[0].stock,
            Content::Stock {
                recorded: true,
                read: true,
                extra: Vec::new()
            }
        );
        assert_eq!(read(&world.place.tools), before);
        assert!(world.revert(false).unwrap().recovered.is_some());
        assert_eq!(read(&world.place.active()), world.stock);
    }
    assert!(seen);
}

#[test]
fn files_that_do_not_belong_there_never_stop_a_revert() {
    let world = World::new();
    fs::write(world.place.active().join(".DS_Store"), "finder").unwrap();
    world.install("xip-ecc").unwrap();
    assert_eq!(world.names(), [CORE, "3.3.12.stock"]);
    for litter in ["lib/Thumbs.db", "include/._a", "flags/defines~"] {
        fs::write(world.place.stock().join(litter), "x").unwrap();
        fs::write(world.place.active().join(litter), "x").unwrap();
    }
    fs::remove_file(world.place.stock().join(".DS_Store")).unwrap();
    let state = world.state();
    assert_eq!(state.stock.summary(), "stock, every file as recorded");
    assert_eq!(patched(&state.active).extra, Vec::<String>::new());

    for folder in [world.place.stock(), world.place.active()] {
        fs::write(folder.join("include/my notes.txt"), "x").unwrap();
    }
    let state = world.state();
    let strangers = "1 file that does not belong there: include/my notes.txt";
    assert_eq!(state.stock.summary(), format!("stock, and {strangers}"));
    assert_eq!(
        state.active.summary(),
        format!("patched, set xip-ecc, and {strangers}")
    );
    let warnings = std::sync::Mutex::new(Vec::new());
    let options = RevertOptions {
        dry_run: false,
        discard: false,
        caches: &Vec::new,
        running: &|| None,
    };
    let report = |event: Event<'_>| {
        if let Event::Warning(text) = event {
            warnings.lock().unwrap().push(text.to_owned());
        }
    };
    swap::revert(&world.place, &options, &RealDisk, &report).unwrap();
    let warnings = warnings.into_inner().unwrap();
    assert!(
        warnings.len() == 2 && warnings.iter().all(|text| text.contains("my notes.txt")),
        "{warnings:?}"
    );
    // And again: what was added stays with the stock libraries.
    world.install("other").unwrap();
    assert!(world.place.stock().join("include/my notes.txt").exists());
    world.revert(false).unwrap();
}

#[test]
fn what_was_only_looked_at_is_not_called_read() {
    let world = World::new();
    world.install("xip-ecc").unwrap();
    let library = world.place.stock().join("lib/libhal.a");
    let mut altered = fs::read(&library).unwrap();
    altered[20] ^= 1;
    fs::write(&library, altered).unwrap();
    let look = |depth| {
        let state = swap::state(&world.place.tools, &world.place.chip, depth).unwrap();
        state.cores[0].stock.summary()
    };
    assert_eq!(look(Depth::Quick), "stock, names and sizes as recorded");
    assert_eq!(
        look(Depth::Full),
        "stock, but damaged: lib/libhal.a: changed"
    );
    assert!(world.revert(false).unwrap().recorded);
}

#[test]
fn stock_libraries_are_said_to_be_put_back_only_where_they_are() {
    let world = World::new();
    let steps = |dry_run: bool| {
        let steps = std::sync::Mutex::new(0);
        let options = RevertOptions {
            dry_run,
            discard: false,
            caches: &Vec::new,
            running: &|| None,
        };
        drop(swap::revert(&world.place, &options, &RealDisk, &|event| {
            if let Event::Step(_) = event {
                *steps.lock().unwrap() += 1;
            }
        }));
        steps.into_inner().unwrap()
    };
    assert_eq!(steps(false), 0, "nothing to revert");
    world.install("xip-ecc").unwrap();
    assert_eq!(steps(true), 0, "a dry run");
    let library = world.place.stock().join("lib/libhal.a");
    let whole = fs::read(&library).unwrap();
    fs::write(&library, "short").unwrap();
    assert_eq!(steps(false), 0, "refused");
    fs::write(&library, whole).unwrap();
    assert_eq!(steps(false), 1);
}
