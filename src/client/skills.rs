//! The calls of the skills extension, as a client sends them. The crate `mcplink-skills` verifies
//! what they return.

use super::call_options::CallOptions;
use super::{Client, Pages};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{
    ListSkillsResult, ReadResourceDirectoryResult, Resource, SKILLS_EXTENSION, Skill, method,
};

impl Client {
    /// Lists the skills of the server, over all pages, as the server sent them.
    ///
    /// An entry that can't be read is left out and logged. The other entries are not checked:
    /// [`SkillEntry::new`](crate::skills::SkillEntry::new) checks one. The crate `mcplink-skills`
    /// lists, verifies and caches skills for a host.
    ///
    /// Spec: Extensions, Skills, "Listing Skills".
    ///
    /// # Errors
    ///
    /// As [`list_resources`](Self::list_resources). [`ErrorKind::Unsupported`] when the server did
    /// not declare the extension; nothing is sent.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// for skill in client.list_skills()? {
    ///     println!("{}: {}", skill.uri, skill.description().unwrap_or_default());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_skills(&self) -> Result<Vec<Skill>> {
        Ok(self.skill_pages(CallOptions::new()).read_all()?.0)
    }

    /// Returns an iterator over the pages of the list of skills. A page is requested when the
    /// iterator reaches it.
    pub fn skill_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListSkillsResult> {
        Pages::new(self.clone(), options, None)
    }

    /// Gets the entry of the skill whose `SKILL.md` has this URI, as the server sent it. A skill
    /// that is not in the list may exist nevertheless.
    ///
    /// Spec: Extensions, Skills, "Getting a Skill".
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Invalid`]: the URI is not the URI of a `SKILL.md`; nothing is sent.
    /// - [`ErrorKind::Unsupported`]: the server did not declare the extension; nothing is sent.
    /// - [`ErrorKind::Peer`]: the server has no such skill.
    /// - [`ErrorKind::Protocol`]: the answer is the entry of another skill, or no entry.
    /// - The other kinds as [`call_tool`](Self::call_tool).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// let skill = client.get_skill("skill://acme/billing/refunds/SKILL.md")?;
    /// assert_eq!(skill.name(), Some("refunds"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_skill(&self, uri: &str) -> Result<Skill> {
        self.get_skill_with(uri, CallOptions::new())
    }

    /// Gets the entry of a skill. The options apply to the request.
    ///
    /// # Errors
    ///
    /// As [`get_skill`](Self::get_skill).
    pub fn get_skill_with(&self, uri: &str, options: CallOptions<'_>) -> Result<Skill> {
        self.prepare_skill(uri, &options, Ok)?.make(self, options)
    }

    /// Lists the direct children of a directory, over all pages. A subdirectory has the MIME type
    /// [`DIRECTORY_MIME_TYPE`](crate::schema::DIRECTORY_MIME_TYPE).
    ///
    /// The list shows the directory as it is now on the server. It does not extend the manifest of
    /// a skill.
    ///
    /// Spec: Extensions, Skills, "Reading Directories".
    ///
    /// # Errors
    ///
    /// As [`list_resources`](Self::list_resources). [`ErrorKind::Unsupported`] when the server did
    /// not declare `directoryRead: true`; nothing is sent.
    pub fn read_resource_directory(&self, uri: &str) -> Result<Vec<Resource>> {
        let pages = self.resource_directory_pages(uri, CallOptions::new());
        Ok(pages.read_all()?.0)
    }

    /// Returns an iterator over the pages of a directory. A page is requested when the iterator
    /// reaches it.
    pub fn resource_directory_pages<'a>(
        &self,
        uri: &str,
        options: CallOptions<'a>,
    ) -> Pages<'a, ReadResourceDirectoryResult> {
        Pages::new(self.clone(), options, Some(uri.to_owned()))
    }

    /// Returns an error if the server did not declare the skills extension, even if the host lets
    /// the client assume capabilities.
    // E-SKILL-C-02
    pub(super) fn need_skills(&self, method: &str) -> Result<()> {
        if self.capabilities().skills().is_some() {
            return Ok(());
        }
        let text = format!(
            "'{}' did not declare the extension '{SKILLS_EXTENSION}', which {method} needs",
            self.server_name()
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    /// Returns an error if the server did not declare that it lists directories.
    // E-SKILL-C-01
    pub(super) fn need_directories(&self) -> Result<()> {
        let method = method::RESOURCES_DIRECTORY_READ;
        self.need_skills(method)?;
        let skills = self.capabilities().skills();
        if skills.is_some_and(|skills| skills.directory_read) {
            return Ok(());
        }
        let text = format!(
            "'{}' did not declare directoryRead in the extension '{SKILLS_EXTENSION}', which \
             {method} needs",
            self.server_name()
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }
}
