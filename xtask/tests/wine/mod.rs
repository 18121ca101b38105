//! Windows programs under Wine, with a prefix (Wine's own Windows folder) of their own.
#![allow(dead_code, reason = "each test program uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fs_err as fs;

use crate::testing;
use crate::world::call;

/// The variable that names the xtask.exe that `.ci/windows` built; what else the tests need lies beside it.
const EXE: &str = "XTASK_WINDOWS_EXE";

/// Programs of Windows that Wine 8 lacks or has without function, each as a shell script that does the same.
const STAND_INS: [(&str, &str); 3] = [
    // Windows' own tar is bsdtar, too.
    ("tar", "exec bsdtar \"$@\"\n"),
    (
        "certutil",
        "file=$(printf %s \"$2\" | tr '\\\\' /)\n[ -f \"$file\" ] || exit 1\necho \"SHA256 hash of $2:\"\n\
         sha256sum <\"$file\" | cut -c 1-64\necho 'CertUtil: -hashfile command completed successfully.'\n",
    ),
    (
        "findstr",
        "while [ $# -gt 1 ]; do\n  case $1 in /c:*) text=${1#/c:} ;; esac\n  shift\ndone\n\
         grep -q -e \"$text\" \"$(printf %s \"$1\" | tr '\\\\' /)\"\n",
    ),
];

/// A running Wine; dropped, it ends what still runs in it.
pub(crate) struct Wine {
    prefix: tempfile::TempDir,
    programs: PathBuf,
}

impl Wine {
    /// Makes a prefix; `None`, said as SKIPPED, where Wine or the programs are not here.
    pub(crate) fn start(test: &str) -> Option<Self> {
        for program in ["wine", "wineserver", "bsdtar"] {
            if which::which(program).is_err() {
                testing::skipped(test, &format!("there is no {program}"));
                return None;
            }
        }
        let Some(exe) = std::env::var_os(EXE).map(PathBuf::from) else {
            testing::skipped(
                test,
                &format!("{EXE} is not set; .ci/windows builds what it names"),
            );
            return None;
        };
        let wine = Self {
            prefix: tempfile::tempdir().unwrap(),
            programs: exe.parent().unwrap().to_owned(),
        };
        fs::create_dir(wine.home()).unwrap();
        let began = wine.cmd(&["exit"]).output().unwrap();
        assert!(began.status.success(), "Wine does not start: {began:?}");
        let system = wine.drive_c().join("windows/system32");
        for (name, script) in STAND_INS {
            let program = system.join(format!("{name}.exe"));
            // Wine puts links to its own files there.
            let _ = fs::remove_file(&program);
            fs::copy(wine.programs.join("unix_program.exe"), program).unwrap();
            let path = std::env::var("PATH").unwrap();
            fs::write(
                system.join(format!("{name}.sh")),
                format!("PATH='{path}'\n{script}"),
            )
            .unwrap();
        }
        Some(wine)
    }

    /// `cmd.exe /c` with these words.
    pub(crate) fn cmd(&self, words: &[&str]) -> Command {
        let mut command = self.wine("cmd");
        command.arg("/c").args(words);
        command
    }

    /// xtask.exe.
    pub(crate) fn xtask(&self) -> Command {
        self.wine(self.programs.join("xtask.exe").to_str().unwrap())
    }

    fn wine(&self, program: &str) -> Command {
        let mut command = call("wine");
        command
            .arg(program)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("WINEPREFIX", self.prefix())
            .env("WINEDEBUG", "-all")
            // Without it Wine does not map names beyond ASCII.
            .env("LC_ALL", "C.UTF-8")
            // The stand-ins in place of Wine's own; and no menus and desktop files in the home folder.
            .env(
                "WINEDLLOVERRIDES",
                "certutil.exe,findstr.exe=n;winemenubuilder.exe=d",
            )
            .stdin(Stdio::null());
        command
    }

    fn prefix(&self) -> PathBuf {
        self.prefix.path().join("prefix")
    }

    fn home(&self) -> PathBuf {
        self.prefix.path().join("home")
    }

    fn drive_c(&self) -> PathBuf {
        self.prefix().join("drive_c")
    }

    /// The folder that Windows calls %USERPROFILE%.
    pub(crate) fn profile(&self) -> PathBuf {
        let users = fs::read_dir(self.drive_c().join("users")).unwrap();
        users
            .map(|entry| entry.unwrap().path())
            .find(|path| !path.ends_with("Public"))
            .unwrap()
    }

    /// The folder that Windows calls %LOCALAPPDATA%.
    pub(crate) fn local(&self) -> PathBuf {
        self.profile().join("AppData/Local")
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        let mut server = call("wineserver");
        let server = server
            .arg("-k")
            .env("WINEPREFIX", self.prefix())
            .env("HOME", self.home());
        if let Err(error) = server.output() {
            eprintln!("ending Wine: {error}");
        }
    }
}

/// A path as Windows programs are given it; Wine shows the whole file system as drive Z.
pub(crate) fn windows(path: &Path) -> String {
    format!("Z:{}", path.to_str().unwrap().replace('/', "\\"))
}
