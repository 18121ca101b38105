//! Who can compile for a target: a cargo, a rustc, and where the target's `core` comes from.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use super::Target;
use crate::exit::Refusal;

/// The name that espup gives to the toolchain that knows Xtensa.
const ESP: &str = "esp";

/// A compiler that was found able.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// cargo.
    pub cargo: PathBuf,
    /// rustc.
    pub rustc: PathBuf,
    /// Its version, as it gives it.
    pub version: String,
    /// The target's full name.
    pub triple: String,
    /// Whether `core` must be compiled from the compiler's own sources.
    pub build_std: bool,
}

/// A pair that might be able.
#[derive(Debug, Clone)]
struct Candidate {
    what: String,
    cargo: PathBuf,
    rustc: PathBuf,
}

/// Finds a compiler for `target`: the one that the user names, else the first able one of those that may be there.
///
/// `named` is a rustup toolchain's name, or a folder with `bin/rustc` and, if it brings one, `bin/cargo`.
///
/// # Errors
/// [`Refusal::Usage`] where there is none: what was looked at and why it will not do, and what to install.
pub fn find(target: Target, named: Option<&str>) -> Result<Toolchain> {
    let sh = Shell::new()?;
    let mut refused = Vec::new();
    for candidate in candidates(&sh, target, named, &mut refused) {
        match probe(&sh, &candidate, target) {
            Ok(toolchain) => return Ok(toolchain),
            Err(why) => refused.push(format!("{}: {why:#}", candidate.what)),
        }
    }
    Err(Refusal::Usage(lacking(target, &refused)).into())
}

fn candidates(
    sh: &Shell,
    target: Target,
    named: Option<&str>,
    refused: &mut Vec<String>,
) -> Vec<Candidate> {
    let own = own();
    let named = match (named, target) {
        (Some(named), _) => Some(named),
        (None, Target::Esp32s3) => Some(ESP),
        (None, _) => None,
    };
    if let Some(name) = named {
        return match of_name(sh, name, own.as_ref()) {
            Ok(candidate) => vec![candidate],
            Err(why) => {
                refused.push(format!("toolchain {name}: {why:#}"));
                Vec::new()
            }
        };
    }
    let system = Candidate {
        what: "the system's own compiler".to_owned(),
        cargo: PathBuf::from("/usr/bin/cargo"),
        rustc: PathBuf::from("/usr/bin/rustc"),
    };
    let system = (target != Target::Host && system.cargo.exists() && system.rustc.exists())
        .then_some(system);
    own.into_iter().chain(system).collect()
}

/// The pair that this program was started by, or the one in the PATH.
fn own() -> Option<Candidate> {
    let cargo = match std::env::var_os("CARGO") {
        Some(cargo) => PathBuf::from(cargo),
        None => which::which("cargo").ok()?,
    };
    let beside = cargo.with_file_name(program("rustc"));
    let rustc = if beside.exists() {
        beside
    } else {
        which::which("rustc").ok()?
    };
    Some(Candidate {
        what: "the current compiler".to_owned(),
        cargo,
        rustc,
    })
}

/// The toolchain that the user named, or `esp`.
fn of_name(sh: &Shell, name: &str, own: Option<&Candidate>) -> Result<Candidate> {
    let folder = Path::new(name);
    let rustc = if folder.components().count() > 1 {
        let rustc = folder.join("bin").join(program("rustc"));
        anyhow::ensure!(rustc.exists(), "{} is not there", rustc.display());
        rustc
    } else {
        let rustup = which::which("rustup")
            .context("rustup, which knows toolchains by name, is not in the PATH")?;
        let found = cmd!(sh, "{rustup} which --toolchain {name} rustc")
            .quiet()
            .ignore_stderr()
            .read()
            .map_err(|_| anyhow::anyhow!("rustup has no toolchain of that name"))?;
        PathBuf::from(found.trim())
    };
    // A custom toolchain may come without cargo; any cargo can drive its rustc.
    let beside = rustc.with_file_name(program("cargo"));
    let cargo = if beside.exists() {
        beside
    } else {
        own.map(|own| own.cargo.clone())
            .context("there is no cargo beside it nor in the PATH")?
    };
    Ok(Candidate {
        what: format!("toolchain {name}"),
        cargo,
        rustc,
    })
}

