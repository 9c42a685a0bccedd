//! The nesting depth of a JSON text, determined without parsing the text.

/// Whether arrays and objects in `text` are nested deeper than `max` levels.
///
/// Most texts have at most `max` opening brackets. For these texts the function only counts bytes.
pub(crate) fn exceeds(text: &[u8], max: usize) -> bool {
    if text.len() <= max || count_opening(text) <= max {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for &byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
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
        assert_eq!(
            exceeds(text.as_bytes(), max),
            expected,
            "{text} against {max}"
        );
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
