//! The skills of one server, as a host lists and loads them.

use std::fmt;
use std::sync::Arc;

use mcplink::client::{CallOptions, Client};
use mcplink::skills::{FrontMatterParser, SkillEntry, SkillLimits};
use mcplink::{Error, ErrorKind, Result};

use crate::cache::SkillCache;
use crate::content::SkillContent;
use crate::listing::{RemoteSkill, SkillId, SkillListing};
use crate::loaded::LoadedSkill;
use crate::reader::{ActiveSkills, SkillReader};

/// The skills of one server, under the label that the host gave the server. Clones share the
/// connection, the cache and the loaded skills.
///
/// # Examples
///
/// ```no_run
/// use mcplink_skills::Skills;
///
/// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
/// let skills = Skills::new(client, "github");
/// let listing = skills.list()?;
/// for declined in &listing.invalid {
///     eprintln!("not used: {}", declined.error);
/// }
/// for skill in &listing.skills {
///     println!("{}: {}", skill.display_name(), skill.entry().description());
/// }
/// // The user chose and approved a skill:
/// let loaded = skills.load(&listing.skills[0])?;
/// let for_the_model = loaded.content().tagged();
/// let forms = loaded.read("references/FORMS.md")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Skills(SkillReader);

impl Skills {
    /// Makes the skills of the server that the client is connected to. `label` is the name by which
    /// the host knows the server. It must differ from the labels of all other servers, and must not
    /// be taken from the server's [description of itself](Client::server_info).
    ///
    /// Nothing is sent. With the feature `yaml` this crate parses front matter; otherwise set a
    /// [parser](Self::front_matter_parser).
    // E-SKILL-C-63
    pub fn new(client: &Client, label: impl Into<String>) -> Self {
        #[cfg(feature = "yaml")]
        let parser = Some(FrontMatterParser::yaml());
        #[cfg(not(feature = "yaml"))]
        let parser = None;
        Self(SkillReader {
            client: client.clone(),
            label: label.into(),
            limits: SkillLimits::default(),
            allows_dynamic: false,
            parser,
            cache: None,
            before_load: None,
            active: ActiveSkills::default(),
        })
    }

    /// Sets the limits for one skill. Defaults to 512 files and 16 MiB, which every host accepts. A
    /// larger skill is declined before any of its files is read.
    pub fn limits(mut self, limits: SkillLimits) -> Self {
        self.0.limits = limits;
        self
    }

    /// Sets whether dynamic skills may be loaded. Defaults to no, because their files can't be
    /// verified.
    pub fn allow_dynamic(mut self, allowed: bool) -> Self {
        self.0.allows_dynamic = allowed;
        self
    }

    /// Sets the parser for front matter. Required without the feature `yaml`.
    pub fn front_matter_parser(mut self, parser: &FrontMatterParser) -> Self {
        self.0.parser = Some(parser.clone());
        self
    }

    /// Sets the cache on disk for files that were read. By default no files are cached on disk.
    /// Several servers may share a cache.
    pub fn cache(mut self, cache: &SkillCache) -> Self {
        self.0.cache = Some(cache.clone());
        self
    }

    /// Sets a hook that runs before each load, on the thread that loads. If the hook returns an
    /// error, the load fails with that error, and nothing is sent. Defaults to no hook.
    ///
    /// The hook should look for an [approval](crate::SkillApproval) that covers the skill. If there
    /// is no such approval, the hook should ask the user.
    // E-SKILL-C-72
    pub fn before_load(
        mut self,
        hook: impl Fn(&RemoteSkill) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.0.before_load = Some(Arc::new(hook));
        self
    }

    /// Returns the label of the server.
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Whether the server declared the skills extension. If not, all calls fail and nothing is
    /// sent.
    pub fn is_supported(&self) -> bool {
        self.0.client.capabilities().skills().is_some()
    }

    /// Lists the skills of the server, over all pages, and checks their entries. Reads no file.
    ///
    /// A server may have skills that it does not list: see [`get`](Self::get). After the
    /// notification `resources/list_changed` skills may have changed too.
    ///
    /// # Errors
    ///
    /// As [`Client::list_skills`].
    pub fn list(&self) -> Result<SkillListing> {
        self.list_with(CallOptions::new())
    }

