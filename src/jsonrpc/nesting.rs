//! The nesting depth of a JSON text, determined without parsing the text.

use super::tokens::Tokens;

/// Whether arrays and objects in `text` are nested deeper than `max` levels.
///
/// Most texts have at most `max` opening brackets. For these texts the function only counts bytes.
pub(crate) fn exceeds(text: &str, max: usize) -> bool {
    if text.len() <= max || count_opening(text.as_bytes()) <= max {
        return false;
    }
    let mut tokens = Tokens::of(text);
    while tokens.depth <= max && tokens.next().is_some() {}
    tokens.depth > max
}

/// Counts the opening brackets in a text, in chunks of 255 bytes so that the compiler can use
/// vector instructions on `u8` sums.
fn count_opening(text: &[u8]) -> usize {
    text.chunks(255)
        .map(|chunk| {
            usize::from(
                chunk
                    .iter()
                    .map(|&byte| u8::from(byte | 0x20 == b'{'))
                    .sum::<u8>(),
            )
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, max: usize, expected: bool) {
        assert_eq!(exceeds(text, max), expected, "{text} against {max}");
    }

    #[test]
    fn depth_is_told_at_its_edge() {
        check("[[[]]]", 3, false);
        check("[[[]]]", 2, true);
        check(r#"{"a":[{"b":1}]}"#, 3, false);
        check(r#"{"a":[{"b":1}]}"#, 2, true);
        check("[][][][][]", 1, false);
        check(r#"["[[[[","\"[[["]"#, 1, false);
        check(&"[".repeat(100_000), 128, true);
    }
}
