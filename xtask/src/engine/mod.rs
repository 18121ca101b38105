//! Runs a job in docker, in podman, or on the host: the same job, the same folders, the same log.
//!
//! [`Engine::find`] asks what is there; [`command_line`] is the pure function from facts and a [`Job`] to the words of the
//! call; [`Engine::run`] streams the output and ends the job at Ctrl-C.

mod command;
mod container;
mod detect;
mod host;
mod image;
mod interrupt;
mod run;

pub use command::{Caller, HostOs, Job, Mount, PASSED, command_line};
pub use container::Container;
pub use detect::{Facts, Kind};
pub use host::Host;
pub use image::{DEFAULT_BASE, Image, ImageRecord};
pub use interrupt::listen;
pub use run::{Ended, limited};

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

/// Value of `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Choice {
    /// A running docker, else a running podman. Never the host: that has to be asked for, since its programs, unlike an
    /// image's, are whatever is installed.
    Auto,
    /// The `docker` on the PATH.
    Docker,
    /// The `podman` on the PATH.
    Podman,
    /// No container: the programs installed on this machine.
    Host,
}

/// Where jobs run.
#[derive(Debug)]
pub enum Engine {
    /// In a container.
    Container(Container),
    /// On this machine itself.
    Host(Host),
}

impl Engine {
    /// Finds the engine that was asked for, on the PATH.
    ///
    /// # Errors
    /// No engine, or none that runs: the error says what to install or to start.
    pub fn find(choice: Choice) -> Result<Self> {
        Self::find_in(choice, std::env::var_os("PATH"))
    }

    /// [`Engine::find`] with a PATH of the caller's.
    pub fn find_in(choice: Choice, path: Option<OsString>) -> Result<Self> {
        let caller = Caller::of_this_process();
        match choice {
            Choice::Host => Host::find(path).map(Self::Host),
            _ => Container::find(choice, path, caller).map(Self::Container),
        }
    }

    /// `docker`, `podman` or `host`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Container(container) => container.facts().kind.name(),
            Self::Host(_) => "host",
        }
    }

    /// The path by which a job sees `path`, a file or folder below `root`.
    pub fn inside(&self, root: &Path, path: &Path) -> Result<String> {
        match self {
            Self::Container(container) => command::inside(container.caller().os, root, path),
            Self::Host(_) => Ok(path.display().to_string()),
        }
    }

    /// Runs the job; each line of its output goes to `sink`. `image` is what [`Container::image`] gave, and is not used on
    /// the host.
    ///
    /// Ctrl-C stops the job, a second one kills it; both end in [`Ended::Interrupted`].
    pub fn run(
        &self,
        job: &Job<'_>,
        image: Option<&ImageRecord>,
        sink: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<Ended> {
        match self {
            Self::Container(container) => container.run(job, image, sink),
            Self::Host(host) => host.run(job, sink),
        }
    }
}
