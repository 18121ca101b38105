//! Exit codes, and the errors whose kind decides them.

use std::process::ExitCode;

/// An error that ends the program with a code of its own; every other error ends it with 1.
///
/// Raise it through `anyhow` (`Err(Refusal::Usage(..).into())` or `bail!(Refusal::Check(..))`); context may be
/// added above it, [`code`] finds it in the chain.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The call cannot be carried out as it was worded: unknown core, chip, patch set, engine or flag value. Exit code 2.
    #[error("{0}")]
    Usage(String),
    /// The work was done and a check on its result said no, or the audit before it did. Exit code 3.
    #[error("{0}")]
    Check(String),
}

/// The exit code of a failed command: 2 wrong usage, 3 a check said no, 1 anything else.
pub fn code(error: &anyhow::Error) -> u8 {
    match error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Refusal>())
    {
        Some(Refusal::Usage(_)) => 2,
        Some(Refusal::Check(_)) => 3,
        None => 1,
    }
}

/// The same as an [`ExitCode`].
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(code(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_refusal_keeps_its_code_below_added_context() {
        let usage: anyhow::Result<()> = Err(Refusal::Usage("no such chip".into()).into());
        let check: anyhow::Result<()> = Err(Refusal::Check("qio_opi is missing".into()).into());
        assert_eq!(code(&usage.context("reading --chip").unwrap_err()), 2);
        assert_eq!(code(&check.context("after the build").unwrap_err()), 3);
        assert_eq!(code(&anyhow::anyhow!("disk full")), 1);
    }
}
