//! Skills with the label of their server, and the list of the skills of one server.

use std::collections::BTreeMap;
use std::fmt;

use mcplink::schema::{Misfit, Skill};
use mcplink::skills::{SkillEntry, SkillLimits, normalized_uri};
use mcplink::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::excerpt::Excerpt;

/// The identity of a skill: the label of its server and the URI of its `SKILL.md`.
///
/// Two servers may use the same URI, and a server may give itself any name. So a host keys
/// approvals, caches, tools and paths by this pair. The URI is compared in its [normalized
/// spelling](normalized_uri).
///
/// # Examples
///
/// ```
/// use mcplink_skills::SkillId;
///
/// let id = SkillId::new("github", "skill://review/SKILL.md")?;
/// assert_ne!(id, SkillId::new("gitlab", "skill://review/SKILL.md")?);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillId {
    /// The name that the host gave the server.
    pub label: String,
    /// The normalized URI of the skill's `SKILL.md`.
    pub uri: String,
}

impl SkillId {
    /// Makes the identity of a skill.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the URI has no normalized spelling.
    pub fn new(label: impl Into<String>, uri: &str) -> Result<Self> {
        Ok(Self {
            label: label.into(),
            uri: normalized_uri(uri)?,
        })
    }
}

/// Writes the URI and the label, for users: `skill://review/SKILL.md from 'github'`.
impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from '{}'", Excerpt(&self.uri), Excerpt(&self.label))
    }
}

/// A skill of a server: the checked entry and the label of the server. Clones share their content.
///
/// [`Skills::list`](crate::Skills::list) and [`Skills::get`](crate::Skills::get) return skills. A
/// resource is never a skill only because of its URI.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteSkill {
    id: SkillId,
    entry: SkillEntry,
}

impl RemoteSkill {
    /// Makes a skill from an entry that the host has stored.
    pub fn new(label: impl Into<String>, entry: SkillEntry) -> Self {
        let id = SkillId {
            label: label.into(),
            uri: entry.uri().normalized().to_owned(),
        };
        Self { id, entry }
    }

    /// Returns the identity of the skill.
    pub fn id(&self) -> &SkillId {
        &self.id
    }

    /// Returns the label of the server: the name that the host gave the server.
    pub fn label(&self) -> &str {
        &self.id.label
    }

    /// Returns the entry of the skill.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    /// Returns the name of the skill. Other skills may have the same name.
    pub fn name(&self) -> &str {
        self.entry.name()
    }

    /// Returns a name for users, with the label of the server: `review (github)`.
    // E-SKILL-C-70
    pub fn display_name(&self) -> String {
        format!("{} ({})", self.name(), self.label())
    }
}

/// An unusable entry of a list of skills.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvalidSkill {
    /// The URI of the entry, if the entry has one.
    pub uri: Option<String>,
    /// The reason. [`ErrorKind::Limit`] means that the skill is larger than the
    /// [limits](SkillLimits) allow. Any other kind means that the entry breaks a rule of the
    /// extension.
    pub error: Error,
}

/// The skills that a server lists. A server may have more skills than it lists.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SkillListing {
    /// The label of the server.
    pub label: String,
    /// The skills whose entries are valid, in the order of the server.
    pub skills: Vec<RemoteSkill>,
    /// The entries that can't be used. Show the user that a skill was declined, and why.
    pub invalid: Vec<InvalidSkill>,
}

impl SkillListing {
    /// Checks the entries of a list. `misfits` are the entries that could not be read.
    pub(crate) fn new(
        label: &str,
        listed: Vec<Skill>,
        misfits: &[Misfit],
        limits: &SkillLimits,
    ) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for skill in &listed {
            if let Ok(uri) = normalized_uri(&skill.uri) {
                *counts.entry(uri).or_default() += 1;
            }
        }
        let mut listing = Self {
            label: label.to_owned(),
            ..Self::default()
        };
        for skill in listed {
            let uri = skill.uri.clone();
            let entry = SkillEntry::new(skill, limits).and_then(|entry| {
                match counts.get(entry.uri().normalized()) {
                    Some(2..) => {
                        let text = format!("the skill '{}' is listed twice", Excerpt(&uri));
                        Err(Error::new(ErrorKind::Protocol, text))
                    }
                    _ => Ok(entry),
                }
            });
            match entry {
                Ok(entry) => listing.skills.push(RemoteSkill::new(label, entry)),
                Err(error) => listing.invalid.push(InvalidSkill {
                    uri: Some(uri),
                    error: error.sent(true),
                }),
            }
        }
        // A misfit with a longer path is an optional part of an entry that is used.
        let is_entry = |misfit: &&Misfit| misfit.path.matches('/').count() == 2;
        let misfits = misfits.iter().filter(is_entry);
        listing.invalid.extend(misfits.map(|misfit| InvalidSkill {
            uri: misfit.name.clone(),
            error: Error::new(ErrorKind::Protocol, misfit.to_string()).sent(true),
        }));
        listing
    }

    /// Returns all skills with this name. Names are not unique.
    pub fn find(&self, name: &str) -> Vec<&RemoteSkill> {
        let has_name = |skill: &&RemoteSkill| skill.name() == name;
        self.skills.iter().filter(has_name).collect()
    }

    /// Returns the skill with this URI, in any spelling.
    pub fn by_uri(&self, uri: &str) -> Option<&RemoteSkill> {
        let uri = normalized_uri(uri).ok()?;
        self.skills.iter().find(|skill| skill.id.uri == uri)
    }
}
