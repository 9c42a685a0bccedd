//! A loaded skill: the held entry, and reads of its files.
//!
//! Spec: Extensions, Skills, "The Acting Window and the Held Entry", "Directory Reads and the Held
//! Entry", "Relative References".

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mcplink::client::CallOptions;
use mcplink::schema::{DIRECTORY_MIME_TYPE, Resource};
use mcplink::skills::{SkillFile, SkillUri, normalized_uri};
use mcplink::{Error, ErrorKind, Result};

use crate::content::SkillContent;
use crate::listing::{RemoteSkill, SkillId};
use crate::reader::SkillReader;

/// A skill whose `SKILL.md` was read and verified. Clones share the skill.
///
/// The value holds the entry with which the skill was loaded. Files are verified against this
/// entry, also after a newer list of skills has arrived. Drop the value when the text of the skill
/// has left the context of the model, never earlier. The value keeps the connection open.
///
/// All reads go to the server of the skill. A reference to a file of another server is *unlisted*.
#[derive(Clone)]
pub struct LoadedSkill(Arc<Loaded>);

struct Loaded {
    reader: SkillReader,
    skill: RemoteSkill,
    content: SkillContent,
    /// The number of bytes of the skill's files that were read. Limited for a dynamic skill, whose
    /// total size is unknown.
    read_bytes: AtomicU64,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.reader.active.remove(self.skill.id());
    }
}

/// The children of a folder of a skill, as the held manifest lists them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillFolder {
    /// The paths of the folders below the skill's directory, in order.
    pub folders: Vec<String>,
    /// The files, in the order of the manifest.
    pub files: Vec<SkillFile>,
}

/// The children of a directory of a skill, as the server lists them now.
///
/// Entries that are not in the held manifest are left out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SkillDirectory {
    /// The children that are part of the skill.
    pub resources: Vec<Resource>,
    /// The number of children that were left out, because the held manifest does not have them.
    pub unlisted: usize,
    /// The paths of the children that are in the held manifest, but not in the server's list.
    pub missing: Vec<String>,
}

impl SkillDirectory {
    /// Whether the skill has changed since its entry was received. Show the user a changed skill
    /// that needs a new approval, not an error: see [`Skills::refresh`](crate::Skills::refresh).
    // E-SKILL-C-50
    pub fn has_changed(&self) -> bool {
        self.unlisted > 0 || !self.missing.is_empty()
    }
}

impl LoadedSkill {
    pub(crate) fn new(reader: SkillReader, skill: RemoteSkill, content: SkillContent) -> Self {
        reader.active.add(skill.id());
        let read_bytes = AtomicU64::new(content.bytes().len() as u64);
        Self(Arc::new(Loaded {
            reader,
            skill,
            content,
            read_bytes,
        }))
    }

    /// Returns the skill with the held entry.
    pub fn skill(&self) -> &RemoteSkill {
        &self.0.skill
    }

    /// Returns the identity of the skill.
    pub fn id(&self) -> &SkillId {
        self.0.skill.id()
    }

    /// Returns the content of `SKILL.md`. [`SkillContent::tagged`] returns its text in the form for
    /// a model.
    pub fn content(&self) -> &SkillContent {
        &self.0.content
    }

    /// Reads a file of the skill, and verifies it against the held entry. `reference` is a
    /// reference in `SKILL.md`, such as `references/FORMS.md`, or an absolute URI.
    ///
    /// A file that was read before is taken from the [`SkillCache`](crate::SkillCache) if there is
    /// one. A `SKILL.md` of a nested skill is an ordinary file here: its front matter has no
    /// effect.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] with an [`Error::skill_fault`] when the manifest does not list the
    /// file (nothing is sent), or its size or digest differs. The other kinds as
    /// [`Client::read_resource`](mcplink::client::Client::read_resource). [`ErrorKind::Limit`] when
    /// the files of a dynamic skill exceed the limit.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(loaded: &mcplink_skills::LoadedSkill) -> mcplink::Result<()> {
    /// let forms = loaded.read("references/FORMS.md")?;
    /// assert!(forms.is_verified());
    /// # Ok(())
    /// # }
    /// ```
    // E-SKILL-C-38, E-SKILL-C-39
    pub fn read(&self, reference: &str) -> Result<SkillContent> {
        self.read_with(reference, CallOptions::new())
    }

