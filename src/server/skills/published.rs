//! A skill that is made in code.

use std::path::PathBuf;
use std::sync::Arc;

use super::build::{BuiltSkill, FileSource, SkillSource, front_matter_of};
use super::files::{Target, in_memory};
use super::folder::uri_below;
use super::options::SkillOptions;
use crate::error::{Error, Excerpt, Result};
use crate::schema::{JsonObject, MetaObject};
use crate::server::catalogue::Entry;
use crate::server::context::Context;
use crate::server::debug_fields::debug_fields;
use crate::server::resources::{ReadHandler, ResourceOutput, ResourceRead, reading};
use crate::skills::{Digest, SKILL_FILE};

/// A skill that is made in code: see [`ServerBuilder::skill`](crate::server::ServerBuilder::skill).
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::skills::PublishedSkill;
/// use serde_json::json;
///
/// let text = "---\nname: refunds\ndescription: How to pay money back.\n---\n# Refunds\n";
/// let front_matter = json!({"name": "refunds", "description": "How to pay money back."});
/// let skill = PublishedSkill::new("billing/refunds")
///     .file("SKILL.md", text)
///     .file("examples/email.md", "Dear customer, …")
///     .front_matter(front_matter.as_object().cloned().unwrap_or_default());
/// let server = Server::builder("billing", "1.0").skill(skill).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct PublishedSkill {
    path: String,
    base_uri: Option<String>,
    files: Vec<(String, Body)>,
    front_matter: Option<JsonObject>,
    meta: Option<MetaObject>,
    is_listed: bool,
}

#[derive(Clone)]
enum Body {
    Bytes(Arc<[u8]>),
    Made(ReadHandler),
}

impl PublishedSkill {
    /// Creates a skill with this path, and without files. The last segment of the path is the name
    /// of the skill. The other segments can be chosen freely. The path `billing/refunds` becomes
    /// the URI `skill://billing/refunds/SKILL.md`.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            base_uri: None,
            files: Vec::new(),
            front_matter: None,
            meta: None,
            is_listed: true,
        }
    }

    /// Sets the URI to which the path of the skill is appended, without a slash at its end: see
    /// [`SkillFolder::base_uri`](super::SkillFolder::base_uri).
    pub fn base_uri(mut self, uri: impl Into<String>) -> Self {
        self.base_uri = Some(uri.into());
        self
    }

    /// Adds a file. `path` is its path below the skill's directory, such as `examples/email.md`.
    /// `SKILL.md` is required.
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let body = Body::Bytes(content.into().into());
        self.files.push((path.into(), body));
        self
    }

    /// Adds a file whose content is made by a function each time a client reads the file. The skill
    /// is then *dynamic*: its entry has no digests.
    ///
    /// Clients can't verify the files of dynamic skills. **Some clients refuse dynamic skills**,
    /// and no client remembers an approval for them. So use this function only if the content can't
    /// be known in advance.
    ///
    /// If a function makes the `SKILL.md`, give its front matter with
    /// [`front_matter`](Self::front_matter). The function must then make a `SKILL.md` with this
    /// front matter at each call.
    // E-SKILL-S-38, E-SKILL-S-39
    pub fn dynamic_file<R: ResourceOutput>(
        mut self,
        path: impl Into<String>,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let body = Body::Made(reading(handler));
        self.files.push((path.into(), body));
        self
    }

    /// Sets the front matter of `SKILL.md` as JSON, for programs without a YAML
    /// [parser](super::SkillOptions::front_matter_parser). It must have exactly the members and
    /// values of the YAML text, since clients compare the two. If there is a parser, the library
    /// compares them too.
    pub fn front_matter(mut self, front_matter: JsonObject) -> Self {
        self.front_matter = Some(front_matter);
        self
    }

    /// Sets the `_meta` of the resource `SKILL.md`. By default this resource has no `_meta`. The
    /// keys should begin with `io.modelcontextprotocol.skills/`.
    // E-SKILL-S-23
    pub fn meta(mut self, meta: MetaObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sets that `skills/list` and `resources/list` leave out the skill. Clients that know its URI
    /// can use it.
    // E-SKILL-S-42
    pub fn unlisted(mut self) -> Self {
        self.is_listed = false;
        self
    }

    /// Builds the skill, and checks it against all rules.
    pub(super) fn build(self, options: &SkillOptions) -> Result<BuiltSkill<Target>> {
        let path = self.path.clone();
        let built = self.source(options).and_then(|source| {
            source.build(&options.limits, |resource, body, _| match body {
                Body::Bytes(bytes) => in_memory(resource, bytes),
                Body::Made(handler) => Entry::apart(resource.clone(), handler),
            })
        });
        built.map_err(|error| error.context(format_args!("skill '{}'", Excerpt(&path))))
    }

    fn source(self, options: &SkillOptions) -> Result<SkillSource<Body>> {
        let names = names_of(&self.path)?;
        let directory = uri_below(self.base_uri.as_deref(), &names)?;
        let parser = options.parser.as_ref();
        let skill_file = self.files.iter().find(|(path, _)| path == SKILL_FILE);
        let front_matter = match (skill_file, self.front_matter) {
            (Some((_, Body::Bytes(bytes))), given) => front_matter_of(bytes, given, parser)?,
            (Some((_, Body::Made(_))), Some(given)) => given,
            (Some((_, Body::Made(_))), None) => {
                let text = "a SKILL.md that a function makes needs PublishedSkill::front_matter";
                return Err(Error::invalid(text));
            }
            (None, _) => {
                let text = "there is no SKILL.md in the root of the skill";
                return Err(Error::invalid(text));
            }
        };
        let mut files = Vec::new();
        for (path, body) in self.files {
            names_of(&path)?;
            let (identity, is_text) = match &body {
                Body::Bytes(bytes) => {
                    let is_text = std::str::from_utf8(bytes).is_ok_and(|it| !it.contains('\0'));
                    let identity = (Digest::of(bytes), bytes.len() as u64);
                    (Some(identity), Some(is_text))
                }
                Body::Made(_) => (None, None),
            };
            files.push(FileSource {
                path,
                identity,
                is_text,
                body,
            });
        }
        Ok(SkillSource {
            directory,
            front_matter,
            files,
            is_listed: self.is_listed,
            meta: self.meta,
            origin: PathBuf::new(),
        })
    }
}

/// Splits a path into its names. Fails if a name is empty, `.` or `..`.
fn names_of(path: &str) -> Result<Vec<&str>> {
    let names: Vec<&str> = path.split('/').collect();
    if names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return Err(Error::invalid(format!(
            "'{}' is no path: use names with '/' between them, without '.' and '..'",
            Excerpt(path)
        )));
    }
    Ok(names)
}

debug_fields!(
    PublishedSkill,
    path,
    files = |it| it.files.iter().map(|(path, _)| path).collect::<Vec<_>>(),
    is_listed
);
