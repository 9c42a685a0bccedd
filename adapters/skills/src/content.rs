//! The content of a file of a skill, with its origin.

use std::fmt;
use std::fmt::Write as _;

use mcplink::Error;
use mcplink::skills::Digest;

use crate::excerpt::Excerpt;
use crate::listing::SkillId;

/// The content of a file of a skill. It is untrusted text or data from the server that its
/// [identity](Self::skill) names.
///
/// This crate neither runs the content nor writes it to an executable file. A host runs it only
/// after the user has approved this skill for running code.
#[derive(Clone)]
pub struct SkillContent {
    skill: SkillId,
    uri: String,
    bytes: Vec<u8>,
    is_verified: bool,
    is_cached: bool,
    cache_error: Option<Error>,
}

impl SkillContent {
    pub(crate) fn new(skill: SkillId, uri: &str, bytes: Vec<u8>) -> Self {
        Self {
            skill,
            uri: uri.to_owned(),
            bytes,
            is_verified: false,
            is_cached: false,
            cache_error: None,
        }
    }

    /// Marks the content as verified. Before, its size and digest must have been compared with the
    /// manifest.
    pub(crate) fn verified(mut self) -> Self {
        self.is_verified = true;
        self
    }

    /// Marks the content as read from the cache on disk.
    pub(crate) fn cached(mut self) -> Self {
        self.is_cached = true;
        self
    }

    pub(crate) fn with_cache_error(mut self, error: Option<Error>) -> Self {
        self.cache_error = error;
        self
    }

    /// Returns the skill that the content belongs to: the label of the server, and the URI.
    pub fn skill(&self) -> &SkillId {
        &self.skill
    }

    /// Returns the URI of the file.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the raw bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the content as text, if it is UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        str::from_utf8(&self.bytes).ok()
    }

    /// Whether size and digest equal those in the manifest. False only for files of dynamic skills,
    /// which have no manifest. True does not mean that the content can be trusted.
    pub fn is_verified(&self) -> bool {
        self.is_verified
    }

    /// Whether the content was read from the [`SkillCache`](crate::SkillCache). Such content counts
    /// as received from its server.
    pub fn is_cached(&self) -> bool {
        self.is_cached
    }

    /// Returns the reason why the content could not be cached on disk, for example a full disk. The
    /// content itself is valid.
    pub fn cache_error(&self) -> Option<&Error> {
        self.cache_error.as_ref()
    }

    /// Returns the text between tags that name the server, for the context of a model; `None` if
    /// the content is not UTF-8.
    ///
    /// The name of the tags depends on the content. So the content can't contain its own end tag.
    ///
    /// # Examples
    ///
    /// ```text
    /// <skill-content-5f1c0e7a93b24d68 server="github" uri="skill://review/SKILL.md">
    /// …
    /// </skill-content-5f1c0e7a93b24d68>
    /// ```
    // E-SKILL-C-56, E-SKILL-C-57
    pub fn tagged(&self) -> Option<String> {
        let text = self.as_text()?;
        let mut tag = "skill-content-".to_owned();
        for byte in &Digest::of(&self.bytes).as_bytes()[..8] {
            // Writing to memory can't fail.
            _ = write!(tag, "{byte:02x}");
        }
        let (server, uri) = (Attribute(&self.skill.label), Attribute(&self.uri));
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Some(format!(
            "<{tag} server=\"{server}\" uri=\"{uri}\">\n{text}{end}</{tag}>\n"
        ))
    }
}

/// Displays a text as the value of an attribute.
struct Attribute<'a>(&'a str);

impl fmt::Display for Attribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' => f.write_str("&quot;"),
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            c if c.is_control() => write!(f, "&#{};", u32::from(c)),
            c => f.write_char(c),
        })
    }
}

impl fmt::Debug for SkillContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillContent")
            .field("skill", &self.skill)
            .field("uri", &self.uri)
            .field("bytes", &self.bytes.len())
            .field("is_verified", &self.is_verified)
            .finish_non_exhaustive()
    }
}

/// Writes the file and its server, not the content.
impl fmt::Display for SkillContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (uri, label) = (Excerpt(&self.uri), Excerpt(&self.skill.label));
        write!(f, "{uri} from '{label}'")
    }
}
