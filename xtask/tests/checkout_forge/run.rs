//! Runs the stage on a forge.

#![allow(dead_code, reason = "each test program uses its part")]

use std::path::Path;
use std::sync::Mutex;

use fs_err as fs;
use git2::Repository;
use xtask::config::Mirror;
use xtask::progress::Event;
use xtask::release::{Origin, Pins, SourcePin};
use xtask::upstream::{Checkout, Mirrors, Sources};
use xtask::workdir::WorkDir;

use super::checkout_forge::{CRLF, DEFCONFIG, Forge, ODD_NAME};

/// Name, names in git, id.
pub(crate) type Line = (&'static str, Vec<String>, String);

/// Lines as pins.
pub(crate) fn pins(lines: &[Line]) -> Pins {
    Pins {
        core: None,
        origin: Origin::File {
            path: "versions.txt".into(),
        },
        sources: lines
            .iter()
            .map(|(name, refs, commit)| SourcePin {
                name: (*name).into(),
                refs: refs.clone(),
                commit: commit.clone(),
            })
            .collect(),
        components: Vec::new(),
    }
}

/// A run of the stage on `work`; what it told is in `told`.
pub(crate) struct Run {
    pub(crate) work: WorkDir,
    pub(crate) mirrors: Mirrors,
    pub(crate) offline: bool,
    pub(crate) told: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(work: &Path, forge: &Forge) -> Self {
        Self {
            work: WorkDir::open(work).unwrap(),
            mirrors: Mirrors::new(vec![Mirror {
                from: "https://github.com/".into(),
                to: forge.path().display().to_string(),
            }]),
            offline: false,
            told: Mutex::default(),
        }
    }

    pub(crate) fn check_out(&self, pins: &Pins) -> anyhow::Result<Sources> {
        let report = |event: Event<'_>| {
            if let Event::Warning(text) = event {
                self.told.lock().unwrap().push(text.to_owned());
            }
        };
        let checkout = Checkout {
            work: &self.work,
            mirrors: &self.mirrors,
            offline: self.offline,
            report: &report,
        };
        let mut sources = checkout.lib_builder(pins)?;
        checkout.complete(pins, &mut sources)?;
        Ok(sources)
    }

    pub(crate) fn error(&self, pins: &Pins) -> String {
        format!("{:#}", self.check_out(pins).unwrap_err())
    }

    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

/// Every tree holds what the forge's pins say.
pub(crate) fn assert_pinned(sources: &Sources, forge: &Forge) {
    let root = &sources.root;
    let read = |path: &str| fs::read(root.join(path)).unwrap();
    assert_eq!(read("text.txt"), b"pinned\n");
    assert_eq!(read("crlf.txt"), CRLF);
    assert_eq!(read("lf.bat"), b"one\ntwo\n");
    assert_eq!(read("keyword.id"), b"$Id$\n");
    assert_eq!(read("configs/defconfig.esp32s3"), DEFCONFIG);
    assert_eq!(read(ODD_NAME), b"odd\n");
    assert_eq!(read("esp-idf/idf.txt"), b"pinned\n");
    assert_eq!(read("esp-idf/components/lwip/lwip/lwip.c"), b"int lwip;\n");
    assert_eq!(
        read("esp-idf/components/lwip/lwip/inner/deep/deep.c"),
        b"int deep;\n"
    );
    assert_eq!(read("components/arduino/Arduino.h"), b"// pinned\n");
    assert_eq!(
        read("components/arduino_tinyusb/tinyusb/src/tusb.c"),
        b"// pinned\n"
    );
    for (path, commit) in [
        (".", forge.lib_builder),
        ("esp-idf", forge.idf),
        ("esp-idf/components/lwip/lwip", forge.lwip),
        ("esp-idf/components/lwip/lwip/inner/deep", forge.deep),
        ("components/arduino", forge.arduino),
        ("components/arduino_tinyusb/tinyusb", forge.tinyusb),
    ] {
        let repo = Repository::open(root.join(path)).unwrap();
        assert_eq!(repo.head().unwrap().target(), Some(commit), "{path}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o111;
        assert_ne!(mode("build.sh"), 0);
        assert_ne!(mode("esp-idf/install.sh"), 0);
        assert_eq!(mode("text.txt"), 0);
        assert_eq!(
            fs::read_link(root.join("link")).unwrap(),
            Path::new("configs/defconfig.esp32s3")
        );
    }
}