    /// Reads a file of the skill. The options apply to the request.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_with(&self, reference: &str, options: CallOptions<'_>) -> Result<SkillContent> {
        self.read_resolved(self.0.skill.entry().uri(), reference, options)
    }

    /// Reads a file of the skill. `reference` comes from a nested `SKILL.md`, whose URI is
    /// `nested`. A relative `reference` is resolved against the directory of the nested `SKILL.md`.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    // E-SKILL-C-31
    pub fn read_in(&self, nested: &str, reference: &str) -> Result<SkillContent> {
        let base = SkillUri::parse(nested)
            .ok()
            .filter(|base| self.0.skill.entry().uri().contains(base.as_str()))
            .ok_or_else(|| self.0.reader.unlisted(&self.0.skill, nested))?;
        self.read_resolved(&base, reference, CallOptions::new())
    }

    fn read_resolved(
        &self,
        base: &SkillUri,
        reference: &str,
        options: CallOptions<'_>,
    ) -> Result<SkillContent> {
        let Loaded { reader, skill, .. } = &*self.0;
        let unlisted = || reader.unlisted(skill, reference);
        let uri = base.resolve(reference).map_err(|_| unlisted())?;
        if skill.entry().is_dynamic() {
            if !skill.entry().uri().contains(&uri) {
                return Err(unlisted());
            }
            return self.read_dynamic(&uri, options);
        }
        reader.check(skill)?;
        let file = skill.entry().file(&uri).ok_or_else(unlisted)?;
        reader.read_listed(skill, file, options)
    }

    // E-SKILL-C-21, E-SKILL-C-53
    fn read_dynamic(&self, uri: &str, options: CallOptions<'_>) -> Result<SkillContent> {
        let Loaded {
            reader,
            skill,
            read_bytes,
            ..
        } = &*self.0;
        reader.check(skill)?;
        let max = reader.limits.max_bytes;
        let left = max.saturating_sub(read_bytes.load(Ordering::Relaxed));
        let content = reader.read_unlisted(skill, uri, left, options)?;
        // Another thread may have read a file meanwhile.
        let len = content.bytes().len() as u64;
        if read_bytes.fetch_add(len, Ordering::Relaxed) + len > max {
            let id = skill.id();
            let text =
                format!("the files read of skill {id} exceed SkillLimits::max_bytes ({max})");
            return Err(Error::new(ErrorKind::Limit, text).sent(true));
        }
        Ok(content)
    }

    /// Returns the children of a folder from the held manifest; nothing is sent. `path` is the path
    /// below the skill's directory, empty for the directory itself. The result is empty for a
    /// dynamic skill.
    // E-SKILL-C-47
    pub fn folder(&self, path: &str) -> SkillFolder {
        let path = path.trim_end_matches('/');
        let mut folder = SkillFolder::default();
        for file in self.0.skill.entry().files() {
            let below = match path {
                "" => Some(&*file.path),
                path => file
                    .path
                    .strip_prefix(path)
                    .and_then(|it| it.strip_prefix('/')),
            };
            match below.map(|below| below.split_once('/')) {
                None => {}
                Some(None) => folder.files.push(file.clone()),
                Some(Some((name, _))) => {
                    let child = match path {
                        "" => name.to_owned(),
                        path => format!("{path}/{name}"),
                    };
                    folder.folders.push(child);
                }
            }
        }
        folder.folders.sort();
        folder.folders.dedup();
        folder
    }

    /// Asks the server for the children of a folder, and compares them with the held manifest.
    /// `path` is the path below the skill's directory, empty for the directory itself.
    ///
    /// Children that are not in the manifest are left out: they can't be read, and the model must
    /// not see them. A dynamic skill has no manifest, so all children below its directory are
    /// returned. Their content is still not verified.
    ///
    /// # Errors
    ///
    /// As [`Client::read_resource_directory`](mcplink::client::Client::read_resource_directory);
    /// [`ErrorKind::Protocol`] with an [`Error::skill_fault`] when the manifest has no such folder.
    // E-SKILL-C-48, E-SKILL-C-49, E-SKILL-C-52
    pub fn read_directory(&self, path: &str) -> Result<SkillDirectory> {
        let Loaded { reader, skill, .. } = &*self.0;
        let entry = skill.entry();
        let unlisted = || reader.unlisted(skill, path);
        let path = path.trim_end_matches('/');
        let uri = match path {
            "" => entry.uri().directory().to_owned(),
            path => {
                let uri = entry.uri().resolve(path).map_err(|_| unlisted())?;
                self.spelling_of(&uri).ok_or_else(unlisted)?
            }
        };
        reader.check(skill)?;
        let shown = reader.client.read_resource_directory(&uri)?;
        let count = shown.len();
        let is_known = |resource: &Resource| {
            let is_directory = resource.mime_type.as_deref() == Some(DIRECTORY_MIME_TYPE);
            match is_directory || entry.is_dynamic() {
                true => self.spelling_of(&resource.uri).is_some(),
                false => entry.file(&resource.uri).is_some(),
            }
        };
        let resources: Vec<Resource> = shown.into_iter().filter(is_known).collect();
        let seen = resources
            .iter()
            .filter_map(|it| normalized_uri(&it.uri).ok());
        let missing = self.missing(path, &seen.collect());
        Ok(SkillDirectory {
            unlisted: count - resources.len(),
            resources,
            missing,
        })
    }

    /// Returns the server's spelling of the URI of a directory that the manifest has. For a dynamic
    /// skill, returns `uri` unchanged if it is below the skill's directory.
    fn spelling_of(&self, uri: &str) -> Option<String> {
        let entry = self.0.skill.entry();
        if entry.is_dynamic() {
            return entry.uri().contains(uri).then(|| uri.to_owned());
        }
        let beginning = normalized_uri(uri).ok()? + "/";
        let mut files = entry.files();
        let inside = files
            .find(|file| normalized_uri(&file.uri).is_ok_and(|it| it.starts_with(&beginning)))?;
        // Spellings differ in escapes only, so both have the same slashes.
        let depth = beginning.matches('/').count();
        let (end, _) = inside.uri.match_indices('/').nth(depth - 1)?;
        Some(inside.uri[..end].to_owned())
    }

    /// Returns the paths of the children of a folder of the manifest that are not in `seen`.
    fn missing(&self, path: &str, seen: &BTreeSet<String>) -> Vec<String> {
        let folder = self.folder(path);
        let folders = folder.folders.into_iter().filter(|path| {
            let uri = self.uri_of_folder(path);
            uri.is_some_and(|uri| !seen.contains(&uri))
        });
        let files = folder
            .files
            .into_iter()
            .filter(|file| normalized_uri(&file.uri).is_ok_and(|uri| !seen.contains(&uri)));
        let files = files.map(|file| file.path);
        folders.chain(files).collect()
    }

    /// Returns the normalized URI of a folder of the manifest. `path` is the path below the skill's
    /// directory.
    fn uri_of_folder(&self, path: &str) -> Option<String> {
        let mut files = self.0.skill.entry().files();
        let (inside, below) = files.find_map(|file| {
            let below = file.path.strip_prefix(path)?;
            below.starts_with('/').then_some((file, below))
        })?;
        // A segment of a URI is one segment of the path, so both end in the same slashes.
        let uri = normalized_uri(&inside.uri).ok()?;
        let depth = below.matches('/').count();
        let (end, _) = uri.rmatch_indices('/').nth(depth - 1)?;
        Some(uri[..end].to_owned())
    }
}

impl fmt::Debug for LoadedSkill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedSkill")
            .field("skill", self.id())
            .finish_non_exhaustive()
    }
}
