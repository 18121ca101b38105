//! Draws progress from upstream's own output.

use crate::libs::layout::Build;
use crate::progress::{Event, Report};

/// Reads the output line by line and reports which build of how many runs, and ninja's count.
pub(super) struct Follow<'a> {
    builds: &'a [Build],
    begun: usize,
    title: String,
    report: Report<'a>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(builds: &'a [Build], report: Report<'a>) -> Self {
        Self {
            builds,
            begun: 0,
            title: "start".to_owned(),
            report,
        }
    }

    /// What ran last, for the message of a failure.
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(text) = line.strip_prefix("* ") {
            self.mark(text);
        } else if line.contains("srmodels_bin")
            && (line.starts_with("Executing action") || line.starts_with("idf.py "))
        {
            self.step(format!("{}: speech models", self.counter()));
        } else if let Some((done, total, text)) = ninja(line) {
            (self.report)(Event::Count {
                done,
                total,
                unit: "compile steps",
            });
            (self.report)(Event::Detail(text));
        } else if self.begun == 0 && !line.is_empty() {
            // Installing tools takes minutes and counts nothing.
            (self.report)(Event::Detail(line));
        }
    }

    /// A line with which build.sh or our job begins something.
    fn mark(&mut self, text: &str) {
        const BUILDS: [&str; 3] = [
            "Build IDF-Libs:",
            "Build BootLoader:",
            "Build Memory Variant:",
        ];
        const JOB: [&str; 3] = [
            "Install ESP-IDF's tools",
            "Set up ESP-IDF's environment",
            "Run build.sh",
        ];
        if BUILDS.iter().any(|begin| text.starts_with(begin)) {
            // build.sh runs them in the order of builds.json; one beyond its list keeps upstream's own words.
            let name = self
                .builds
                .get(self.begun)
                .map_or_else(|| text.to_owned(), Build::name);
            self.begun += 1;
            self.step(format!("{}: {name}", self.counter()));
        } else if JOB.contains(&text) {
            self.step(text.to_owned());
        }
    }

    fn counter(&self) -> String {
        format!("build {} of {}", self.begun, self.builds.len())
    }

    fn step(&mut self, title: String) {
        (self.report)(Event::Step(&title));
        self.title = title;
    }
}

/// `[12/900] Building C object esp-idf/log/a.c.obj`: 12, 900 and the file.
fn ninja(line: &str) -> Option<(u64, u64, &str)> {
    let (count, text) = line.strip_prefix('[')?.split_once("] ")?;
    let (done, total) = count.split_once('/')?;
    let file = match text.starts_with("Building ") {
        true => text.rsplit([' ', '/']).next().unwrap_or(text),
        false => text,
    };
    Some((done.trim().parse().ok()?, total.trim().parse().ok()?, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libs::layout::Product;
    use std::sync::Mutex;

    const OUTPUT: &str = "\
* Install ESP-IDF's tools
Downloading xtensa-esp-elf.tar.xz
* Set up ESP-IDF's environment
* Run build.sh
* Target: 'esp32s3', Variant: 'esp32s3'
* Build IDF-Libs: configs/defconfig.common;configs/defconfig.esp32s3
[1/2] Building C object esp-idf/log/CMakeFiles/__idf_log.dir/log.c.obj
[2/2] Linking CXX executable a.elf
Executing action: srmodels_bin
[1/1] Generating srmodels.bin
* Build BootLoader: configs/defconfig.common
[x/2] no count
* Build Memory Variant: configs/defconfig.common
";

    fn builds() -> Vec<Build> {
        [
            Product::Libraries {
                variant: "qio_qspi".into(),
            },
            Product::Bootloader {
                file: "bin/bootloader_qio_80m.elf".into(),
            },
            Product::Variant {
                variant: "qio_opi".into(),
            },
        ]
        .map(|product| Build {
            product,
            layers: Vec::new(),
        })
        .into()
    }

    #[test]
    fn steps_counts_and_files_come_from_upstreams_output() {
        let told = Mutex::new(Vec::new());
        let report = |event: Event<'_>| {
            told.lock().unwrap().push(match event {
                Event::Step(text) => format!("step {text}"),
                Event::Count { done, total, .. } => format!("{done}/{total}"),
                Event::Detail(text) => format!("detail {text}"),
                other => format!("{other:?}"),
            });
        };
        let builds = builds();
        let mut follow = Follow::new(&builds, &report);
        OUTPUT.lines().for_each(|line| follow.line(line));
        assert_eq!(follow.title(), "build 3 of 3: memory variant qio_opi");
        assert_eq!(
            *told.lock().unwrap(),
            [
                "step Install ESP-IDF's tools",
                "detail Downloading xtensa-esp-elf.tar.xz",
                "step Set up ESP-IDF's environment",
                "step Run build.sh",
                "step build 1 of 3: the libraries and memory variant qio_qspi",
                "1/2",
                "detail log.c.obj",
                "2/2",
                "detail Linking CXX executable a.elf",
                "step build 1 of 3: speech models",
                "1/1",
                "detail Generating srmodels.bin",
                "step build 2 of 3: bin/bootloader_qio_80m.elf",
                "step build 3 of 3: memory variant qio_opi",
            ]
        );
    }
}
