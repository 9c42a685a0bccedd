//! The files of skills as resources, with the handlers that read them.

use std::sync::Arc;

use crate::schema::{Resource, ResourceContents};
use crate::server::catalogue::Entry;
use crate::server::resources::{ReadHandler, ResourceRead, reading};
use crate::skills::SKILL_FILE;

/// A file of a skill as a resource, with the handler that reads it.
pub(super) type Target = Arc<Entry<Resource, ReadHandler>>;

/// Returns the target of a file whose bytes are in memory.
pub(super) fn in_memory(resource: &Resource, bytes: Arc<[u8]>) -> Target {
    let is_skill_file = is_skill_file(resource);
    let handler = reading(move |read, _| contents(read, bytes.to_vec(), is_skill_file));
    Entry::apart(resource.clone(), handler)
}

pub(super) fn is_skill_file(resource: &Resource) -> bool {
    resource.uri.rsplit('/').next() == Some(SKILL_FILE)
}

/// Returns the contents of a file: as text if the bytes are UTF-8 without NUL, otherwise as bytes.
/// A `SKILL.md` is text even if it contains NUL.
// E-SKILL-S-52
pub(super) fn contents(
    read: &ResourceRead,
    bytes: Vec<u8>,
    is_skill_file: bool,
) -> ResourceContents {
    let contents = match String::from_utf8(bytes) {
        Ok(text) if is_skill_file => ResourceContents::text(read.uri(), text),
        Ok(text) => ResourceContents::of_bytes(read.uri(), text.into_bytes()),
        Err(error) => ResourceContents::blob(read.uri(), error.as_bytes()),
    };
    match read.mime_type() {
        Some(mime_type) => contents.mime_type(mime_type),
        None => contents,
    }
}
