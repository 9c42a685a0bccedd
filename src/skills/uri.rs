//! URIs of skills and their files: comparison, the directory of a skill, relative references.
//!
//! No client connects to the URI of a skill. Only the path segments of the URI have a meaning.
//!
//! Spec: Extensions, Skills, "Resource Mapping", "Skill URIs", "Relative References"; RFC 3986.

use std::fmt;
use std::fmt::Write as _;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::{has_whole_escapes, is_scheme, percent_decoded_bytes};

/// The name of the file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Returns the normalized form of a URI, in which the URIs of skills and their files are compared.
///
/// Servers spell URIs differently: `a/Q&A.md` and `a/Q%26A.md` are the same file. The scheme
/// becomes lower case. In each segment, characters that a path segment may contain are decoded, and
/// all others are encoded with capital digits. The first segment is treated like the others. It is
/// not a host name, so its letters keep their case.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] when the text is no absolute URI with a path, or has a query, a fragment,
/// an empty segment, a segment `.` or `..`, an incomplete escape, a backslash, a control character,
/// or an encoded slash.
///
/// # Examples
///
/// ```
/// use mcplink::skills::normalized_uri;
///
/// let uri = normalized_uri("SKILL://faq/Q%26A%c3%a9.md")?;
/// assert_eq!(uri, normalized_uri("skill://faq/Q&Aé.md")?);
/// assert!(normalized_uri("skill://faq/../other.md").is_err());
/// # Ok::<(), mcplink::Error>(())
/// ```
pub fn normalized_uri(uri: &str) -> Result<String> {
    let parts = Parts::of(uri).map_err(|fault| invalid(uri, fault))?;
    Ok(parts.normalized)
}

fn invalid(uri: &str, fault: &str) -> Error {
    let text = format!("the URI \"{}\" {fault}", Excerpt(uri));
    Error::new(ErrorKind::Invalid, text)
}

/// A normalized URI, and the offset of its first segment.
struct Parts {
    normalized: String,
    first_segment: usize,
}

impl Parts {
    fn of(uri: &str) -> Result<Self, &'static str> {
        let Some((scheme, rest)) = uri.split_once(':').filter(|(it, _)| is_scheme(it)) else {
            return Err("has no scheme");
        };
        if rest.contains(['?', '#']) {
            return Err("has a query or a fragment");
        }
        let mut normalized = scheme.to_ascii_lowercase();
        normalized.push(':');
        let (has_authority, rest) = match rest.strip_prefix("//") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        normalized.push_str(if has_authority { "//" } else { "" });
        // A path may begin with a slash, and an authority may be empty.
        let rest = match rest.strip_prefix('/') {
            Some(path) => {
                normalized.push('/');
                path
            }
            None => rest,
        };
        let first_segment = normalized.len();
        for (number, segment) in rest.split('/').enumerate() {
            normalized.push_str(if number == 0 { "" } else { "/" });
            push_segment(&mut normalized, segment)?;
        }
        Ok(Self {
            normalized,
            first_segment,
        })
    }
}

/// Appends a path segment in its normalized spelling.
fn push_segment(out: &mut String, segment: &str) -> Result<(), &'static str> {
    if !has_whole_escapes(segment) {
        return Err("has an incomplete percent escape");
    }
    let bytes = percent_decoded_bytes(segment);
    match bytes.as_slice() {
        b"" => return Err("has an empty path segment"),
        b"." | b".." => return Err("has a path segment '.' or '..'"),
        _ => {}
    }
    for byte in bytes {
        match byte {
            b'/' | b'\\' => return Err("has a backslash or an encoded slash"),
            0..=0x1f | 0x7f => return Err("has a control character"),
            byte if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) => {
                out.push(char::from(byte));
            }
            byte => _ = write!(out, "%{byte:02X}"),
        }
    }
    Ok(())
}

/// The URI of a skill's `SKILL.md`, which names the skill and its directory.
///
/// The last segment is `SKILL.md`, and the segment before it is the name of the skill.
///
/// # Examples
///
/// ```
/// use mcplink::skills::SkillUri;
///
/// let uri = SkillUri::parse("skill://acme/billing/refunds/SKILL.md")?;
/// assert_eq!(uri.name(), "refunds");
/// assert_eq!(uri.directory(), "skill://acme/billing/refunds");
/// assert!(uri.contains("skill://acme/billing/refunds/examples/email.md"));
/// assert!(!uri.contains("skill://acme/billing/refunds-2/SKILL.md"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SkillUri {
    text: String,
    normalized: String,
    name: String,
}

