//! Builds the entry and the resources of a skill from its files.
//!
//! Spec: Extensions, Skills, "Resource Mapping", "Resource Metadata", "Skill Entries"; Agent Skills
//! specification.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::media_type::media_type;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::url::percent_encoded;
use crate::schema::{JsonObject, MetaObject, Resource, Skill, SkillResource, SkillResources};
use crate::skills::{
    Digest, FrontMatter, FrontMatterParser, SKILL_FILE, SkillEntry, SkillLimits, normalized_uri,
};

/// The maximum length of the front matter member `compatibility`, in characters.
const MAX_COMPATIBILITY_CHARS: usize = 500;
/// The prefix of the keys that the extension reserves in the front matter member `metadata`.
const RESERVED_METADATA: &str = "io.modelcontextprotocol/";
/// The prefix that keys in the `_meta` of a skill's resources should have.
const META_PREFIX: &str = "io.modelcontextprotocol.skills/";

/// The digest and the size of a file.
pub(super) type Identity = (Digest, u64);

/// A file of a skill. `F` is the type of the target, which serves requests to read the file.
pub(super) struct BuiltFile<F> {
    /// The normalized URI of the file.
    pub(super) key: String,
    /// The metadata of the file as a resource.
    pub(super) resource: Resource,
    /// The digest and the size of the file. `None` if a function of the host makes the bytes at
    /// each read.
    pub(super) identity: Option<Identity>,
    pub(super) target: F,
}

/// A skill that was checked against all rules, ready to be published.
pub(super) struct BuiltSkill<F> {
    pub(super) entry: SkillEntry,
    pub(super) is_listed: bool,
    pub(super) files: Vec<Arc<BuiltFile<F>>>,
    /// The warnings about the skill, for the log of the host.
    pub(super) warnings: Vec<String>,
    /// The folder that the skill was found in; empty if the skill was made in code.
    pub(super) origin: PathBuf,
}

/// A file from which a skill is built.
pub(super) struct FileSource<B> {
    /// The path below the skill's directory, with `/` between the names.
    pub(super) path: String,
    pub(super) identity: Option<Identity>,
    /// Whether the content is text; `None` if a function of the host makes the content at each
    /// read.
    pub(super) is_text: Option<bool>,
    pub(super) body: B,
}

/// A skill that is not checked yet.
pub(super) struct SkillSource<B> {
    /// The URI of the skill's directory.
    pub(super) directory: String,
    pub(super) front_matter: JsonObject,
    pub(super) files: Vec<FileSource<B>>,
    pub(super) is_listed: bool,
    /// The `_meta` of the resource `SKILL.md`.
    pub(super) meta: Option<MetaObject>,
    /// The folder that the skill was found in; empty if the skill was made in code.
    pub(super) origin: PathBuf,
}

impl<B> SkillSource<B> {
    /// Builds the skill and checks it against all rules. `target` makes the target of each file,
    /// which serves requests to read the file.
    pub(super) fn build<F>(
        self,
        limits: &SkillLimits,
        target: impl Fn(&Resource, B, Option<Identity>) -> F,
    ) -> Result<BuiltSkill<F>> {
        check_members(&self.front_matter)?;
        let warnings = self.warnings();
        let uri = format!("{}/{SKILL_FILE}", self.directory);
        let is_dynamic = self.files.iter().any(|file| file.identity.is_none());
        let mut manifest = Vec::new();
        let mut files = Vec::new();
        for file in self.files {
            let resource = resource_of(&self.directory, &file, &self.front_matter, &self.meta);
            if let Some((digest, size)) = &file.identity {
                let listed = SkillResource::new(&resource.uri, digest.to_string(), *size);
                manifest.push(listed);
            }
            files.push(Arc::new(BuiltFile {
                key: normalized_uri(&resource.uri)?,
                target: target(&resource, file.body, file.identity),
                identity: file.identity,
                resource,
            }));
        }
        let resources = match is_dynamic {
            true => SkillResources::Dynamic,
            false => SkillResources::Manifest(manifest),
        };
        let skill = Skill::new(uri, self.front_matter, resources);
        let entry = SkillEntry::new(skill, limits)?;
        check_files(&entry, &files, limits)?;
        Ok(BuiltSkill {
            entry,
            is_listed: self.is_listed,
            files,
            warnings,
            origin: self.origin,
        })
    }

    /// Returns warnings about names that the extension reserves.
    // E-SKILL-S-24, E-SKILL-S-30
    fn warnings(&self) -> Vec<String> {
        let skill = Excerpt(&self.directory);
        let metadata = self.front_matter.get("metadata").and_then(Value::as_object);
        let keys = metadata.into_iter().flat_map(JsonObject::keys);
        let reserved = keys.filter(|key| key.starts_with(RESERVED_METADATA));
        let reserved = reserved.map(|key| {
            let key = Excerpt(key);
            format!("skill '{skill}': the key '{key}' in 'metadata' is reserved for the extension")
        });
        let meta = self.meta.iter().flat_map(JsonObject::keys);
        let bare = meta.filter(|key| !key.starts_with(META_PREFIX));
        let bare = bare.map(|key| {
            let key = Excerpt(key);
            format!("skill '{skill}': the key '{key}' in '_meta' should begin with {META_PREFIX}")
        });
        reserved.chain(bare).collect()
    }
}

