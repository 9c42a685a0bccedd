//! The methods of `Server` and `ServerBuilder` for skills.

use super::files::Target;
use super::folder::SkillFolder;
use super::methods::{DIRECTORY_READ, METHODS};
use super::options::{SkillChanges, SkillOptions, SkippedSkill};
use super::publish;
use super::published::PublishedSkill;
use super::store::Skills;
use crate::error::{Error, Result};
use crate::schema::{SKILLS_EXTENSION, method};
use crate::server::Server;
use crate::server::builder::ServerBuilder;
use crate::server::inner::Inner;

impl ServerBuilder {
    /// Adds a folder whose skills are published (extension `io.modelcontextprotocol/skills`).
    /// Skills that can't be published are skipped: see [`Server::skipped_skills`].
    ///
    /// The folder is scanned when the server is built. If the folder itself can't be read or has
    /// too many entries, [`build`](Self::build) fails. To publish later changes of the folder, call
    /// [`Server::reload_skills`].
    ///
    /// Skills need the YAML parser of the feature `skills`, or
    /// [`SkillOptions::front_matter_parser`].
    ///
    /// Spec: Extensions, "Skills" (2026-07-28; also sent to clients of older revisions).
    pub fn skills(self, folder: SkillFolder) -> Self {
        self.with_skills()
            .finishing(|server| publish::add_folder(server, folder))
    }

    /// Adds a skill that is made in code. See [`PublishedSkill`].
    ///
    /// If the skill breaks a rule, [`build`](Self::build) fails.
    pub fn skill(self, skill: PublishedSkill) -> Self {
        self.with_skills().finishing(|server| {
            let options = &publish::skills_of(server)?.options;
            let skill = skill.build(options)?;
            publish::publish(server, skill, false)
        })
    }

    /// Sets the options for skills, and declares the extension even if there is no skill yet.
    pub fn skill_options(self, options: SkillOptions) -> Self {
        let mut this = self.with_skills();
        this.inner.skills = Some(Skills::new(options));
        this
    }

    /// Enables skills. The extension is declared when the server is built, because its settings are
    /// known only then.
    pub(in crate::server) fn with_skills(mut self) -> Self {
        if self.inner.skills.is_some() {
            return self;
        }
        self.inner.skills = Some(Skills::new(SkillOptions::default()));
        // E-SKILL-S-03
        self.inner.declare_resources();
        self.finishing(declare)
    }
}

/// Declares the extension with its settings, and installs its methods.
fn declare(server: &mut Inner) -> Result<()> {
    let options = &publish::skills_of(server)?.options;
    let has_directories = options.directory_read;
    let settings = options.capability().to_settings().into();
    let id = SKILLS_EXTENSION.to_owned();
    if server.extensions.insert(id, settings).is_some() {
        let text = format!("the extension {SKILLS_EXTENSION} is declared twice");
        return Err(Error::invalid(text));
    }
    // E-SKILL-S-65
    let reserved = [
        method::SKILLS_LIST,
        method::SKILLS_GET,
        method::RESOURCES_DIRECTORY_READ,
    ];
    if let Some(own) = reserved.iter().find(|it| server.methods.handles(it)) {
        let text = format!("the method {own} belongs to the extension {SKILLS_EXTENSION}");
        return Err(Error::invalid(text));
    }
    server.feature_methods.extend(METHODS);
    if has_directories {
        server.feature_methods.push(DIRECTORY_READ);
    }
    Ok(())
}

impl Server {
    /// Publishes a skill that is made in code. If [`ServerBuilder::skill`] or this function has
    /// published a skill with the same URI, the skill is replaced as a whole.
    ///
    /// Clients are notified as after [`reload_skills`](Self::reload_skills).
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Invalid`](crate::ErrorKind::Invalid): the skill breaks a rule, or its URI
    ///   belongs to a skill of a folder or to another resource. All files of a nested skill must
    ///   also be files of the outer skill.
    /// - [`ErrorKind::Limit`](crate::ErrorKind::Limit): the skill exceeds the
    ///   [limits](SkillOptions::limits).
    /// - [`ErrorKind::State`](crate::ErrorKind::State): the server was built without skills.
    ///
    /// In all cases nothing changes.
    pub fn publish_skill(&self, skill: PublishedSkill) -> Result<()> {
        let skill = skill.build(&publish::skills_of(&self.0)?.options)?;
        publish::publish(&self.0, skill, true)
    }

    /// Removes a skill that was made in code, and returns whether it existed. `uri` is the URI of
    /// its `SKILL.md`.
    ///
    /// Clients are notified as after [`reload_skills`](Self::reload_skills).
    pub fn remove_skill(&self, uri: &str) -> bool {
        publish::remove(&self.0, uri)
    }

    /// Scans the folders that were added with [`ServerBuilder::skills`] again, and replaces the
    /// skills of all folders at once. Before the replacement, requests are answered from the old
    /// skills. Returns the differences.
    ///
    /// If a skill is added, removed or changed, clients get `notifications/resources/list_changed`.
    /// Clients that have subscribed to a changed file get `notifications/resources/updated`.
    ///
    /// The function reads all files of all skills of the folders. It may be called from any thread.
    /// If two threads reload at the same time, the scan that began later is published.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when a folder can't be read,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) when it has more than 200 000 entries. In both
    /// cases the skills stay as they are.
    pub fn reload_skills(&self) -> Result<SkillChanges> {
        publish::reload(&self.0)
    }

    /// Returns the skipped skills, and other skipped entries, of the folders that were added with
    /// [`ServerBuilder::skills`]. Each has the reason why it is not published.
    pub fn skipped_skills(&self) -> Vec<SkippedSkill> {
        let skills = self.0.skills.as_ref();
        skills.map(Skills::<Target>::skipped).unwrap_or_default()
    }
}
