//! Addresses of repositories: told apart by what can carry them, and relative ones resolved.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// Where a repository is fetched from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A server.
    Server {
        /// The address as git takes it.
        url: String,
        /// How it is reached.
        scheme: Scheme,
    },
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Without encryption.
    Http,
    /// With it.
    Https,
    /// Also in the form `user@host:path`.
    Ssh,
    /// git's own protocol.
    Git,
}

impl Scheme {
    /// Its name, for an error.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
            Self::Git => "git's own protocol",
        }
    }
}

impl Address {
    /// Reads an address, one that a mirror option gave included.
    ///
    /// # Errors
    /// A scheme that is none of http, https, ssh, git and file (`ext::` and the like run programs), and an option in disguise.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let server = |scheme| Self::Server {
            url: text.to_owned(),
            scheme,
        };
        if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
            bail!(
                "`{}` is not an address of a git repository",
                text.escape_debug()
            );
        }
        if let Some((scheme, _)) = text.split_once("://") {
            return Ok(match scheme.to_ascii_lowercase().as_str() {
                "http" => server(Scheme::Http),
                "https" => server(Scheme::Https),
                "ssh" | "git+ssh" | "ssh+git" => server(Scheme::Ssh),
                "git" => server(Scheme::Git),
                "file" => Self::Folder(file_url(text)?),
                _ => {
                    bail!(
                        "`{text}` begins with `{scheme}://`; only http, https, ssh, git and file are known"
                    )
                }
            });
        }
        if text.contains("::") {
            bail!(
                "`{text}` names a git remote helper, which is not allowed; use http, https, ssh, git or file"
            );
        }
        if is_scp(text) {
            return Ok(server(Scheme::Ssh));
        }
        Ok(Self::Folder(PathBuf::from(text)))
    }

    /// The folder itself, else with `.git` added or taken away; `None` where nothing stands.
    pub(super) fn existing(folder: &std::path::Path) -> Option<PathBuf> {
        let text = folder.to_string_lossy();
        let text = text.trim_end_matches(['/', '\\']);
        let other = match text.strip_suffix(".git") {
            Some(bare) => bare.to_owned(),
            None => format!("{text}.git"),
        };
        [folder.to_owned(), PathBuf::from(other)]
            .into_iter()
            .find(|path| path.is_dir())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Server { url, .. } => f.write_str(&without_password(url)),
        }
    }
}

/// The address as it may be shown and logged.
pub(super) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match server.rsplit_once('@') {
        Some((user, host)) if scheme.starts_with("http") || user.contains(':') => {
            format!("{scheme}://***@{host}{path}")
        }
        _ => url.to_owned(),
    }
}

fn file_url(text: &str) -> Result<PathBuf> {
    let path = reqwest::Url::parse(text)
        .ok()
        .and_then(|url| url.to_file_path().ok());
    match path {
        Some(path) => Ok(path),
        None => bail!(
            "`{text}` does not name a folder of this machine; write file:///folder or the folder itself"
        ),
    }
}

/// `user@host:path`: a colon before any slash, and more than a drive letter before it.
fn is_scp(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, _)| host.len() > 1 && !host.contains(['/', '\\']))
}

/// Resolves a submodule's address against its parent's canonical one, as `git submodule init` does.
///
/// # Errors
/// More `../` than the parent has folders, and addresses of this machine: a repository from elsewhere must not read local folders.
pub(super) fn resolve(parent: &str, url: &str) -> Result<String> {
    if !(url.starts_with("./") || url.starts_with("../")) {
        return match Address::parse(url)? {
            Address::Server { .. } => Ok(url.to_owned()),
            Address::Folder(_) => {
                bail!("`{url}` is a folder of one machine, not the address of a server")
            }
        };
    }
    let mut base = parent.trim_end_matches('/');
    let mut rest = url;
    loop {
        if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else if let Some(after) = rest.strip_prefix("../") {
            rest = after;
            base = match parent_of(base) {
                Some(base) => base,
                None => bail!("`{url}` leads above the server of {parent}"),
            };
        } else {
            break;
        }
        rest = rest.trim_start_matches('/');
    }
    let separator = if base.ends_with(':') { "" } else { "/" };
    Ok(format!("{base}{separator}{}", rest.trim_end_matches('/')))
}

