//! Halves of surrogate pairs in JSON texts.
//!
//! JSON writes a character beyond U+FFFF as a pair of escapes, such as `\ud83d\ude00`. A peer that
//! cuts such a text between the two leaves a half that is no character, and no Rust string can have
//! it.

use super::memchr::find;
use crate::fallible;

/// Returns the text in which each half of a surrogate pair is written as U+FFFD, the number of such
/// halves, and the index of the first one. Returns `None` if there are none, or if there is no
/// memory for the copy.
///
/// Spec: RFC 8259, section 8.2.
pub(crate) fn replaced(text: &str) -> Option<(String, usize, usize)> {
    let bytes = text.as_bytes();
    let (mut copy, mut count, mut first, mut at) = (Vec::new(), 0, 0, 0);
    // Outside of strings, JSON has no backslash.
    while let Some(found) = bytes.get(at..).and_then(|rest| find(b'\\', rest)) {
        at += found;
        let next = unit(bytes, at + 6);
        match unit(bytes, at) {
            Some(0xd800..=0xdbff) if matches!(next, Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                if count == 0 {
                    (copy, first) = (fallible::copy(bytes).ok()?, at);
                }
                count += 1;
                copy[at + 2..at + 6].copy_from_slice(b"fffd");
                at += 6;
            }
            _ => at += 2,
        }
    }
    let copy = String::from_utf8(copy).ok()?;
    (count > 0).then_some((copy, count, first))
}

/// Returns the code unit of the escape that begins at an index, if one begins there.
fn unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    // A sign is no digit.
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = str::from_utf8(digits).ok().filter(|_| is_hex)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        fn check(text: &str, expected: Option<(&str, usize, usize)>) {
            let replaced = replaced(text);
            let replaced = replaced
                .as_ref()
                .map(|(text, count, first)| (&**text, *count, *first));
            assert_eq!(replaced, expected, "{text}");
        }
        check(
            r#""before \ud83d after""#,
            Some((r#""before \ufffd after""#, 1, 8)),
        );
        check(r#""\uDE00\ud83d""#, Some((r#""\ufffd\ufffd""#, 2, 1)));
        check(
            r#"["\ud83d\ud83d\ude00"]"#,
            Some((r#"["\ufffd\ud83d\ude00"]"#, 1, 2)),
        );
        check(r#""\ud83d\n""#, Some((r#""\ufffd\n""#, 1, 1)));
        for none in [
            "{}",
            r#""\ud83d\ude00""#,
            r#""\\ud83d""#,
            r#""\\\\ud83d""#,
            r#""\u00e9""#,
            r#""\ud83""#,
            r#""\u+d83""#,
            "\"\\",
        ] {
            check(none, None);
        }
    }
}
