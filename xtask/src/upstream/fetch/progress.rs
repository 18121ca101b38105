//! Reads the progress that `git fetch --progress` writes to standard error.

/// A counting line of git.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Progress<'a> {
    /// What is done, for example `Receiving objects`.
    pub(super) phase: &'a str,
    /// Items done.
    pub(super) done: u64,
    /// Items in all.
    pub(super) total: u64,
    /// Bytes and speed as git words them, for example `59.00 MiB | 14.70 MiB/s`; empty where git gives none.
    pub(super) amount: &'a str,
}

/// Reads one line, such as `Receiving objects:  93% (12791/13753), 59.00 MiB | 14.70 MiB/s`.
pub(super) fn parse(line: &str) -> Option<Progress<'_>> {
    let line = line.strip_prefix("remote: ").unwrap_or(line);
    let (phase, rest) = line.split_once(':')?;
    let (percent, rest) = rest.split_once('(')?;
    percent.trim().strip_suffix('%')?.parse::<u8>().ok()?;
    let (counts, rest) = rest.split_once(')')?;
    let (done, total) = counts.split_once('/')?;
    Some(Progress {
        phase,
        done: done.parse().ok()?,
        total: total.parse().ok()?,
        amount: rest
            .trim_start_matches(',')
            .trim()
            .trim_end_matches("done.")
            .trim_end_matches([',', ' ']),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_git_are_read() {
        let read = |line| parse(line).map(|p| (p.phase, p.done, p.total, p.amount));
        for (line, expected) in [
            (
                "Receiving objects:  93% (12791/13753), 59.00 MiB | 14.70 MiB/s",
                Some(("Receiving objects", 12791, 13753, "59.00 MiB | 14.70 MiB/s")),
            ),
            (
                "Receiving objects: 100% (3/3), 3.00 KiB | 3.00 MiB/s, done.",
                Some(("Receiving objects", 3, 3, "3.00 KiB | 3.00 MiB/s")),
            ),
            (
                "Resolving deltas: 100% (14/14), done.",
                Some(("Resolving deltas", 14, 14, "")),
            ),
            (
                "remote: Counting objects:  50% (1/2)        ",
                Some(("Counting objects", 1, 2, "")),
            ),
            ("remote: Enumerating objects: 15, done.", None),
            (
                "fatal: unable to access 'https://x/': (6) Could not resolve host",
                None,
            ),
            ("", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_or_left(line in "(remote: )?.{0,20}:? {0,2}[0-9]{0,3}%? ?\\(?[0-9/]{0,9}\\)?.{0,20}") {
            let _ = parse(&line);
        }

        #[test]
        fn counts_come_back(done in 0..10_000u64, total in 1..10_000u64) {
            let line = format!("Receiving objects: {:>3}% ({done}/{total}), 1.00 KiB", done * 100 / total % 101);
            let read = parse(&line).map(|p| (p.done, p.total));
            proptest::prop_assert_eq!(read, Some((done, total)));
        }
    }
}
