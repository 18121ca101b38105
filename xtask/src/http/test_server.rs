//! HTTP servers on the loopback for tests; integration tests include this file by path.
#![allow(dead_code, reason = "each test program uses its part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tiny_http::{Header, Request, Response, Server};

/// How a [`Site`] answers a path.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The content, in parts where they are asked for.
    File(Arc<Vec<u8>>),
    /// The content, always whole.
    Whole(Arc<Vec<u8>>),
    /// In parts that all hold the content's first bytes: a server whose ranges are wrong.
    WrongParts(Arc<Vec<u8>>),
    /// In parts, with another ETag each time: a file that changes while it is read.
    Changing(Arc<Vec<u8>>),
    /// Elsewhere.
    Redirect(String),
    /// A status alone.
    Status(u16),
    /// The first so many requests get the status, the later ones the content.
    Busy(usize, u16, Arc<Vec<u8>>),
}

/// A server that answers paths from a list until it is dropped.
pub(crate) struct Site {
    /// `http://127.0.0.1:<port>`.
    pub(crate) address: String,
    server: Arc<Server>,
    sent: Arc<AtomicU64>,
    asked: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Site {
    /// Starts on a free port; `answers` gets the server's address, for redirects and indexes.
    pub(crate) fn new(answers: impl FnOnce(&str) -> Vec<(&'static str, Answer)>) -> Self {
        let server = Arc::new(Server::http("127.0.0.1:0").expect("a free port"));
        let address = format!("http://{}", server.server_addr());
        let answers = answers(&address);
        let (sent, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicUsize::new(0)));
        let thread = std::thread::spawn({
            let (server, sent, asked) = (server.clone(), sent.clone(), asked.clone());
            move || {
                for request in server.incoming_requests() {
                    let before = asked.fetch_add(1, Ordering::SeqCst);
                    let found = answers.iter().find(|(path, _)| *path == request.url());
                    let answer = found.map_or(Answer::Status(404), |(_, answer)| answer.clone());
                    reply(request, answer, before, &sent);
                }
            }
        });
        Self {
            address,
            server,
            sent,
            asked,
            thread: Some(thread),
        }
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// Bytes of bodies sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// Requests so far.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn reply(request: Request, answer: Answer, before: usize, sent: &Arc<AtomicU64>) {
    let range = request
        .headers()
        .iter()
        .find(|header| header.field.equiv("Range"))
        .map(|header| header.value.to_string());
    // A client that stops reading in the middle is no fault of the server.
    let _ = match answer {
        Answer::Status(status) => request.respond(Response::empty(status)),
        Answer::Redirect(to) => {
            request.respond(Response::empty(302).with_header(header("Location", &to)))
        }
        Answer::Whole(content) => request.respond(counted(200, &content, 0, content.len(), sent)),
        Answer::Busy(times, status, _) if before < times => {
            request.respond(Response::empty(status))
        }
        Answer::File(content) | Answer::WrongParts(content) | Answer::Busy(_, _, content)
            if range.is_none() =>
        {
            request.respond(counted(200, &content, 0, content.len(), sent))
        }
        Answer::File(content) | Answer::Busy(_, _, content) => {
            match bounds(range.as_deref(), content.len()) {
                Some((first, end)) => {
                    let told = format!("bytes {first}-{}/{}", end - 1, content.len());
                    request.respond(
                        counted(206, &content, first, end, sent)
                            .with_header(header("Content-Range", &told)),
                    )
                }
                None => {
                    let told = format!("bytes */{}", content.len());
                    request
                        .respond(Response::empty(416).with_header(header("Content-Range", &told)))
                }
            }
        }
        Answer::Changing(content) => {
            let (first, end) =
                bounds(range.as_deref(), content.len()).expect("the tests ask inside the file");
            let told = format!("bytes {first}-{}/{}", end - 1, content.len());
            let part = counted(206, &content, first, end, sent)
                .with_header(header("Content-Range", &told));
            request.respond(part.with_header(header("ETag", &format!("\"{before}\""))))
        }
        Answer::WrongParts(content) => {
            let (first, end) =
                bounds(range.as_deref(), content.len()).expect("the tests ask inside the file");
            let told = format!("bytes {first}-{}/{}", end - 1, content.len());
            request.respond(
                counted(206, &content, 0, end - first, sent)
                    .with_header(header("Content-Range", &told)),
            )
        }
    };
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("a header")
}

/// First byte and the one after the last, of `bytes=FIRST-[LAST]`.
fn bounds(range: Option<&str>, length: usize) -> Option<(usize, usize)> {
    let (first, last) = range?.strip_prefix("bytes=")?.split_once('-')?;
    let first: usize = first.parse().ok()?;
    let end = last
        .parse()
        .map_or(length, |last: usize| (last + 1).min(length));
    (first < end).then_some((first, end))
}

fn counted(
    status: u16,
    content: &Arc<Vec<u8>>,
    first: usize,
    end: usize,
    sent: &Arc<AtomicU64>,
) -> Response<Counted> {
    let body = Counted {
        content: content.clone(),
        at: first,
        end,
        sent: sent.clone(),
    };
    // Without this, tiny_http leaves the length out of answers over 32 kB.
    Response::new(status.into(), Vec::new(), body, Some(end - first), None)
        .with_chunked_threshold(usize::MAX)
}

/// A part of the content that counts the bytes taken from it.
struct Counted {
    content: Arc<Vec<u8>>,
    at: usize,
    end: usize,
    sent: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = (self.end - self.at).min(buffer.len());
        buffer[..count].copy_from_slice(&self.content[self.at..self.at + count]);
        self.at += count;
        self.sent.fetch_add(count as u64, Ordering::SeqCst);
        Ok(count)
    }
}

/// A server that promises the content and closes each connection after `most` bytes of it. It lives until the test ends.
pub(crate) fn cutting(content: Arc<Vec<u8>>, most: usize, ranges: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
            let mut range = None;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                    break;
                }
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("range")
                    && ranges
                {
                    range = bounds(Some(value.trim()), content.len());
                }
            }
            let (first, end) = range.unwrap_or((0, content.len()));
            let status = match range {
                Some(_) => format!(
                    "206 Partial Content\r\nContent-Range: bytes {first}-{}/{}",
                    end - 1,
                    content.len()
                ),
                None => "200 OK".to_owned(),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
                end - first
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&content[first..end.min(first + most)]);
        }
    });
    format!("http://{address}/file.zip")
}