    /// Lists the skills of the server. The options apply to the request of each page.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn list_with(&self, options: CallOptions<'_>) -> Result<SkillListing> {
        let pages = self.0.client.skill_pages(options);
        let (listed, misfits) = pages.read_all()?;
        Ok(SkillListing::new(
            &self.0.label,
            listed,
            &misfits,
            &self.0.limits,
        ))
    }

    /// Gets the entry of a skill by the URI of its `SKILL.md`, and checks the entry. Reads no file.
    ///
    /// # Errors
    ///
    /// As [`Client::get_skill`]; [`ErrorKind::Protocol`] when the entry breaks a rule;
    /// [`ErrorKind::Limit`] when the skill exceeds the [limits](Self::limits).
    // E-SKILL-C-05, E-SKILL-C-23
    pub fn get(&self, uri: &str) -> Result<RemoteSkill> {
        self.get_with(uri, CallOptions::new())
    }

    /// Gets the entry of a skill. The options apply to the request.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn get_with(&self, uri: &str, options: CallOptions<'_>) -> Result<RemoteSkill> {
        let skill = self.0.client.get_skill_with(uri, options)?;
        let entry = SkillEntry::new(skill, &self.0.limits).map_err(|error| match error.kind() {
            ErrorKind::Invalid => error.with_kind(ErrorKind::Protocol).sent(true),
            _ => error.sent(true),
        })?;
        Ok(RemoteSkill::new(&*self.0.label, entry))
    }

    /// Gets the current entry of a skill from the server, without using the response cache. Call
    /// this function after an error with a [`skill_fault`](Error::skill_fault). Ask the user again
    /// if no [approval](crate::SkillApproval::covers) covers the new entry.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    // E-SKILL-C-35
    pub fn refresh(&self, skill: &RemoteSkill) -> Result<RemoteSkill> {
        let uri = skill.entry().uri().as_str();
        self.get_with(uri, CallOptions::new().bypass_cache())
    }

    /// Reads `SKILL.md` so that the user can look at it before the skill is loaded. Size and digest
    /// are verified, unless the skill is dynamic. The skill is not loaded, so the content must not
    /// reach the model.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), except that neither the hook nor a parser is needed.
    // E-SKILL-C-71
    pub fn preview(&self, skill: &RemoteSkill) -> Result<SkillContent> {
        self.preview_file(skill, skill.entry().uri().as_str())
    }

    /// Reads a file of a skill so that the user can look at it before the skill is loaded.
    ///
    /// # Errors
    ///
    /// As [`preview`](Self::preview). [`ErrorKind::Protocol`] when the skill does not have the
    /// file.
    pub fn preview_file(&self, skill: &RemoteSkill, uri: &str) -> Result<SkillContent> {
        self.preview_file_with(skill, uri, CallOptions::new())
    }

    /// Reads a file of a skill so that the user can look at it. The options apply to the request.
    ///
    /// # Errors
    ///
    /// As [`preview_file`](Self::preview_file).
    pub fn preview_file_with(
        &self,
        skill: &RemoteSkill,
        uri: &str,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        self.0.check(skill)?;
        self.read(skill, uri, options)
    }

    /// Loads a skill: reads `SKILL.md`, and verifies its size, its digest and its front matter
    /// against the entry. The entry is held as long as the returned value exists.
    ///
    /// Other files of the skill are not read. The [hook](Self::before_load) runs first.
    ///
    /// Spec: Extensions, Skills, "Reading Skill Content", "Frontmatter Verification".
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Protocol`]: the content differs from the entry; [`Error::skill_fault`]
    ///   returns the kind of difference.
    /// - [`ErrorKind::State`]: the skill is dynamic, and [`allow_dynamic`](Self::allow_dynamic) is
    ///   not set; nothing is sent.
    /// - [`ErrorKind::Invalid`]: the skill is of another server; nothing is sent.
    /// - [`ErrorKind::Unsupported`]: there is no parser for front matter, or the server did not
    ///   declare the extension; nothing is sent.
    /// - [`ErrorKind::Limit`]: the skill exceeds the [limits](Self::limits).
    /// - The other kinds as [`Client::read_resource`], and the error of the hook.
    pub fn load(&self, skill: &RemoteSkill) -> Result<LoadedSkill> {
        self.load_with(skill, CallOptions::new())
    }

    /// Loads a skill. The options apply to the request for `SKILL.md`.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_with(&self, skill: &RemoteSkill, options: CallOptions<'_>) -> Result<LoadedSkill> {
        self.0.check(skill)?;
        let Some(parser) = self.0.parser.clone() else {
            let text = "front matter can't be parsed: set Skills::front_matter_parser, or build with the \
                        feature yaml of mcplink-skills";
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        if let Some(hook) = &self.0.before_load {
            hook(skill)?;
        }
        let content = self.read(skill, skill.entry().uri().as_str(), options)?;
        self.0.verify_front_matter(&parser, skill, &content)?;
        Ok(LoadedSkill::new(self.0.clone(), skill.clone(), content))
    }

    /// Loads a skill that is known by its URI alone: gets its entry, and loads it.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get) and [`load`](Self::load).
    // E-SKILL-C-23
    pub fn load_uri(&self, uri: &str) -> Result<LoadedSkill> {
        self.load(&self.get(uri)?)
    }

    /// Returns the skills that are loaded at the moment, through this value and its clones. While a
    /// model acts on a skill, a host asks the user before the model runs code.
    // E-SKILL-C-60
    pub fn active(&self) -> Vec<SkillId> {
        self.0.active.list()
    }

    fn read(
        &self,
        skill: &RemoteSkill,
        uri: &str,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        let entry = skill.entry();
        if entry.is_dynamic() && entry.uri().contains(uri) {
            return self
                .0
                .read_unlisted(skill, uri, self.0.limits.max_bytes, options);
        }
        match entry.file(uri) {
            Some(file) => self.0.read_listed(skill, file, options),
            None => Err(self.0.unlisted(skill, uri)),
        }
    }
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skills")
            .field("label", &self.0.label)
            .field("limits", &self.0.limits)
            .finish_non_exhaustive()
    }
}
