//! Text of servers in messages for users.

use std::fmt;

/// The maximum number of characters of an [`Excerpt`].
const MAX_CHARS: usize = 80;

/// Displays the beginning of a text on one line. Escapes control characters, Unicode line and
/// paragraph separators, and characters that change the direction of the text after them.
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        for c in chars.by_ref().take(MAX_CHARS) {
            match c {
                '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    c.escape_default().fmt(f)?;
                }
                c if c.is_control() => c.escape_default().fmt(f)?,
                c => fmt::Write::write_char(f, c)?,
            }
        }
        match chars.next() {
            Some(_) => f.write_str("…"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_kept_on_one_line() {
        let shown = |text: &str| Excerpt(text).to_string();
        assert_eq!(shown("a\nb\u{2028}ö"), "a\\nb\\u{2028}ö");
        assert_eq!(shown("\u{202e}x\u{2066}"), "\\u{202e}x\\u{2066}");
        assert_eq!(shown(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(shown(&"x".repeat(81)), "x".repeat(80) + "…");
    }
}
