//! One progress line on standard error: a live bar on a terminal, a plain line a step elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::Event;

/// Shows the [`Event`]s of stages.
pub struct Bar {
    bar: ProgressBar,
    live: bool,
    quiet: bool,
    step: Mutex<Option<(String, Instant)>>,
}

impl Bar {
    /// A bar on standard error. `quiet` keeps only warnings (for `--json`).
    pub fn new(quiet: bool) -> Self {
        let live = !quiet && std::io::stderr().is_terminal();
        let target = if live {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let shown = Self {
            bar,
            live,
            quiet,
            step: Mutex::new(None),
        };
        if live {
            // Before the first tick, which would draw indicatif's own bar over the whole width.
            shown.style("");
            shown.bar.enable_steady_tick(Duration::from_millis(120));
        }
        shown
    }

    /// Takes one event; pass `&|event| bar.event(event)` to a stage.
    pub fn event(&self, event: Event<'_>) {
        match event {
            Event::Step(name) => self.begin(name),
            Event::Bytes { done, total } => self.position(
                done,
                total,
                "{decimal_bytes}/{decimal_total_bytes}",
                "{decimal_bytes}",
            ),
            Event::Count { done, total, unit } => {
                self.position(
                    done,
                    total,
                    &format!("{{pos}}/{{len}} {unit}"),
                    &format!("{{pos}} {unit}"),
                );
            }
            Event::Detail(text) => self.bar.set_message(text.to_owned()),
            Event::Note(text) => self.line(text),
            Event::Warning(text) => self.warning(text),
        }
    }

    /// Ends the last step.
    pub fn finish(&self) {
        self.end_step();
        self.bar.finish_and_clear();
    }

    fn begin(&self, name: &str) {
        self.end_step();
        *self
            .step
            .lock()
            .unwrap_or_else(|poison| poison.into_inner()) = Some((name.to_owned(), Instant::now()));
        // The style first: the line may be drawn between any two of these, and the last step's counts are not this one's.
        self.style("");
        self.bar.set_message("");
        self.bar.set_length(0);
        self.bar.set_position(0);
        self.bar.set_prefix(name.to_owned());
    }

    fn end_step(&self) {
        let step = self
            .step
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
            .take();
        if let Some((name, begun)) = step {
            self.line(&format!(
                "  {name:<64} {:>12}",
                super::duration(begun.elapsed())
            ));
        }
    }

    fn position(&self, done: u64, total: u64, with_total: &str, without: &str) {
        if self.bar.length() != Some(total) {
            self.bar.set_length(total);
            self.style(if total > 0 { with_total } else { without });
        }
        self.bar.set_position(done);
    }

    fn style(&self, position: &str) {
        let template = format!("  {{spinner}} {{prefix}}  {position}  {{wide_msg}}");
        match ProgressStyle::with_template(&template) {
            Ok(style) => self.bar.set_style(style),
            Err(error) => tracing::debug!("progress template `{template}`: {error}"),
        }
    }

    fn line(&self, text: &str) {
        if self.quiet {
            return;
        }
        self.above(text);
    }

    fn warning(&self, text: &str) {
        let text = if std::io::stderr().is_terminal() {
            format!("\u{1b}[33mwarning\u{1b}[0m: {text}")
        } else {
            format!("warning: {text}")
        };
        self.above(&text);
    }

    fn above(&self, text: &str) {
        if self.live {
            self.bar.println(text);
        } else {
            super::note(text);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
