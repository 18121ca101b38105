use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::patchset::syntax;

fn set_lines(text: &str) -> Vec<SetLine> {
    (1..)
        .zip(text.lines())
        .map(|(number, line)| {
            let (symbol, value) = syntax::read(line).unwrap().unwrap();
            SetLine {
                number,
                text: line.to_owned(),
                symbol,
                value,
            }
        })
        .collect()
}

fn run(
    text: &str,
    set: &str,
    lines: &str,
    replaces: &[Replace],
) -> Result<Injected, Vec<Conflict>> {
    let replaces: Vec<&Replace> = replaces.iter().collect();
    let wish = Wish {
        set,
        lines: &set_lines(lines),
        replaces: &replaces,
    };
    inject(text, wish)
}

fn replace(symbol: &str, value: &str, by: &str) -> Replace {
    Replace {
        file: "defconfig.x".into(),
        symbol: symbol.into(),
        value: Value::parse(value).unwrap(),
        by: by.into(),
    }
}

const TWO: &str = "CONFIG_XIP=y\nCONFIG_ECC=y";

#[test]
fn a_block_goes_to_the_end_with_the_files_own_line_ends() {
    let injected = run("CONFIG_A=y\r\nCONFIG_B=y\r\n", "s", TWO, &[]).unwrap();
    assert_eq!(
        injected.text,
        "CONFIG_A=y\r\nCONFIG_B=y\r\n# >>> patch set s\r\nCONFIG_XIP=y\r\nCONFIG_ECC=y\r\n# <<< patch set s\r\n"
    );
    assert_eq!(
        injected
            .placed
            .iter()
            .map(|placed| placed.line)
            .collect::<Vec<_>>(),
        [4, 5]
    );
}

#[test]
fn a_missing_last_newline_is_added_and_taken_back() {
    let before = "CONFIG_A=y\n# CONFIG_MEMTEST is not set";
    let injected = run(before, "s", TWO, &[]).unwrap();
    assert!(injected.text.starts_with(
        "CONFIG_A=y\n# CONFIG_MEMTEST is not set\n# >>> patch set s (newline added above)\n"
    ));
    assert_eq!(
        strip(&injected.text, "s").unwrap().unwrap().original,
        before
    );
    assert_eq!(
        run("", "s", TWO, &[]).unwrap().text,
        "# >>> patch set s\nCONFIG_XIP=y\nCONFIG_ECC=y\n# <<< patch set s\n"
    );
}

#[test]
fn a_line_that_says_so_already_is_left_alone_only_if_it_wins() {
    let injected = run("CONFIG_ECC=n\nCONFIG_ECC=y\n", "s", TWO, &[]).unwrap();
    assert_eq!(
        injected.placed[1],
        Placed {
            line: 2,
            before: Some("CONFIG_ECC=y".into())
        }
    );
    assert_eq!(injected.text.matches("CONFIG_ECC=y").count(), 1);
    let whole = "CONFIG_ECC=y\nCONFIG_XIP=y";
    assert_eq!(
        run(whole, "s", TWO, &[]).unwrap().text,
        whole,
        "nothing to add, nothing changes"
    );

    let conflicts = run(
        "CONFIG_ECC=y\nCONFIG_XIP=y\n# CONFIG_ECC is not set\n",
        "s",
        TWO,
        &[],
    )
    .unwrap_err();
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].line, conflicts[0].set_line), (3, Some(2)));
    let text = &conflicts[0].text;
    assert!(
        text.contains("`# CONFIG_ECC is not set`") && text.contains("`CONFIG_ECC=y`"),
        "{text}"
    );
}

#[test]
fn not_set_and_n_agree() {
    let placed = run("# CONFIG_A is not set\n", "s", "CONFIG_A=n", &[]).unwrap();
    assert_eq!(placed.text, "# CONFIG_A is not set\n");
    assert!(
        run("CONFIG_A=n\n", "s", "# CONFIG_A is not set", &[])
            .unwrap()
            .placed[0]
            .before
            .is_some()
    );
    assert!(
        run("CONFIG_A=0x10\n", "s", "CONFIG_A=16", &[])
            .unwrap()
            .placed[0]
            .before
            .is_some()
    );
}

