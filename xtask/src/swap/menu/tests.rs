use super::*;
use crate::swap::RealDisk;
use crate::swap::tests::world::{CORE, FailingDisk, World, read};
use fs_err as fs;

const PLATFORM: &str = "tools.esp32-arduino-libs.path={runtime.tools.{build.chip_variant}-libs.path}\n\
                        compiler.sdk.path={tools.esp32-arduino-libs.path}\nbuild.chip_variant={build.mcu}\n";
const BOARDS: &str = "esp32c6.build.mcu=esp32c6\nadafruit_s3.build.mcu=esp32s3\nesp32s3.build.mcu=esp32s3\n\
                      odd_s3.build.mcu=esp32s3\nodd_s3.build.chip_variant=esp32s3-odd\n";

/// A core that is installed whole.
struct Installation {
    world: World,
    data: PathBuf,
    platform: PathBuf,
}

impl Installation {
    fn new(local: Option<&[u8]>) -> Self {
        let world = World::new();
        let data = world.path("Arduino15");
        let platform = cores::package_dir(&data).join("hardware/esp32").join(CORE);
        fs::create_dir_all(&platform).unwrap();
        fs::write(platform.join("platform.txt"), PLATFORM).unwrap();
        fs::write(platform.join("boards.txt"), BOARDS).unwrap();
        if let Some(local) = local {
            fs::write(platform.join("boards.local.txt"), local).unwrap();
        }
        Self {
            world,
            data,
            platform,
        }
    }

    fn local(&self) -> Option<Vec<u8>> {
        fs::read(self.platform.join("boards.local.txt")).ok()
    }

    fn core(&self) -> Core {
        cores::find(&self.data, &CORE.parse().unwrap()).unwrap()
    }

    fn install_on(&self, disk: &dyn Disk, suffix: &str, dry_run: bool) -> Result<MenuInstalled> {
        let options = InstallOptions {
            dry_run,
            caches: &|| self.world.caches(),
            running: &|| None,
        };
        let (core, zip) = (self.core(), self.world.zip(suffix));
        let chip = &self.world.place.chip;
        install(&self.data, &core, chip, &zip, &options, disk, &|_| {})
    }

    fn install(&self, suffix: &str) -> Result<MenuInstalled> {
        self.install_on(&RealDisk, suffix, false)
    }

    fn revert_on(&self, disk: &dyn Disk, dry_run: bool) -> Result<MenuReverted> {
        let options = InstallOptions {
            dry_run,
            caches: &Vec::new,
            running: &|| None,
        };
        let place = &self.world.place;
        revert(
            &self.data,
            &place.chip,
            &place.core,
            &options,
            disk,
            &|_| {},
        )
    }

    fn revert(&self) -> MenuReverted {
        self.revert_on(&RealDisk, false).unwrap()
    }

    fn menus(&self) -> Vec<MenuState> {
        menus(&self.data, &self.world.place.chip, Depth::Full)
            .unwrap()
            .found
    }

