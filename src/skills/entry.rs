//! Entries of skills that obey the rules of the extension.
//!
//! Spec: Extensions, Skills, "Skill Entries", "Resources", "Limits".

use std::collections::BTreeMap;
use std::sync::Arc;

use super::digest::Digest;
use super::name::check_name;
use super::uri::{SkillUri, normalized_uri};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::percent_decoded_bytes;
use crate::schema::{JsonObject, Skill, SkillResource, SkillResources};

/// The limits for one skill. Every client has to accept skills up to the default limits.
///
/// Spec: Extensions, Skills, "Limits".
///
/// # Examples
///
/// ```
/// use mcplink::ErrorKind;
/// use mcplink::schema::{Skill, SkillResource};
/// use mcplink::skills::{Digest, SkillEntry, SkillLimits};
/// # let front_matter = serde_json::from_str(r#"{"name":"a","description":"b"}"#)?;
///
/// let limits = SkillLimits::default().max_files(10).max_bytes(1000);
/// # let digest = Digest::of(b"").to_string();
/// let file = SkillResource::new("skill://a/SKILL.md", digest, 1001);
/// let skill = Skill::new("skill://a/SKILL.md", front_matter, vec![file]);
/// let error = SkillEntry::new(skill, &limits).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Limit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillLimits {
    /// The maximum number of files in a manifest. Defaults to 512. An entry with more files is
    /// refused with [`ErrorKind::Limit`].
    pub max_files: usize,
    /// The maximum total size of the files of a skill, in bytes. Defaults to 16 MiB (16 777 216).
    /// An entry with more bytes is refused with [`ErrorKind::Limit`].
    pub max_bytes: u64,
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self {
            max_files: 512,
            max_bytes: 16 << 20,
        }
    }
}

impl SkillLimits {
    /// Sets the maximum number of files in a manifest.
    pub fn max_files(mut self, max_files: usize) -> Self {
        self.max_files = max_files;
        self
    }

    /// Sets the maximum total size of the files of a skill, in bytes.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }
}

/// The entry of a skill, checked against the rules of the extension.
///
/// The URI ends in `/<name>/SKILL.md`, and `name` is the name in the front matter. The description
/// is not empty. A manifest has each file once, `SKILL.md` among them, with a valid digest. All
/// files are in the directory of the skill, and within the [`SkillLimits`]. Clones share their
/// content.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{Skill, SkillResource};
/// use mcplink::skills::{Digest, SkillEntry, SkillLimits};
/// # use serde_json::json;
///
/// let text = b"---\nname: a\ndescription: An example.\n---\n";
/// let uri = "skill://a/SKILL.md";
/// let file = SkillResource::new(uri, Digest::of(text).to_string(), text.len() as u64);
/// # let json = json!({"name": "a", "description": "An example."});
/// # let front_matter = json.as_object().expect("an object").clone();
/// let skill = Skill::new(uri, front_matter, vec![file]);
/// let entry = SkillEntry::new(skill, &SkillLimits::default())?;
/// assert_eq!(entry.name(), "a");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SkillEntry(Arc<Checked>);

#[derive(Debug, PartialEq)]
struct Checked {
    skill: Skill,
    uri: SkillUri,
    /// The files by their normalized URIs. `None` for a dynamic skill.
    files: Option<BTreeMap<String, SkillFile>>,
    total_size: u64,
}

/// A file in the manifest of a [`SkillEntry`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFile {
    /// The URI of the file in the server's spelling, for `resources/read`.
    pub uri: String,
    /// The path of the file below the skill's directory, decoded; for example
    /// `references/FORMS.md`. Bytes that are not UTF-8 are replaced.
    pub path: String,
    /// The digest of the bytes of the file.
    pub digest: Digest,
    /// The size of the file, in bytes.
    pub size: u64,
}

impl SkillEntry {
    /// Creates a checked entry from `skill`. Checks the rules of the extension and the limits.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Invalid`]: the entry breaks a rule.
    /// - [`ErrorKind::Limit`]: the manifest exceeds the limits. The error text has the found and
    ///   the allowed number.
    pub fn new(skill: Skill, limits: &SkillLimits) -> Result<Self> {
        let checked = check(&skill, limits);
        let (uri, files, total_size) = checked.map_err(|error| {
            error.context(format_args!("the entry of skill '{}'", Excerpt(&skill.uri)))
        })?;
        Ok(Self(Arc::new(Checked {
            skill,
            uri,
            files,
            total_size,
        })))
    }

    /// Returns the entry as the server sent it.
    pub fn skill(&self) -> &Skill {
        &self.0.skill
    }

    /// Returns the URI of the skill's `SKILL.md`.
    pub fn uri(&self) -> &SkillUri {
        &self.0.uri
    }

    /// Returns the name of the skill. Several skills may have the same name.
    pub fn name(&self) -> &str {
        self.0.uri.name()
    }

