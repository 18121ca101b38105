//! The files below `flags/`, which the Arduino core hands to GCC as response files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;

/// The files that lib-builder's tools/copy-libs.sh writes, and that the core's platform.txt names.
pub const FILES: [&str; 8] = [
    "S_flags",
    "c_flags",
    "cpp_flags",
    "defines",
    "includes",
    "ld_flags",
    "ld_libs",
    "ld_scripts",
];

/// The files whose flags choose how code for the CPU is made.
const COMPILER_FILES: [&str; 3] = ["S_flags", "c_flags", "cpp_flags"];

/// Options that a path may follow without `=` or a space.
const PATH_OPTIONS: [&str; 14] = [
    "-idirafter",
    "-imacros",
    "-include",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-iwithprefixbefore",
    "-iwithprefix",
    "-B",
    "-I",
    "-L",
    "-T",
    "-o",
];

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// As the file writes it, with quotes and escapes.
    pub raw: String,
    /// As GCC takes it.
    pub value: String,
}

/// Splits the text of a response file as GCC does (libiberty's `buildargv`): blanks separate, both kinds of quotes
/// join, a backslash takes the next character as it is, everywhere.
///
/// # Errors
/// A quote without its end, or a backslash with nothing after it.
pub fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    let mut current: Option<Token> = None;
    let mut quote = None;
    let mut escaped = false;
    for next in text.chars() {
        if next.is_ascii_whitespace() && quote.is_none() && !escaped {
            tokens.extend(current.take());
            continue;
        }
        let token = current.get_or_insert_with(|| Token {
            raw: String::new(),
            value: String::new(),
        });
        token.raw.push(next);
        match (next, quote) {
            _ if escaped => {
                escaped = false;
                token.value.push(next);
            }
            ('\\', _) => escaped = true,
            (_, Some(open)) if next == open => quote = None,
            ('"' | '\'', None) => quote = Some(next),
            _ => token.value.push(next),
        }
    }
    tokens.extend(current);
    match (escaped, quote) {
        (true, _) => Err("it ends with a backslash"),
        (_, Some(_)) => Err("a quote in it has no end"),
        _ => Ok(tokens),
    }
}

/// The flags of one libraries tree.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    files: BTreeMap<&'static str, Vec<Token>>,
    /// Files that are missing, empty or do not split: name and why.
    pub faults: Vec<(&'static str, String)>,
}

/// How one file differs from the stock tree's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The file, for example `c_flags`.
    pub file: &'static str,
    /// Tokens of the stock file that are not there, in order.
    pub lost: Vec<String>,
    /// Tokens that the stock file does not have, in order.
    pub extra: Vec<String>,
    /// Number of the first token, from 1, that stands elsewhere, where the tokens are the same but for their order.
    pub reordered: Option<usize>,
}

impl Flags {
    /// Reads all files of the tree at `root`. What cannot be read stands in `faults`, so that all is told at once.
    ///
    /// # Errors
    /// Only what the disk refuses.
    pub fn read(root: &Path) -> Result<Self> {
        let mut flags = Self::default();
        for name in FILES {
            let path = root.join("flags").join(name);
            if !path.is_file() {
                flags.faults.push((name, "it is missing".to_owned()));
                continue;
            }
            let bytes = fs::read(&path)?;
            let text = String::from_utf8(bytes)
                .with_context(|| format!("{} is not UTF-8", path.display()))?;
            match tokens(&text) {
                Ok(list) if list.is_empty() => flags.faults.push((name, "it is empty".to_owned())),
                Ok(list) => drop(flags.files.insert(name, list)),
                Err(why) => flags.faults.push((name, why.to_owned())),
            }
        }
        Ok(flags)
    }

    /// The tokens of one file; empty where it could not be read.
    pub fn tokens(&self, file: &str) -> &[Token] {
        self.files.get(file).map(Vec::as_slice).unwrap_or_default()
    }

    /// Tokens that name a place on the machine that built the tree: file, token, and what is wrong with it.
    pub fn foreign(&self) -> Vec<(&'static str, &Token, String)> {
        let mut found = Vec::new();
        for (file, tokens) in &self.files {
            for token in tokens {
                found.extend(foreign_path(token).map(|why| (*file, token, why)));
            }
        }
        found
    }