fn program(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}

/// Whether the pair can compile for the target.
fn probe(sh: &Shell, candidate: &Candidate, target: Target) -> Result<Toolchain> {
    let rustc = &candidate.rustc;
    let answer = cmd!(sh, "{rustc} -vV").quiet().ignore_stderr().read();
    let answer = answer.with_context(|| format!("{} does not run", rustc.display()))?;
    let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name));
    let host = field("host: ").context("rustc does not name its host")?;
    let version = answer.lines().next().unwrap_or_default().to_owned();
    let triple = target.triple().unwrap_or(host).to_owned();
    let list = cmd!(sh, "{rustc} --print target-list").quiet().read()?;
    anyhow::ensure!(
        list.lines().any(|known| known == triple),
        "{version} does not know {triple}"
    );
    let sysroot = cmd!(sh, "{rustc} --print sysroot").quiet().read()?;
    let rustlib = Path::new(sysroot.trim()).join("lib").join("rustlib");
    let prebuilt = rustlib.join(&triple).join("lib");
    let prebuilt = std::fs::read_dir(prebuilt).is_ok_and(|mut files| files.next().is_some());
    let sources = rustlib.join("src/rust/library/core/Cargo.toml");
    anyhow::ensure!(
        prebuilt || sources.exists(),
        "{version} has neither the standard library for {triple} nor its sources ({})",
        sources.display()
    );
    Ok(Toolchain {
        cargo: candidate.cargo.clone(),
        rustc: candidate.rustc.clone(),
        version,
        triple,
        build_std: !prebuilt,
    })
}

/// What is lacking, and what to do about it.
fn lacking(target: Target, refused: &[String]) -> String {
    let tried = if refused.is_empty() {
        "no cargo and rustc were found".to_owned()
    } else {
        refused.join("; ")
    };
    let install = match target {
        Target::Esp32s3 => {
            "install Espressif's Rust toolchain (once):\n  cargo install espup --locked\n  espup install --targets esp32s3\n\
             then run this again; --toolchain NAME names it where it is not called esp"
        }
        Target::Riscv32imc => {
            "install the target's standard library:\n  rustup target add riscv32imc-unknown-none-elf\n\
             or, on Debian, a compiler with its sources:\n  apt-get install rustc-web cargo-web rust-web-src"
        }
        Target::Host => "install Rust (https://rustup.rs)",
    };
    format!(
        "no compiler for {}: {tried}\n{install}",
        target.triple().unwrap_or("this machine")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_s_own_compiler_is_found() {
        let found = find(Target::Host, None).unwrap();
        assert!(!found.build_std);
        assert!(found.version.starts_with("rustc "));
    }

    #[test]
    fn a_missing_toolchain_is_named_with_what_to_install() {
        let error = find(Target::Esp32s3, Some("no-such-toolchain")).unwrap_err();
        assert_eq!(crate::exit::code(&error), 2);
        let text = error.to_string();
        for part in [
            "no compiler for xtensa-esp32s3-none-elf",
            "toolchain no-such-toolchain",
            "espup install --targets esp32s3",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let text = find(Target::Host, Some("no/such/folder"))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("rustc is not there") || text.contains("rustc.exe is not there"),
            "{text}"
        );
    }

    #[test]
    fn a_compiler_that_does_not_know_the_target_is_not_taken() {
        // The stock compiler knows Xtensa's names since 1.82, but has neither its standard library nor, as a rule, its sources.
        let own = own().unwrap();
        let sh = Shell::new().unwrap();
        if let Err(why) = probe(&sh, &own, Target::Esp32s3) {
            let why = format!("{why:#}");
            assert!(why.contains("xtensa-esp32s3-none-elf"), "{why}");
        }
    }
}