    fn tools(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(cores::tools_dir(&self.data))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_menu_comes_and_goes_without_a_trace() {
    for local in [None, Some(&b"my.name=Mine"[..]), Some(b"a=1\r\n\xff\r\n")] {
        let at = Installation::new(local);
        let all = read(&at.data);
        let planned = at.install_on(&RealDisk, "xip-ecc", true).unwrap();
        assert_eq!(planned.outcome, Outcome::Planned);
        assert_eq!(read(&at.data), all, "a dry run changes nothing");

        let done = at.install("xip-ecc").unwrap();
        assert_eq!(done.outcome, Outcome::Done);
        assert_eq!(done.fqbn, "esp32:esp32:esp32s3:CoreLibs=xip-ecc");
        assert_eq!((done.boards, done.left_out.len()), (2, 1));
        assert!(at.local().unwrap().starts_with(local.unwrap_or_default()));
        at.world.assert_stock_is_whole("after the install");
        let [state] = <[MenuState; 1]>::try_from(at.menus()).unwrap();
        assert!(state.in_menu && state.core_installed);
        assert!(matches!(state.content, Content::Patched(_)), "{state:?}");
        assert!(
            at.world.caches().iter().all(|entry| entry.exists()),
            "the kept cores were compiled against stock, and stay right for it"
        );

        assert_eq!(at.install("xip-ecc").unwrap().outcome, Outcome::Nothing);
        assert_eq!(
            at.revert_on(&RealDisk, true).unwrap().outcome,
            Outcome::Planned
        );
        let reverted = at.revert();
        assert_eq!(reverted.outcome, Outcome::Done);
        assert_eq!(reverted.file_removed, local.is_none());
        assert_eq!(at.local().as_deref(), local);
        assert_eq!(read(&at.data), all, "nothing is left");
        assert_eq!(at.tools(), ["esp32s3-libs"]);
        assert_eq!(at.revert().outcome, Outcome::Nothing);
    }
}

#[test]
fn two_sets_share_the_menu_and_another_package_takes_a_sets_place() {
    let at = Installation::new(None);
    at.install("xip-ecc").unwrap();
    at.install("other").unwrap();
    let suffixes: Vec<String> = at
        .menus()
        .into_iter()
        .map(|menu| menu.offer.suffix)
        .collect();
    assert_eq!(suffixes, ["other", "xip-ecc"]);
    // The same suffix, other content.
    let [_, xip] = <[MenuState; 2]>::try_from(at.menus()).unwrap();
    let library = xip.offer.place(&at.data).active().join("lib/libx.a");
    fs::create_dir_all(library.parent().unwrap()).unwrap();
    fs::write(&library, "altered").unwrap();
    assert!(
        matches!(&at.menus()[1].content, Content::Patched(patched) if patched.extra == ["lib/libx.a"])
    );
    let again = at.install("xip-ecc").unwrap();
    assert_eq!(again.outcome, Outcome::Done);
    assert_eq!(
        again.caches.removed,
        at.world.caches(),
        "compiled against what was there"
    );
    assert!(matches!(at.menus()[1].content, Content::Patched(_)));
    at.revert();
    assert_eq!(
        (at.local(), at.tools()),
        (None, vec!["esp32s3-libs".to_owned()])
    );
}

#[test]
fn after_an_upgrade_of_the_core_the_menu_is_gone_and_told() {
    let at = Installation::new(None);
    at.install("xip-ecc").unwrap();
    fs::remove_dir_all(&at.platform).unwrap();
    let [state] = <[MenuState; 1]>::try_from(at.menus()).unwrap();
    assert!(!state.in_menu && !state.core_installed);
    assert!(matches!(state.content, Content::Patched(_)));
    assert_eq!(at.revert().outcome, Outcome::Done);
    assert!(at.menus().is_empty());
}

#[test]
fn libraries_of_another_version_are_never_taken_in_place_of_these() {
    let at = Installation::new(None);
    let place = at.install("xip-ecc").unwrap().offer.place(&at.data);
    // The programs take the highest version in a tool folder, whichever core asks.
    let newer = at_version(&place, "3.3.13");
    fs::rename(place.active(), &newer).unwrap();
    let done = at.install("xip-ecc").unwrap();
    assert_eq!(done.removed, std::slice::from_ref(&newer));
    assert!(!newer.exists() && place.active().is_dir());

    fs::create_dir_all(at.platform.with_file_name("3.3.13")).unwrap();
    fs::rename(place.active(), &newer).unwrap();
    let error = at.install("xip-ecc").unwrap_err().to_string();
    assert!(
        error.contains("--revert --as menu --core 3.3.13"),
        "{error}"
    );
    fs::remove_dir_all(&newer).unwrap();
    fs::create_dir_all(newer.join("holiday")).unwrap();
    fs::remove_dir_all(at.platform.with_file_name("3.3.13")).unwrap();
    let error = at.install("xip-ecc").unwrap_err().to_string();
    assert!(error.contains("it is not known"), "{error}");
}

fn at_version(place: &Place, version: &str) -> PathBuf {
    super::at(&place.tools, version)
}

#[test]
fn a_core_that_would_not_heed_the_menu_is_left_alone() {
    let change = |name: &str, text: &str| {
        let at = Installation::new(None);
        fs::write(at.platform.join(name), text).unwrap();
        let all = read(&at.data);
        let error = at.install("xip-ecc").unwrap_err();
        assert_eq!(crate::exit::code(&error), 3, "{error}");
        assert_eq!(read(&at.data), all);
        error.to_string()
    };
    let moved = change("platform.local.txt", "compiler.sdk.path=/my/libs\n");
    assert!(moved.contains("/my/libs"), "{moved}");
    let none = change("boards.txt", "esp32c6.build.mcu=esp32c6\n");
    assert!(none.contains("no board"), "{none}");
    for taken in ["menu.CoreLibs=Mine\n", "esp32s3.menu.CoreLibs.mine=Mine\n"] {
        let taken = change("boards.local.txt", taken);
        assert!(taken.contains("the same id"), "{taken}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_file_is_not_replaced() {
    let at = Installation::new(None);
    let elsewhere = at.world.path("dotfiles");
    fs::write(&elsewhere, "a=1\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, at.platform.join("boards.local.txt")).unwrap();
    let error = at.install("xip-ecc").unwrap_err().to_string();
    assert!(error.contains("no plain file"), "{error}");
    assert_eq!(fs::read(&elsewhere).unwrap(), b"a=1\n");
}

/// Stock libraries, whole or damaged, and somebody's own files may be the only ones of their kind.
#[test]
fn only_patched_libraries_make_way_for_the_menus() {
    for (what, own) in [("stock", false), ("damaged", true), ("else", false)] {
        for version in [CORE, "3.3.13"] {
            let at = Installation::new(None);
            let tools = cores::tools_dir(&at.data).join("esp32s3-xip-ecc-libs");
            let there = tools.join(version);
            match what {
                "else" => fs::create_dir_all(there.join("holiday")).unwrap(),
                _ => copy(&at.world.place.active(), &there),
            }
            if own {
                // An install in place of the core's own libraries records them.
                at.world.install("xip-ecc").unwrap();
                at.world.revert(true).unwrap();
                let [list, to] = [CORE, version].map(|core| format!("{core}.stock.list"));
                let own = at.world.place.tools.join(".xip");
                fs::create_dir_all(tools.join(".xip")).unwrap();
                fs::copy(own.join(list), tools.join(".xip").join(to)).unwrap();
                fs::write(there.join("versions.txt"), "altered").unwrap();
            }
            let all = read(&at.data);
            for dry_run in [true, false] {
                let error = at.install_on(&RealDisk, "xip-ecc", dry_run).unwrap_err();
                assert_eq!(crate::exit::code(&error), 3, "{error}");
                let text = error.to_string();
                assert!(text.contains("move it elsewhere"), "{text}");
                assert!(text.contains(&there.display().to_string()), "{text}");
                assert_eq!(read(&at.data), all, "{what} {version}");
            }
            at.revert();
            assert!(there.exists(), "{what} {version}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_folder_is_never_followed() {
    let link = |to: &Path, at: &Path| {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, at).unwrap();
    };
    for name in ["", CORE, ".xip", "3.3.13"] {
        let at = Installation::new(None);
        let stock = match name {
            "" | ".xip" => at.world.place.tools.clone(),
            _ => at.world.place.active(),
        };
        let folder = cores::tools_dir(&at.data).join("esp32s3-xip-ecc-libs");
        let linked = match name {
            "" => folder.clone(),
            name => folder.join(name),
        };
        link(&stock, &linked);
        let all = read(&stock);
        let dry = at.install_on(&RealDisk, "xip-ecc", true);
        for error in [dry.unwrap_err(), at.install("xip-ecc").unwrap_err()] {
            assert_eq!(crate::exit::code(&error), 3, "{error}");
            let told = format!("{} is a link", linked.display());
            assert!(error.to_string().starts_with(&told), "{error}");
        }
        for dry_run in [true, false] {
            let reverted = at.revert_on(&RealDisk, dry_run).unwrap();
            assert!(reverted.removed.is_empty());
            // That of another version is not the business of this revert.
            if name != "3.3.13" {
                assert!(reverted.left[0].contains("is a link"), "{reverted:?}");
            }
        }
        if name != ".xip" {
            let chip = &at.world.place.chip;
            let menus = menus(&at.data, chip, Depth::Quick).unwrap();
            assert!(menus.found.is_empty());
            assert_eq!(menus.passed_over.len(), 1, "{:?}", menus.passed_over);
        }
        assert_eq!(read(&stock), all, "{name}");
        assert!(linked.is_symlink());
    }
}

#[test]
fn libraries_that_make_way_are_named() {
    let at = Installation::new(None);
    let place = at.install("xip-ecc").unwrap().offer.place(&at.data);
    fs::write(place.active().join("versions.txt"), "altered").unwrap();
    for dry_run in [true, false] {
        let done = at.install_on(&RealDisk, "xip-ecc", dry_run).unwrap();
        let replaced = done.replaced.unwrap();
        assert!(replaced.contains("versions.txt"), "{replaced}");
    }
    assert_eq!(at.install("xip-ecc").unwrap().replaced, None);
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        match entry.file_type().is_dir() {
            true => fs::create_dir_all(to).unwrap(),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[test]
fn two_at_once_leave_a_sound_installation() {
    let own: Option<&[u8]> = Some(b"my.name=Mine");
    let at = Installation::new(own);
    at.world.zip("xip-ecc");
    for _ in 0..20 {
        std::thread::scope(|scope| {
            scope.spawn(|| at.install("xip-ecc").map(drop));
            scope.spawn(|| at.revert_on(&RealDisk, false).map(drop));
            scope.spawn(|| at.install("xip-ecc").map(drop));
        });
        assert_sound(&at, own, "two at once");
    }
    at.install("xip-ecc").unwrap();
    assert!(at.menus().iter().all(|menu| menu.in_menu));
    at.revert();
    assert_eq!((at.local().as_deref(), at.tools().len()), (own, 1));
}

/// Whatever happened: the user's lines and the stock libraries are whole, and no menu offers what is not there.
fn assert_sound(at: &Installation, own: Option<&[u8]>, when: &str) {
    at.world.assert_stock_is_whole(when);
    let file = at.local();
    let without = file
        .as_ref()
        .map(|file| block::take(file).unwrap().unwrap_or(Some(file.clone())));
    assert_eq!(without.flatten().as_deref(), own, "{when}");
    for menu in at.menus() {
        let whole = matches!(menu.content, Content::Patched(_));
        assert!(!menu.in_menu || whole, "{when}: {menu:?}");
    }
}

/// What stands in the platform's folder, boards.local.txt excepted.
fn others(at: &Installation) -> Vec<String> {
    let names = fs::read_dir(&at.platform).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "boards.local.txt")
        .collect();
    names.sort();
    names
}

#[test]
fn any_step_may_fail_or_be_the_last() {
    let own: Option<&[u8]> = Some(b"my.name=Mine");
    // It waits for no disk, nor does making the package anew for each.
    let made = Installation::new(own);
    let zips = ["xip-ecc", "other"].map(|suffix| made.world.zip(suffix));
    let sound = FailingDisk::new(usize::MAX, false);
    for (before, command) in [
        ("", "install"),
        ("other", "install"),
        ("xip-ecc", "revert"),
        ("damaged", "install"),
    ] {
        for (dies, next) in [
            (false, "install"),
            (true, "install"),
            (false, "revert"),
            (true, "revert"),
        ] {
            let mut steps = 0;
            for fails_at in 0.. {
                let when =
                    format!("{before}, {command}, step {fails_at}, dies: {dies}, then {next}");
                let at = Installation::new(own);
                fs::create_dir(at.world.path("dist")).unwrap();
                for zip in &zips {
                    let name = zip.file_name().unwrap();
                    fs::copy(zip, at.world.path("dist").join(name)).unwrap();
                }
                match before {
                    "" => {}
                    "damaged" => {
                        let done = at.install_on(&sound, "xip-ecc", false).unwrap();
                        let place = done.offer.place(&at.data);
                        fs::write(place.active().join("versions.txt"), "altered").unwrap();
                    }
                    suffix => drop(at.install_on(&sound, suffix, false).unwrap()),
                }
                let disk = FailingDisk::new(fails_at, dies);
                let run = |disk: &dyn Disk, command: &str| match command {
                    "install" => at.install_on(disk, "xip-ecc", false).map(drop),
                    _ => at.revert_on(disk, false).map(drop),
                };
                let outcome = run(&disk, command);
                if disk.steps.into_inner() <= fails_at {
                    outcome.unwrap();
                    steps = fails_at;
                    break;
                }
                if before != "damaged" {
                    assert_sound(&at, own, &when);
                }
                run(&sound, next).unwrap_or_else(|error| panic!("{when}: {error:#}"));
                assert_sound(&at, own, &when);
                assert_eq!(others(&at), ["boards.txt", "platform.txt"], "{when}");
                let offered = at
                    .menus()
                    .iter()
                    .any(|menu| menu.in_menu && menu.offer.suffix == "xip-ecc");
                assert_eq!(offered, next == "install", "{when}");
                if next == "revert" {
                    assert_eq!(at.local().as_deref(), own, "{when}");
                    assert_eq!(at.tools(), ["esp32s3-libs"], "{when}");
                }
            }
            assert!(steps >= 5, "{before}, {command}: {steps} steps only");
        }
    }
}
