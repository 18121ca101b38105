use super::test_server::{Answer, Site, cutting};
use super::*;
use crate::digest::{sha256, sha256_file};

use std::io::{Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;

use fs_err as fs;

const QUICKLY: Retry = Retry {
    attempts: 3,
    first_wait: Duration::from_millis(1),
};
const SILENT: Report<'static> = &|_| {};

fn http() -> Http {
    Http::with_retry(QUICKLY).unwrap()
}

/// Bytes that differ everywhere.
fn content(length: usize) -> Arc<Vec<u8>> {
    let bytes = (0..length as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
    Arc::new(bytes.collect())
}

fn sum(content: &[u8]) -> String {
    sha256(content)
}

fn site(answer: Answer) -> Site {
    Site::new(|_| vec![("/f", answer)])
}

struct Folder {
    _dir: tempfile::TempDir,
    target: PathBuf,
    part: PathBuf,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().unwrap();
    Folder {
        target: dir.path().join("downloads/f.zip"),
        part: dir.path().join("downloads/f.zip.part"),
        _dir: dir,
    }
}

impl Folder {
    fn with_part(self, begun: &[u8]) -> Self {
        fs::create_dir_all(self.part.parent().unwrap()).unwrap();
        fs::write(&self.part, begun).unwrap();
        self
    }

    fn holds_only(&self, content: &[u8]) {
        assert_eq!(fs::read(&self.target).unwrap(), content);
        assert!(!self.part.exists());
    }
}

#[test]
fn a_body_is_read_up_to_its_limit() {
    let content = content(200_000);
    let site = site(Answer::File(content.clone()));
    assert_eq!(
        http().body(&site.url("/f"), 200_000, SILENT).unwrap(),
        *content
    );
    let error = format!(
        "{:#}",
        http().body(&site.url("/f"), 199_999, SILENT).unwrap_err()
    );
    assert!(error.contains("/f") && error.contains("199999"), "{error}");
}

#[test]
fn a_missing_file_is_an_error_at_once() {
    let site = site(Answer::Status(200));
    let error = format!(
        "{:#}",
        http().body(&site.url("/nothing"), 10, SILENT).unwrap_err()
    );
    assert!(
        error.contains("/nothing") && error.contains("404 Not Found"),
        "{error}"
    );
    assert_eq!(site.asked(), 1);
}

#[test]
fn a_busy_server_is_asked_again_and_given_up_on() {
    let content = content(10);
    let passing = site(Answer::Busy(2, 503, content.clone()));
    assert_eq!(
        http().body(&passing.url("/f"), 10, SILENT).unwrap(),
        *content
    );
    let lasting = site(Answer::Busy(9, 503, content));
    let error = format!(
        "{:#}",
        http().body(&lasting.url("/f"), 10, SILENT).unwrap_err()
    );
    assert!(
        error.contains("503") && error.contains("tried 3 times"),
        "{error}"
    );
    assert_eq!(lasting.asked(), 3);
}

#[test]
fn no_server_is_named() {
    let address = site(Answer::Status(200)).url("/f");
    let error = format!("{:#}", http().body(&address, 10, SILENT).unwrap_err());
    assert!(
        error.contains(&address) && error.contains("tried 3 times"),
        "{error}"
    );
    for wrong in ["ftp://example.org/f", "no address"] {
        let error = format!("{:#}", http().body(wrong, 10, SILENT).unwrap_err());
        assert!(error.contains(wrong), "{error}");
    }
}

#[test]
fn redirects_are_followed_but_not_for_ever() {
    let content = content(50_000);
    let site = Site::new(|address| {
        vec![
            ("/f", Answer::Redirect(format!("{address}/there"))),
            ("/there", Answer::File(content.clone())),
            ("/loop", Answer::Redirect(format!("{address}/loop"))),
        ]
    });
    let http = http();
    let mut file = http
        .remote_file(&site.url("/f"), 60_000, SILENT)
        .unwrap()
        .unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    assert_eq!(all, *content);
    let parts = 3;
    assert_eq!(
        site.asked(),
        2 + parts,
        "later parts go straight to where the redirect led"
    );
    let error = format!(
        "{:#}",
        http.body(&site.url("/loop"), 10, SILENT).unwrap_err()
    );
    assert!(error.contains("redirects"), "{error}");
}

#[test]
fn https_is_never_left_for_http() {
    let address = |text: &str| Url::parse(text).unwrap();
    let (secure, plain) = (
        address("https://example.org/f"),
        address("http://example.org/f"),
    );
    assert!(
        refused_redirect(std::slice::from_ref(&secure), &plain)
            .is_some_and(|why| why.contains("http://example.org/f"))
    );
    assert_eq!(
        refused_redirect(std::slice::from_ref(&secure), &secure),
        None
    );
    assert_eq!(
        refused_redirect(std::slice::from_ref(&plain), &secure),
        None
    );
    assert_eq!(refused_redirect(std::slice::from_ref(&plain), &plain), None);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let site = site(Answer::Changing(content(40_000)));
    let http = http();
    let mut file = http
        .remote_file(&site.url("/f"), 100_000, SILENT)
        .unwrap()
        .unwrap();
    let error = file.read(&mut [0; 10]).unwrap_err().to_string();
    assert!(error.contains("changed on the server"), "{error}");
}

#[test]
fn parts_are_fetched_once_and_only_where_read() {
    let content = content(1_000_003);
    let site = site(Answer::File(content.clone()));
    let http = http();
    let mut file = http
        .remote_file(&site.url("/f"), 2_000_000, SILENT)
        .unwrap()
        .unwrap();
    assert_eq!(file.size(), 1_000_003);
    for (at, length) in [(500_000, 40), (999_990, 13), (500_010, 100), (16_380, 10)] {
        let mut bytes = vec![0; length];
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, content[at..at + length]);
    }
    assert!(file.fetched() <= 1 + 5 * 16_384, "{}", file.fetched());
    assert_eq!(site.sent(), file.fetched());
    assert_eq!(file.seek(SeekFrom::End(-3)).unwrap(), 1_000_000);
    assert_eq!(file.read(&mut [0; 9]).unwrap(), 3);
    assert_eq!(file.read(&mut [0; 9]).unwrap(), 0);
    assert!(file.seek(SeekFrom::Current(-1_000_004)).is_err());
    file.rewind().unwrap();
    let mut all = Vec::new();
    file.read_to_end(&mut all).unwrap();
    assert_eq!(all, *content);
    assert_eq!(site.sent(), 1 + 1_000_003, "nothing was fetched twice");
    assert!(site.asked() < 20, "{} requests", site.asked());
}

#[test]
fn parts_have_a_limit_in_all() {
    let site = site(Answer::File(content(1_000_000)));
    let http = http();
    let mut file = http
        .remote_file(&site.url("/f"), 300_000, SILENT)
        .unwrap()
        .unwrap();
    let error = file.read_to_end(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("300000"), "{error}");
    assert!(site.sent() <= 300_000);
}

#[test]
fn a_server_without_parts_is_told_apart() {
    let site = site(Answer::Whole(content(100)));
    assert!(
        http()
            .remote_file(&site.url("/f"), 1_000, SILENT)
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_cut_part_is_fetched_again() {
    let content = content(40_000);
    let http = http();
    let address = cutting(content.clone(), 20_000, true);
    let mut file = http
        .remote_file(&address, 100_000, SILENT)
        .unwrap()
        .unwrap();
    let error = file.read_to_end(&mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.contains("tried 3 times"),
        "a run of two blocks never comes whole: {error}"
    );
    let mut bytes = [0; 10];
    file.seek(SeekFrom::Start(39_000)).unwrap();
    file.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, content[39_000..39_010]);
}

#[test]
fn a_download_is_kept_and_not_repeated() {
    let content = content(300_000);
    let site = site(Answer::File(content.clone()));
    let folder = folder();
    let seen = Mutex::new(0);
    let report = |event: Event<'_>| {
        if let Event::Bytes { done, total } = event {
            assert_eq!(total, 300_000);
            *seen.lock().unwrap() = done;
        }
    };
    let fetched = http()
        .download(&site.url("/f"), &folder.target, &sum(&content), &report)
        .unwrap();
    assert_eq!((fetched, *seen.lock().unwrap()), (300_000, 300_000));
    folder.holds_only(&content);
    assert_eq!(sha256_file(&folder.target).unwrap().1, sum(&content));
    let again = http()
        .download(&site.url("/f"), &folder.target, &sum(&content), SILENT)
        .unwrap();
    assert_eq!((again, site.asked()), (0, 1));
}

#[test]
fn a_download_goes_on_where_an_earlier_run_ended() {
    let content = content(300_000);
    for (begun, expected) in [(100_000, 200_000), (299_999, 1), (300_000, 0)] {
        let site = site(Answer::File(content.clone()));
        let folder = folder().with_part(&content[..begun]);
        let fetched = http()
            .download(&site.url("/f"), &folder.target, &sum(&content), SILENT)
            .unwrap();
        assert_eq!(fetched, expected, "begun with {begun}");
        folder.holds_only(&content);
    }
}

#[test]
fn a_part_that_does_not_fit_is_thrown_away() {
    let content = content(300_000);
    let too_long = vec![7; 300_001];
    for begun in [&[7; 1_000][..], &too_long] {
        let site = site(Answer::File(content.clone()));
        let folder = folder().with_part(begun);
        http()
            .download(&site.url("/f"), &folder.target, &sum(&content), SILENT)
            .unwrap();
        folder.holds_only(&content);
    }
    let without_parts = site(Answer::Whole(content.clone()));
    let folder = folder().with_part(&[7; 1_000]);
    http()
        .download(
            &without_parts.url("/f"),
            &folder.target,
            &sum(&content),
            SILENT,
        )
        .unwrap();
    folder.holds_only(&content);
}

#[test]
fn a_connection_that_breaks_is_taken_up_again() {
    let content = content(1_000_000);
    let folder = folder();
    let address = cutting(content.clone(), 150_000, true);
    let fetched = http()
        .download(&address, &folder.target, &sum(&content), SILENT)
        .unwrap();
    assert_eq!(fetched, 1_000_000, "seven pieces, none of them twice");
    folder.holds_only(&content);
}

#[test]
fn a_server_that_always_cuts_is_given_up_on_and_the_part_kept() {
    let content = content(100_000);
    let folder = folder();
    let address = cutting(content.clone(), 60_000, false);
    let error = http()
        .download(&address, &folder.target, &sum(&content), SILENT)
        .unwrap_err();
    let error = format!("{error:#}");
    assert!(
        error.contains(&address) && error.contains("broke off"),
        "{error}"
    );
    assert!(!folder.target.exists());
    assert_eq!(fs::read(&folder.part).unwrap(), content[..60_000]);
}

#[test]
fn a_wrong_checksum_leaves_nothing() {
    let site = site(Answer::File(content(1_000)));
    let folder = folder();
    let wanted = sum(b"something else");
    let error = http()
        .download(&site.url("/f"), &folder.target, &wanted, SILENT)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&wanted) && error.contains(&sum(&content(1_000))),
        "{error}"
    );
    assert!(!folder.target.exists() && !folder.part.exists());
}

#[test]
fn two_downloads_at_once_do_not_harm_each_other() {
    let content = content(2_000_000);
    let site = site(Answer::File(content.clone()));
    let folder = folder();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                http()
                    .download(&site.url("/f"), &folder.target, &sum(&content), SILENT)
                    .unwrap();
            });
        }
    });
    folder.holds_only(&content);
    assert_eq!(site.sent(), 2_000_000, "one fetched, the others waited");
}
