//! Calls cargo for the static library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use xshell::{Shell, cmd};

use anyhow::{Context, Result, bail};
use fs_err as fs;

use super::toolchain::Toolchain;

/// The crate with the C functions.
const CRATE: &str = "flightlog-ffi";
/// What cargo calls its file, on the different hosts.
const FILES: [&str; 2] = ["libflightlog_ffi.a", "flightlog_ffi.lib"];

/// One call of cargo.
#[derive(Debug, Clone)]
pub struct Call {
    cargo: PathBuf,
    words: Vec<OsString>,
    env: Vec<(&'static str, OsString)>,
    /// Where its file will be.
    folder: PathBuf,
}

impl Call {
    /// The call that compiles the crate of `workspace` into `target_dir`.
    ///
    /// The library is asked for as a static library alone: with the Rust library beside it, cargo would leave link-time
    /// optimisation to a later linker.
    pub fn new(toolchain: &Toolchain, workspace: &Path, target_dir: &Path) -> Self {
        let mut words: Vec<OsString> = ["rustc", "--locked", "--package", CRATE, "--lib"]
            .map(Into::into)
            .into();
        words.extend(["--crate-type", "staticlib", "--profile", "firmware"].map(Into::into));
        words.extend([
            "--manifest-path".into(),
            workspace.join("Cargo.toml").into(),
        ]);
        words.extend(["--target".into(), toolchain.triple.clone().into()]);
        words.extend(["--target-dir".into(), target_dir.into()]);
        let mut env = vec![("RUSTC", toolchain.rustc.clone().into())];
        if toolchain.build_std {
            words.push("-Zbuild-std=core".into());
            // The sources' own compiler may use what is not stable for everybody.
            env.push(("RUSTC_BOOTSTRAP", "1".into()));
        }
        Self {
            cargo: toolchain.cargo.clone(),
            words,
            env,
            folder: target_dir.join(&toolchain.triple).join("firmware"),
        }
    }

    /// The call as one would type it.
    pub fn text(&self) -> String {
        let quoted = |word: &OsString| shell_words::quote(&word.to_string_lossy()).into_owned();
        let env = self.env.iter();
        let env = env.map(|(name, value)| format!("{name}={}", quoted(value)));
        let cargo = quoted(&self.cargo.clone().into());
        let words = self.words.iter().map(quoted);
        env.chain([cargo])
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Makes the call; cargo's own progress goes to standard error. Gives the static library's bytes.
    ///
    /// # Errors
    /// It fails; cargo has said why.
    pub fn run(&self) -> Result<Vec<u8>> {
        let sh = Shell::new()?;
        let (cargo, words) = (&self.cargo, &self.words);
        // What is removed was set by a cargo that runs this program, and would change what is compiled, or by whom.
        cmd!(sh, "{cargo} {words...}")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .quiet()
            .run()
            .with_context(|| format!("compiling the firmware failed:\n  {}", self.text()))?;
        let built = FILES
            .map(|name| self.folder.join(name))
            .into_iter()
            .find(|file| file.exists());
        let Some(built) = built else {
            bail!("cargo made no static library in {}", self.folder.display());
        };
        Ok(fs::read(built)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_builds_core_where_it_must() {
        let mut toolchain = Toolchain {
            cargo: "cargo".into(),
            rustc: "rustc".into(),
            version: "rustc 1.90.0".into(),
            triple: "xtensa-esp32s3-none-elf".into(),
            build_std: true,
        };
        let call = Call::new(&toolchain, Path::new("w"), Path::new("t"));
        assert_eq!(
            call.text().replace('\\', "/"),
            "RUSTC=rustc RUSTC_BOOTSTRAP=1 cargo rustc --locked --package flightlog-ffi --lib --crate-type staticlib \
             --profile firmware --manifest-path w/Cargo.toml --target xtensa-esp32s3-none-elf --target-dir t \
             '-Zbuild-std=core'"
        );
        toolchain.build_std = false;
        let text = Call::new(&toolchain, Path::new("w"), Path::new("t")).text();
        assert!(
            !text.contains("BOOTSTRAP") && !text.contains("build-std"),
            "{text}"
        );
    }
}
