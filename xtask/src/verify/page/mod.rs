//! The result as one page for a browser: no script, no font, nothing from a network.
//!
//! Every text goes through `text`: a log may hold anything.

mod plots;

use std::fmt::Write;

use anyhow::Result;
use flightlog::report::read::Phase;

use self::plots::Pair;
use super::board::{Figures, Row, Run, Seen};
use super::{Check, Group, Outcome, Verdict};

/// The page.
///
/// # Errors
/// A plot cannot be drawn.
pub fn page(verdict: &Verdict, seen: Option<&Seen>) -> Result<String> {
    let mut page = String::new();
    let good = verdict.is_good();
    let (class, word) = if good {
        ("passed", "Good")
    } else {
        ("failed", "Not good")
    };
    let tally = verdict.tally();
    push(
        &mut page,
        format_args!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Verification: {word}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <h1>Verification: <span class=\"{class}\">{word}</span></h1>\n\
         <p class=\"faint\">{} passed, {} failed, {} not run ({} of them asked for)</p>\n",
            include_str!("style.css"),
            tally.passed,
            tally.failed,
            tally.not_run,
            tally.asked_not_run,
        ),
    );
    if let Some(seen) = seen {
        let simulated = [Some(&seen.run), seen.stock.as_ref()]
            .into_iter()
            .flatten()
            .any(Run::is_simulation);
        if simulated {
            page.push_str(
                "<p class=\"notice\">SIMULATED: figures of the simulator stand on this page; no board measured them.</p>\n",
            );
        }
        about(&mut page, "Run", &seen.run);
        seen.stock
            .iter()
            .for_each(|stock| about(&mut page, "Stock run", stock));
    }
    for (group, name) in [
        (Group::Files, "Files"),
        (Group::Compile, "Program"),
        (Group::Board, "Board"),
    ] {
        let of_group = verdict.checks.iter().filter(|check| check.group == group);
        checks(&mut page, name, &of_group.collect::<Vec<_>>());
    }
    if let Some(seen) = seen.filter(|seen| !seen.table.is_empty()) {
        table(&mut page, seen);
        figures(&mut page, seen)?;
    }
    page.push_str("</body>\n</html>\n");
    Ok(page)
}

/// Where a run is from and what its board is.
fn about(page: &mut String, name: &str, run: &Run) {
    let mut told = vec![format!("{name}: {}, {}", run.from, run.kind())];
    if let Some(info) = &run.info {
        told.push(format!(
            "{}, core {}, ESP-IDF {}",
            info.chip, info.core, info.idf
        ));
        let ecc = if info.ecc { "on" } else { "off" };
        told.push(format!("PSRAM {} KB, ECC {ecc}", info.psram_bytes / 1024));
        told.push(format!(
            "code in {}, constants in {}",
            info.code.home, info.constants.home
        ));
    }
    push(page, format_args!("<p>{}</p>\n", text(&told.join("; "))));
    for trouble in &run.trouble {
        push(
            page,
            format_args!("<p class=\"faint\">{}</p>\n", text(trouble)),
        );
    }
}

fn checks(page: &mut String, name: &str, checks: &[&Check]) {
    let Some(first) = checks.first() else { return };
    push(page, format_args!("<h2>{name}</h2>\n"));
    let alike = checks.iter().all(|check| check.outcome == first.outcome);
    if let (true, Outcome::NotRun { why }) = (alike, &first.outcome) {
        push(
            page,
            format_args!(
                "<p><span class=\"not-run\">not run</span> {}</p>\n",
                text(why)
            ),
        );
        return;
    }
    page.push_str("<table class=\"checks\">\n<thead><tr><th></th><th>what must hold</th><th>what was seen</th></tr></thead>\n");
    for check in checks {
        let (class, word, seen) = match &check.outcome {
            Outcome::Passed { detail } => ("passed", "ok", text(detail)),
            Outcome::Failed { why, what_to_do } => (
                "failed",
                "FAILED",
                format!(
                    "{}<br><span class=\"faint\">what to do: {}</span>",
                    text(why),
                    text(what_to_do)
                ),
            ),
            Outcome::NotRun { why } => ("not-run", "not run", text(why)),
        };
        push(
            page,
            format_args!(
                "<tr><td class=\"{class}\">{word}</td><td>{}</td><td>{seen}</td></tr>\n",
                text(check.title)
            ),
        );
    }
    page.push_str("</table>\n");
}