#[test]
fn what_the_set_replaces_is_commented_out_and_given_back() {
    let before = "CONFIG_LINE_32B=y\nCONFIG_SIZE=32\r\nCONFIG_SIZE=32";
    let replaces = [
        replace("CONFIG_SIZE", "32", "CONFIG_SIZE"),
        replace("CONFIG_LINE_32B", "y", "CONFIG_LINE_64B"),
    ];
    let lines = "CONFIG_SIZE=64\nCONFIG_LINE_64B=y";
    let injected = run(before, "s", lines, &replaces).unwrap();
    assert_eq!(injected.placed[0].before.as_deref(), Some("CONFIG_SIZE=32"));
    assert_eq!(
        injected.placed[1].before.as_deref(),
        Some("CONFIG_LINE_32B=y")
    );
    assert!(
        injected
            .text
            .starts_with("# replaced by patch set s: CONFIG_LINE_32B=y\n# replaced by"),
        "{}",
        injected.text
    );
    assert_eq!(
        run(&injected.text, "s", lines, &replaces).unwrap(),
        injected
    );
    assert_eq!(
        strip(&injected.text, "s").unwrap().unwrap().original,
        before
    );

    let conflicts = run("CONFIG_SIZE=16\n", "s", lines, &replaces).unwrap_err();
    assert!(
        conflicts[0].text.contains("CONFIG_SIZE=16"),
        "a value that the set does not replace stays an error"
    );
}

#[test]
fn damaged_blocks_and_other_sets_are_told_with_what_to_do() {
    let good = run("CONFIG_A=y\n", "s", TWO, &[]).unwrap().text;
    for (text, line, want) in [
        (good.replace("# <<< patch set s\n", ""), 2, "not whole"),
        (good.replace("# >>> patch set s\n", ""), 4, "not whole"),
        (format!("{good}{good}"), 7, "not whole"),
        (
            good.replace("CONFIG_ECC=y", "CONFIG_ECC=n"),
            2,
            "was edited",
        ),
        (good.replace("CONFIG_ECC=y\n", ""), 2, "was edited"),
        (format!("{good}CONFIG_B=n\n"), 2, "lines follow it"),
        (
            good.replace("patch set s", "patch set other"),
            2,
            "patch set other is in this file",
        ),
        (
            "# replaced by patch set s: CONFIG_A=y\n".to_owned(),
            1,
            "removed by half",
        ),
    ] {
        let conflicts = run(&text, "s", TWO, &[]).unwrap_err();
        assert_eq!((conflicts.len(), conflicts[0].line), (1, line), "{text}");
        assert!(
            conflicts[0].text.contains(want) && conflicts[0].text.contains("git checkout"),
            "{text}: {conflicts:?}"
        );
    }
}

#[test]
fn a_conflict_below_the_block_is_told_by_its_real_line() {
    let good = run("CONFIG_A=y\n", "s", TWO, &[]).unwrap().text;
    let conflicts = run(&format!("{good}\nCONFIG_ECC=n\n"), "s", TWO, &[]).unwrap_err();
    assert_eq!((conflicts[0].line, conflicts[0].set_line), (7, Some(2)));
}

#[test]
fn only_the_value_that_wins_needs_a_replace() {
    let replaces = [replace("CONFIG_SIZE", "32", "CONFIG_SIZE")];
    let injected = run(
        "CONFIG_SIZE=8\nCONFIG_SIZE=32\n",
        "s",
        "CONFIG_SIZE=64",
        &replaces,
    )
    .unwrap();
    assert_eq!(injected.placed[0].before.as_deref(), Some("CONFIG_SIZE=32"));
    assert!(
        run(
            "CONFIG_SIZE=32\nCONFIG_SIZE=8\n",
            "s",
            "CONFIG_SIZE=64",
            &replaces
        )
        .is_err()
    );
}

/// What Kconfig makes of a text.
fn effective(text: &str) -> BTreeMap<String, Option<Value>> {
    let read = |line: &Line<'_>| {
        defconfig::assignment(line.text)
            .map(|(symbol, value)| (symbol.to_owned(), Value::parse(value)))
    };
    defconfig::lines(text).iter().filter_map(read).collect()
}

