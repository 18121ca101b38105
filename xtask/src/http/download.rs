//! A whole file from a server, in place only once its checksum was compared.

use std::ffi::OsString;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use fs_err as fs;
use reqwest::StatusCode;
use reqwest::header::CONTENT_RANGE;

use super::ranges::part;
use super::{Failure, Http, copy, parse};
use crate::digest::sha256_file;
use crate::progress::{Event, Report};

impl Http {
    /// Fetches `url` to `target`, unless it is there already with this SHA-256 (lower-case hex). Gives the bytes fetched.
    ///
    /// The bytes go to `<target>.part`, which a later run continues; it is renamed when its checksum is right.
    /// A second run that wants a file in the same folder waits.
    ///
    /// # Errors
    /// No connection after retries, a status that refuses the file, another checksum, a full disk.
    pub fn download(
        &self,
        url: &str,
        target: &Path,
        sha256: &str,
        report: Report<'_>,
    ) -> Result<u64> {
        let folder = target.parent().context("a download needs a folder")?;
        fs::create_dir_all(folder)?;
        let _lock = lock(folder, report)?;
        if target.is_file() && sha256_file(target)?.1 == sha256 {
            return Ok(0);
        }
        let part = part_of(target);
        let continued = fs::metadata(&part).is_ok_and(|found| found.len() > 0);
        let mut fetched = self.fetch_to(url, &part, report)?;
        let mut actual = sha256_file(&part)?.1;
        if actual != sha256 && continued {
            report(Event::Note(
                "the download begun by an earlier run does not fit; fetching it anew",
            ));
            fs::remove_file(&part)?;
            fetched += self.fetch_to(url, &part, report)?;
            actual = sha256_file(&part)?.1;
        }
        if actual != sha256 {
            fs::remove_file(&part)?;
            bail!(
                "{url} has the SHA-256 {actual}, not {sha256}: the server sent another file, or a damaged one; \
                 try again later, or from another network"
            );
        }
        fs::rename(&part, target)?;
        Ok(fetched)
    }

    fn fetch_to(&self, url: &str, part: &Path, report: Report<'_>) -> Result<u64> {
        let url = parse(url)?;
        let mut transfer = Transfer {
            path: part,
            fetched: 0,
            furthest: fs::metadata(part).map_or(0, |found| found.len()),
            report,
        };
        self.retrying(&url, report, || transfer.attempt(self, &url))?;
        Ok(transfer.fetched)
    }
}

/// A download under way.
struct Transfer<'a> {
    path: &'a Path,
    fetched: u64,
    /// The greatest length that the file has had.
    furthest: u64,
    report: Report<'a>,
}

impl Transfer<'_> {
    /// Goes on where the file ends, or from the start where the server has no ranges.
    fn attempt(&mut self, http: &Http, url: &reqwest::Url) -> Result<(), Failure> {
        let mut file = open(self.path)?;
        let begin = file.metadata().map_err(anyhow::Error::from)?.len();
        let range = (begin > 0).then(|| format!("{begin}-"));
        let response = http.get(url, range.as_deref())?;
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return nothing_left(&response, &file, begin);
        }
        let continues = matches!(part(&response), Some((first, _, _)) if first == begin);
        if response.status() == StatusCode::PARTIAL_CONTENT && !continues {
            return Err(
                anyhow!("the server sends another part than the one from byte {begin} on").into(),
            );
        }
        let mut done = if continues { begin } else { 0 };
        file.set_len(done).map_err(anyhow::Error::from)?;
        file.seek(SeekFrom::Start(done))
            .map_err(anyhow::Error::from)?;
        let total = response.content_length().map_or(0, |length| done + length);
        let (report, fetched) = (self.report, &mut self.fetched);
        let outcome = copy(response, &mut |piece| {
            file.write_all(piece)?;
            done += piece.len() as u64;
            *fetched += piece.len() as u64;
            report(Event::Bytes { done, total });
            Ok(())
        });
        let further = done > self.furthest;
        self.furthest = self.furthest.max(done);
        match outcome {
            Ok(()) => Ok(file.sync_all().map_err(anyhow::Error::from)?),
            Err(Failure::Passing { error, wait, .. }) => Err(Failure::Passing {
                error,
                wait,
                progressed: further,
            }),
            Err(lasting) => Err(lasting),
        }
    }
}

/// After 416: the file is whole already, or longer than the server's and of no use.
fn nothing_left(
    response: &reqwest::blocking::Response,
    file: &fs::File,
    begin: u64,
) -> Result<(), Failure> {
    let size = response
        .headers()
        .get(CONTENT_RANGE)
        .and_then(|value| value.to_str().ok());
    if size == Some(&format!("bytes */{begin}")) {
        return Ok(());
    }
    file.set_len(0).map_err(anyhow::Error::from)?;
    Err(Failure::Passing {
        error: anyhow!("the part at hand is longer than the server's file"),
        wait: None,
        progressed: false,
    })
}

/// Opened for writing, not for appending: on Windows an appender may neither set the length nor lock.
fn open(path: &Path) -> Result<fs::File> {
    Ok(fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?)
}

fn part_of(target: &Path) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(".part");
    name.into()
}

/// Held until dropped; the operating system gives it up if the run dies.
fn lock(folder: &Path, report: Report<'_>) -> Result<fs::File> {
    let path = folder.join(".lock");
    let lock = open(&path)?;
    match lock.file().try_lock() {
        Ok(()) => return Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => {
            report(Event::Note(&format!(
                "waiting for another run that downloads to {}",
                folder.display()
            )));
        }
        Err(std::fs::TryLockError::Error(error)) => bail!("locking {}: {error}", path.display()),
    }
    lock.file()
        .lock()
        .with_context(|| format!("locking {}", path.display()))?;
    Ok(lock)
}
