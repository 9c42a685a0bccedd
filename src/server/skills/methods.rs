//! The request methods of skills.
//!
//! Guards see a skill as the resource with the URI of its `SKILL.md`.
//!
//! Spec: Extensions, Skills, "Listing Skills", "Getting a Skill", "Reading Directories".

use std::num::NonZeroUsize;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::files::Target;
use super::snapshot::{Child, Numbered};
use super::store::Skills;
use crate::error::{Excerpt, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::{
    CacheHint, FitTo, GetSkillRequestParams, GetSkillResult, ListSkillsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
    Resource, Skill, method,
};
use crate::server::dispatch::{read, send};
use crate::server::inner::{Row, ServerConnection};
use crate::server::paging::{Cursor, List, Paged, UNCACHED};
use crate::server::primitive::Primitive;
use crate::skills::Digest;

/// The handlers of the methods that every server with skills has.
pub(super) const METHODS: [Row; 2] = [
    (method::SKILLS_LIST, |conversation, request, responder| {
        send(conversation.list_skills(&request, &responder), responder);
    }),
    (method::SKILLS_GET, |conversation, request, responder| {
        send(conversation.get_skill(&request, &responder), responder);
    }),
];

/// The handler of `resources/directory/read`. A server has this method only if its skills have the
/// setting `directoryRead`.
pub(super) const DIRECTORY_READ: Row = (
    method::RESOURCES_DIRECTORY_READ,
    |conversation, request, responder| {
        send(conversation.read_directory(&request, &responder), responder);
    },
);

impl ServerConnection {
    fn list_skills(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<ListSkillsResult, RpcError> {
        let PaginatedRequestParams {
            mut meta, cursor, ..
        } = read(request)?;
        let terms = self.terms(responder, meta.as_mut())?;
        let skills = self.skills()?;
        let snapshot = skills.snapshot();
        let access = self.access(request, responder, None, &terms, meta.as_ref());
        self.admit(&access)?;
        let start = match Cursor::read(Paged::Skills, cursor.as_deref())? {
            None => 0,
            Some(cursor) if cursor.last_shown >= skills.next_number() => {
                return Err(Cursor::invalid());
            }
            Some(cursor) => cursor.last_shown + 1,
        };
        let visible = |it: &&Numbered<Target>| {
            let uri = it.skill.entry.uri().as_str();
            it.skill.is_listed && self.shows(&access.about(Primitive::Resource(uri)))
        };
        let rest = snapshot.skills.iter().filter(|it| it.number >= start);
        let (shown, has_more) = page_of(rest.filter(visible), self.page_size(skills));
        let entries: Vec<Skill> = (shown.iter().map(|it| it.skill.entry.skill().clone())).collect();
        let mut result = ListSkillsResult::new(entries).cached(self.skill_hint());
        let last = shown.last().filter(|_| has_more);
        result.next_cursor = last.map(|it| Cursor::after(Paged::Skills, it.number).to_string());
        result.meta = self.server.services.result_meta(terms.revision);
        result.fit_to(terms.revision);
        Ok(result)
    }

    fn get_skill(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<GetSkillResult, RpcError> {
        let GetSkillRequestParams { mut meta, uri, .. } = read(request)?;
        let terms = self.terms(responder, meta.as_mut())?;
        let snapshot = self.skills()?.snapshot();
        let skill = snapshot.skill(&uri);
        // Guards and scopes apply to the URI of the skill, however the client spells it.
        let known = skill.map_or(&*uri, |skill| &*skill.uri);
        let about = Some(Primitive::Resource(known));
        let access = self.access(request, responder, about, &terms, meta.as_ref());
        let unknown = || not_found("skill", &uri);
        self.admit_or(&access, unknown)?;
        let skill = skill.ok_or_else(unknown)?;
        let mut result = GetSkillResult::new(skill.clone()).cached(self.skill_hint());
        result.meta = self.server.services.result_meta(terms.revision);
        result.fit_to(terms.revision);
        Ok(result)
    }

    fn read_directory(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<ReadResourceDirectoryResult, RpcError> {
        let ReadResourceDirectoryRequestParams {
            mut meta,
            uri,
            cursor,
            ..
        } = read(request)?;
        let terms = self.terms(responder, meta.as_mut())?;
        let skills = self.skills()?;
        let snapshot = skills.snapshot();
        let found = snapshot.directory(&uri);
        let known = found.as_ref().map_or(&*uri, |(key, _)| &**key);
        let about = Some(Primitive::Resource(known));
        let access = self.access(request, responder, about, &terms, meta.as_ref());
        let unknown = || not_found("directory", &uri);
        self.admit_or(&access, unknown)?;
        let (key, children) = found.as_ref().ok_or_else(unknown)?;
        let start = match cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
            None => 0,
            Some(cursor) => {
                let last = name_in_cursor(cursor, key).ok_or_else(Cursor::invalid)?;
                children.partition_point(|child| child.name <= last)
            }
        };
        let visible = |child: &&Child| {
            let uri = &*child.resource.uri;
            self.shows(&access.about(Primitive::Resource(uri)))
        };
        let rest = children[start..].iter().filter(visible);
        let (shown, has_more) = page_of(rest, self.page_size(skills));
        let resources: Vec<Resource> = shown.iter().map(|it| it.resource.clone()).collect();
        let mut result = ReadResourceDirectoryResult::new(resources).cached(self.skill_hint());
        let last = shown.last().filter(|_| has_more);
        result.next_cursor = last.map(|child| cursor_after(key, &child.name));
        result.meta = self.server.services.result_meta(terms.revision);
        result.fit_to(terms.revision);
        Ok(result)
    }

    fn skills(&self) -> Result<&Skills<Target>, RpcError> {
        let skills = self.server.skills.as_ref();
        skills.ok_or_else(|| RpcError::internal("internal error"))
    }

    fn page_size(&self, skills: &Skills<Target>) -> NonZeroUsize {
        let own = skills.options.page_size;
        self.server.page_size.map_or(own, |size| size.min(own))
    }

    /// Returns the cache hint of results about skills. If the server has guards, the results may
    /// differ from user to user, so the hint is private.
    fn skill_hint(&self) -> CacheHint {
        let hint = self.server.hints.get(&List::Skills).unwrap_or(&UNCACHED);
        match self.server.services.guards.is_empty() {
            true => hint.clone(),
            false => hint.private(),
        }
    }
}

/// Returns the first `size` items, and whether there are more items.
fn page_of<T>(mut items: impl Iterator<Item = T>, size: NonZeroUsize) -> (Vec<T>, bool) {
    let shown = items.by_ref().take(size.get()).collect();
    (shown, items.next().is_some())
}

// E-SKILL-S-47, E-SKILL-S-55, E-SKILL-S-64
fn not_found(noun: &str, uri: &str) -> RpcError {
    let error = RpcError::invalid_params(format!("no {noun} has the URI '{}'", Excerpt(uri)));
    error.with_json(&json!({ "uri": uri }))
}

/// The version of the cursor format.
const CURSOR_FORM: u8 = 1;
/// The number of bytes of a directory's digest in a cursor.
const DIGEST_BYTES: usize = 8;

/// Returns the cursor of the page after the child `name` of a directory. The cursor is valid for
/// this directory only. The cursor contains the name instead of a position. So if children are
/// added or removed between two pages, no other child is missing or on both pages.
fn cursor_after(directory: &str, name: &str) -> String {
    let digest = Digest::of(directory.as_bytes());
    let digest = &digest.as_bytes()[..DIGEST_BYTES];
    URL_SAFE_NO_PAD.encode([&[CURSOR_FORM], digest, name.as_bytes()].concat())
}

/// Returns the name in a cursor, or `None` if the cursor is not one of this directory.
fn name_in_cursor(cursor: &str, directory: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let rest = bytes.strip_prefix(&[CURSOR_FORM])?;
    let digest = Digest::of(directory.as_bytes());
    let name = rest.strip_prefix(&digest.as_bytes()[..DIGEST_BYTES])?;
    String::from_utf8(name.to_vec()).ok()
}
