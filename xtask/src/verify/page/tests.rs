use flightlog::report::Source;
use proptest::prelude::*;
use simulator::Libraries;

use super::*;
use crate::verify::Expected;
use crate::verify::board::made_up::{Board, changed};
use crate::verify::board::{self, Heard, Plan};

fn made(log: &str, stock: Option<&str>) -> String {
    let heard = |from: &str, log: &str| Heard {
        from: from.into(),
        bytes: log.into(),
        broke_off: None,
    };
    let plan = Plan {
        expected: &Expected::AsTheySay,
        accept_simulation: true,
    };
    let stock = stock.map(|log| heard("stock.log", log));
    let (checks, seen) = board::check(plan, &heard("<b>.log", log), stock.as_ref());
    page(&Verdict { checks }, Some(&seen)).unwrap()
}

#[test]
fn the_page_stands_alone_and_shows_both_runs() {
    let (xip, stock) = (Board::new(Libraries::Xip), Board::new(Libraries::Stock));
    let page = made(&xip.log(Source::Board), Some(&stock.log(Source::Board)));
    assert_eq!(page.matches("<svg").count(), 16);
    assert!(page.contains("#030303") && page.contains("#040404"));
    assert!(page.contains("Verification: Good") && page.contains("stock.log, measured"));
    assert!(!page.contains("SIMULATED"));
    // The one address is the name of SVG itself, which no browser fetches.
    let addresses = page.matches("http").count();
    let known =
        page.matches("http://www.w3.org/2000/svg").count() + page.matches("http-equiv").count();
    assert_eq!(addresses, known);
    assert!(!page.contains("<script") && !page.contains("url(") && !page.contains("@import"));

    let page = made(&xip.log(Source::Simulation), None);
    assert!(page.contains("SIMULATED: figures of the simulator"));
    assert_eq!(page.matches("stock libraries</span>").count(), 0);
}

#[test]
fn what_a_log_holds_is_text() {
    let evil = "<script>alert(1)</script>";
    let log = Board::new(Libraries::Xip).log(Source::Board);
    let mut evil_log = log.clone();
    for (from, to) in [
        ("\"chip\":\"esp32s3\"", format!("\"chip\":\"{evil}\"")),
        ("\"core\":\"3.3.12\"", format!("\"core\":\"{evil}\"")),
        ("\"home\":\"psram\"", format!("\"home\":\"{evil}\"")),
        (
            "\"phase\":\"erase-64k\"",
            "\"phase\":\"\\\" onload='x'><script>\"".to_owned(),
        ),
        ("\"buffer\":\"internal\"", format!("\"buffer\":\"{evil}\"")),
    ] {
        evil_log = changed(&evil_log, from, &to);
    }
    evil_log.push_str(&format!("Guru Meditation Error: {evil}\r\n"));
    let page = made(&evil_log, Some(&evil_log));
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
    assert!(!page.contains("\" onload"));
}

#[test]
fn odd_figures_are_drawn() {
    let log = Board::new(Libraries::Xip).log(Source::Board);
    for (field, value) in [
        ("slices", "[]"),
        ("slices", "[4294967295,0]"),
        ("slice_us", "0"),
        ("slice_us", "18446744073709551615"),
        ("worst_gap_us", "4294967295"),
        ("histogram", "[]"),
        ("histogram", "[[0,4294967295],[18446744073709551615,1]]"),
    ] {
        let at = log.find(&format!("\"{field}\":")).unwrap();
        let tail = &log[at..];
        let end = match tail.contains("]]") && field == "histogram" {
            true => tail.find("]]").unwrap() + 2,
            false if field == "slices" => tail.find(']').unwrap() + 1,
            false => tail.find(',').unwrap(),
        };
        let page = made(
            &changed(&log, &tail[..end], &format!("\"{field}\":{value}")),
            None,
        );
        assert_eq!(page.matches("<svg").count(), 16, "{field} {value}");
    }
}

proptest! {
    #[test]
    fn no_text_leaves_its_place(raw in any::<String>()) {
        let safe = text(&raw);
        prop_assert!(!safe.contains(['<', '>', '"', '\'']));
    }
}
