//! Recognises in a build's log why it failed, and says what to do.

/// Why a build failed, as far as its log tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cause {
    /// What happened, with what it happened to where the log names it.
    pub(super) what: String,
    /// What to do next.
    pub(super) advice: &'static str,
    /// The line that tells.
    pub(super) line: String,
}

/// One kind of failure.
struct Kind {
    /// Any of these in a line, in lower case.
    needles: &'static [&'static str],
    what: &'static str,
    advice: &'static str,
    /// It explains whatever comes after it: a full disk fails another file each time.
    decisive: bool,
    /// The part of the line that names the culprit.
    culprit: fn(&str) -> Option<&str>,
}

fn nobody(_: &str) -> Option<&str> {
    None
}

/// In the order of precedence within one line.
const KINDS: [Kind; 15] = [
    Kind {
        needles: &[
            "no space left on device",
            "disk quota exceeded",
            "not enough space on the disk",
        ],
        what: "the disk is full",
        advice: "free some space, or move the work folder with --work-dir",
        decisive: true,
        culprit: nobody,
    },
    Kind {
        needles: &[
            "killed signal terminated program",
            "cannot allocate memory",
            "virtual memory exhausted",
            "memoryerror",
            "out of memory",
        ],
        what: "memory ran out",
        advice: "close other programs, or give the engine's virtual machine more memory",
        decisive: true,
        culprit: nobody,
    },
    Kind {
        needles: &["container-init binary not found"],
        what: "podman lacks its init program",
        advice: "install the package `catatonit`",
        decisive: true,
        culprit: nobody,
    },
    Kind {
        needles: &["error setting rlimit"],
        what: "the engine asks for higher limits than this user has",
        advice: "set `default_ulimits` in containers.conf, or use another engine",
        decisive: true,
        culprit: nobody,
    },
    Kind {
        needles: &["dubious ownership"],
        what: "git does not trust a work tree, because its files belong to another user",
        advice: "give the work folder to your user (chown -R), or choose another with --work-dir",
        decisive: false,
        culprit: quoted,
    },
    Kind {
        needles: &[
            "certificate verify failed",
            "certificate_verify_failed",
            "self-signed certificate",
            "self signed certificate",
            "unable to get local issuer certificate",
            "server certificate verification failed",
        ],
        what: "a server's certificate is not trusted",
        advice: "a company proxy's certificate has to be in the image: use --base-image or --image with one that holds it",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &[
            "could not resolve host",
            "temporary failure in name resolution",
            "name or service not known",
            "network is unreachable",
            "failed to establish a new connection",
            "connection timed out",
            "connection refused",
            "max retries exceeded",
            "could not read username",
        ],
        what: "the network, or a server, was not reached",
        advice: "run again when it is (what was fetched is kept); behind a proxy set https_proxy; with --offline all must be in the caches",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &[
            "ensurepip is not available",
            "no module named venv",
            "no module named 'venv'",
            "no module named 'ensurepip'",
            "virtual environment was not created",
        ],
        what: "python's venv module is missing",
        advice: "install `python3-venv` where the build runs",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &["modified on the disk"],
        what: "a managed component's content and hash disagree",
        advice: "remove `managed_components` and `dependencies.lock` in the work tree and run again",
        decisive: false,
        culprit: component,
    },
    Kind {
        needles: &[
            "version solving failed",
            "cannot find a version",
            "no versions of",
            "resolutionimpossible",
            "no matching distribution found",
        ],
        what: "no set of versions fits all that is asked for",
        advice: "the pinned versions come from versions.txt: see that it belongs to this core, and that nothing in it was edited",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &[
            ": command not found",
            ": not found",
            "executable file not found in",
            "is not installed or not in path",
            "is not installed! please install",
        ],
        what: "a program is missing",
        advice: "install it where the build runs, or use our own image (without --image)",
        decisive: false,
        culprit: program,
    },
    Kind {
        needles: &[": error: ", ": fatal error: "],
        what: "a source does not compile",
        advice: "if the patch set is your own, see whether it asks for what these sources do not have; else report it with the log",
        decisive: false,
        culprit: source_file,
    },
    Kind {
        needles: &[
            "undefined reference to",
            "' overflowed by",
            "ld returned 1 exit status",
        ],
        what: "the program does not link",
        advice: "see the lines before it in the log: a patch set's options may not fit together",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &["cmake error"],
        what: "cmake refused the project",
        advice: "see the lines after it in the log",
        decisive: false,
        culprit: nobody,
    },
    Kind {
        needles: &["unknown kconfig symbol"],
        what: "a defconfig file names a symbol that this ESP-IDF does not have",
        advice: "correct the patch set: the symbol may belong to another ESP-IDF version",
        decisive: false,
        culprit: quoted,
    },
];

