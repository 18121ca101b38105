//! HTTP at the tool's edge: one client with timeouts, redirects and retries, over which [`ranges`] reads parts of a
//! file and [`download`] fetches a whole one.

pub mod download;
pub mod ranges;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT_ENCODING, RANGE, RETRY_AFTER};
use reqwest::{StatusCode, Url, redirect};

use crate::progress::{Event, Report};

/// Longest wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest silence of a server, before its answer and between two pieces of it.
const SILENCE: Duration = Duration::from_secs(60);
/// Longest wait that a server's `Retry-After` may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 10;

/// A client for `http` and `https` addresses. It honours the system's proxy and certificates.
#[derive(Debug)]
pub struct Http {
    client: Client,
    retry: Retry,
    /// Why no certificate of a server can be checked, where the system has none to check it with.
    no_certificates: Option<String>,
}

/// How often, and after which wait, a request that failed for a passing reason is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Tries in all; progress made (bytes of a download) starts the count anew.
    pub attempts: u32,
    /// Wait before the second try; each later one waits twice as long.
    pub first_wait: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first_wait: Duration::from_millis(500),
        }
    }
}

/// What became of one try.
enum Failure {
    /// May pass: no connection, a cut body, an overloaded server.
    Passing {
        error: anyhow::Error,
        /// The wait that the server asked for.
        wait: Option<Duration>,
        /// Whether this try came further than any before.
        progressed: bool,
    },
    /// Will not change by asking again.
    Lasting(anyhow::Error),
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Lasting(error)
    }
}

impl Http {
    /// A client with the default [`Retry`].
    ///
    /// # Errors
    /// The system's TLS or proxy settings cannot be used.
    pub fn new() -> Result<Self> {
        Self::with_retry(Retry::default())
    }

    /// A client that retries as told.
    ///
    /// # Errors
    /// As [`Http::new`].
    pub fn with_retry(retry: Retry) -> Result<Self> {
        let (tls, no_certificates) = tls()?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("esp32-xip-libs/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(SILENCE)
            .redirect(redirects())
            .build()
            .context("setting up the HTTP client")?;
        Ok(Self {
            client,
            retry,
            no_certificates,
        })
    }

    /// The whole body behind `url`, at most `limit` bytes.
    ///
    /// # Errors
    /// No connection after retries; a status other than 200; a body longer than `limit`.
    pub fn body(&self, url: &str, limit: u64, report: Report<'_>) -> Result<Vec<u8>> {
        let url = parse(url)?;
        self.retrying(&url, report, || {
            let response = self.get(&url, None)?;
            let total = response.content_length().unwrap_or(0);
            let mut body = Vec::new();
            copy(response.take(limit + 1), &mut |piece| {
                body.extend_from_slice(piece);
                let done = body.len() as u64;
                report(Event::Bytes { done, total });
                Ok(())
            })?;
            if body.len() as u64 > limit {
                return Err(Failure::Lasting(anyhow!(
                    "the answer is longer than {limit} bytes"
                )));
            }
            Ok(body)
        })
    }

    /// Sends one GET, with `Range: bytes=<range>` where given. The status of the response is 200, 206 or 416.
    fn get(&self, url: &Url, range: Option<&str>) -> Result<Response, Failure> {
        let mut request = self
            .client
            .get(url.clone())
            .header(ACCEPT_ENCODING, "identity");
        if let Some(range) = range {
            request = request.header(RANGE, format!("bytes={range}"));
        }
        let response = request.send().map_err(|error| self.sending_failed(error))?;
        let status = response.status();
        match status {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
            StatusCode::RANGE_NOT_SATISFIABLE if range.is_some() => Ok(response),
            StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Err(Failure::Passing {
                error: anyhow!("the server answers {status}"),
                wait: asked_wait(&response),
                progressed: false,
            }),
            _ => Err(Failure::Lasting(anyhow!("the server answers {status}"))),
        }
    }

    fn sending_failed(&self, error: reqwest::Error) -> Failure {
        let lasting = error.is_redirect() || error.is_builder();
        let mut error = anyhow!(error.without_url());
        if let Some(why) = &self.no_certificates {
            error = error.context(format!(
                "no certificate authorities on this system ({why}); install ca-certificates for https"
            ));
        }
        if lasting {
            return Failure::Lasting(error);
        }
        Failure::Passing {
            error,
            wait: None,
            progressed: false,
        }
    }

    /// Calls `attempt` until it succeeds, fails for good, or [`Retry`] is used up. The error names `url`.
    fn retrying<T>(
        &self,
        url: &Url,
        report: Report<'_>,
        mut attempt: impl FnMut() -> Result<T, Failure>,
    ) -> Result<T> {
        let mut tries = 0;
        loop {
            let (error, wait) = match attempt() {
                Ok(value) => return Ok(value),
                Err(Failure::Lasting(error)) => {
                    return Err(error.context(format!("fetching {url}")));
                }
                Err(Failure::Passing {
                    error,
                    wait,
                    progressed,
                }) => {
                    tries = if progressed { 1 } else { tries + 1 };
                    (error, wait)
                }
            };
            if tries >= self.retry.attempts {
                return Err(error.context(format!("fetching {url} (tried {tries} times)")));
            }
            let wait = wait.unwrap_or(self.retry.first_wait * 2_u32.pow((tries - 1).min(6)));
            report(Event::Detail(&format!(
                "again in {:.1} s: {error:#}",
                wait.as_secs_f64()
            )));
            std::thread::sleep(wait.min(LONGEST_WAIT));
        }
    }
}

/// Whether `text` is an address for [`Http`].
pub fn is_url(text: &str) -> bool {
    let scheme = text
        .split_once("://")
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

fn parse(url: &str) -> Result<Url> {
    let parsed = Url::parse(url).with_context(|| format!("`{url}` is not an address"))?;
    if !is_url(url) {
        return Err(anyhow!("`{url}` is not an http or https address"));
    }
    Ok(parsed)
}

/// TLS by ring, checked against the system's certificates; the second value tells why there are none.
fn tls() -> Result<(rustls::ClientConfig, Option<String>)> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .context("setting up TLS")?;
    Ok(match rustls_platform_verifier::Verifier::new(provider) {
        Ok(verifier) => {
            let builder = builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier));
            (builder.with_no_client_auth(), None)
        }
        // Plain http still works on a system without certificates; https then fails, and says why.
        Err(error) => {
            let builder = builder.with_root_certificates(rustls::RootCertStore::empty());
            (builder.with_no_client_auth(), Some(error.to_string()))
        }
    })
}

fn redirects() -> redirect::Policy {
    redirect::Policy::custom(
        |attempt| match refused_redirect(attempt.previous(), attempt.url()) {
            Some(why) => attempt.error(why),
            None => attempt.follow(),
        },
    )
}

/// Why a redirect is not followed. One from https to http never is: what is read by ranges has no checksum of its own.
fn refused_redirect(previous: &[Url], next: &Url) -> Option<String> {
    let from_https = previous.last().is_some_and(|url| url.scheme() == "https");
    if previous.len() > MOST_REDIRECTS {
        Some(format!("more than {MOST_REDIRECTS} redirects"))
    } else if from_https && next.scheme() != "https" {
        Some(format!("a redirect from https to {next}"))
    } else {
        None
    }
}

fn asked_wait(response: &Response) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}

/// Passes a body on piece by piece. A read that fails may pass; what `take` says is final.
fn copy(mut body: impl Read, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<(), Failure> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match body.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => take(&buffer[..count])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Failure::Passing {
                    error: anyhow!(error).context("the connection broke off"),
                    wait: None,
                    progressed: false,
                });
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;
