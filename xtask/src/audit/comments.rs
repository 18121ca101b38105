//! Takes comments out of source texts: a symbol that only a comment names decides nothing.

/// A C, C++ or preprocessed assembler text with a blank in place of every comment; lines stay lines.
pub(super) fn without_c_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("//") {
            code.push(' ');
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let length = inside.find("*/").map_or(rest.len(), |end| end + 4);
            code.push(' ');
            code.extend(rest[..length].chars().filter(|next| *next == '\n'));
            length
        } else if rest.starts_with('/') {
            code.push('/');
            1
        } else {
            let length = literal(rest);
            code.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    code.push_str(rest);
    code
}

/// Length of the string or character that `text` begins with. None is longer than its line: an apostrophe in an `#error`
/// or in assembler opens nothing.
fn literal(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return 1,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    1
}

/// A text in which `#` begins a comment (CMake, linker fragments), without them.
pub(super) fn without_hash_comments(text: &str) -> String {
    let code = |line: &str| -> String {
        let end = line.find('#').unwrap_or(line.len());
        format!("{}\n", &line[..end])
    };
    text.lines().map(code).collect()
}

/// Whether `name` stands in `text` as a whole word.
pub(super) fn has_word(text: &str, name: &str) -> bool {
    let part_of_name =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    text.match_indices(name).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        !part_of_name(before) && !part_of_name(bytes.get(at + name.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_go_and_code_stays() {
        for (text, code) in [
            ("a // b\nc", "a  \nc"),
            ("a /* b\n * c */ d", "a  \n d"),
            ("\"// no\" x", "\"// no\" x"),
            ("'\"' // y", "'\"'  "),
            ("#error don't // z\nx", "#error don't  \nx"),
            ("\"a\\\"/*\" b", "\"a\\\"/*\" b"),
            ("a / b /* open", "a / b  "),
        ] {
            assert_eq!(without_c_comments(text), code, "{text}");
        }
        assert_eq!(
            without_hash_comments("if A = y: # B\n#C\nd"),
            "if A = y: \n\nd\n"
        );
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("#if CONFIG_A && x", "CONFIG_A"));
        assert!(has_word("!CONFIG_A", "CONFIG_A") && has_word("CONFIG_A", "CONFIG_A"));
        assert!(!has_word("CONFIG_AB XCONFIG_A _CONFIG_A", "CONFIG_A"));
        assert!(has_word("CONFIG_AB CONFIG_A", "CONFIG_A"));
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_lines(text in "[a/*\"'\\\\\n é]{0,40}") {
            let code = without_c_comments(&text);
            prop_assert_eq!(code.matches('\n').count(), text.matches('\n').count());
        }

        #[test]
        fn a_text_without_comments_stays(text in "[a-zé+\n(){};]{0,40}") {
            prop_assert_eq!(without_c_comments(&text), text);
        }
    }
}