/// Returns a file's metadata as a resource.
// E-SKILL-S-20, E-SKILL-S-21, E-SKILL-S-22, E-SKILL-S-23
fn resource_of<B>(
    directory: &str,
    file: &FileSource<B>,
    front_matter: &JsonObject,
    meta: &Option<MetaObject>,
) -> Resource {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let path: Vec<String> = file.path.split('/').map(percent_encoded).collect();
    let mut resource = Resource::new(format!("{directory}/{}", path.join("/")), name);
    resource.mime_type = media_type(name, file.is_text).map(str::to_owned);
    resource.size = file.identity.map(|(_, size)| size);
    if file.path == SKILL_FILE {
        let text = |member: &str| front_matter.get(member).and_then(Value::as_str);
        resource.name = text("name").unwrap_or_default().to_owned();
        resource.description = text("description").map(str::to_owned);
        resource.meta.clone_from(meta);
    }
    resource
}

/// Checks the rules about the files of a skill. Unlike the rules about the manifest, these rules
/// also hold for a dynamic skill, whose entry has no manifest.
fn check_files<F>(
    entry: &SkillEntry,
    files: &[Arc<BuiltFile<F>>],
    limits: &SkillLimits,
) -> Result<()> {
    let uri = entry.uri();
    let (found, max) = (files.len(), limits.max_files);
    if found > max {
        let text =
            format!("skill '{uri}' has {found} files, more than SkillLimits::max_files ({max})");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let mut keys: Vec<&str> = files.iter().map(|file| &*file.key).collect();
    keys.sort_unstable();
    if keys.binary_search(&uri.normalized()).is_err() {
        let text = format!("skill '{uri}' has no {SKILL_FILE} in its root");
        return Err(Error::invalid(text));
    }
    for key in &keys {
        let inside = format!("{key}/");
        let next = keys.partition_point(|other| *other < &*inside);
        if keys
            .get(next)
            .is_some_and(|other| other.starts_with(&inside))
        {
            let text = format!("'{}' is both a file and a directory", Excerpt(key));
            return Err(Error::invalid(text));
        }
    }
    if keys.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::invalid(format!("skill '{uri}' has a file twice")));
    }
    Ok(())
}

/// Returns the front matter of a `SKILL.md`. `given` is the front matter that the host gave as
/// JSON.
pub(super) fn front_matter_of(
    file: &[u8],
    given: Option<JsonObject>,
    parser: Option<&FrontMatterParser>,
) -> Result<JsonObject> {
    let text = std::str::from_utf8(file).map_err(|_| Error::invalid("SKILL.md is not UTF-8"))?;
    let parts = FrontMatter::split(text)?;
    let parsed = parser
        .map(|parser| parser.parse(parts.yaml()))
        .transpose()?;
    match (parsed, given) {
        (Some(parsed), Some(given)) => {
            let compared = FrontMatter::compare(&given, &parsed);
            compared.map_err(|error| error.with_kind(ErrorKind::Invalid))?;
            Ok(given)
        }
        (Some(front_matter), None) | (None, Some(front_matter)) => Ok(front_matter),
        (None, None) => Err(Error::invalid(
            "there is no parser for the YAML front matter of SKILL.md: use the feature \
                        'skills', SkillOptions::front_matter_parser or \
                        PublishedSkill::front_matter",
        )),
    }
}

/// Checks the members of front matter that the Agent Skills format defines.
// E-SKILL-S-08
fn check_members(front_matter: &JsonObject) -> Result<()> {
    FrontMatter::check(front_matter)?;
    let wrong = |text: &str| Err(Error::invalid(text));
    for member in ["license", "allowed-tools"] {
        if front_matter.get(member).is_some_and(|it| !it.is_string()) {
            return wrong(&format!("'{member}' in the front matter is no string"));
        }
    }
    if let Some(compatibility) = front_matter.get("compatibility") {
        let chars = compatibility.as_str().map_or(0, |it| it.chars().count());
        if chars == 0 || chars > MAX_COMPATIBILITY_CHARS {
            return wrong(
                "'compatibility' in the front matter is no string of 1 to 500 characters",
            );
        }
    }
    let Some(metadata) = front_matter.get("metadata") else {
        return Ok(());
    };
    let Some(metadata) = metadata.as_object() else {
        return wrong("'metadata' in the front matter is no mapping");
    };
    match metadata.iter().find(|(_, value)| !value.is_string()) {
        Some((key, _)) => {
            let key = Excerpt(key);
            wrong(&format!(
                "'metadata.{key}' in the front matter is no string: put its value in quotes"
            ))
        }
        None => Ok(()),
    }
}
