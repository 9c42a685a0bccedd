//! Publishes and removes skills. Each change updates the list of resources and notifies the
//! subscribers. Warnings are logged.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::bounded_read::read_at_most;
use super::build::{BuiltSkill, Identity};
use super::files::{Target, contents, is_skill_file};
use super::folder::SkillFolder;
use super::options::{SkillChanges, SkippedSkill};
use super::scan::scan;
use super::snapshot::Snapshot;
use super::store::{OtherResources, Scanned, Skills, Swap};
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::protocol::{LogLevel, tell};
use crate::schema::Resource;
use crate::server::catalogue::Entry;
use crate::server::context::Context;
use crate::server::error_map::HandlerError;
use crate::server::event_bus::Change;
use crate::server::inner::{Inner, connection_of};
use crate::server::resources::{ResourceRead, Resources, reading};
use crate::skills::{Digest, normalized_uri};

/// Returns the skills of a server.
///
/// # Errors
///
/// [`ErrorKind::State`] if the server was built without skills.
pub(super) fn skills_of(server: &Inner) -> Result<&Skills<Target>> {
    server.skills.as_ref().ok_or_else(|| {
        let text = "the server was built without skills: use ServerBuilder::skill_options";
        Error::new(ErrorKind::State, text)
    })
}

/// Scans a folder and publishes its skills.
pub(super) fn add_folder(server: &Inner, folder: SkillFolder) -> Result<()> {
    let skills = skills_of(server)?;
    let found = scan(&folder, &skills.options, &on_disk)?;
    log_skipped(server, &found.skipped);
    let swap = skills.add_folder(folder, found, &server.resources);
    announce(server, &swap);
    Ok(())
}

/// Publishes a skill that was made in code.
pub(super) fn publish(server: &Inner, skill: BuiltSkill<Target>, replaces: bool) -> Result<()> {
    let swap = skills_of(server)?.publish(skill, replaces, &server.resources)?;
    announce(server, &swap);
    Ok(())
}

/// Removes a skill that was made in code. Returns whether it existed.
pub(super) fn remove(server: &Inner, uri: &str) -> bool {
    let skills = server.skills.as_ref();
    let swap = skills.and_then(|skills| skills.remove(uri, &server.resources));
    swap.inspect(|swap| _ = announce(server, swap)).is_some()
}

/// Scans all folders again, and publishes the skills that the scans found. Returns the differences.
pub(super) fn reload(server: &Inner) -> Result<SkillChanges> {
    let Some(skills) = &server.skills else {
        return Ok(SkillChanges::default());
    };
    let reload = skills.begin_reload();
    let folders = reload.folders.iter();
    let scans = folders.map(|folder| scan(folder, &skills.options, &on_disk));
    let found: Vec<Scanned<Target>> = scans.collect::<Result<_>>()?;
    for found in &found {
        log_skipped(server, &found.skipped);
    }
    let swap = skills.end_reload(&reload, found, &server.resources);
    Ok(announce(server, &swap))
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

/// Reads a file on the disk, and compares its size and digest with the entry of the skill. If they
/// differ, reloads the skills and returns an error. So a client never gets bytes that don't match
/// the entry, even if the file was replaced by a link to another file.
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
    let server = &connection_of(&context.peer()).server;
    if let (Some(skills), Ok(key)) = (&server.skills, normalized_uri(read.uri()))
        && skills.publishes(&key, identity)
    {
        reload_or_log(server);
    }
    let text = "the file has changed since its skill was published: get the skill again";
    let error = RpcError::internal(text).with_json(&json!({ "uri": read.uri() }));
    Err(error.into())
}

/// Reloads the skills. An error is only logged: the skills then stay as they are.
pub(super) fn reload_or_log(server: &Inner) {
    if let Err(error) = reload(server) {
        log(server, &format!("the skills were not reloaded: {error}"));
    }
}

/// Notifies subscribers of a change, and logs warnings. Returns the skills that have changed.
// E-SKILL-S-67, AMB-99
fn announce(server: &Inner, swap: &Swap<Target>) -> SkillChanges {
    for warning in &swap.warnings {
        log(server, warning);
    }
    let changes = swap.changes();
    if !changes.is_empty() {
        server.subscriptions.publish(Change::Resources);
    }
    for uri in swap.changed_files() {
        server.subscriptions.publish(Change::of_resource(&uri));
    }
    changes
}

fn log_skipped(server: &Inner, skipped: &[SkippedSkill]) {
    for SkippedSkill { path, reason } in skipped {
        let path = path.display();
        log(
            server,
            &format!("'{path}' is not published as a skill: {reason}"),
        );
    }
}

fn log(server: &Inner, text: &str) {
    tell(server.log.as_ref(), LogLevel::Warning, "server", || {
        text.to_owned()
    });
}

impl OtherResources<Target> for Resources {
    fn has(&self, uri: &str) -> bool {
        self.find(uri).is_some()
    }

    fn list(&self, old: &Snapshot<Target>, new: &Snapshot<Target>) {
        let was: HashMap<&str, &Resource> = old.listed().collect();
        let is: HashMap<&str, &Resource> = new.listed().collect();
        for (key, resource) in old.listed() {
            if is.get(key) != Some(&resource) {
                self.remove(&resource.uri);
            }
        }
        for (key, resource) in new.listed() {
            if was.get(key) != Some(&resource) {
                // A request is answered from the snapshot before it is looked up here.
                let added = self.add(resource.clone(), reading(|_, _| None::<String>));
                added.expect("the store has checked that the URI is free");
            }
        }
    }
}
