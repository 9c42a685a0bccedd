//! Reading and verifying the files of skills.
//!
//! Spec: Extensions, Skills, "Integrity and Verification".

use std::sync::Arc;

use super::cache::SkillCache;
use super::content::SkillContent;
use super::listing::{RemoteSkill, SkillId};
use crate::client::Client;
use crate::client::cache::Topic;
use crate::client::call_options::CallOptions;
use crate::error::{Error, ErrorKind, Excerpt, Result, SkillFault};
use crate::schema::{ReadResourceResult, ResourceContents, method};
use crate::skills::{
    Digest, FrontMatter, FrontMatterParser, SkillFile, SkillLimits, normalized_uri,
};
use crate::sync::Mutex;

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
pub(super) struct SkillReader {
    pub(super) client: Client,
    pub(super) label: String,
    pub(super) limits: SkillLimits,
    pub(super) allows_dynamic: bool,
    pub(super) parser: Option<FrontMatterParser>,
    pub(super) cache: Option<SkillCache>,
    pub(super) before_load: Option<LoadHook>,
    /// The skills that are loaded at the moment. A skill that is loaded several times occurs
    /// several times.
    pub(super) active: Arc<Mutex<Vec<SkillId>>>,
}

impl SkillReader {
    /// Checks that a skill is of this server and may be used. Nothing is sent.
    pub(super) fn check(&self, skill: &RemoteSkill) -> Result<()> {
        self.client.need_skills(method::RESOURCES_READ)?;
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
                "the skill {} has {} files and {} bytes, more than max_files ({}) or max_bytes ({})",
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
                "the skill {} is dynamic, so its files can't be verified (allow_dynamic)",
                skill.id()
            );
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(())
    }

    /// Reads a file of a manifest, and verifies it.
    // E-SKILL-C-32, E-SKILL-C-34, E-SKILL-C-44, E-SKILL-C-45
    pub(super) fn read_listed(
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

    fn fetch_verified(&self, file: &SkillFile, mut options: CallOptions<'_>) -> Result<Vec<u8>> {
        let _raised = self.raise_limit(file.size);
        let verify = |bytes: &[u8]| verify(file, bytes);
        let first = self.fetch(&file.uri, options.for_one(), verify);
        let read = match first {
            // The response cache may have an old response.
            Err((error, true)) if error.skill_fault().is_some() => {
                self.fetch(&file.uri, options.for_one().bypass_cache(), verify)
            }
            read => read,
        };
        read.map_err(|(error, _)| self.at_fault(error, &file.uri))
    }

    /// Reads a file of a dynamic skill of at most `max` bytes.
    pub(super) fn read_unlisted(
        &self,
        skill: &RemoteSkill,
        uri: &str,
        max: u64,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        let _raised = self.raise_limit(max);
        let within = |bytes: &[u8]| {
            if bytes.len() as u64 <= max {
                return Ok(());
            }
            let text = format!(
                "the files read of skill {} exceed max_bytes ({})",
                skill.id(),
                self.limits.max_bytes
            );
            Err(Error::new(ErrorKind::Limit, text).sent(true))
        };
        let bytes = self
            .fetch(uri, options, within)
            .map_err(|(error, _)| error)?;
        Ok(SkillContent::new(skill.id().clone(), uri, bytes))
    }

    /// Raises the maximum message length if a response with a file of `size` bytes may be longer.
    /// The length stays raised while the returned guard exists. Returns `None` if no raise is
    /// needed.
    // E-SKILL-C-18
    fn raise_limit(&self, size: u64) -> Option<impl Drop + use<>> {
        let limits = &self.client.0.supervisor.settings().limits;
        let needed = size
            .saturating_mul(JSON_BYTES)
            .saturating_add(REST_OF_RESPONSE);
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        let more = needed.saturating_sub(limits.max_message_bytes);
        (more > 0).then(|| limits.allowance.raise(more))
    }

    /// Reads the bytes of a resource. The response is only cached if `check` accepts the bytes. The
    /// boolean of an error is true if the response was from the response cache.
    fn fetch(
        &self,
        uri: &str,
        options: CallOptions<'_>,
        check: impl Fn(&[u8]) -> Result<()>,
    ) -> Result<Vec<u8>, (Error, bool)> {
        let answer = self
            .client
            .fetch_resource(uri, options)
            .map_err(|error| (error, false))?;
        let was_cached = answer.is_cached();
        let read = self.client.decode(method::RESOURCES_READ, answer.as_str());
        let bytes = read
            .and_then(|result| self.bytes_of(uri, result))
            .and_then(|bytes| check(&bytes).map(|()| bytes))
            .map_err(|error| (error, was_cached))?;
        answer.keep();
        Ok(bytes)
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
        match only {
            ResourceContents::Text(contents) => Ok(contents.text.into_bytes()),
            ResourceContents::Blob(contents) => contents.bytes().map_err(|error| {
                let error = error.context(format_args!("'{}'", Excerpt(uri)));
                error.with_kind(ErrorKind::Protocol).sent(true)
            }),
        }
    }

    /// Completes the error text for a file that does not match the entry of its skill. Removes
    /// lists and entries of skills from the response cache, so that the host gets new ones.
    // E-SKILL-C-35
    pub(super) fn at_fault(&self, error: Error, uri: &str) -> Error {
        if error.skill_fault().is_none() {
            return error;
        }
        let topic = Topic::of_list(method::SKILLS_LIST);
        self.client.0.supervisor.server.cache.forget(&topic);
        let (uri, label) = (Excerpt(uri), Excerpt(&self.label));
        let error = error.context(format_args!("'{uri}' of '{label}'"));
        error.remark(REMEDY)
    }

    /// Parses the front matter of a `SKILL.md`, and compares it with the entry.
    // E-SKILL-C-40, E-SKILL-C-41
    pub(super) fn verify_front_matter(
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
    pub(super) fn unlisted(&self, skill: &RemoteSkill, reference: &str) -> Error {
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
