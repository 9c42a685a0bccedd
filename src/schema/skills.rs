//! The extension `io.modelcontextprotocol/skills`: skills as folders of resources.
//!
//! The types contain the data as the peer sent it. [`skills`](crate::skills) checks the rules that
//! an entry has to obey.
//!
//! Spec: Extensions, "Skills" (2026-07-28; also used with older revisions).

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::capabilities::ServerCapabilities;
use super::json::{Count, Whole};
use super::meta::{MetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;
use super::resource::Resource;
use super::result::{CacheScope, ResultType};
use super::tree::{Extra, JsonObject};

/// The id of the skills extension. A server declares it with the settings of
/// [`SkillsCapability`].
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The MIME type of a directory in the result of `resources/directory/read`.
pub const DIRECTORY_MIME_TYPE: &str = "inode/directory";

/// The settings of the skills extension, which a server declares.
///
/// Spec: Extensions, Skills, "Capability Negotiation".
///
/// # Examples
///
/// ```
/// use mcplink::schema::{JsonObject, SKILLS_EXTENSION, ServerCapabilities, SkillsCapability};
///
/// let mut skills = SkillsCapability::default();
/// skills.directory_read = true;
/// let settings = (SKILLS_EXTENSION.to_owned(), skills.to_settings().into());
/// let capabilities = ServerCapabilities::default().extensions(JsonObject::from_iter([settings]));
/// assert_eq!(capabilities.skills(), Some(skills));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillsCapability {
    /// Whether the server answers `resources/directory/read`.
    pub directory_read: bool,
    /// Settings that this library doesn't know.
    pub extra: Extra,
}

impl SkillsCapability {
    /// Returns the settings as the JSON object that a server declares. The object is empty if no
    /// option is used.
    pub fn to_settings(&self) -> JsonObject {
        let mut settings = self.extra.clone();
        if self.directory_read {
            settings.insert("directoryRead".to_owned(), Value::Bool(true));
        }
        settings
    }
}

impl ServerCapabilities {
    /// Returns the settings of the skills extension, if the server declared the extension. Settings
    /// that are no JSON object count as not declared. Only the value `true` of `directoryRead`
    /// counts as support.
    // E-SKILL-C-03
    pub fn skills(&self) -> Option<SkillsCapability> {
        let mut extra = self.extension(SKILLS_EXTENSION)?.as_object()?.clone();
        let directory_read = extra.remove("directoryRead");
        Some(SkillsCapability {
            directory_read: directory_read == Some(Value::Bool(true)),
            extra,
        })
    }
}

object! {
    /// The entry of a skill: its front matter and the list of its files.
    ///
    /// The entry contains the data as the server sent it, which may violate the rules of the
    /// extension. [`SkillEntry`](crate::skills::SkillEntry) is a checked entry.
    ///
    /// Spec: Extensions, Skills, "Skill Entries".
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{JsonObject, Skill, SkillResources};
    /// use mcplink::skills::{SkillEntry, SkillLimits};
    ///
    /// let front_matter: JsonObject =
    ///     serde_json::from_str(r#"{"name":"today","description":"The news of today"}"#)?;
    /// let skill = Skill::new("skill://today/SKILL.md", front_matter, SkillResources::Dynamic);
    /// let entry = SkillEntry::new(skill, &SkillLimits::default())?; // checks the rules
    /// assert_eq!(entry.description(), "The news of today");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Skill: FitTo {
        /// The URI of the skill's `SKILL.md`. It identifies the skill within its server.
        pub uri: String,
        /// The YAML front matter of `SKILL.md` as JSON, with all its members.
        pub frontmatter: JsonObject,
        /// The files of the skill.
        pub resources: SkillResources,
        /// Metadata of the entry (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes the entry of a skill from the URI of its `SKILL.md`, its front matter and its files.
    pub fn new(
        uri: impl Into<String>,
        frontmatter: JsonObject,
        resources: impl Into<SkillResources>,
    );
}