/// Reads a log line by line and keeps the likeliest cause.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// Kind and line: the last one, but a decisive one stays.
    best: Option<(usize, String)>,
}

impl Causes {
    pub(super) fn line(&mut self, line: &str) {
        let lower = line.to_ascii_lowercase();
        let Some(kind) = KINDS.iter().position(|kind| kind.matches(&lower, line)) else {
            return;
        };
        let kept = self.best.as_ref().is_some_and(|(best, _)| {
            let (best, new) = (&KINDS[*best], &KINDS[kind]);
            // A symbol that is not known is a warning; only where nothing else is seen may it be the cause.
            (best.decisive && !new.decisive) || kind == KINDS.len() - 1
        });
        if !kept {
            self.best = Some((kind, line.trim().to_owned()));
        }
    }

    /// The cause of a build that failed.
    pub(super) fn cause(&self) -> Option<Cause> {
        let (kind, line) = self.best.as_ref()?;
        let kind = &KINDS[*kind];
        let what = match (kind.culprit)(line) {
            Some(culprit) => format!("{}: {culprit}", kind.what),
            None => kind.what.to_owned(),
        };
        Some(Cause {
            what,
            advice: kind.advice,
            line: line.clone(),
        })
    }
}

impl Kind {
    fn matches(&self, lower: &str, line: &str) -> bool {
        let found = self.needles.iter().any(|needle| lower.contains(needle));
        // `: error: ` stands in many lines; a compiler's has file and line before it.
        found && (self.needles[0] != ": error: " || source_file(line).is_some())
    }
}