impl SkillUri {
    /// Parses the URI of a `SKILL.md`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] in the cases of [`normalized_uri`], when the last segment is not
    /// `SKILL.md`, or when there is no name before it.
    pub fn parse(uri: &str) -> Result<Self> {
        let parts = Parts::of(uri).map_err(|fault| invalid(uri, fault))?;
        let mut segments = parts.normalized[parts.first_segment..].rsplit('/');
        if segments.next() != Some(SKILL_FILE) {
            return Err(invalid(uri, "is not the URI of a SKILL.md"));
        }
        let name = segments.next();
        let name = name.and_then(|name| String::from_utf8(percent_decoded_bytes(name)).ok());
        let Some(name) = name else {
            return Err(invalid(uri, "has no name of a skill before SKILL.md"));
        };
        Ok(Self {
            text: uri.to_owned(),
            name,
            normalized: parts.normalized,
        })
    }

    /// Returns the URI in the spelling in which it was parsed. Requests use this spelling.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the normalized form of the URI: see [`normalized_uri`].
    pub fn normalized(&self) -> &str {
        &self.normalized
    }

    /// Returns the name of the skill: the decoded segment before `SKILL.md`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the URI of the skill's directory, without a slash at the end. The spelling is that
    /// of [`as_str`](Self::as_str).
    pub fn directory(&self) -> &str {
        // An escape in `SKILL.md` makes the segment longer, so the last slash is searched.
        let end = self.text.rfind('/').expect("a name is before SKILL.md");
        &self.text[..end]
    }

    /// Returns the normalized URI of the skill's directory, with a slash at the end.
    fn base(&self) -> &str {
        &self.normalized[..self.normalized.len() - SKILL_FILE.len()]
    }

    /// Returns whether a URI names a file below the skill's directory, such as its `SKILL.md`.
    /// Returns `false` for an invalid URI.
    pub fn contains(&self, uri: &str) -> bool {
        normalized_uri(uri).is_ok_and(|uri| self.path_of(&uri).is_some())
    }

    /// Returns the path of a file below the skill's directory, percent-encoded. `normalized` is the
    /// normalized URI of the file.
    pub(super) fn path_of<'a>(&self, normalized: &'a str) -> Option<&'a str> {
        normalized.strip_prefix(self.base())
    }

    /// Resolves a relative reference in this `SKILL.md`, or an absolute URI, against the directory
    /// of the `SKILL.md`. Returns the normalized URI. A fragment is cut off.
    ///
    /// A reference in a nested `SKILL.md` has to be resolved with the URI of the nested file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] in the cases of [`normalized_uri`], when `..` leads above the first
    /// segment, or when the reference has a query or names no file.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::skills::SkillUri;
    ///
    /// let uri = SkillUri::parse("skill://pdf/SKILL.md")?;
    /// assert_eq!(uri.resolve("./references/../FORMS.md#top")?, "skill://pdf/FORMS.md");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // E-SKILL-C-31
    pub fn resolve(&self, reference: &str) -> Result<String> {
        let (path, _) = reference.split_once('#').unwrap_or((reference, ""));
        if path.split_once(':').is_some_and(|(it, _)| is_scheme(it)) {
            return normalized_uri(path);
        }
        let fault = |fault| Err(invalid(reference, fault));
        if path.contains('?') {
            return fault("has a query");
        }
        let scheme_end = self.normalized.find(':').expect("a URI has a scheme") + 1;
        if path.starts_with("//") {
            return normalized_uri(&format!("{}{path}", &self.normalized[..scheme_end]));
        }
        let (root, mut segments) = self.split_base();
        let path = match path.strip_prefix('/') {
            Some(path) => {
                // The first segment of `skill://a/b` is the authority, which stays.
                let has_authority =
                    self.normalized[scheme_end..].starts_with("//") && !root.ends_with("///");
                segments.truncate(usize::from(has_authority));
                path
            }
            None => path,
        };
        if path.is_empty() {
            return fault("names no file");
        }
        for segment in path.split('/') {
            match percent_decoded_bytes(segment).as_slice() {
                b"." => {}
                b".." if segments.pop().is_some() => {}
                b".." => return fault("leads above the first segment of its skill's URI"),
                _ => segments.push(segment),
            }
        }
        normalized_uri(&format!("{root}{}", segments.join("/")))
    }

    /// Splits the normalized URI of the directory into its beginning and its path segments.
    fn split_base(&self) -> (&str, Vec<&str>) {
        let parts = Parts::of(&self.normalized).expect("a normalized URI is valid");
        let (root, path) = self.normalized.split_at(parts.first_segment);
        let mut segments: Vec<&str> = path.split('/').collect();
        segments.pop();
        (root, segments)
    }
}

