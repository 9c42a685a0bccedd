//! The handlers that read the files of skills.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::build::Identity;
use super::publish;
use crate::error::RpcError;
use crate::schema::{Resource, ResourceContents};
use crate::server::catalogue::Entry;
use crate::server::context::Context;
use crate::server::error_map::HandlerError;
use crate::server::resources::{ReadHandler, ResourceRead, reading};
use crate::skills::{Digest, SKILL_FILE, normalized_uri};

/// A file of a skill as a resource, with the handler that reads it.
pub(super) type Target = Arc<Entry<Resource, ReadHandler>>;

/// Returns the target of a file whose bytes are in memory.
pub(super) fn in_memory(resource: &Resource, bytes: Arc<[u8]>) -> Target {
    let is_skill_file = is_skill_file(resource);
    let handler = reading(move |read, _| contents(read, bytes.to_vec(), is_skill_file));
    Entry::apart(resource.clone(), handler)
}

/// Returns the target of a file whose bytes a function of the host makes.
pub(super) fn made(resource: &Resource, handler: ReadHandler) -> Target {
    Entry::apart(resource.clone(), handler)
}

/// Returns the target of a file on the disk.
pub(super) fn on_disk(resource: &Resource, path: PathBuf, identity: Identity) -> Target {
    let is_skill_file = is_skill_file(resource);
    let handler = reading(move |read, context| {
        let bytes = read_checked(&path, identity, read, context)?;
        Ok::<_, HandlerError>(contents(read, bytes, is_skill_file))
    });
    Entry::apart(resource.clone(), handler)
}

fn is_skill_file(resource: &Resource) -> bool {
    resource.uri.rsplit('/').next() == Some(SKILL_FILE)
}

/// Reads a file on the disk. The bytes have to be those that the entry of the skill describes, so
/// that entry and bytes belong together. So a link that replaces the file leads nowhere either.
// E-SKILL-S-53
fn read_checked(
    path: &Path,
    identity: Identity,
    read: &ResourceRead,
    context: &Context,
) -> Result<Vec<u8>, HandlerError> {
    let (digest, size) = identity;
    let bytes = read_at_most(path, size).ok();
    let bytes = bytes.filter(|it| it.len() as u64 == size && Digest::of(it) == digest);
    if let Some(bytes) = bytes {
        return Ok(bytes);
    }
    let server = context.server();
    if let (Some(skills), Ok(key)) = (&server.skills, normalized_uri(read.uri()))
        && skills.publishes(&key, identity)
    {
        publish::reload_or_log(server);
    }
    let uri = read.uri();
    let error = RpcError::internal(
        "the file has changed since its skill was published: get the skill again",
    );
    Err(error
        .clone()
        .with_data(&json!({ "uri": uri }))
        .unwrap_or(error)
        .into())
}

/// Returns the contents of a file: as text if the text brings back the same bytes, otherwise as
/// bytes. A `SKILL.md` is always text.
// E-SKILL-S-52
fn contents(read: &ResourceRead, bytes: Vec<u8>, is_skill_file: bool) -> ResourceContents {
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

/// Reads a file of at most `max` bytes. Does not follow a link in the last segment of the path, and
/// does not wait for a named pipe.
pub(super) fn read_at_most(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let text = format!("it has more than {max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}
