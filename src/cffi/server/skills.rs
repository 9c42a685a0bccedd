//! Skills that a server publishes from folders.

use std::ffi::c_char;

use serde_json::json;

use super::mcplink_server_t;
use super::settings::mcplink_server_options_t;
use crate::cffi::failure::Failure;
use crate::cffi::handle::enter;
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::refusal::set;
use crate::cffi::text::{filled, optional};
use crate::error::{Error, ErrorKind};
use crate::server::skills::SkillFolder;

actions! {
    set(options: mcplink_server_options_t);

    /// Adds a folder whose skills are published (extension "io.modelcontextprotocol/skills"). Each
    /// folder below it with a file SKILL.md is a skill. Default: no folder.
    ///
    /// The folder is scanned when the server is made. Skills that break a rule are skipped: see
    /// mcplink_server_skipped_skills. A user with the right to write to the folder decides what
    /// clients get.
    ///
    /// path: the path of the folder. On Windows the path is UTF-8.
    /// base_uri: the URI that stands for the folder, without "/" at its end; NULL for "skill://".
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID also when path is blank; MCPLINK_E_UNSUPPORTED in a
    /// build without the feature "skills" (mcplink_has_feature).
    fn mcplink_server_options_add_skills(path: *const c_char, base_uri: *const c_char) {
        if !cfg!(feature = "skills") {
            let text = "this library was built without the feature skills";
            return Err(Error::new(ErrorKind::Unsupported, text).into());
        }
        // A blank path could be a variable that is not set. It must not be the working directory.
        let mut folder = SkillFolder::new(filled(path, "path")?);
        if let Some(uri) = optional(base_uri, "base_uri")? {
            folder = folder.base_uri(uri);
        }
        options.add("skills", move |builder| builder.skills(folder.clone()));
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Scans the folders of mcplink_server_options_add_skills again, and replaces their skills at
    /// once. Clients are notified of changes. Without such a folder nothing changes.
    ///
    /// out: receives {"added":[...],"changed":[...],"removed":[...]}, with the URIs of the skills;
    /// NULL on failure. The caller frees it with mcplink_json_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_IO when a folder can't be read, and MCPLINK_E_LIMIT when it
    /// has too many entries; then the skills stay as they are.
    /// Threads: any, also while the server serves. Blocks: for the file system.
    fn mcplink_server_reload_skills() -> out: mcplink_json_t {
        let changes = server.server.reload_skills()?;
        let (added, changed) = (changes.added, changes.changed);
        let changes = json!({ "added": added, "changed": changed, "removed": changes.removed });
        Document::parse(&changes.to_string())?.into_raw()
    }

    /// Returns the skills of the folders that are not published, with the reasons.
    ///
    /// out: receives [{"path":...,"status":...,"message":...}]; NULL on failure. The caller frees
    /// it with mcplink_json_free.
    fn mcplink_server_skipped_skills() -> out: mcplink_json_t {
        let skipped = server.server.skipped_skills().into_iter();
        let skipped = skipped.map(|it| {
            let reason = Failure::from(it.reason);
            let path = it.path.to_string_lossy().into_owned();
            json!({ "path": path, "status": reason.code(), "message": reason.to_string() })
        });
        let skipped = serde_json::Value::from(skipped.collect::<Vec<_>>());
        Document::parse(&skipped.to_string())?.into_raw()
    }
}