impl Skill {
    /// Returns the name in the front matter, if it is a string.
    pub fn name(&self) -> Option<&str> {
        self.frontmatter.get("name")?.as_str()
    }

    /// Returns the description in the front matter, if it is a string.
    pub fn description(&self) -> Option<&str> {
        self.frontmatter.get("description")?.as_str()
    }
}

/// The files of a skill: a manifest, or the word `dynamic`.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{SkillResource, SkillResources};
/// use mcplink::skills::Digest;
///
/// let digest = Digest::of(b"# Refunds").to_string();
/// let file = SkillResource::new("skill://refunds/SKILL.md", digest, 9);
/// let SkillResources::Manifest(files) = SkillResources::from(vec![file]) else { panic!() };
/// assert_eq!(files[0].size, 9);
/// assert_eq!(serde_json::json!(SkillResources::Dynamic), "dynamic");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SkillResources {
    /// The manifest: all files of the skill, including `SKILL.md`.
    Manifest(Vec<SkillResource>),
    /// Files that the server makes when they are read, so that their digests are unknown.
    Dynamic,
}

required!(SkillResources);

/// The value of `resources` for a dynamic skill.
const DYNAMIC: &str = "dynamic";

impl From<Vec<SkillResource>> for SkillResources {
    fn from(files: Vec<SkillResource>) -> Self {
        Self::Manifest(files)
    }
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Manifest(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ManifestOrDynamic;

        impl<'de> Visitor<'de> for ManifestOrDynamic {
            type Value = SkillResources;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of files or the string \"dynamic\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<SkillResources, E> {
                match text {
                    DYNAMIC => Ok(SkillResources::Dynamic),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }

            // An invalid file is not dropped, as entries of other lists are: the manifest would no
            // longer be complete.
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut entries: A,
            ) -> Result<SkillResources, A::Error> {
                let mut files = Vec::new();
                while let Some(file) = entries.next_element()? {
                    files.push(file);
                }
                Ok(SkillResources::Manifest(files))
            }
        }

        deserializer.deserialize_any(ManifestOrDynamic)
    }
}

object! {
    /// A file in the manifest of a skill.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::SkillResource;
    /// use mcplink::skills::Digest;
    ///
    /// let text = b"# Refunds";
    /// let digest = Digest::of(text);
    /// let file =
    ///     SkillResource::new("skill://refunds/SKILL.md", digest.to_string(), text.len() as u64);
    ///
    /// // A client compares the bytes that it has read with the manifest.
    /// assert_eq!(file.digest.parse::<Digest>()?, Digest::of(b"# Refunds"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SkillResource {
        /// The URI of the file, for `resources/read`.
        pub uri: String,
        /// The digest of the raw bytes of the file: `sha256:` and 64 lower-case hexadecimal digits.
        /// See [`Digest`](crate::skills::Digest).
        pub digest: String,
        /// The size of the file in bytes.
        pub size: u64 as Whole,
        ..extra
    }

    /// Makes a file of a manifest. `digest` is the text of a [`Digest`](crate::skills::Digest), and
    /// `size` the number of bytes.
    pub fn new(uri: impl Into<String>, digest: impl Into<String>, size: u64);
}

list_result! {
    /// A page of the list of skills: the result of `skills/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::ListSkillsResult;
    ///
    /// // The names of the skills on the first page.
    /// fn names(client: &Client) -> mcplink::Result<Vec<String>> {
    ///     let first = client.skill_pages(CallOptions::new()).next();
    ///     let page: ListSkillsResult = first.transpose()?.unwrap_or_default();
    ///     Ok(page.skills.iter().filter_map(|skill| skill.name()).map(str::to_owned).collect())
    /// }
    /// ```
    ListSkillsResult { skills: Vec<Skill> }
}

