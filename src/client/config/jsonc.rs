//! JSON with comments and trailing commas, as editors write it.

use crate::jsonrpc::tokens::end_of_string;

/// Returns the text with comments and trailing commas replaced by spaces. All positions stay the
/// same, so an error of the JSON parser names the line and column of the file. A trailing comma
/// follows a value: other commas remain, and are errors of the JSON parser.
pub(super) fn to_json(text: &str) -> String {
    let mut json = text.as_bytes().to_vec();
    let mut comma = None;
    // The last byte that is neither white space nor part of a comment.
    let mut previous = b'[';
    let mut at = 0;
    while at < json.len() {
        match (json[at], json.get(at + 1)) {
            (b'"', _) => {
                (comma, previous) = (None, b'"');
                at = end_of_string(&json, at).unwrap_or(json.len());
                continue;
            }
            (b'/', Some(b'/')) => {
                let end = json[at..].iter().position(|byte| *byte == b'\n');
                at = blank(&mut json, at, end.map_or(text.len(), |length| at + length));
                continue;
            }
            (b'/', Some(b'*')) => {
                let rest = &text[at + 2..];
                let Some(length) = rest.find("*/") else {
                    // The parser reports the comment that never ends.
                    break;
                };
                at = blank(&mut json, at, at + length + 4);
                continue;
            }
            (b',', _) if !matches!(previous, b',' | b':' | b'[' | b'{') => comma = Some(at),
            (b']' | b'}', _) => {
                if let Some(trailing) = comma.take() {
                    json[trailing] = b' ';
                }
            }
            (byte, _) if !byte.is_ascii_whitespace() => comma = None,
            _ => {}
        }
        if !json[at].is_ascii_whitespace() {
            previous = json[at];
        }
        at += 1;
    }
    String::from_utf8(json).expect("only whole characters were replaced")
}

/// Replaces everything but line ends by spaces, and returns `end`.
fn blank(json: &mut [u8], start: usize, end: usize) -> usize {
    for byte in &mut json[start..end] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::to_json;

    fn check(text: &str, expected: &str) {
        assert_eq!(to_json(text), expected);
        assert_eq!(to_json(text).len(), text.len());
    }

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        check(r#"{"a": 1, }"#, r#"{"a": 1  }"#);
        check("[1, /* é, */ 2, // x\n]", "[1,           2      \n]");
        check("[1, // ,]\n 2]", "[1,      \n 2]");
        check("[1 /**/ , /**/ ]", "[1             ]");
    }

    #[test]
    fn commas_that_follow_no_value_remain() {
        for text in [
            "[,]",
            "{ , }",
            "[1,,]",
            "[1, /* a */ , ]",
            r#"{"a":,}"#,
            ",]",
        ] {
            let expected = text.replace("/* a */", "       ");
            check(text, &expected);
            check(&expected, &expected);
        }
    }

    #[test]
    fn strings_are_left_alone() {
        for text in [
            r#"{"a": "// no /* comment */ ,}"}"#,
            r#"["\", // \\", 1]"#,
            r#"["https://host/x"]"#,
            r#"["not ended // "#,
            "[1, 2]",
            "/* not ended ,]",
        ] {
            check(text, text);
        }
    }
}