    /// Returns the description of the skill. It is untrusted text from the server.
    pub fn description(&self) -> &str {
        self.0.skill.description().unwrap_or_default()
    }

    /// Returns the front matter. Its members are data from the server: none of them grants a
    /// permission.
    pub fn front_matter(&self) -> &JsonObject {
        &self.0.skill.frontmatter
    }

    /// Returns whether the server makes the files each time they are read. Such files can't be
    /// verified.
    pub fn is_dynamic(&self) -> bool {
        self.0.files.is_none()
    }

    /// Returns the files of the manifest, ordered by their normalized URIs. Empty for a dynamic
    /// skill.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &SkillFile> {
        static NONE: BTreeMap<String, SkillFile> = BTreeMap::new();
        self.0.files.as_ref().unwrap_or(&NONE).values()
    }

    /// Returns the file with this URI, in any [spelling](normalized_uri); `None` if the manifest
    /// does not list the file.
    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        self.0.files.as_ref()?.get(&normalized_uri(uri).ok()?)
    }

    /// Returns the sum of the sizes in the manifest, in bytes; 0 for a dynamic skill.
    pub fn total_size(&self) -> u64 {
        self.0.total_size
    }

    /// Returns the rule of the Agent Skills format that the name breaks, or `None` if the name is
    /// valid. An entry with an invalid name can be used nevertheless.
    pub fn name_fault(&self) -> Option<String> {
        check_name(self.name()).err().map(|error| error.to_string())
    }
}

type Files = BTreeMap<String, SkillFile>;