fn any_line() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "CONFIG_[A-D]=[yn]",
        "# CONFIG_[A-D] is not set",
        "CONFIG_[A-D]=(0x)?[0-9]{1,3}",
        "CONFIG_[A-D]=\"[a-z# ]{0,5}\"",
        "[# A-Za-z=<>\"]{0,20}",
        Just("CONFIG_A=y  ".to_owned()),
    ];
    (
        line,
        prop_oneof![3 => Just("\n"), 2 => Just("\r\n"), 1 => Just("\r"), 1 => Just("")],
    )
        .prop_map(|(line, end)| line + end)
}

fn any_file() -> impl Strategy<Value = String> {
    prop::collection::vec(any_line(), 0..12).prop_map(|lines| lines.concat())
}

fn any_set() -> impl Strategy<Value = Vec<SetLine>> {
    prop::collection::btree_map("CONFIG_[A-F]", "y|n|[0-9]{1,2}|\"[a-z]{0,3}\"", 1..5).prop_map(
        |set| {
            let text: Vec<String> = set
                .into_iter()
                .map(|(symbol, value)| format!("{symbol}={value}"))
                .collect();
            set_lines(&text.join("\n"))
        },
    )
}

proptest! {
    #[test]
    fn the_set_wins_and_nothing_else_changes(text in any_file(), lines in any_set()) {
        // Every value that is in the way is declared as replaced, so that no text is refused.
        let before = effective(&text);
        let file = defconfig::lines(&text);
        let replaces: Vec<Replace> = lines.iter().flat_map(|line| {
            defconfig::assignments(&file, &line.symbol).into_iter().filter_map(|(_, value)| Value::parse(value))
                .filter(|value| *value != line.value)
                .map(|value| Replace { file: String::new(), symbol: line.symbol.clone(), value, by: line.symbol.clone() })
                .collect::<Vec<_>>()
        }).collect();
        let replaces: Vec<&Replace> = replaces.iter().collect();
        let wish = Wish { set: "s", lines: &lines, replaces: &replaces };
        let injected = match inject(&text, wish) {
            Ok(injected) => injected,
            // A value of no known form cannot be declared, so it stays a conflict.
            Err(conflicts) => {
                prop_assert!(conflicts.iter().all(|conflict| conflict.set_line.is_some()));
                prop_assert!(lines.iter().any(|line| before.get(&line.symbol) == Some(&None)));
                return Ok(());
            }
        };
        let after = effective(&injected.text);
        for (line, placed) in lines.iter().zip(&injected.placed) {
            prop_assert_eq!(&after[&line.symbol], &Some(line.value.clone()));
            let there = defconfig::lines(&injected.text)[placed.line - 1].text;
            let read = defconfig::assignment(there).map(|(symbol, value)| (symbol, Value::parse(value)));
            prop_assert_eq!(read, Some((line.symbol.as_str(), Some(line.value.clone()))));
        }
        for (symbol, value) in before.iter().filter(|(symbol, _)| lines.iter().all(|line| &line.symbol != *symbol)) {
            prop_assert_eq!(&after[symbol], value);
        }
        prop_assert_eq!(&inject(&injected.text, wish).unwrap(), &injected, "twice is once");
        let stripped = strip(&injected.text, "s").unwrap().map_or(injected.text.clone(), |stripped| stripped.original);
        prop_assert_eq!(stripped, text, "taken out, the bytes are the same");
    }

    #[test]
    fn without_a_conflict_the_old_text_stays_as_it_is(text in any_file(), lines in any_set()) {
        let wish = Wish { set: "s", lines: &lines, replaces: &[] };
        match inject(&text, wish) {
            Ok(injected) => prop_assert!(injected.text.starts_with(&text)),
            Err(conflicts) => {
                let before = effective(&text);
                let wrong = lines.iter().filter(|line| before.get(&line.symbol).is_some_and(|value| *value != Some(line.value.clone())));
                prop_assert_eq!(conflicts.len(), wrong.count());
            }
        }
    }
}
