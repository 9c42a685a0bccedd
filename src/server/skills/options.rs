//! The options of published skills, and reports about them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::error::Error;
use crate::schema::SkillsCapability;
use crate::skills::{FrontMatterParser, SkillLimits};

/// The options of the skills that a server publishes. See
/// [`ServerBuilder::skill_options`](crate::server::ServerBuilder::skill_options).
///
/// # Examples
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use mcplink::server::Server;
/// use mcplink::server::skills::SkillOptions;
/// use mcplink::skills::SkillLimits;
///
/// let options = SkillOptions::default()
///     .page_size(NonZeroUsize::new(20).expect("not zero"))
///     .limits(SkillLimits::default().max_bytes(64 << 20));
/// let server = Server::builder("billing", "1.0").skill_options(options).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SkillOptions {
    pub(super) directory_read: bool,
    pub(super) page_size: NonZeroUsize,
    pub(super) limits: SkillLimits,
    pub(super) parser: Option<FrontMatterParser>,
}

impl Default for SkillOptions {
    fn default() -> Self {
        Self {
            directory_read: true,
            page_size: NonZeroUsize::new(100).expect("not zero"),
            limits: SkillLimits::default(),
            #[cfg(feature = "skills")]
            parser: Some(FrontMatterParser::yaml()),
            #[cfg(not(feature = "skills"))]
            parser: None,
        }
    }
}

impl SkillOptions {
    /// Sets whether clients may list the directories of skills with `resources/directory/read`.
    /// Defaults to yes.
    ///
    /// The directories above skills can be listed too. These listings also contain
    /// [unlisted](super::PublishedSkill::unlisted) skills.
    pub fn directory_read(mut self, directory_read: bool) -> Self {
        self.directory_read = directory_read;
        self
    }

    /// Sets the maximum number of skills on a page of `skills/list`, and of children on a page of
    /// `resources/directory/read`. Defaults to 100. If
    /// [`ServerBuilder::page_size`](crate::server::ServerBuilder::page_size) is smaller, the
    /// smaller number applies.
    pub fn page_size(mut self, size: NonZeroUsize) -> Self {
        self.page_size = size;
        self
    }

    /// Sets the limits for one skill. Defaults to 512 files and 16 MiB, which every client has to
    /// accept.
    ///
    /// A larger skill of a folder is skipped, and a larger skill made in code is refused. Some
    /// clients refuse skills above the default limits.
    pub fn limits(mut self, limits: SkillLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the parser for the YAML front matter of `SKILL.md`. Defaults to the parser of the
    /// feature `skills`, and to no parser without that feature.
    ///
    /// Without a parser, skills of folders are skipped, and each skill made in code has to
    /// [give its front matter](super::PublishedSkill::front_matter). The parser may be called on
    /// any thread that builds the server, or publishes or reloads skills.
    pub fn front_matter_parser(mut self, parser: FrontMatterParser) -> Self {
        self.parser = Some(parser);
        self
    }

    /// Returns the settings of the extension, which the server declares to clients.
    pub(super) fn capability(&self) -> SkillsCapability {
        SkillsCapability {
            directory_read: self.directory_read,
            ..SkillsCapability::default()
        }
    }
}

/// A skill, or another entry of a [`SkillFolder`](super::SkillFolder), that is not published.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkippedSkill {
    /// The path of the skill's folder, or of the link or special file that was found outside of
    /// skills.
    pub path: PathBuf,
    /// The reason why the skill or entry is not published. The kind is
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the skill exceeds a limit,
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if a file or folder can't be read, and
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if another rule is broken.
    pub reason: Error,
}

/// The result of [`Server::reload_skills`](crate::server::Server::reload_skills): the skills that
/// were added, changed or removed. Each skill is given by the URI of its `SKILL.md`.
///
/// # Examples
///
/// ```no_run
/// use mcplink::server::Server;
/// use mcplink::server::skills::{SkillChanges, SkillFolder};
///
/// let folder = SkillFolder::new("/usr/share/billing/skills");
/// let server = Server::builder("billing", "1.0").skills(folder).build()?;
/// let changes: SkillChanges = server.reload_skills()?;
/// if !changes.is_empty() {
///     println!("new: {:?}, removed: {:?}", changes.added, changes.removed);
/// }
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SkillChanges {
    /// The URIs of the new skills.
    pub added: Vec<String>,
    /// The URIs of the skills whose entry has changed. If any file of a skill changes, its entry
    /// changes too.
    pub changed: Vec<String>,
    /// The URIs of the skills that are no longer published.
    pub removed: Vec<String>,
}

impl SkillChanges {
    /// Returns whether no skill was added, changed or removed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}
