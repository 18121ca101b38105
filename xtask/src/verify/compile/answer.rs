//! What `arduino-cli compile --format json` answers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

/// Lines told of a failed compilation.
const SHOWN: usize = 4;

/// The answer (arduino-cli internal/cli/compile/compile.go, compileResult). Fields that it lacks are empty: an error before
/// the build has `error` alone, and goes to standard error.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    compiler_out: String,
    #[serde(default)]
    compiler_err: String,
    #[serde(default)]
    builder_result: Option<BuilderResult>,
    #[serde(default)]
    pub(super) success: bool,
    #[serde(default)]
    error: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct BuilderResult {
    #[serde(default)]
    build_path: Option<PathBuf>,
    #[serde(default)]
    build_properties: Option<Vec<String>>,
    #[serde(default)]
    diagnostics: Option<Vec<Diagnostic>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Diagnostic {
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: i64,
}

impl Answer {
    /// Reads what the program wrote; `None` where neither output is its JSON.
    pub(super) fn parse(stdout: &str, stderr: &str) -> Option<Self> {
        serde_json::from_str(stdout)
            .or_else(|_| serde_json::from_str(stderr))
            .ok()
    }

    /// The properties that the build ran with, values expanded.
    pub(super) fn properties(&self) -> BTreeMap<String, String> {
        let list = self
            .builder_result
            .iter()
            .flat_map(|result| &result.build_properties)
            .flatten();
        list.filter_map(|pair| pair.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// Where it was built.
    pub(super) fn build_path(&self) -> Option<PathBuf> {
        self.builder_result.as_ref()?.build_path.clone()
    }

    /// Why it did not compile, in few lines: the compiler's errors, else the linker's, else what arduino-cli says.
    pub(super) fn essence(&self) -> Vec<String> {
        let diagnostics: Vec<String> = self
            .builder_result
            .iter()
            .flat_map(|result| &result.diagnostics)
            .flatten()
            .filter(|found| matches!(found.severity.as_str(), "ERROR" | "FATAL"))
            .map(Diagnostic::shown)
            .collect();
        let lines = || {
            [&self.compiler_err, &self.compiler_out]
                .into_iter()
                .flat_map(|text| text.lines())
                .map(str::trim)
        };
        let of_linker: Vec<String> = lines()
            .filter(|line| is_error(line))
            .map(str::to_owned)
            .collect();
        let mut told = if diagnostics.is_empty() {
            of_linker
        } else {
            diagnostics
        };
        if told.is_empty() {
            told.extend(
                self.error
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned),
            );
        }
        if told.is_empty() {
            told.extend(lines().rfind(|line| !line.is_empty()).map(str::to_owned));
        }
        let more = told.len().saturating_sub(SHOWN);
        told.truncate(SHOWN);
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        told
    }

    /// What mends it, where the kind of failure is known.
    pub(super) fn advice(&self, fqbn: &str) -> String {
        let error = self.error.to_lowercase();
        let platform: Vec<&str> = fqbn.split(':').take(2).collect();
        if error.contains("platform")
            && (error.contains("not found") || error.contains("not installed"))
        {
            format!(
                "install the core: arduino-cli core install {}",
                platform.join(":")
            )
        } else if error.contains("fqbn")
            || error.contains("invalid option")
            || error.contains("board")
        {
            "correct --fqbn: `arduino-cli board details` lists a board's options".to_owned()
        } else if self.error.is_empty() && self.compiler_err.is_empty() {
            "run the same arduino-cli compile by hand and read what it says".to_owned()
        } else {
            "read the compiler's words; if stock libraries compile it, the libraries are at fault"
                .to_owned()
        }
    }
}

impl Diagnostic {
    fn shown(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        match (file, self.line) {
            ("", _) => self.message.clone(),
            (file, 0) => format!("{file}: {}", self.message),
            (file, line) => format!("{file}:{line}: {}", self.message),
        }
    }
}

/// Whether a line of compiler or linker tells what went wrong.
fn is_error(line: &str) -> bool {
    [
        " error: ",
        "undefined reference",
        "cannot find",
        "will not fit in region",
        "multiple definition",
        "No such file",
    ]
    .iter()
    .any(|mark| line.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_compilers_errors_go_before_the_linkers_and_before_the_rest() {
        let json = r#"{"success": false, "error": "Error during build: exit status 1", "compiler_err": "ld: main.cpp: undefined reference to `f'\nx",
            "builder_result": {"build_path": "/b", "build_properties": ["a=b=c", "bad"],
            "diagnostics": [{"severity": "WARNING", "message": "w", "file": "a.cpp", "line": 1},
                            {"severity": "ERROR", "message": "'x' was not declared", "file": "/s/a.ino", "line": 7, "column": 3}]}}"#;
        let answer = Answer::parse(json, "").unwrap();
        assert_eq!(answer.essence(), ["a.ino:7: 'x' was not declared"]);
        assert_eq!(
            answer.properties().get("a").map(String::as_str),
            Some("b=c")
        );
        let without = json.replace("ERROR", "NOTE");
        let answer = Answer::parse(&without, "").unwrap();
        assert_eq!(
            answer.essence(),
            ["ld: main.cpp: undefined reference to `f'"]
        );
        let fatal = r#"{"error": "Error during build: Platform 'esp32:esp32' not found: platform not installed\nTry running"}"#;
        let answer = Answer::parse("", fatal).unwrap();
        assert!(!answer.success && answer.essence()[0].contains("not installed"));
        assert!(
            answer
                .advice("esp32:esp32:esp32s3")
                .ends_with("core install esp32:esp32")
        );
        assert!(Answer::parse("Sketch uses 3 bytes", "").is_none());
    }

    #[test]
    fn a_long_list_is_cut() {
        let text: String = (0..20).map(|n| format!("a.c:{n}: error: no\n")).collect();
        let answer = Answer {
            compiler_err: text,
            ..Answer::default()
        };
        assert_eq!(answer.essence().len(), SHOWN + 1);
        assert_eq!(answer.essence()[SHOWN], "and 16 more");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(stdout in any::<String>(), error in any::<String>()) {
            let _ = Answer::parse(&stdout, &error);
            let answer = Answer { error, compiler_err: stdout, ..Answer::default() };
            prop_assert!(answer.essence().len() <= SHOWN + 1);
            drop(answer.advice("esp32:esp32:esp32s3"));
        }
    }
}
