//! JSON strings: escaping, writing and reading.

use std::borrow::Cow;

use crate::buffer_cache;

/// Appends a text as a JSON string. Uses the same escapes as `serde_json`.
///
/// Large texts make up most bytes of a message. Therefore the search for characters to escape
/// examines eight bytes at a time.
pub(crate) fn write_string(text: &str, into: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    // Capacity for some escapes, so that a large buffer is seldom moved.
    buffer_cache::reserve(into, rest.len() + rest.len() / 16 + 2);
    into.push(b'"');
    loop {
        let (plain, special) = rest.split_at(next_special(rest, 0));
        into.extend_from_slice(plain);
        let Some((&byte, behind)) = special.split_first() else {
            break;
        };
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\t' => b't',
            b'\r' => b'r',
            0x08 => b'b',
            0x0c => b'f',
            _ => b'u',
        };
        into.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            into.extend_from_slice(&[b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
        rest = behind;
    }
    into.push(b'"');
}

/// Decodes a string. Returns `None` if the JSON text is no string, or if it has half of a surrogate
/// pair.
pub(crate) fn read_string(json: &str) -> Option<Cow<'_, str>> {
    let written = json.strip_prefix('"')?.strip_suffix('"')?;
    if written.contains('\\') {
        return serde_json::from_str(json).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(written))
}

/// Returns the index of the first byte at or after `at` that needs an escape: a quote, a backslash
/// or a control character. If no byte needs an escape, returns the length.
#[inline]
pub(super) fn next_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let eight = u64::from_le_bytes(*eight);
        // Sets the high bit of each byte that is less than the bound (Mycroft's trick). A borrow
        // can only falsify the bytes after the first such byte.
        let less = |value: u64, bound: u64| value.wrapping_sub(ONES * bound) & !value;
        let quote = eight ^ (ONES * u64::from(b'"'));
        let backslash = eight ^ (ONES * u64::from(b'\\'));
        let found = (less(eight, 0x20) | less(quote, 1) | less(backslash, 1)) & HIGHS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
    while bytes.get(at).is_some_and(|byte| !special(byte)) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) {
        let mut written = b"before".to_vec();
        write_string(text, &mut written);
        let expected = format!("before{}", serde_json::to_string(text).expect("JSON"));
        assert_eq!(String::from_utf8(written).expect("UTF-8"), expected);
    }

    #[test]
    fn texts_are_written_as_serde_json_writes_them() {
        for length in 0..20 {
            check(&"x".repeat(length));
        }
        // Each ASCII character at each position of a block, beside bytes that a wrong mask would
        // match.
        for character in (0..=127u8).map(char::from) {
            for offset in 0..17 {
                let mut text = "\u{7f}é€😀!#[]~".repeat(2);
                text.insert(0, ' ');
                let at = (offset..)
                    .find(|at| text.is_char_boundary(*at))
                    .unwrap_or(0);
                text.insert(at, character);
                check(&text);
                check(&format!("{}{character}{character}", " ".repeat(offset)));
            }
        }
        check("\u{2028}\u{2029}\u{85}\u{feff}");
    }

    #[test]
    fn only_strings_without_halves_of_characters_are_decoded() {
        let read = |json| read_string(json).map(Cow::into_owned);
        assert_eq!(read("\"\""), Some(String::new()));
        assert_eq!(read("\"é{\""), Some("é{".to_owned()));
        assert_eq!(read("\"\\u00e9\\n\""), Some("é\n".to_owned()));
        for none in ["\"", "5", "null", "[\"a\"]", "\"\\ud83d\""] {
            assert_eq!(read(none), None, "{none}");
        }
    }
}
