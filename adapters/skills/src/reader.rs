//! Reading and verifying the files of skills.
//!
//! Spec: Extensions, Skills, "Integrity and Verification".

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcplink::client::{CallOptions, Client};
use mcplink::schema::{ReadResourceResult, ResourceContents, SKILLS_EXTENSION, method};
use mcplink::skills::{
    Digest, FrontMatter, FrontMatterParser, SkillFile, SkillLimits, normalized_uri,
};
use mcplink::{Error, ErrorKind, Result, SkillFault};

use crate::cache::SkillCache;
use crate::content::SkillContent;
use crate::excerpt::Excerpt;
use crate::listing::{RemoteSkill, SkillId};

/// The maximum number of bytes of JSON for one byte of a file: the escape `\u0001`. Base64 needs
/// fewer.
const JSON_BYTES: u64 = 6;
/// The assumed maximum length of a response without the content of its file, in bytes.
const REST_OF_RESPONSE: u64 = 64 << 10;

/// The remedy that the error text names, if a file does not match the entry of its skill.
const REMEDY: &str = "the skill has changed or was tampered with: get its entry again, and ask \
                      for a new approval";

/// The hook that decides whether a skill may be loaded.
type LoadHook = Arc<dyn Fn(&RemoteSkill) -> Result<()> + Send + Sync>;

/// The connection, the settings and the loaded skills of one server.
#[derive(Clone)]
pub(crate) struct SkillReader {
    pub(crate) client: Client,
    pub(crate) label: String,
    pub(crate) limits: SkillLimits,
    pub(crate) allows_dynamic: bool,
    pub(crate) parser: Option<FrontMatterParser>,
    pub(crate) cache: Option<SkillCache>,
    pub(crate) before_load: Option<LoadHook>,
    pub(crate) active: ActiveSkills,
}

/// The skills that are loaded at the moment. Clones share the list.
#[derive(Clone, Default)]
pub(crate) struct ActiveSkills {
    /// A skill that is loaded several times occurs several times.
    ids: Arc<Mutex<Vec<SkillId>>>,
}

impl ActiveSkills {
    pub(crate) fn add(&self, skill: &SkillId) {
        self.lock().push(skill.clone());
    }

    pub(crate) fn remove(&self, skill: &SkillId) {
        let mut ids = self.lock();
        let index = ids.iter().position(|id| id == skill);
        if let Some(index) = index {
            ids.swap_remove(index);
        }
    }

    /// Returns each loaded skill once, in order.
    pub(crate) fn list(&self) -> Vec<SkillId> {
        let mut ids = self.lock().clone();
        ids.sort();
        ids.dedup();
        ids
    }

