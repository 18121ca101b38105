//! A file on a server as `Read + Seek`: only the parts that are read are fetched.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use anyhow::{Result, anyhow};
use reqwest::blocking::Response;
use reqwest::header::{CONTENT_RANGE, ETAG};
use reqwest::{StatusCode, Url};

use super::{Failure, Http, copy, parse};
use crate::progress::{Event, Report};

/// Smallest part fetched, in bytes.
const BLOCK: u64 = 16 * 1024;
/// Most blocks in one request; a reader that goes straight on gets twice as many each time, up to this.
const LONGEST_RUN: u64 = 16;

/// A remote file that is read in parts. Each part is fetched once.
pub struct RemoteFile<'a> {
    http: &'a Http,
    /// Where redirects led, so that later parts do not ask for them again.
    url: Url,
    etag: Option<String>,
    size: u64,
    limit: u64,
    fetched: u64,
    position: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
    /// The block after the last one fetched, and how many came with it.
    last_run: (u64, u64),
    report: Report<'a>,
}

impl Http {
    /// Opens `url` for reading in parts, at most `limit` bytes in all; `None` where the server does not serve parts.
    ///
    /// # Errors
    /// No connection after retries, or a status that refuses the file.
    pub fn remote_file<'a>(
        &'a self,
        url: &str,
        limit: u64,
        report: Report<'a>,
    ) -> Result<Option<RemoteFile<'a>>> {
        let url = parse(url)?;
        // One byte tells the size, whether parts are served, and where redirects lead.
        // The end by `bytes=-N` would too, but blob stores behind release downloads do not know that form.
        let response = self.retrying(&url, report, || self.get(&url, Some("0-0")))?;
        let Some((0, 0, size)) = part(&response) else {
            return Ok(None);
        };
        Ok(Some(RemoteFile {
            http: self,
            url: response.url().clone(),
            etag: etag(&response),
            size,
            limit,
            fetched: 1,
            position: 0,
            blocks: BTreeMap::new(),
            last_run: (0, 0),
            report,
        }))
    }
}

impl RemoteFile<'_> {
    /// Size of the whole file in bytes, as the server says.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of it fetched so far.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// Fetches the block `first`, and those after it that a reader in a straight line will want.
    fn fetch(&mut self, first: u64) -> Result<()> {
        let run = match self.last_run {
            (next, run) if next == first => (run * 2).clamp(1, LONGEST_RUN),
            _ => 1,
        };
        let known = self.blocks.range(first..).next().map(|(block, _)| *block);
        let end = (first + run)
            .min(known.unwrap_or(u64::MAX))
            .min(self.size.div_ceil(BLOCK));
        let (start, stop) = (first * BLOCK, (end * BLOCK).min(self.size));
        if self.fetched + (stop - start) > self.limit {
            return Err(anyhow!("more than {} bytes would be needed", self.limit));
        }
        let bytes = self
            .http
            .retrying(&self.url, self.report, || self.fetch_once(start, stop))?;
        for (block, bytes) in (first..end).zip(bytes.chunks(BLOCK as usize)) {
            self.blocks.insert(block, bytes.to_vec());
        }
        self.last_run = (end, end - first);
        self.fetched += stop - start;
        (self.report)(Event::Bytes {
            done: self.fetched,
            total: 0,
        });
        Ok(())
    }

    fn fetch_once(&self, start: u64, stop: u64) -> Result<Vec<u8>, Failure> {
        let response = self
            .http
            .get(&self.url, Some(&format!("{start}-{}", stop - 1)))?;
        if part(&response) != Some((start, stop - 1, self.size)) {
            return Err(anyhow!(
                "the server does not serve the bytes {start} to {stop} that were asked for"
            )
            .into());
        }
        if etag(&response) != self.etag {
            return Err(anyhow!("the file changed on the server while it was read").into());
        }
        let length = stop - start;
        let mut bytes = Vec::with_capacity(length as usize);
        copy(response.take(length), &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        if bytes.len() as u64 != length {
            return Err(Failure::Passing {
                error: anyhow!("{} of {length} bytes came", bytes.len()),
                wait: None,
                progressed: false,
            });
        }
        Ok(bytes)
    }
}

impl Read for RemoteFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        let block = self.position / BLOCK;
        if !self.blocks.contains_key(&block) {
            self.fetch(block)
                .map_err(|error| io::Error::other(format!("{error:#}")))?;
        }
        let bytes = self.blocks.get(&block).map_or(&[][..], Vec::as_slice);
        let from = (self.position % BLOCK) as usize;
        let count = bytes.len().saturating_sub(from).min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[from..from + count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for RemoteFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// First byte, last byte and size of the whole file, where the response is a part (`Content-Range: bytes 0-0/70074478`).
pub(super) fn part(response: &Response) -> Option<(u64, u64, u64)> {
    if response.status() != StatusCode::PARTIAL_CONTENT {
        return None;
    }
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    let (bytes, size) = range.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = bytes.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?, size.parse().ok()?))
}

fn etag(response: &Response) -> Option<String> {
    let value = response.headers().get(ETAG)?.to_str().ok()?;
    Some(value.to_owned())
}
