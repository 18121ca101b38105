//! Rules of the repository that no compiler checks.

#[path = "../src/testing.rs"]
mod testing;

use std::path::{Path, PathBuf};

use clap::Parser;

/// The commands in `text` that stand in code blocks or backticks and begin with `cargo xtask`.
fn xtask_commands(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(|line| line.trim().trim_start_matches("$ ").to_owned());
    let spans = text.split('`').skip(1).step_by(2).map(str::to_owned);
    lines
        .chain(spans)
        .filter(|command| command.starts_with("cargo xtask") && !command.contains('\n'))
        .map(|command| {
            command
                .split("  #")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .collect()
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    walkdir::WalkDir::new(folder)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "target" && entry.file_name() != ".git")
        .map(|entry| entry.expect("the workspace can be walked").into_path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

#[test]
fn every_command_in_a_readme_parses() {
    let mut seen = 0;
    for readme in files_below(&testing::workspace(), "md") {
        let text = std::fs::read_to_string(&readme).unwrap();
        for command in xtask_commands(&text) {
            let words = shell_words::split(&command).unwrap();
            if words.len() < 3 || command.contains("...") {
                continue;
            }
            seen += 1;
            if let Err(error) = xtask::cli::Cli::try_parse_from(
                ["xtask"]
                    .iter()
                    .map(|s| s.to_string())
                    .chain(words[2..].iter().cloned()),
            ) {
                assert!(
                    !error.use_stderr(),
                    "{}: `{command}`\n{error}",
                    readme.display()
                );
            }
        }
    }
    assert!(
        seen >= 5,
        "only {seen} commands found: is the README still read?"
    );
}

#[test]
fn the_readme_names_the_default_core() {
    let readme = std::fs::read_to_string(testing::workspace().join("README.md")).unwrap();
    assert!(
        readme.contains(xtask::commands::DEFAULT_CORE),
        "README.md does not name core {}",
        xtask::commands::DEFAULT_CORE
    );
}

#[test]
fn the_top_level_is_the_agreed_one() {
    let agreed = [
        ".cargo",
        ".ci",
        ".git",
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "clippy.toml",
        "defconfig-patches",
        "firmware",
        "installers",
        "target",
        "xtask",
    ];
    for entry in std::fs::read_dir(testing::workspace()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            agreed.contains(&name.as_str()),
            "{name} does not belong to the workspace's top level"
        );
    }
}

#[test]
fn stages_do_not_import_what_stands_above_them() {
    let source = testing::workspace().join("xtask/src");
    for file in files_below(&source, "rs") {
        let below = file.strip_prefix(&source).unwrap();
        if ["commands", "cli.rs", "main.rs", "lib.rs"]
            .iter()
            .any(|above| below.starts_with(above))
        {
            continue;
        }
        // Tests may say what they saw.
        if below == Path::new("testing.rs")
            || below
                .components()
                .any(|part| part.as_os_str().to_string_lossy().starts_with("tests"))
        {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let banned: &[&str] = if below.starts_with("ui") {
            &["crate::commands", "crate::cli"]
        } else {
            &[
                "crate::commands",
                "crate::cli",
                "crate::ui",
                "println!",
                "print!(",
                "process::exit",
            ]
        };
        for (index, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let found = banned.iter().find(|word| code.contains(**word));
            assert!(
                found.is_none(),
                "{}:{}: {}",
                below.display(),
                index + 1,
                line.trim()
            );
        }
    }
}
