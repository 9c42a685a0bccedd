//! The names of the skills of all servers and of the host.
//!
//! Spec: Extensions, Skills, "Names", "Security Considerations".

use std::collections::{BTreeMap, BTreeSet};

use mcplink::{Error, ErrorKind, Result};

use crate::excerpt::Excerpt;
use crate::listing::{RemoteSkill, SkillListing};

/// The skills that a host knows, by name.
///
/// Names are not unique. A skill of a server has a qualified name: `label/name`, or a longer name
/// if the server has several skills of this name (see [`qualified_name`](Self::qualified_name)).
/// [`resolve`](Self::resolve) accepts a bare name only for the host's own skills. So a skill of a
/// server never replaces another skill, and adding a server changes no other name.
///
/// # Examples
///
/// ```
/// use mcplink_skills::{SkillRegistry, Skills};
///
/// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
/// let mut registry = SkillRegistry::new();
/// registry.add_own("review");
/// registry.set(&Skills::new(client, "github").list()?);
/// let theirs = registry.resolve("github/review")?;
/// for collision in registry.collisions() {
///     println!("{}: {}", collision.name, collision.qualified.join(", "));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct SkillRegistry {
    own: BTreeSet<String>,
    servers: BTreeMap<String, Vec<RemoteSkill>>,
}

/// A skill of the host, or of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum KnownSkill<'a> {
    /// One of the host's own skills, by its name.
    Own(&'a str),
    /// A skill of a server.
    Remote(&'a RemoteSkill),
}

/// Several skills of one name. Show the user that they are different skills.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillCollision {
    /// The name that the skills share.
    pub name: String,
    /// The qualified names of the skills. For one of the host's own skills, this is the bare name.
    pub qualified: Vec<String>,
}

impl SkillRegistry {
    /// Makes an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the name of one of the host's own skills.
    pub fn add_own(&mut self, name: impl Into<String>) {
        self.own.insert(name.into());
    }

    /// Removes the name of one of the host's own skills.
    pub fn remove_own(&mut self, name: &str) {
        self.own.remove(name);
    }

    /// Replaces all skills of a server by the skills of the listing.
    pub fn set(&mut self, listing: &SkillListing) {
        let skills = listing.skills.clone();
        self.servers.insert(listing.label.clone(), skills);
    }

    /// Adds a skill of a server, for example a skill that the server does not list. Replaces the
    /// skill with the same identity.
    pub fn add(&mut self, skill: &RemoteSkill) {
        let skills = self.servers.entry(skill.label().to_owned()).or_default();
        skills.retain(|known| known.id() != skill.id());
        skills.push(skill.clone());
    }

    /// Removes all skills of a server.
    pub fn remove(&mut self, label: &str) {
        self.servers.remove(label);
    }

    /// Returns the skills of all servers.
    pub fn remote(&self) -> impl Iterator<Item = &RemoteSkill> {
        self.servers.values().flatten()
    }

    /// Returns all skills with this bare name. The host's own skill is the first.
    // E-SKILL-C-12
    pub fn find(&self, name: &str) -> Vec<KnownSkill<'_>> {
        let own = self.own.get(name).map(|name| KnownSkill::Own(name));
        let remote = self.remote().filter(|skill| skill.name() == name);
        own.into_iter()
            .chain(remote.map(KnownSkill::Remote))
            .collect()
    }

    /// Returns the qualified name of a skill. The name is `label/name` if the server has one skill
    /// of this name. Otherwise it is `label/path` with the path of the skill's directory, if this
    /// path is unique and has several segments. Otherwise it is `label/URI`. The order of the
    /// server's list has no influence.
    // E-SKILL-C-13
    pub fn qualified_name(&self, skill: &RemoteSkill) -> String {
        let label = skill.label();
        let others = self.servers.get(label).into_iter().flatten();
        let others: Vec<&RemoteSkill> = others
            .filter(|other| other.id() != skill.id() && other.name() == skill.name())
            .collect();
        let path = path_of(skill);
        if others.is_empty() {
            format!("{label}/{}", skill.name())
        } else if path.contains('/') && others.iter().all(|other| path_of(other) != path) {
            format!("{label}/{path}")
        } else {
            format!("{label}/{}", skill.id().uri)
        }
    }

    /// Returns the skill with a qualified name, or the host's own skill with a bare name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when no skill or several skills have the name. The error text has the
    /// qualified names of the candidates.
    // E-SKILL-C-14, E-SKILL-C-15
    pub fn resolve(&self, name: &str) -> Result<KnownSkill<'_>> {
        if let Some(own) = self.own.get(name) {
            return Ok(KnownSkill::Own(own));
        }
        let mut found: Vec<&RemoteSkill> = Vec::new();
        for (label, skills) in &self.servers {
            let rest = name
                .strip_prefix(label.as_str())
                .and_then(|it| it.strip_prefix('/'));
            let Some(rest) = rest else { continue };
            found.extend(skills.iter().filter(|skill| {
                skill.name() == rest
                    || skill.id().uri == rest
                    || (rest.contains('/') && path_of(skill) == rest)
            }));
        }
        if let [only] = found[..] {
            return Ok(KnownSkill::Remote(only));
        }
        if found.is_empty() {
            found = self.remote().filter(|skill| skill.name() == name).collect();
        }
        let candidates: Vec<String> = found
            .iter()
            .map(|skill| format!("'{}'", Excerpt(&self.qualified_name(skill))))
            .collect();
        let name = Excerpt(name);
        let text = match candidates.is_empty() {
            true => format!("no skill has the name '{name}'"),
            false => format!(
                "'{name}' does not name one skill: expected one of {}",
                candidates.join(", ")
            ),
        };
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Returns the names that several skills share.
    // E-SKILL-C-65
    pub fn collisions(&self) -> Vec<SkillCollision> {
        let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for own in &self.own {
            names.entry(own).or_default().push(own.clone());
        }
        for skill in self.remote() {
            let qualified = self.qualified_name(skill);
            names.entry(skill.name()).or_default().push(qualified);
        }
        let shared = names
            .into_iter()
            .filter(|(_, qualified)| qualified.len() > 1);
        let collisions = shared.map(|(name, qualified)| SkillCollision {
            name: name.to_owned(),
            qualified,
        });
        collisions.collect()
    }
}

/// Returns the path of a skill's directory: its normalized URI without the scheme.
fn path_of(skill: &RemoteSkill) -> &str {
    let uri = &skill.id().uri;
    let (_, path) = uri.split_once(':').unwrap_or(("", uri));
    let path = path.trim_start_matches('/');
    path.rsplit_once('/')
        .map_or(path, |(directory, _)| directory)
}