    /// Files of this tree that lack a flag without which code for an Xtensa chip does not link: `-mlongcalls`
    /// (ESP-IDF tools/cmake/toolchain-esp32s3.cmake gives it to C, C++ and assembler).
    pub fn without_long_calls(&self) -> Vec<&'static str> {
        COMPILER_FILES
            .into_iter()
            .filter(|file| self.files.contains_key(file))
            .filter(|file| {
                !self
                    .tokens(file)
                    .iter()
                    .any(|token| token.value == "-mlongcalls")
            })
            .collect()
    }

    /// How these flags differ from `stock`, file by file; equal files are left out.
    pub fn differences(&self, stock: &Self) -> Vec<Difference> {
        FILES
            .into_iter()
            .filter(|file| self.files.contains_key(file) && stock.files.contains_key(file))
            .filter_map(|file| difference(file, self.tokens(file), stock.tokens(file)))
            .collect()
    }
}

/// Whether losing `token` changes which CPU the code is for.
pub fn is_cpu_flag(token: &str) -> bool {
    token.starts_with("-m")
}

fn difference(file: &'static str, ours: &[Token], stock: &[Token]) -> Option<Difference> {
    let minus = |left: &[Token], right: &[Token]| -> Vec<String> {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for token in right {
            *count.entry(&token.value).or_default() += 1;
        }
        left.iter()
            .filter(|token| match count.get_mut(token.value.as_str()) {
                Some(rest) if *rest > 0 => {
                    *rest -= 1;
                    false
                }
                _ => true,
            })
            .map(|token| token.raw.clone())
            .collect()
    };
    let (lost, extra) = (minus(stock, ours), minus(ours, stock));
    let reordered = ours
        .iter()
        .zip(stock)
        .position(|(a, b)| a.value != b.value)
        .filter(|_| lost.is_empty() && extra.is_empty())
        .map(|index| index + 1);
    let differs = !lost.is_empty() || !extra.is_empty() || reordered.is_some();
    differs.then_some(Difference {
        file,
        lost,
        extra,
        reordered,
    })
}

fn foreign_path(token: &Token) -> Option<String> {
    if let Some(file) = token.value.strip_prefix('@') {
        return Some(format!("it refers to the file {file} of the build machine"));
    }
    // The raw form as well: an unquoted C:\dir loses its backslash on the way.
    [&token.value, &token.raw]
        .into_iter()
        .find_map(|text| absolute_path(text))
        .map(|path| format!("it holds the absolute path {path}"))
}

/// The first absolute path in an argument, of Unix or of Windows. `-Wl,-L/x` hands on a second argument after the comma.
fn absolute_path(text: &str) -> Option<&str> {
    text.split(',').find_map(path_in_part)
}

fn path_in_part(text: &str) -> Option<&str> {
    let after_option = PATH_OPTIONS
        .iter()
        .find_map(|option| text.strip_prefix(option))
        .map(|rest| text.len() - rest.len());
    let mut before = None;
    for (at, next) in text.char_indices() {
        let begins = after_option == Some(at)
            || before.is_none_or(|character| {
                matches!(character, '=' | ':' | ';' | '"' | '\'' | '(' | '<')
            });
        if begins && is_absolute(&text[at..]) {
            return text[at..].split(['"', '\'', ';', '>']).next();
        }
        before = Some(next);
    }
    None
}

fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    let name = |byte: Option<&u8>| {
        byte.is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || b"._-~".contains(byte) || *byte >= 0x80
        })
    };
    match bytes {
        [b'/', rest @ ..] => name(rest.first()),
        [b'\\', b'\\', rest @ ..] => name(rest.first()) && rest.contains(&b'\\'),
        [drive, b':', b'/' | b'\\', ..] => {
            drive.is_ascii_alphabetic() && bytes.get(3) != Some(&b'/')
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<String> {
        tokens(text)
            .unwrap()
            .into_iter()
            .map(|token| token.value)
            .collect()
    }

    fn flags(files: &[(&'static str, &str)]) -> Flags {
        Flags {
            files: files
                .iter()
                .map(|(name, text)| (*name, tokens(text).unwrap()))
                .collect(),
            faults: Vec::new(),
        }
    }

    #[test]
    fn quotes_are_gccs() {
        assert_eq!(
            values(" -DA=\\\"x\\ y\\\"  \"-DB=1 2\" '-DC=\"q\"' -Dd=\"\"\n# -u main '' "),
            [
                "-DA=\"x y\"",
                "-DB=1 2",
                "-DC=\"q\"",
                "-Dd=",
                "#",
                "-u",
                "main",
                ""
            ]
        );
        assert_eq!(
            values("\"a\\\"b\" 'a\\'b' \"\\x\""),
            ["a\"b", "a'b", "x"],
            "a backslash counts inside quotes too"
        );
        assert!(tokens("-DA=\"x").is_err() && tokens("'x").is_err() && tokens("x\\").is_err());
    }

    #[test]
    fn paths_of_the_build_machine_are_seen() {
        for bad in [
            "@/opt/esp/cflags",
            "\"@/opt/esp/cflags\"",
            "@cflags",
            "-I/opt/esp/include",
            "-L/opt/lib",
            "/opt/lib/libx.a",
            "-specs=/opt/esp/picolibc.specs",
            "\"-specs=/opt/esp/picolibc.specs\"",
            "-fmacro-prefix-map=/build/x=.",
            "-fdebug-prefix-map=.=/IDF",
            "-Wl,-Map=/x/y.map",
            "-Wl,-L/x",
            "-Wl,/x/y.a",
            "--sysroot=/usr",
            "-isystem/usr/include",
            "-iwithprefixbefore/x",
            "-DPATH=\\\"/home/me/x\\\"",
            "-IC:/Users/me",
            "C:\\\\Users\\\\me",
            "C:\\Users\\me",
            "-LD:\\\\x",
            "-specs=c:/x/y.specs",
            "-I\\\\\\\\server\\\\share",
            "-DP=\\\"C:/x\\\"",
            "-I/ö",
            "-T/x.ld",
        ] {
            let found = flags(&[("c_flags", bad)]);
            assert_eq!(found.foreign().len(), 1, "{bad}");
        }
    }

    #[test]
    fn what_only_looks_like_a_path_is_left_alone() {
        let good = "-iwithprefixbefore mbedtls/port/include -DX=\\\"mbedtls/esp_config.h\\\" -DA=1/2 -DU=\\\"https://example.org/x\\\" \
                    -DI=<lib/address_resolve/A.h> -Wl,--wrap=x -T esp32s3.rom.ld -u ld_include_hli_vectors_bt -mlongcalls \
                    -specs=nano.specs -DIDF_VER=\\\"v5.5.5\\\" -Wl,--defsym=IDF_TARGET_ESP32S3=0 -DC=a:b -lbt -D_POSIX=/ -Os";
        assert!(flags(&[("c_flags", good)]).foreign().is_empty());
    }

    #[test]
    fn differences_are_told_token_by_token() {
        let stock = flags(&[
            ("c_flags", "-mlongcalls -Os -Os -DX"),
            ("ld_libs", "-la -lb -lc"),
            ("defines", "-DA"),
        ]);
        let ours = flags(&[
            ("c_flags", "-Os -DX -DY"),
            ("ld_libs", "-la -lc -lb"),
            ("defines", "\"-DA\""),
        ]);
        let found = ours.differences(&stock);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].lost, ["-mlongcalls", "-Os"]);
        assert_eq!(found[0].extra, ["-DY"]);
        assert_eq!(found[1].reordered, Some(2));
        assert_eq!(ours.without_long_calls(), ["c_flags"]);
        assert!(stock.without_long_calls().is_empty() && stock.differences(&stock).is_empty());
        assert!(is_cpu_flag("-mlongcalls") && !is_cpu_flag("-Os"));
    }

    #[test]
    fn missing_empty_and_broken_files_are_all_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("flags")).unwrap();
        for (name, text) in [
            ("c_flags", "-Os"),
            ("cpp_flags", " \n"),
            ("defines", "-DA=\"x"),
        ] {
            fs::write(dir.path().join("flags").join(name), text).unwrap();
        }
        let flags = Flags::read(dir.path()).unwrap();
        let told: Vec<_> = flags
            .faults
            .iter()
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        assert_eq!(told.len(), 7, "{told:?}");
        assert!(
            told.contains(&"cpp_flags: it is empty".to_owned())
                && told.contains(&"includes: it is missing".to_owned())
        );
        assert_eq!(flags.tokens("c_flags").len(), 1);
    }

    proptest! {
        #[test]
        fn any_arguments_survive_quoting(arguments in prop::collection::vec(any::<String>(), 0..8)) {
            let text = arguments.iter().map(|argument| {
                let escaped: String = argument.chars().flat_map(|c| ['\\', c]).collect();
                if argument.is_empty() { "''".to_owned() } else { escaped }
            }).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(values(&text), arguments);
        }

        #[test]
        fn any_text_is_split_or_refused(text in any::<String>()) {
            if let Ok(tokens) = tokens(&text) {
                let raw: String = tokens.iter().map(|token| token.raw.as_str()).collect();
                let blank = |c: &char| c.is_ascii_whitespace();
                prop_assert_eq!(raw.chars().filter(|c| !blank(c)).count(), text.chars().filter(|c| !blank(c)).count());
                for token in &tokens {
                    foreign_path(token);
                }
            }
        }
    }
}
