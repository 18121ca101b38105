//! Replaces the beginning of an address: a company mirror, or a local folder.

use crate::config::Mirror;

/// The mirrors asked for, the first of equally long prefixes winning.
#[derive(Debug, Clone, Default)]
pub struct Mirrors(Vec<Mirror>);

impl Mirrors {
    /// Mirrors in the order in which they are preferred: command line first, then the config file.
    pub fn new(mirrors: Vec<Mirror>) -> Self {
        Self(mirrors)
    }

    /// The address to use for `url`: the longest prefix that ends at a path's border is replaced.
    ///
    /// A `.git` at the end and slashes at the end make no difference to what matches.
    pub fn map(&self, url: &str) -> String {
        let mut best: Option<(usize, String)> = None;
        for mirror in &self.0 {
            let from = bare(&mirror.from);
            let Some(rest) = rest(url, from) else {
                continue;
            };
            if best.as_ref().is_none_or(|(length, _)| from.len() > *length) {
                best = Some((from.len(), join(&mirror.to, rest)));
            }
        }
        best.map_or_else(|| url.to_owned(), |(_, mapped)| mapped)
    }
}

/// An address without what makes no difference: slashes at the end and `.git`.
pub(super) fn bare(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git")
        .unwrap_or(url)
        .trim_end_matches('/')
}

/// What follows the prefix `from` in `url`, where it ends at a border; empty for the whole address.
fn rest<'a>(url: &'a str, from: &str) -> Option<&'a str> {
    if bare(url) == from {
        return Some("");
    }
    let rest = url.strip_prefix(from)?;
    (rest.starts_with('/') || from.ends_with(':')).then_some(rest)
}

fn join(to: &str, rest: &str) -> String {
    if rest.is_empty() {
        return to.to_owned();
    }
    let rest = rest.trim_start_matches('/');
    if to.ends_with(['/', '\\', ':']) {
        format!("{to}{rest}")
    } else {
        format!("{to}/{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(mirrors: &[&str], url: &str) -> String {
        Mirrors::new(mirrors.iter().map(|text| text.parse().unwrap()).collect()).map(url)
    }

    const IDF: &str = "https://github.com/espressif/esp-idf.git";

    #[test]
    fn a_prefix_is_replaced_with_or_without_a_slash_at_either_end() {
        for from in ["https://github.com", "https://github.com/"] {
            for (to, mapped) in [
                ("/srv/git", "/srv/git/espressif/esp-idf.git"),
                ("/srv/git/", "/srv/git/espressif/esp-idf.git"),
                ("/", "/espressif/esp-idf.git"),
                (r"D:\git", r"D:\git/espressif/esp-idf.git"),
                (r"\\nas\git\", r"\\nas\git\espressif/esp-idf.git"),
                (
                    "git@git.example.org:",
                    "git@git.example.org:espressif/esp-idf.git",
                ),
                (
                    "https://git.example.org/gh",
                    "https://git.example.org/gh/espressif/esp-idf.git",
                ),
            ] {
                assert_eq!(map(&[&format!("{from}={to}")], IDF), mapped);
            }
        }
        assert_eq!(
            map(&["git@github.com:=/srv"], "git@github.com:a/b.git"),
            "/srv/a/b.git"
        );
    }

    #[test]
    fn the_longest_prefix_wins_and_then_the_first() {
        let mirrors = [
            "https://github.com/=/all",
            "https://github.com/espressif/=/espressif",
            "https://github.com/espressif=/late",
        ];
        assert_eq!(map(&mirrors, IDF), "/espressif/esp-idf.git");
        assert_eq!(
            map(&mirrors, "https://github.com/hathach/tinyusb"),
            "/all/hathach/tinyusb"
        );
    }

    #[test]
    fn a_whole_address_matches_with_and_without_git_at_its_end() {
        for from in [
            IDF,
            "https://github.com/espressif/esp-idf",
            "https://github.com/espressif/esp-idf/",
        ] {
            for url in [IDF, "https://github.com/espressif/esp-idf"] {
                assert_eq!(map(&[&format!("{from}=/srv/idf")], url), "/srv/idf");
            }
        }
    }

    #[test]
    fn a_prefix_that_ends_inside_a_name_does_not_match() {
        assert_eq!(map(&["https://github.com/espressif/esp=/x"], IDF), IDF);
        assert_eq!(map(&["https://git=/x"], IDF), IDF);
        assert_eq!(map(&[], IDF), IDF);
    }

    proptest::proptest! {
        #[test]
        fn mapping_keeps_what_follows_the_prefix(rest in "[a-z]{1,8}(/[a-z.]{1,8}){0,3}") {
            let url = format!("https://github.com/{rest}");
            proptest::prop_assert_eq!(map(&["https://github.com/=/srv"], &url), format!("/srv/{rest}"));
        }
    }
}