/// An address one folder up; `None` at the server itself.
fn parent_of(base: &str) -> Option<&str> {
    let path = base.find("://").map_or(0, |at| at + 3);
    match base[path..].rfind('/') {
        Some(at) => Some(&base[..path + at]),
        None if path == 0 => base
            .find(':')
            .filter(|at| at + 1 < base.len())
            .map(|at| &base[..=at]),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart_over_systems() {
        let scheme = |text: &str| match Address::parse(text).unwrap() {
            Address::Server { url, scheme } => {
                assert_eq!(url, text);
                Some(scheme)
            }
            Address::Folder(_) => None,
        };
        assert_eq!(scheme("https://github.com/a/b.git"), Some(Scheme::Https));
        assert_eq!(scheme("HTTP://127.0.0.1:80/a"), Some(Scheme::Http));
        assert_eq!(scheme("git@github.com:a/b.git"), Some(Scheme::Ssh));
        assert_eq!(scheme("ssh://git@host/a"), Some(Scheme::Ssh));
        assert_eq!(scheme("git://host/a"), Some(Scheme::Git));
        for folder in [
            "/srv/git/a.git",
            "mirror/a",
            r"C:\git\a",
            "C:/git/a",
            r"\\nas\git\a",
            "./a:b",
        ] {
            assert_eq!(scheme(folder), None, "{folder}");
        }
    }

    #[test]
    fn a_password_or_token_is_never_shown() {
        for (url, shown) in [
            ("https://token@host/a/b@c.git", "https://***@host/a/b@c.git"),
            ("https://user:pass@host:8443", "https://***@host:8443"),
            ("ssh://user:pass@host/a", "ssh://***@host/a"),
            ("ssh://git@host/a", "ssh://git@host/a"),
            ("git@host:a/b", "git@host:a/b"),
            ("https://host/a@b", "https://host/a@b"),
        ] {
            assert_eq!(Address::parse(url).unwrap().to_string(), shown);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_address_is_a_folder() {
        let address = Address::parse("file:///srv/my%20git/a.git").unwrap();
        assert_eq!(address, Address::Folder("/srv/my git/a.git".into()));
        assert!(Address::parse("file://nas/a").is_err());
    }

    #[test]
    fn what_could_run_a_program_is_refused() {
        for text in [
            "ext::sh -c x",
            "fd::7",
            "--upload-pack=x",
            "",
            "a\nb",
            "ftp://a/b",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn relative_addresses_resolve_as_git_does() {
        let idf = "https://github.com/espressif/esp-idf.git";
        for (parent, url, resolved) in [
            (
                idf,
                "../../espressif/esp-lwip.git",
                "https://github.com/espressif/esp-lwip.git",
            ),
            (
                idf,
                "../../DaveGamble/cJSON.git",
                "https://github.com/DaveGamble/cJSON.git",
            ),
            (
                idf,
                "../esp-lwip.git",
                "https://github.com/espressif/esp-lwip.git",
            ),
            (
                idf,
                "./nested",
                "https://github.com/espressif/esp-idf.git/nested",
            ),
            (idf, ".././/x", "https://github.com/espressif/x"),
            (
                idf,
                "https://example.org/x.git",
                "https://example.org/x.git",
            ),
            (
                "https://github.com/espressif/esp-idf/",
                "../x",
                "https://github.com/espressif/x",
            ),
            ("git@host:a/b.git", "../c.git", "git@host:a/c.git"),
            ("git@host:a/b.git", "../../c.git", "git@host:c.git"),
            ("git@host:b.git", "../c.git", "git@host:c.git"),
        ] {
            assert_eq!(resolve(parent, url).unwrap(), resolved, "{parent} {url}");
        }
    }

    #[test]
    fn addresses_that_lead_out_of_the_server_are_refused() {
        let idf = "https://github.com/espressif/esp-idf.git";
        for url in ["../../../x", "/etc", "file:///etc", r"C:\x", "ext::sh"] {
            assert!(resolve(idf, url).is_err(), "{url}");
        }
        assert!(resolve("git@host:b.git", "../../c").is_err());
    }

    #[test]
    fn git_at_the_end_of_a_folder_may_be_missing_or_too_much() {
        let dir = tempfile::tempdir().unwrap();
        fs_err::create_dir(dir.path().join("with.git")).unwrap();
        fs_err::create_dir(dir.path().join("without")).unwrap();
        for (asked, found) in [
            ("with.git", Some("with.git")),
            ("with", Some("with.git")),
            ("without", Some("without")),
            ("without.git", Some("without")),
            ("neither.git", None),
        ] {
            let expected = found.map(|name| dir.path().join(name));
            assert_eq!(
                Address::existing(&dir.path().join(asked)),
                expected,
                "{asked}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(parent in ".{0,24}", url in "[./a:-]{0,16}|.{0,16}") {
            let _ = Address::parse(&url);
            let _ = resolve(&parent, &url);
        }
    }
}