/// Implements `Display`: writes the URI in the spelling in which it was parsed.
impl fmt::Display for SkillUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AMB-98
    #[test]
    fn spellings_of_one_uri_are_equal() {
        fn check(uri: &str, expected: &str) {
            assert_eq!(normalized_uri(uri).expect(uri), expected);
            assert_eq!(normalized_uri(expected).expect(uri), expected);
        }
        check("skill://a/SKILL.md", "skill://a/SKILL.md");
        check("SKILL://a/S%4bILL.md", "skill://a/SKILL.md");
        check("skill://A/Q%26A.md", "skill://A/Q&A.md");
        check("skill://a/%7e%3a%40%2b", "skill://a/~:@+");
        check("skill://a/b c%20d", "skill://a/b%20c%20d");
        check("skill://a/é%c3%A9", "skill://a/%C3%A9%C3%A9");
        check("skill://a/%ff", "skill://a/%FF");
        check("skill://a/...", "skill://a/...");
        check("file:///a/b", "file:///a/b");
        check("x:/a/b", "x:/a/b");
        check("x:a/b", "x:a/b");
    }

    // AMB-98
    #[test]
    fn unclear_uris_are_refused() {
        for bad in [
            "",
            "a/b",
            "/a",
            "://a",
            "1x://a",
            "skill:",
            "skill://",
            "skill:///",
            "skill://a/",
            "skill://a//b",
            "skill:////a",
            "skill://a/./b",
            "skill://a/../b",
            "skill://a/%2e%2E/b",
            "skill://a/.%2e",
            "skill://a/b%2Fc",
            "skill://a/b%5cc",
            "skill://a/b\\c",
            "skill://a/b?x",
            "skill://a/b#x",
            "skill://a/%",
            "skill://a/%4",
            "skill://a/%zz",
            "skill://a/%00",
            "skill://a/\n",
            "C:\\skills\\a\\SKILL.md",
        ] {
            let error = normalized_uri(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }

    // E-SKILL-S-13, E-SKILL-S-19
    #[test]
    fn the_name_is_the_segment_before_the_file() {
        fn check(uri: &str, name: &str, directory: &str) {
            let parsed = SkillUri::parse(uri).expect(uri);
            assert_eq!((parsed.name(), parsed.directory()), (name, directory));
            assert_eq!((parsed.as_str(), parsed.to_string().as_str()), (uri, uri));
        }
        check("skill://a/SKILL.md", "a", "skill://a");
        check("skill://a/b/c/SKILL.md", "c", "skill://a/b/c");
        check(
            "github://o/r/skills/x/SKILL.md",
            "x",
            "github://o/r/skills/x",
        );
        check("file:///x/SKILL.md", "x", "file:///x");
        check("x:a/SKILL.md", "a", "x:a");
        check("skill://%61%c3%a9/SKILL%2emd", "aé", "skill://%61%c3%a9");
        for bad in [
            "skill://SKILL.md",
            "file:///SKILL.md",
            "x:SKILL.md",
            "skill://a/skill.md",
            "skill://a/SKILL.md/",
            "skill://a/b",
            "skill://%ff/SKILL.md",
        ] {
            let error = SkillUri::parse(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }

    #[test]
    fn files_of_a_skill_are_below_its_directory() {
        let uri = SkillUri::parse("skill://a/b/SKILL.md").expect("valid");
        for inside in [
            "skill://a/b/SKILL.md",
            "skill://a/b/c",
            "Skill://a/%62/c/d",
            "skill://a/b/SKILL.md/x",
        ] {
            assert!(uri.contains(inside), "{inside}");
        }
        for outside in [
            "skill://a/b",
            "skill://a/bc/x",
            "skill://a/SKILL.md",
            "skill://a/B/c",
            "other://a/b/c",
            "skill://a/b/../c",
            "skill://a/b/",
            "skill:/a/b/c",
        ] {
            assert!(!uri.contains(outside), "{outside}");
        }
    }

    // E-SKILL-C-31
    #[test]
    fn references_are_resolved_against_the_directory() {
        let uri = SkillUri::parse("skill://a/b/SKILL.md").expect("valid");
        fn check(uri: &SkillUri, reference: &str, expected: &str) {
            assert_eq!(uri.resolve(reference).expect(reference), expected);
        }
        check(&uri, "references/G.md", "skill://a/b/references/G.md");
        check(&uri, "./x", "skill://a/b/x");
        check(&uri, "x/../y", "skill://a/b/y");
        check(&uri, "x#part?y", "skill://a/b/x");
        check(&uri, "a b/%41", "skill://a/b/a%20b/A");
        check(&uri, "../x", "skill://a/x");
        check(&uri, "/x", "skill://a/x");
        check(&uri, "//h/x", "skill://h/x");
        check(&uri, "https://h/x#y", "https://h/x");
        let nested = SkillUri::parse("skill://a/b/inner/SKILL.md").expect("valid");
        check(&nested, "x", "skill://a/b/inner/x");
        check(&nested, "../x", "skill://a/b/x");
        let file = SkillUri::parse("file:///s/a/SKILL.md").expect("valid");
        check(&file, "/x/y", "file:///x/y");
        check(&file, "../x", "file:///s/x");
        check(&uri, ".", "skill://a/b");
        check(&uri, "..", "skill://a");
        for bad in [
            "",
            "#part",
            "../..",
            "../../../x",
            "x/",
            "x//y",
            "x?y",
            "x%2Fy",
            "x\\y",
            "%2e%2e/%2e%2e/%2e%2e/x",
            "/",
        ] {
            let error = uri.resolve(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }
}
