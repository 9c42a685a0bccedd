//! A folder whose skills a server publishes.

use std::path::PathBuf;

use crate::error::{Error, Excerpt, Result};
use crate::schema::url::percent_encoded;
use crate::skills::normalized_uri;

/// A folder whose skills a server publishes: see
/// [`ServerBuilder::skills`](crate::server::ServerBuilder::skills).
///
/// Each folder with a file `SKILL.md` is a skill, at any depth. All files below it belong to the
/// skill. A skill in the folder of another skill is published by itself too. The folders above a
/// skill become segments of its URI: the skill in `billing/refunds` has the URI
/// `skill://billing/refunds/SKILL.md`. If the folder itself has a `SKILL.md`, it is one skill with
/// the name of the folder.
///
/// **Published files.** Files and folders whose names begin with a dot are left out. Symbolic links
/// are not followed. A skill is skipped if it has a symbolic link, a device, a socket or a name
/// that is not UTF-8. A skill that breaks a rule of the format or exceeds the
/// [limits](super::SkillOptions::limits) is skipped too. The other skills are published
/// nevertheless. [`Server::skipped_skills`](crate::server::Server::skipped_skills) returns the
/// skipped skills with the reasons, which are also logged.
///
/// **Memory.** The files stay on the disk. While the folder is scanned, one file at a time is in
/// memory.
///
/// A user with the right to write to the folder decides what clients get. So don't publish a folder
/// that untrusted users can write to.
///
/// # Examples
///
/// ```no_run
/// use mcplink::server::Server;
/// use mcplink::server::skills::SkillFolder;
///
/// let server = Server::builder("billing", "1.0")
///     .skills(SkillFolder::new("/usr/share/billing/skills").base_uri("skill://acme"))
///     .build()?;
/// for skipped in server.skipped_skills() {
///     eprintln!("{}: {}", skipped.path.display(), skipped.reason);
/// }
/// # Ok::<(), mcplink::Error>(())
/// ```
///
/// Spec: Extensions, Skills, "Resource Mapping" (2026-07-28).
// E-SKILL-S-12, E-SKILL-S-13
#[derive(Clone, Debug)]
pub struct SkillFolder {
    pub(super) path: PathBuf,
    base_uri: Option<String>,
    pub(super) is_listed: bool,
}

impl SkillFolder {
    /// Creates the settings for the folder `path`. The folder is read when the server is built.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            base_uri: None,
            is_listed: true,
        }
    }

    /// Sets the URI that stands for the folder, without a slash at its end. By default, the URI of
    /// a skill is `skill://`, followed by the path of the skill below this folder.
    ///
    /// Any scheme is allowed. Clients never connect to the first segment, even if it looks like a
    /// host name.
    // E-SKILL-S-19
    pub fn base_uri(mut self, uri: impl Into<String>) -> Self {
        self.base_uri = Some(uri.into());
        self
    }

    /// Sets that `skills/list` and `resources/list` leave out the skills of the folder. Clients
    /// that know the URI of such a skill can use it.
    // E-SKILL-S-42
    pub fn unlisted(mut self) -> Self {
        self.is_listed = false;
        self
    }

    /// Returns the URI of the directory with the path `names` below the folder.
    pub(super) fn uri_of(&self, names: &[&str]) -> Result<String> {
        uri_below(self.base_uri.as_deref(), names)
    }
}

/// Returns the URI of a directory: `base` followed by the path segments `names`. If `base` is
/// `None`, the URI is `skill://` followed by these segments.
// E-SKILL-S-16, E-SKILL-S-17
pub(super) fn uri_below(base: Option<&str>, names: &[&str]) -> Result<String> {
    let names: Vec<String> = names.iter().map(|name| percent_encoded(name)).collect();
    let Some(base) = base else {
        return Ok(format!("skill://{}", names.join("/")));
    };
    match normalized_uri(base) {
        Ok(_) => Ok(format!("{base}/{}", names.join("/"))),
        Err(error) => {
            let text = format!("base_uri \"{}\": {error}", Excerpt(base));
            Err(Error::invalid(text))
        }
    }
}