/// What a column of the bench's table shows of a phase.
type Column = fn(&Figures) -> String;

fn table(page: &mut String, seen: &Seen) {
    let columns: [(&str, Column); 4] = [
        ("loop Hz", |figures| format!("{:.1}", figures.loop_hz)),
        ("worst gap ms", |figures| {
            format!("{:.1}", figures.worst_gap_ms)
        }),
        ("overruns", |figures| figures.fifo_overruns.to_string()),
        ("kB/s", |figures| {
            figures
                .kb_s
                .map(|rate| format!("{rate:.1}"))
                .unwrap_or_default()
        }),
    ];
    let with_stock = seen.stock.is_some();
    page.push_str("<h2>Stall bench</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>phase</th><th>buffer</th><th class=\"n\">kB/s aimed at</th>");
    for (name, _) in columns {
        if with_stock {
            push(
                page,
                format_args!("<th class=\"n\">{name}, stock</th><th class=\"n\">run</th>"),
            );
        } else {
            push(page, format_args!("<th class=\"n\">{name}</th>"));
        }
    }
    page.push_str("</tr></thead>\n");
    for row in &seen.table {
        push(
            page,
            format_args!(
                "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td>",
                text(&row.phase),
                text(&row.buffer),
                row.target()
            ),
        );
        for (_, column) in columns {
            let both = [
                row.stock.filter(|_| with_stock).as_ref().map(column),
                row.run.as_ref().map(column),
            ];
            for cell in both.into_iter().skip(usize::from(!with_stock)) {
                push(
                    page,
                    format_args!("<td class=\"n\">{}</td>", cell.unwrap_or("-".into())),
                );
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
}

fn figures(page: &mut String, seen: &Seen) -> Result<()> {
    page.push_str(
        "<h2>Gaps between passes of the loop</h2>\n<p class=\"key\"><span class=\"run\">run</span>",
    );
    if seen.stock.is_some() {
        page.push_str("<span class=\"stock\">stock libraries</span>");
    }
    page.push_str("<span class=\"limit\">limit, 6 ms</span></p>\n");
    for row in &seen.table {
        let (phase, buffer) = (text(&row.phase), text(&row.buffer));
        let pair = Pair {
            run: of_row(&seen.run, row),
            stock: seen.stock.as_ref().and_then(|stock| of_row(stock, row)),
        };
        push(
            page,
            format_args!("<h3>{phase}, buffer in {buffer}</h3>\n<div class=\"plots\">\n"),
        );
        for (what, svg) in [
            ("how often gaps came", pair.histogram()?),
            ("worst gap over time", pair.time_line()?),
        ] {
            push(
                page,
                format_args!(
                    "<figure role=\"img\" aria-label=\"{what}, {phase}, buffer in {buffer}\">{svg}<figcaption>{what}</figcaption></figure>\n"
                ),
            );
        }
        page.push_str("</div>\n");
    }
    Ok(())
}

/// The phase of `run` that a row is about.
fn of_row<'a>(run: &'a Run, row: &Row) -> Option<&'a Phase> {
    let phases = run.phases.iter();
    phases
        .into_iter()
        .find(|phase| phase.phase == row.phase && phase.buffer == row.buffer)
}

/// `raw` as text of an HTML page or of an attribute in double quotes; control characters become visible.
fn text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            character if character.is_control() => safe.push('\u{FFFD}'),
            character => safe.push(character),
        }
    }
    safe
}

fn push(page: &mut String, what: std::fmt::Arguments<'_>) {
    // A String takes everything.
    let _ = page.write_fmt(what);
}

#[cfg(test)]
mod tests;
