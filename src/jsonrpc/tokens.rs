//! The tokens of a JSON text that is known to be valid.
//!
//! Every message was validated when it was parsed. A later walk through its text therefore only has
//! to find where each token ends. Long strings are skipped many bytes at a time.
//!
//! Texts that may be invalid have scanners of their own: `message_members` validates a message, and
//! `partial` reads the pieces of a broken or too long one.

use std::ops::Range;

use super::memchr::find;

/// An iterator over the tokens of a text: strings, brackets, commas, colons and scalars. A scalar
/// is a number, `true`, `false` or `null`. If the text is not valid JSON, the iterator yields some
/// tokens or none, and does not panic. It ends at a string that does not end.
pub(crate) struct Tokens<'a> {
    pub(super) text: &'a str,
    /// The index after the last token.
    pub(super) at: usize,
    /// The nesting depth after the last token.
    pub(super) depth: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let (at, depth) = (0, 0);
        Self { text, at, depth }
    }

    /// Returns the text of the next token, if its first byte is one of `expected`.
    #[inline]
    pub(super) fn next_of(&mut self, expected: &[u8]) -> Option<&'a str> {
        let (first, token) = self.next()?;
        expected.contains(&first).then(|| &self.text[token])
    }

    /// Returns the text of the next value, if another token follows.
    #[inline]
    pub(super) fn next_value(&mut self) -> Option<&'a str> {
        let depth = self.depth;
        let (first, token) = self.next()?;
        while self.depth > depth {
            self.next()?;
        }
        let is_value = !matches!(first, b',' | b':' | b'}' | b']');
        (is_value && self.at < self.text.len()).then(|| &self.text[token.start..self.at])
    }
}

impl Iterator for Tokens<'_> {
    /// The first byte of a token, which tells its kind, and its range.
    type Item = (u8, Range<usize>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let text = self.text.as_bytes();
        let mut start = self.at;
        // Outside of strings, JSON has no control characters except white space.
        while *text.get(start)? <= b' ' {
            start += 1;
        }
        let first = text[start];
        match first {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at = match first {
            b'"' => end_of_string(text, start)?,
            _ if ends_scalar(first) => start + 1,
            _ => {
                let rest = text[start..].iter();
                start + rest.take_while(|byte| !ends_scalar(**byte)).count()
            }
        };
        Some((first, start..self.at))
    }
}

fn ends_scalar(byte: u8) -> bool {
    matches!(
        byte,
        0..=b' ' | b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']'
    )
}

/// Returns the index after the string that begins at `start`.
pub(crate) fn end_of_string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += find(b'"', text.get(at..)?)?;
        let before = text[..at].iter().rev();
        let backslashes = before.take_while(|byte| **byte == b'\\').count();
        at += 1;
        if backslashes % 2 == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens: Vec<_> = Tokens::of(text).map(|(_, token)| &text[token]).collect();
        assert_eq!(tokens, expected, "{text}");
    }

    #[test]
    fn strings_and_scalars_are_single_tokens() {
        check(
            " {\"a\\\\\" : [-1.5e3,true,\"],\\\"\"] }\n",
            &[
                "{",
                "\"a\\\\\"",
                ":",
                "[",
                "-1.5e3",
                ",",
                "true",
                ",",
                "\"],\\\"\"",
                "]",
                "}",
            ],
        );
        check("1.0", &["1.0"]);
        check("\"é\\\\\\\"\"", &["\"é\\\\\\\"\""]);
        check("a[é{\"b", &["a", "[", "é", "{"]);
        check("1\"\\\"", &["1"]);
    }

    #[test]
    fn a_value_ends_at_its_own_depth() {
        let mut tokens = Tokens::of("{\"a\":[{}],\"b\":1");
        assert!(tokens.next_of(b"{,").is_some());
        assert_eq!(tokens.next_of(b"\""), Some("\"a\""));
        assert_eq!(tokens.next_of(b"["), None);
        assert_eq!((tokens.next_value(), tokens.depth), (Some("[{}]"), 1));
        assert_eq!(tokens.next_value(), None);
        assert_eq!(tokens.nth(1).map(|(first, _)| first), Some(b':'));
        assert_eq!(tokens.next_value(), None, "no token follows");
        assert_eq!(Tokens::of("]]").count(), 2);
    }
}