list_result! {
    /// A page of the children of a directory: the result of `resources/directory/read`. A
    /// subdirectory has the MIME type [`DIRECTORY_MIME_TYPE`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{DIRECTORY_MIME_TYPE, ReadResourceDirectoryResult, Resource};
    ///
    /// let scripts = Resource::new("skill://a/scripts", "scripts").mime_type(DIRECTORY_MIME_TYPE);
    /// let page = ReadResourceDirectoryResult::new([scripts, Resource::new("skill://a/b", "b")]);
    /// let is_directory = |it: &Resource| it.mime_type.as_deref() == Some(DIRECTORY_MIME_TYPE);
    /// assert!(is_directory(&page.resources[0]) && !is_directory(&page.resources[1]));
    /// ```
    ReadResourceDirectoryResult { resources: Vec<Resource> }
}

object! {
    /// The result of `skills/get`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{GetSkillResult, JsonObject, Skill, SkillResources};
    /// use serde_json::json;
    ///
    /// let front_matter = JsonObject::from_iter([("name".to_owned(), "today".into())]);
    /// let skill = Skill::new("skill://today/SKILL.md", front_matter, SkillResources::Dynamic);
    /// let result = GetSkillResult::new(skill);
    /// assert_eq!(json!(result)["skill"]["resources"], "dynamic");
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct GetSkillResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The entry of the skill.
        pub skill: Skill [fit],
        /// The time for which the result stays fresh, in milliseconds.
        pub ttl_ms: Option<u64> = "ttlMs" as Count [since V2026_07_28 or 0],
        /// Whether users may share the cached result.
        pub cache_scope: Option<CacheScope>
            = "cacheScope" [since V2026_07_28 or CacheScope::Private],
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra
    }

    /// Makes the result from the entry of a skill.
    pub fn new(skill: Skill);
}

impl GetSkillResult {
    cache_hint!();
}

object! {
    /// The params of `skills/get`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::GetSkillRequestParams;
    ///
    /// // The result as raw JSON: `Client::get_skill` returns the entry.
    /// fn skill(client: &Client) -> mcplink::Result<String> {
    ///     let params = GetSkillRequestParams::new("skill://refunds/SKILL.md");
    ///     let result = client.request("skills/get", &params, CallOptions::new())?;
    ///     Ok(result.as_str().to_owned())
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct GetSkillRequestParams {
        /// The URI of the skill's `SKILL.md`.
        pub uri: String,
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params that get the skill whose `SKILL.md` has this URI.
    pub fn new(uri: impl Into<String>);
}

object! {
    /// The params of `resources/directory/read`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::{
    ///     ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, read_json,
    /// };
    ///
    /// // One page: `Client::resource_directory_pages` requests all pages.
    /// fn page(client: &Client, cursor: &str) -> mcplink::Result<ReadResourceDirectoryResult> {
    ///     let params = ReadResourceDirectoryRequestParams::new("skill://refunds").cursor(cursor);
    ///     read_json(&client.request("resources/directory/read", &params, CallOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct ReadResourceDirectoryRequestParams {
        /// The URI of the directory, without a slash at its end.
        pub uri: String,
        /// The cursor of the page; absent for the first page.
        pub cursor?: String,
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params that read the first page of the directory with this URI.
    pub fn new(uri: impl Into<String>);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::tree;
    use crate::schema::{FitTo, ProtocolVersion};