    // Each step leaves the list valid, so a panic on another thread does no harm.
    fn lock(&self) -> MutexGuard<'_, Vec<SkillId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SkillReader {
    /// Checks that a skill is of this server and may be used. Nothing is sent.
    pub(crate) fn check(&self, skill: &RemoteSkill) -> Result<()> {
        self.require_extension()?;
        if skill.label() != self.label {
            let text = format!(
                "the skill {} is not of the server '{}'",
                skill.id(),
                Excerpt(&self.label)
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let (entry, limits) = (skill.entry(), self.limits);
        if entry.files().len() > limits.max_files || entry.total_size() > limits.max_bytes {
            let text = format!(
                "the skill {} has {} files and {} bytes, more than SkillLimits::max_files ({}) or SkillLimits::max_bytes ({})",
                skill.id(),
                entry.files().len(),
                entry.total_size(),
                limits.max_files,
                limits.max_bytes
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if entry.is_dynamic() && !self.allows_dynamic {
            let text = format!(
                "the skill {} is dynamic, so its files can't be verified (Skills::allow_dynamic)",
                skill.id()
            );
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(())
    }

    /// Returns an error if the server did not declare the skills extension, even if the client
    /// assumes undeclared capabilities.
    // E-SKILL-C-02
    fn require_extension(&self) -> Result<()> {
        if self.client.capabilities().skills().is_some() {
            return Ok(());
        }
        let (label, method) = (Excerpt(&self.label), method::RESOURCES_READ);
        let text = format!(
            "'{label}' did not declare the extension '{SKILLS_EXTENSION}', which {method} needs"
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    /// Reads a file of a manifest, and verifies it.
    // E-SKILL-C-32, E-SKILL-C-34, E-SKILL-C-44, E-SKILL-C-45
    pub(crate) fn read_listed(
        &self,
        skill: &RemoteSkill,
        file: &SkillFile,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        let mut cache_error = None;
        if let Some(cache) = &self.cache {
            match cache.read(skill.id(), file) {
                Ok(Some(content)) => return Ok(content),
                Ok(None) => {}
                Err(error) => cache_error = Some(error),
            }
        }
        let bytes = self.fetch_verified(file, options)?;
        if let (Some(cache), None) = (&self.cache, &cache_error) {
            cache_error = cache.store(skill.id(), file, &bytes).err();
        }
        let content = SkillContent::new(skill.id().clone(), &file.uri, bytes);
        Ok(content.verified().with_cache_error(cache_error))
    }

    fn fetch_verified(&self, file: &SkillFile, options: CallOptions<'_>) -> Result<Vec<u8>> {
        let read = self.fetch(&file.uri, file.size, options, |bytes| verify(file, bytes));
        read.map_err(|error| self.at_fault(error, &file.uri))
    }

    /// Reads a file of a dynamic skill of at most `max` bytes.
    pub(crate) fn read_unlisted(
        &self,
        skill: &RemoteSkill,
        uri: &str,
        max: u64,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        let within = |bytes: &[u8]| {
            if bytes.len() as u64 <= max {
                return Ok(());
            }
            let text = format!(
                "the files read of skill {} exceed SkillLimits::max_bytes ({})",
                skill.id(),
                self.limits.max_bytes
            );
            Err(Error::new(ErrorKind::Limit, text).sent(true))
        };
        let bytes = self.fetch(uri, max, options, within)?;
        Ok(SkillContent::new(skill.id().clone(), uri, bytes))
    }

    /// Reads the bytes of a resource of at most `size` bytes. The response is only cached if
    /// `check` accepts the bytes.
    // E-SKILL-C-18
    fn fetch(
        &self,
        uri: &str,
        size: u64,
        options: CallOptions<'_>,
        check: impl Fn(&[u8]) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let longest = size
            .saturating_mul(JSON_BYTES)
            .saturating_add(REST_OF_RESPONSE);
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let _raised = self.client.raise_max_message_bytes(longest);
        self.client.read_resource_checked(uri, options, |result| {
            let bytes = self.bytes_of(uri, result)?;
            check(&bytes).map(|()| bytes)
        })
    }

    /// Returns the bytes of the file `uri` in a result. Fails unless the result has exactly one
    /// entry with this URI.
    fn bytes_of(&self, uri: &str, result: ReadResourceResult) -> Result<Vec<u8>> {
        let asked = normalized_uri(uri)?;
        let mut contents = result.contents;
        contents.retain(|it| normalized_uri(it.uri()).is_ok_and(|uri| uri == asked));
        let (Some(only), true) = (contents.pop(), contents.is_empty()) else {
            let text = format!(
                "the result of {} of '{}' does not have the content of '{}' once",
                method::RESOURCES_READ,
                Excerpt(&self.label),
                Excerpt(uri)
            );
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        };
        let bytes = match only {
            ResourceContents::Text(contents) => Ok(contents.text.into_bytes()),
            ResourceContents::Blob(contents) => contents.bytes(),
            _ => {
                let text = "the content is neither text nor base64";
                Err(Error::new(ErrorKind::Protocol, text))
            }
        };
        bytes.map_err(|error| {
            let error = error.context(format_args!("'{}'", Excerpt(uri)));
            error.with_kind(ErrorKind::Protocol).sent(true)
        })
    }

    /// Completes the error text for a file that does not match the entry of its skill. Clears the
    /// response cache of the server, so that the host gets new lists and entries of skills.
    // E-SKILL-C-35
    pub(crate) fn at_fault(&self, error: Error, uri: &str) -> Error {
        if error.skill_fault().is_none() {
            return error;
        }
        self.client.clear_cache();
        let (uri, label) = (Excerpt(uri), Excerpt(&self.label));
        let error = error.context(format_args!("'{uri}' of '{label}'"));
        error.remark(REMEDY)
    }

    /// Parses the front matter of a `SKILL.md`, and compares it with the entry.
    // E-SKILL-C-40, E-SKILL-C-41
    pub(crate) fn verify_front_matter(
        &self,
        parser: &FrontMatterParser,
        skill: &RemoteSkill,
        content: &SkillContent,
    ) -> Result<()> {
        let unreadable = |error: Error| {
            let error = error.with_kind(ErrorKind::Protocol);
            error.with_skill_fault(SkillFault::FrontMatter)
        };
        let verified = match content.as_text() {
            None => {
                let text = "SKILL.md is not UTF-8";
                Err(unreadable(Error::new(ErrorKind::Protocol, text)))
            }
            Some(text) => FrontMatter::split(text)
                .and_then(|parts| parser.parse(parts.yaml()))
                .map_err(unreadable)
                .and_then(|found| FrontMatter::compare(skill.entry().front_matter(), &found)),
        };
        verified.map_err(|error| self.at_fault(error.sent(true), content.uri()))
    }

    /// Returns the error for a file that the manifest does not list.
    // E-SKILL-C-39
    pub(crate) fn unlisted(&self, skill: &RemoteSkill, reference: &str) -> Error {
        let text = format!("is not a file of the skill {}", skill.id());
        let error = Error::new(ErrorKind::Protocol, text).with_skill_fault(SkillFault::Unlisted);
        error.context(format_args!("'{}'", Excerpt(reference)))
    }
}

/// Compares size and digest of a file with its manifest.
// E-SKILL-C-33
fn verify(file: &SkillFile, bytes: &[u8]) -> Result<()> {
    let (found, expected) = (bytes.len() as u64, file.size);
    let (fault, text) = if found != expected {
        let text = format!("the content has {found} bytes, the manifest says {expected}");
        (SkillFault::Size, text)
    } else {
        let (found, expected) = (Digest::of(bytes), file.digest);
        if found == expected {
            return Ok(());
        }
        let text = format!("the content has the digest {found}, the manifest says {expected}");
        (SkillFault::Digest, text)
    };
    let error = Error::new(ErrorKind::Protocol, text).with_skill_fault(fault);
    Err(error.sent(true))
}