/// Checks an entry. Returns its URI, its files and their total size.
fn check(skill: &Skill, limits: &SkillLimits) -> Result<(SkillUri, Option<Files>, u64)> {
    let uri = SkillUri::parse(&skill.uri)?;
    match skill.name() {
        Some(name) if name == uri.name() => {}
        Some(name) => {
            let text = format!(
                "the front matter has the name \"{}\", but the URI has \"{}\"",
                Excerpt(name),
                Excerpt(uri.name())
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        None => return Err(invalid("the front matter has no string 'name'")),
    }
    if skill.description().is_none_or(str::is_empty) {
        return Err(invalid("the front matter has no string 'description'"));
    }
    let SkillResources::Manifest(listed) = &skill.resources else {
        return Ok((uri, None, 0));
    };
    let total_size = within_limits(listed, limits)?;
    let mut files = BTreeMap::new();
    for listed in listed {
        let (normalized, file) = check_file(&uri, listed)?;
        if files.insert(normalized, file).is_some() {
            let text = format!("the manifest has '{}' twice", Excerpt(&listed.uri));
            return Err(Error::new(ErrorKind::Invalid, text));
        }
    }
    if !files.contains_key(uri.normalized()) {
        return Err(invalid("the manifest does not have the SKILL.md"));
    }
    Ok((uri, Some(files), total_size))
}

fn invalid(text: &str) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// Returns the total size of the files, in bytes. Fails if the number or the total size of the
/// files exceeds the limits.
fn within_limits(listed: &[SkillResource], limits: &SkillLimits) -> Result<u64> {
    let (found, max) = (listed.len(), limits.max_files);
    if found > max {
        let text =
            format!("the manifest has {found} files, more than SkillLimits::max_files ({max})");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let sizes = listed.iter().map(|file| file.size);
    let (found, max) = (sizes.fold(0, u64::saturating_add), limits.max_bytes);
    if found > max {
        let text =
            format!("the manifest has {found} bytes, more than SkillLimits::max_bytes ({max})");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Ok(found)
}

/// Checks a file of a manifest. Returns the file and its normalized URI.
fn check_file(uri: &SkillUri, listed: &SkillResource) -> Result<(String, SkillFile)> {
    let normalized = normalized_uri(&listed.uri)?;
    let Some(path) = uri.path_of(&normalized) else {
        let text = format!(
            "the file '{}' is not in the directory of the skill",
            Excerpt(&listed.uri)
        );
        return Err(Error::new(ErrorKind::Invalid, text));
    };
    let digest = listed.digest.parse().map_err(|error: Error| {
        error.context(format_args!("the file '{}'", Excerpt(&listed.uri)))
    })?;
    let file = SkillFile {
        uri: listed.uri.clone(),
        path: String::from_utf8_lossy(&percent_decoded_bytes(path)).into_owned(),
        digest,
        size: listed.size,
    };
    Ok((normalized, file))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URI: &str = "skill://x/a/SKILL.md";

    fn file(uri: &str) -> SkillResource {
        SkillResource::new(uri, Digest::of(b"").to_string(), 0)
    }

    fn skill(resources: impl Into<SkillResources>) -> Skill {
        let front_matter = json!({"name": "a", "description": "d", "x": null});
        let front_matter = front_matter.as_object().expect("an object").clone();
        Skill::new(URI, front_matter, resources)
    }

    fn refused(skill: Skill, kind: ErrorKind, part: &str) {
        let error = SkillEntry::new(skill, &SkillLimits::default()).expect_err(part);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }

    // E-SKILL-S-36
    #[test]
    fn a_manifest_has_each_file_of_the_skill_once() {
        let files = vec![
            file("skill://x/a/b/Q%26.md"),
            file(URI),
            file("Skill://x/a/e"),
        ];
        let entry = SkillEntry::new(skill(files), &SkillLimits::default()).expect("valid");
        let paths: Vec<&str> = entry.files().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["SKILL.md", "b/Q&.md", "e"]);
        let found = entry.file("skill://x/a/b/Q&.md").expect("listed");
        assert_eq!(found.uri, "skill://x/a/b/Q%26.md");
        assert_eq!(entry.file("skill://x/a/c"), None);
        assert!(!entry.is_dynamic());

        let invalid = ErrorKind::Invalid;
        refused(skill(vec![]), invalid, "SKILL.md");
        refused(skill(vec![file("skill://x/a/b")]), invalid, "SKILL.md");
        refused(skill(vec![file(URI), file(URI)]), invalid, "twice");
        let spelled = file("skill://%78/a/SKILL.md");
        refused(skill(vec![file(URI), spelled]), invalid, "twice");
        for foreign in [
            "skill://x/ab/c",
            "skill://x/a",
            "skill://y/a/b",
            "skill://x/a/../b",
            "skill://x/a/..%2fb",
            "/etc/passwd",
            "file:///etc/passwd",
            "b",
            "",
        ] {
            refused(skill(vec![file(URI), file(foreign)]), invalid, foreign);
        }
        let mut wrong = file(URI);
        wrong.digest = "sha256:AB".to_owned();
        refused(skill(vec![wrong]), invalid, "digest");
    }

    #[test]
    fn name_and_description_are_there_and_the_name_is_that_of_the_uri() {
        let with = |name: serde_json::Value, description: serde_json::Value| {
            let mut skill = skill(vec![file(URI)]);
            skill.frontmatter.insert("name".to_owned(), name);
            let member = "description".to_owned();
            skill.frontmatter.insert(member, description);
            skill
        };
        let invalid = ErrorKind::Invalid;
        refused(with(json!("b"), json!("d")), invalid, "\"b\"");
        refused(with(json!(null), json!("d")), invalid, "name");
        refused(with(json!(7), json!("d")), invalid, "name");
        refused(with(json!("a"), json!("")), invalid, "description");
        refused(with(json!("a"), json!(7)), invalid, "description");
        let mut elsewhere = skill(vec![file(URI)]);
        elsewhere.uri = "skill://x/a/b".to_owned();
        refused(elsewhere, invalid, "SKILL.md");
    }

    // AMB-98
    #[test]
    fn a_name_that_breaks_the_rules_is_reported_and_used() {
        let mut odd = skill(SkillResources::Dynamic);
        odd.uri = "skill://x/A%20b/SKILL.md".to_owned();
        odd.frontmatter.insert("name".to_owned(), json!("A b"));
        let entry = SkillEntry::new(odd, &SkillLimits::default()).expect("valid");
        assert_eq!(entry.name(), "A b");
        assert!(entry.name_fault().is_some());
        assert!(entry.is_dynamic() && entry.files().len() == 0);
        let entry = SkillEntry::new(skill(vec![file(URI)]), &SkillLimits::default());
        assert_eq!(entry.expect("valid").name_fault(), None);
    }

    // E-SKILL-C-19, E-SKILL-C-20, E-SKILL-S-40
    #[test]
    fn the_limits_are_those_of_every_host() {
        let files = |count: usize| {
            let more = (1..count).map(|number| file(&format!("skill://x/a/{number}")));
            more.chain([file(URI)]).collect::<Vec<_>>()
        };
        let limits = SkillLimits::default();
        assert!(SkillEntry::new(skill(files(512)), &limits).is_ok());
        refused(skill(files(513)), ErrorKind::Limit, "513 files");
        refused(skill(files(10_000)), ErrorKind::Limit, "10000 files");
        let raised = limits.max_files(513);
        assert!(SkillEntry::new(skill(files(513)), &raised).is_ok());

        let sized = |size: u64| {
            let mut files = files(2);
            files[0].size = size;
            files[1].size = 1;
            skill(files)
        };
        let entry = SkillEntry::new(sized(16_777_215), &limits).expect("at the limit");
        assert_eq!(entry.total_size(), 16_777_216);
        refused(sized(16_777_216), ErrorKind::Limit, "16777217 bytes");
        refused(
            sized(1 << 30),
            ErrorKind::Limit,
            "SkillLimits::max_bytes (16777216)",
        );
        refused(sized(u64::MAX), ErrorKind::Limit, "bytes");
        assert!(SkillEntry::new(sized(1 << 30), &limits.max_bytes(2 << 30)).is_ok());
    }
}