    // E-SKILL-C-03
    #[test]
    fn settings_that_are_no_object_count_as_not_declared() {
        fn check(settings: &str, expected: Option<bool>) {
            let text = format!(r#"{{"extensions":{{"{SKILLS_EXTENSION}":{settings}}}}}"#);
            let (read, _): (ServerCapabilities, _) = tree::read_entries(&text).expect("read");
            let skills = read.skills().map(|skills| skills.directory_read);
            assert_eq!(skills, expected, "{settings}");
        }
        for none in ["null", "true", "[]", "\"x\"", "1"] {
            check(none, None);
        }
        for without in [
            "{}",
            r#"{"x":1}"#,
            r#"{"directoryRead":false}"#,
            r#"{"directoryRead":"true"}"#,
            r#"{"directoryRead":1}"#,
            r#"{"directoryRead":null}"#,
        ] {
            check(without, Some(false));
        }
        check(r#"{"directoryRead":true,"x":1}"#, Some(true));
        assert_eq!(ServerCapabilities::default().skills(), None);
    }

    #[test]
    fn settings_stand_directly_in_their_object() {
        let settings = SkillsCapability::default().to_settings();
        assert_eq!(Value::Object(settings), json!({}));
        let settings = SkillsCapability {
            directory_read: true,
            ..SkillsCapability::default()
        };
        let settings = Value::Object(settings.to_settings());
        assert_eq!(settings, json!({"directoryRead": true}));
    }

    // E-SKILL-X-01
    #[test]
    fn an_invalid_entry_does_not_spoil_the_valid_ones() {
        let good = r#"{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a"},"resources":[{"uri":"u","digest":"d","size":0,"y":1}],"_meta":{"k":1},"x":[1]}"#;
        for bad in [
            r#"{"uri":"b","frontmatter":{}}"#,
            r#"{"uri":"b","frontmatter":{},"resources":null}"#,
            r#"{"uri":"b","frontmatter":{},"resources":{}}"#,
            r#"{"uri":"b","frontmatter":{},"resources":"static"}"#,
            r#"{"uri":"b","frontmatter":{},"resources":""}"#,
            r#"{"uri":"b","frontmatter":{},"resources":[{"uri":"u","digest":"d"}]}"#,
            r#"{"uri":"b","frontmatter":{},"resources":[{"uri":"u","digest":"d","size":-1}]}"#,
            r#"{"uri":"b","frontmatter":{},"resources":[{"uri":"u","digest":"d","size":1.5}]}"#,
            r#"{"uri":"b","frontmatter":{},"resources":[{"uri":"u","digest":7,"size":1}]}"#,
            r#"{"uri":"b","frontmatter":{},"resources":["u"]}"#,
            r#"{"uri":"b","frontmatter":"name: b","resources":[]}"#,
            r#"{"uri":7,"frontmatter":{},"resources":[]}"#,
            "7",
        ] {
            let text = format!(r#"{{"skills":[{bad},{good}],"nextCursor":"c"}}"#);
            let (page, misfits): (ListSkillsResult, _) =
                tree::read_entries(&text).expect("the page is read");
            assert_eq!(page.skills.len(), 1, "{bad}");
            assert_eq!(serde_json::to_string(&page.skills[0]).expect("JSON"), good);
            assert_eq!(misfits.len(), 1, "{bad}");
            assert_eq!(misfits[0].path, "/skills/0", "{bad}");
            assert_eq!(page.misfits(), misfits);
        }
    }

    // AMB-93
    #[test]
    fn results_fit_both_eras() {
        let skill = Skill::new("skill://a/SKILL.md", JsonObject::new(), Vec::new());
        let mut result = GetSkillResult::new(skill);
        result.skill.resources = SkillResources::Dynamic;
        result.fit_to(ProtocolVersion::LATEST);
        let entry = r#"{"uri":"skill://a/SKILL.md","frontmatter":{},"resources":"dynamic"}"#;
        let modern = format!(
            r#"{{"resultType":"complete","skill":{entry},"ttlMs":0,"cacheScope":"private"}}"#
        );
        assert_eq!(serde_json::to_string(&result).expect("JSON"), modern);
        let read: GetSkillResult = serde_json::from_str(&modern).expect("read");
        assert_eq!(read, result);
        result.fit_to(ProtocolVersion::V2025_11_25);
        let legacy = format!(r#"{{"skill":{entry}}}"#);
        assert_eq!(serde_json::to_string(&result).expect("JSON"), legacy);
        assert!(serde_json::from_str::<GetSkillResult>(r#"{"resultType":"complete"}"#).is_err());
    }
}
