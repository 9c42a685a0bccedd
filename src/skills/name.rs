//! The rules for names of skills.
//!
//! Spec: Agent Skills specification, "name field".

use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The maximum length of a name, in characters.
const MAX_CHARS: usize = 64;

/// Checks that a name obeys the rules of the Agent Skills format: 1 to 64 of the characters `a-z`,
/// `0-9` and `-`. A hyphen is neither the first nor the last character, and never follows another
/// hyphen.
///
/// A client also accepts names that break these rules, if the name in the front matter equals the
/// name in the URI: see [`SkillEntry::name_fault`](super::SkillEntry::name_fault).
///
/// # Errors
///
/// [`ErrorKind::Invalid`]. The error text describes the broken rule.
///
/// # Examples
///
/// ```
/// use mcplink::skills::check_name;
///
/// assert!(check_name("pdf-processing").is_ok());
/// assert!(check_name("PDF").is_err());
/// ```
pub fn check_name(name: &str) -> Result<()> {
    let fault = match name.chars().count() {
        0 => "is empty",
        MAX_CHARS.. if name.chars().nth(MAX_CHARS).is_some() => "has more than 64 characters",
        _ if !name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')) =>
        {
            "has characters other than a-z, 0-9 and -"
        }
        _ if name.starts_with('-') || name.ends_with('-') => "begins or ends with a hyphen",
        _ if name.contains("--") => "has two hyphens in a row",
        _ => return Ok(()),
    };
    let text = format!("the skill name \"{}\" {fault}", Excerpt(name));
    Err(Error::new(ErrorKind::Invalid, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_obey_the_rules_of_the_format() {
        for good in ["a", "7", "a-b", "pdf-processing-2", &"x".repeat(64)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-",
            "-x",
            "x-",
            "a--b",
            "A",
            "a_b",
            "a b",
            "a.b",
            "a/b",
            "é",
            "a\u{0}",
            &"x".repeat(65),
            &"é".repeat(64),
        ] {
            let error = check_name(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }
}
