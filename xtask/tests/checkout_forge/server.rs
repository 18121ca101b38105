//! Serves a forge over http, as git's own `http-backend` answers.
#![allow(dead_code, reason = "each test program uses its part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tiny_http::{Header, Request, Response, Server};
use xshell::{Shell, cmd};

/// What a server can do; some can do less than git asks for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Abilities {
    /// Commits by id also over protocol 0.
    pub(crate) any_id: bool,
    /// Protocol 2, over which any commit may be asked for.
    pub(crate) protocol_2: bool,
    /// Leaving out content.
    pub(crate) filter: bool,
    /// Asks for a password before anything.
    pub(crate) locked: bool,
}

/// A server on the loopback, until dropped.
pub(crate) struct Http {
    pub(crate) url: String,
    server: Arc<Server>,
    served: Arc<AtomicUsize>,
    cut: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Http {
    /// Serves the repositories below `root`; `None` without a git program.
    pub(crate) fn serve(root: &Path, abilities: Abilities) -> Option<Self> {
        which::which("git").ok()?;
        let server = Arc::new(Server::http("127.0.0.1:0").expect("a port"));
        let url = format!("http://{}/", server.server_addr());
        let (served, cut) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let thread = {
            let (server, served, cut, root) =
                (server.clone(), served.clone(), cut.clone(), root.to_owned());
            std::thread::spawn(move || {
                for request in server.incoming_requests() {
                    served.fetch_add(1, Ordering::SeqCst);
                    answer(request, &root, abilities, cut.load(Ordering::SeqCst));
                }
            })
        };
        Some(Self {
            url,
            server,
            served,
            cut,
            thread: Some(thread),
        })
    }

    /// Requests answered so far.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Ordering::SeqCst)
    }

    /// From now on every pack stops in its middle.
    pub(crate) fn cut(&self, yes: bool) {
        self.cut.store(yes, Ordering::SeqCst);
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server's thread");
        }
    }
}

fn answer(mut request: Request, root: &Path, abilities: Abilities, cut: bool) {
    if abilities.locked {
        let ask =
            Header::from_bytes("WWW-Authenticate", "Basic realm=\"forge\"").expect("a header");
        let _ = request.respond(
            Response::from_string("locked")
                .with_status_code(401)
                .with_header(ask),
        );
        return;
    }
    let mut body = Vec::new();
    request
        .as_reader()
        .read_to_end(&mut body)
        .expect("the request's body");
    let output = backend(&request, &body, root.to_owned(), abilities);
    let at = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("CGI headers");
    let (headers, content) = (
        String::from_utf8_lossy(&output[..at]).into_owned(),
        &output[at + 4..],
    );
    let (mut status, mut list) = (200, Vec::new());
    for line in headers.lines() {
        match line.split_once(": ") {
            Some(("Status", code)) => status = code[..3].parse().expect("a status"),
            Some((name, value)) => list.push(Header::from_bytes(name, value).expect("a header")),
            None => {}
        }
    }
    let whole = !cut || !request.url().ends_with("git-upload-pack") || content.len() < 10_000;
    let content = if whole {
        content
    } else {
        &content[..content.len() / 2]
    };
    let length = content.len();
    let response = Response::new(status.into(), list, content, Some(length), None);
    let _ = request.respond(response);
}

/// Runs `git http-backend` (git-http-backend(1): a CGI program).
fn backend(request: &Request, body: &[u8], root: PathBuf, abilities: Abilities) -> Vec<u8> {
    let header = |name: &str| {
        let found = request
            .headers()
            .iter()
            .find(|header| header.field.as_str().as_str().eq_ignore_ascii_case(name));
        found.map(|header| header.value.as_str().to_owned())
    };
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
    let sh = Shell::new().expect("a shell");
    let mut settings = vec!["-c".to_owned(), "safe.directory=*".to_owned()];
    for (name, value) in [
        ("uploadpack.allowAnySHA1InWant", abilities.any_id),
        ("uploadpack.allowFilter", abilities.filter),
    ] {
        settings.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    let mut command: Command = cmd!(sh, "git {settings...} http-backend").into();
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", request.method().to_string())
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("Content-Type").unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env(
            "HTTP_CONTENT_ENCODING",
            header("Content-Encoding").unwrap_or_default(),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(protocol) = header("Git-Protocol").filter(|_| abilities.protocol_2) {
        command.env("GIT_PROTOCOL", protocol);
    }
    let mut child = command.spawn().expect("git http-backend");
    let mut stdin = child.stdin.take().expect("its input");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = stdin.write_all(body);
        });
        child.wait_with_output().expect("its output").stdout
    })
}