/// `file:line` before `: error:`.
fn source_file(line: &str) -> Option<&str> {
    let at = line
        .find(": error: ")
        .or_else(|| line.find(": fatal error: "))?;
    let place = line[..at].trim();
    let numbers = place
        .rsplit(':')
        .take_while(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    (numbers.count() > 0).then_some(place)
}

/// What stands in '...', "..." or `...`.
fn quoted(line: &str) -> Option<&str> {
    let begin = line.find(['\'', '"', '`'])?;
    let rest = &line[begin + 1..];
    let end = rest.find(['\'', '"', '`'])?;
    Some(&rest[..end])
}

/// The component manager's `Some components (a, b) in the "managed_components" directory were modified ...`.
fn component(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("components (")?;
    rest.split_once(')').map(|(names, _)| names)
}

/// bash: `x.sh: line 3: jq: command not found`; dash: `x.sh: 3: jq: not found`; upstream: `ERROR: ninja is not installed ...`.
fn program(line: &str) -> Option<&str> {
    if let Some((before, _)) = line.split_once(" is not installed") {
        return before.rsplit(' ').next();
    }
    let before = line
        .split_once(": command not found")
        .or_else(|| line.split_once(": not found"))
        .map(|(before, _)| before)?;
    before.rsplit(": ").next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(log: &str) -> Option<Cause> {
        let mut causes = Causes::default();
        log.lines().for_each(|line| causes.line(line));
        causes.cause()
    }

    /// A log's lines, and words of the cause that they must give.
    const LOGS: [(&str, &str, &str); 19] = [
        (
            "[12/90] Building C object a.c.obj\n/tmp/ccA.s: fatal error: error writing to /tmp/ccA.s: No space left on device\nb.c:1:1: error: expected ';'",
            "disk is full",
            "--work-dir",
        ),
        (
            "xtensa-esp32s3-elf-g++: fatal error: Killed signal terminated program cc1plus\nninja: build stopped: subcommand failed.",
            "memory ran out",
            "memory",
        ),
        (
            "Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory",
            "init program",
            "catatonit",
        ),
        (
            "Error: runc: error setting rlimit type 7: operation not permitted",
            "limits",
            "default_ulimits",
        ),
        (
            "fatal: detected dubious ownership in repository at '/xip/trees/k/esp-idf'",
            "/xip/trees/k/esp-idf",
            "chown",
        ),
        (
            "urllib3: Max retries exceeded with url: /x (Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed')))",
            "certificate",
            "image",
        ),
        (
            "fatal: unable to access 'https://example.org/a.git/': Could not resolve host: example.org",
            "network",
            "--offline",
        ),
        (
            "fatal: could not read Username for 'https://example.org': terminal prompts disabled",
            "network, or a server",
            "again",
        ),
        (
            "The virtual environment was not created successfully because ensurepip is not\navailable.",
            "venv",
            "python3-venv",
        ),
        (
            "ERROR: Some components (espressif__esp-sr, espressif__mdns) in the \"managed_components\" directory were modified on the disk since the last run of the CMake.",
            "disagree: espressif__esp-sr, espressif__mdns",
            "managed_components",
        ),
        (
            "ERROR: Because project depends on espressif/cbor (0.6.0~1) which doesn't match any versions, version solving failed.",
            "versions",
            "versions.txt",
        ),
        (
            "./build.sh: line 90: jq: command not found",
            "missing: jq",
            "install",
        ),
        ("job.sh: 12: ninja: not found", "missing: ninja", "install"),
        (
            "ERROR: ninja is not installed or not in PATH! Please install ninja first.",
            "missing: ninja",
            "install",
        ),
        (
            "/xip/trees/k/components/a/a.c:12:5: error: 'x' undeclared (first use in this function)",
            "compile: /xip/trees/k/components/a/a.c:12:5",
            "patch set",
        ),
        (
            "main.c:(.text+0x1): undefined reference to `nothing'\ncollect2: error: ld returned 1 exit status",
            "link",
            "log",
        ),
        (
            "CMake Error at esp-idf/tools/cmake/build.cmake:300 (message):",
            "cmake",
            "log",
        ),
        (
            "warning: unknown kconfig symbol 'SPIRAM_XIP' assigned to 'y' in configs/defconfig.opi_ram",
            "SPIRAM_XIP",
            "patch set",
        ),
        (
            "warning: unknown kconfig symbol 'OLD' assigned to 'y' in x\na.c:1:2: error: no\nwarning: unknown kconfig symbol 'OLD' assigned",
            "compile: a.c:1:2",
            "log",
        ),
    ];

    #[test]
    fn every_kind_is_recognised_with_its_culprit_and_advice() {
        for (log, what, advice) in LOGS {
            let cause = cause(log).unwrap_or_else(|| panic!("nothing recognised in: {log}"));
            assert!(cause.what.contains(what), "{} for: {log}", cause.what);
            assert!(cause.advice.contains(advice), "{} for: {log}", cause.advice);
        }
        for (index, kind) in KINDS.iter().enumerate() {
            let seen = LOGS.iter().any(|(log, ..)| {
                let mut causes = Causes::default();
                log.lines().for_each(|line| causes.line(line));
                causes.best.is_some_and(|(best, _)| best == index)
            });
            assert!(seen, "no log for: {}", kind.what);
        }
    }

    #[test]
    fn a_trouble_that_was_overcome_is_not_the_cause() {
        let log = "WARNING: Retrying after connection broken: Failed to establish a new connection\nDone\nb.c:3:1: error: expected ';'";
        assert!(cause(log).unwrap().what.contains("b.c:3:1"));
    }

    #[test]
    fn an_ordinary_log_has_no_cause() {
        let log = "-- Found Git: /usr/bin/git\n[3/9] Building C object error.c.obj\n* Build IDF-Libs: configs/defconfig.common\nchecking foo: error: x";
        assert_eq!(cause(log), None);
    }
}
