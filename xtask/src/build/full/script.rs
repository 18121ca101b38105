//! Which programs a shell script calls: the literal words at the places of commands. A reading, not a shell: what a
//! variable holds is not followed, and a script that is no valid shell still gives its words.

use std::collections::BTreeSet;

/// The literal command words of `script`.
pub(super) fn commands(script: &str) -> BTreeSet<String> {
    let mut reader = Reader {
        text: script.as_bytes(),
        at: 0,
        found: BTreeSet::new(),
    };
    while reader.at < reader.text.len() {
        reader.list(None);
    }
    reader.found
}

/// Words after which a command follows.
const LEADING: [&str; 11] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec",
];

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    found: BTreeSet<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        self.text[self.at..].starts_with(text.as_bytes())
    }

    /// Commands up to `end` (the `)` or backtick of a substitution), or to the end of the text.
    fn list(&mut self, end: Option<u8>) {
        let mut command = true;
        let mut probing = false;
        while let Some(byte) = self.peek() {
            if Some(byte) == end {
                self.at += 1;
                return;
            }
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\n' | b';' | b'&' | b'|' | b'(' | b')' => {
                    (command, probing) = (true, false);
                    self.at += 1;
                }
                b'#' => self.line(),
                b'<' | b'>' => self.redirection(),
                _ => {
                    let Some(word) = self.word(end) else {
                        command = false;
                        continue;
                    };
                    if probing {
                        // `command -v jq` asks for jq.
                        probing = word.starts_with('-');
                        if !probing {
                            self.found.insert(word);
                        }
                    } else if command && word == "command" {
                        (command, probing) = (false, true);
                    } else if command && !LEADING.contains(&word.as_str()) && !is_assignment(&word)
                    {
                        self.found.insert(word);
                        command = false;
                    }
                }
            }
        }
    }

    /// One word: its text where it is literal, `None` where anything in it is quoted or substituted.
    fn word(&mut self, end: Option<u8>) -> Option<String> {
        let begin = self.at;
        let mut literal = true;
        while let Some(byte) = self.peek() {
            if Some(byte) == end || b" \t\n;&|()<>".contains(&byte) {
                break;
            }
            literal &= !b"'\"`$\\".contains(&byte);
            match byte {
                b'\'' => self.past_quote(),
                b'"' => self.double_quoted(),
                _ => self.piece(byte),
            }
        }
        let word = String::from_utf8_lossy(&self.text[begin..self.at]).into_owned();
        // What stands behind the = of an assignment does not make the next word an argument.
        (literal || is_assignment(&word)).then_some(word)
    }

    /// A character, an escape or a substitution.
    fn piece(&mut self, byte: u8) {
        match byte {
            b'\\' => self.at += 2,
            b'`' => {
                self.at += 1;
                self.list(Some(b'`'));
            }
            b'$' if self.starts_with("$((") => self.past("))"),
            b'$' if self.starts_with("${") => self.past("}"),
            b'$' if self.starts_with("$(") => {
                self.at += 2;
                self.list(Some(b')'));
            }
            _ => self.at += 1,
        }
        self.at = self.at.min(self.text.len());
    }

    fn double_quoted(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            if byte == b'"' {
                self.at += 1;
                return;
            }
            self.piece(byte);
        }
    }

    fn past_quote(&mut self) {
        self.at += 1;
        self.past("'");
    }

    fn past(&mut self, end: &str) {
        while self.at < self.text.len() && !self.starts_with(end) {
            self.at += 1;
        }
        self.at = (self.at + end.len()).min(self.text.len());
    }

    fn line(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// `>`, `2>&1`, `<<<`; of a here-document also the text.
    fn redirection(&mut self) {
        let here = self.starts_with("<<") && !self.starts_with("<<<");
        while self.peek().is_some_and(|byte| b"<>&-".contains(&byte)) {
            self.at += 1;
        }
        while self.peek().is_some_and(|byte| b" \t".contains(&byte)) {
            self.at += 1;
        }
        if self.starts_with("(") {
            return; // <(command)
        }
        let begin = self.at;
        self.word(None);
        if here {
            let mark =
                String::from_utf8_lossy(&self.text[begin..self.at]).replace(['\'', '"', '\\'], "");
            self.past(&format!("\n{mark}"));
        }
    }
}

/// `NAME=value`, as before a command.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name
                .trim_end_matches('+')
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(script: &str) -> Vec<String> {
        commands(script).into_iter().collect()
    }

    #[test]
    fn commands_are_found_where_a_shell_would_run_them() {
        assert_eq!(
            all("for c in `jq -c '.targets[]' builds.json`; do sed s/a/b/; done"),
            ["done", "for", "jq", "sed"]
        );
        assert_eq!(
            all("a=$(git -C \"$P\" rev-parse HEAD) && cmake ."),
            ["cmake", "git"]
        );
        assert_eq!(all("X=1 ninja | tr -d '\"' > out 2>&1"), ["ninja", "tr"]);
        assert_eq!(
            all("if ! [ -x \"$(command -v python3)\" ]; then exit 1; fi"),
            ["[", "exit", "fi", "python3"]
        );
        assert_eq!(
            all("while read -r f; do :; done < <(grep -o x \"$f\" | cut -c1)"),
            [":", "cut", "done", "grep", "read"]
        );
    }

    #[test]
    fn words_in_texts_comments_and_here_documents_are_no_commands() {
        assert_eq!(
            all("echo \"ERROR: jq is not installed; git too\" # cmake"),
            ["echo"]
        );
        assert_eq!(all("cat <<'EOF'\njq .\nEOF\nsed p\n"), ["cat", "sed"]);
        assert_eq!(all("x=\"$((1 + 2)) ${a#jq} $(date)\""), ["date"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[a-z $`\"'()<>{}\\\\;\n#=&|-]{0,80}") {
            commands(&text);
        }
    }
}
