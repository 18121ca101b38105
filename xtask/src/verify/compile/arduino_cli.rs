//! Runs arduino-cli, within a time limit.

use std::ffi::OsStr;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use xshell::{Shell, cmd};

use super::answer::Answer;

/// How long the program may take to say its version.
const TO_ANSWER: Duration = Duration::from_secs(30);

/// An arduino-cli that answered.
#[derive(Debug, Clone)]
pub struct ArduinoCli {
    program: PathBuf,
    /// Its version, for example `1.5.1`.
    pub version: String,
    data_dir: Option<PathBuf>,
}

/// What is to be compiled.
#[derive(Debug, Clone)]
pub struct Request {
    /// The sketch's folder.
    pub sketch: PathBuf,
    /// The board with its options.
    pub fqbn: String,
    /// Folders of single libraries, which go before installed ones.
    pub libraries: Vec<PathBuf>,
    /// An empty folder for all that is built: with a folder of its own, arduino-cli uses no compiled core of another run
    /// (commands/service_compile.go).
    pub build: PathBuf,
    /// When to give up.
    pub limit: Duration,
}

/// What is to be uploaded.
#[derive(Debug, Clone, Copy)]
pub struct Upload<'a> {
    /// What was compiled.
    pub request: &'a Request,
    /// The folder that holds the program.
    pub build: &'a Path,
    /// The board's serial port.
    pub port: &'a str,
    /// When to give up.
    pub limit: Duration,
}

/// What a program wrote, and whether it was content.
struct Output {
    success: bool,
    stdout: String,
    stderr: String,
}

impl ArduinoCli {
    /// Finds the program: `given`, or by the search path. With `data_dir` it takes cores and tools from there.
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(given: Option<&Path>, data_dir: Option<&Path>) -> Result<Self> {
        #[derive(Deserialize)]
        struct Version {
            #[serde(rename = "VersionString")]
            version: String,
        }
        let program = match given {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => bail!("{} is no program", path.display()),
            None => which::which("arduino-cli").context(
                "no arduino-cli on the PATH; install it, or name it with --arduino-cli (the Arduino IDE brings one)",
            )?,
        };
        let mut cli = Self {
            program,
            version: String::new(),
            data_dir: data_dir.map(Path::to_owned),
        };
        let output = cli.run(cli.command(&["version".as_ref()])?, TO_ANSWER)?;
        let Version { version } = serde_json::from_str(&output.stdout)
            .with_context(|| format!("{} does not say its version", cli.program.display()))?;
        cli.version = version;
        Ok(cli)
    }

    /// The program itself.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Compiles.
    ///
    /// # Errors
    /// It does not end in time, or answers in no form that is known.
    pub(super) fn compile(&self, request: &Request) -> Result<Answer> {
        let mut words: Vec<&OsStr> = vec![
            "compile".as_ref(),
            "--fqbn".as_ref(),
            request.fqbn.as_ref(),
            "--build-path".as_ref(),
            request.build.as_ref(),
        ];
        for library in &request.libraries {
            words.extend::<[&OsStr; 2]>(["--library".as_ref(), library.as_ref()]);
        }
        words.push(request.sketch.as_ref());
        let output = self.run(self.command(&words)?, request.limit)?;
        Answer::parse(&output.stdout, &output.stderr).with_context(|| {
            let last = output.stderr.lines().rfind(|line| !line.trim().is_empty());
            format!(
                "arduino-cli {} gave no JSON; its last words: {}",
                self.version,
                last.unwrap_or("none")
            )
        })
    }

    /// Uploads what was compiled; gives the port that the board has afterwards, where it is another.
    ///
    /// # Errors
    /// It does not end in time, or what it says of its failure.
    pub fn upload(&self, upload: &Upload<'_>) -> Result<Option<String>> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Uploaded {
            error: String,
            stderr: String,
            updated_upload_port: Option<Port>,
        }
        #[derive(Deserialize)]
        struct Port {
            address: Option<String>,
        }
        let words: [&OsStr; 8] = [
            "upload".as_ref(),
            "--fqbn".as_ref(),
            upload.request.fqbn.as_ref(),
            "--port".as_ref(),
            upload.port.as_ref(),
            "--input-dir".as_ref(),
            upload.build.as_ref(),
            upload.request.sketch.as_ref(),
        ];
        let output = self.run(self.command(&words)?, upload.limit)?;
        let told: Uploaded = serde_json::from_str(&output.stdout)
            .or_else(|_| serde_json::from_str(&output.stderr))
            .unwrap_or_default();
        if output.success && told.error.is_empty() {
            let port = told.updated_upload_port.and_then(|port| port.address);
            return Ok(port.filter(|port| !port.is_empty() && port != upload.port));
        }
        let lines = [&told.error, &told.stderr, &output.stderr, &output.stdout];
        let last = lines
            .into_iter()
            .find_map(|text| text.lines().rfind(|line| !line.trim().is_empty()));
        bail!(
            "arduino-cli upload failed: {}",
            last.unwrap_or("it says nothing").trim()
        )
    }

    /// `--format json`: `--json` is of version 1 and later.
    fn command(&self, words: &[&OsStr]) -> Result<Command> {
        let (shell, program) = (Shell::new()?, &self.program);
        let mut command = Command::from(cmd!(shell, "{program} {words...} --format json"));
        if let Some(data_dir) = &self.data_dir {
            command.env("ARDUINO_DIRECTORIES_DATA", data_dir);
        }
        Ok(command)
    }

    /// Runs `command` to its end, whatever that is. Ctrl-C reaches it as it reaches this program.
    fn run(&self, mut command: Command, limit: Duration) -> Result<Output> {
        let running = || format!("running {}", self.program.display());
        // Files, not pipes: nothing has to be read while it is waited for, and a compiler that outlives a killed
        // arduino-cli holds nothing up.
        let mut stdout = tempfile::tempfile().context("making a temporary file")?;
        let mut stderr = tempfile::tempfile().context("making a temporary file")?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .spawn()
            .with_context(running)?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().with_context(running)? {
                break status;
            }
            if begun.elapsed() > limit {
                // It may have ended just now; then there is nothing left to end.
                let _ = child.kill();
                let _ = child.wait();
                bail!(
                    "{} did not end within {} s and was stopped",
                    self.program.display(),
                    limit.as_secs_f32()
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = |file: &mut std::fs::File| -> Result<String> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Output {
            success: status.success(),
            stdout: text(&mut stdout).with_context(running)?,
            stderr: text(&mut stderr).with_context(running)?,
        })
    }
}
