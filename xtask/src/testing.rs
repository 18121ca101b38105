//! What tests share; integration tests include this file by path.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};

/// The workspace's top folder.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask stands in the workspace")
        .to_owned()
}

/// Says that a test did not run because nothing asked it to: it takes a variable that names something no project file brings
/// (upstream's repositories), or it is the child process of another test. Never a failure.
pub(crate) fn unasked(test: &str, why: &str) {
    say(test, why);
}

fn say(test: &str, why: &str) {
    use std::io::Write;
    // Not `eprintln!`: the test harness would swallow it with the output of a test that passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

/// Says that a test could not run, and why.
///
/// # Panics
/// Where `XTASK_REQUIRE_PARTS` is set: `.ci/run` installs every part, so a test that skips there is a failure.
pub(crate) fn skipped(test: &str, why: &str) {
    say(test, why);
    assert!(
        std::env::var_os("XTASK_REQUIRE_PARTS").is_none(),
        "{test} was skipped although all parts are required"
    );
}

/// A file of the knowledge folder beside the workspace, or `None` (said as SKIPPED) where it is not there.
///
/// It is never required: the project's own files do not bring it.
pub(crate) fn shared(test: &str, path: &str) -> Option<PathBuf> {
    let file = workspace().parent()?.join("shared").join(path);
    if !file.exists() {
        say(test, &format!("shared/{path} is not beside this checkout"));
        return None;
    }
    Some(file)
}
