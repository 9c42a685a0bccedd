//! A snapshot: all published skills with their files and directories. It never changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::build::{BuiltFile, BuiltSkill, Identity};
use crate::error::{Error, Excerpt, Result};
use crate::schema::url::percent_decoded;
use crate::schema::{DIRECTORY_MIME_TYPE, Resource, Skill};
use crate::skills::{SKILL_FILE, normalized_uri};

/// A skill in a snapshot.
pub(super) struct Numbered<F> {
    pub(super) skill: Arc<BuiltSkill<F>>,
    /// The number of the skill. Later skills have larger numbers. A skill keeps its number as long
    /// as it is published, also when its files change.
    pub(super) number: u64,
}

/// A file or directory in a directory.
pub(super) struct Child {
    /// The last segment of the child's normalized URI. Children are sorted by this name.
    pub(super) name: String,
    pub(super) resource: Resource,
}

/// All published skills.
pub(in crate::server) struct Snapshot<F> {
    /// The skills, sorted by their numbers.
    pub(super) skills: Vec<Numbered<F>>,
    /// The indexes in `skills`, by the normalized URIs of the `SKILL.md`.
    by_key: HashMap<String, usize>,
    /// The files of all skills, by their normalized URIs.
    files: HashMap<String, Arc<BuiltFile<F>>>,
    /// The directories of all skills and the directories above them, by their normalized URIs.
    directories: HashMap<String, Vec<Child>>,
}

impl<F> Default for Snapshot<F> {
    fn default() -> Self {
        Self {
            skills: Vec::new(),
            by_key: HashMap::new(),
            files: HashMap::new(),
            directories: HashMap::new(),
        }
    }
}

impl<F: Clone> Snapshot<F> {
    /// Creates a snapshot of these skills. [`fit_together`] must have accepted each pair of them.
    pub(super) fn of(skills: Vec<Numbered<F>>) -> Self {
        let mut this = Self {
            by_key: (skills.iter().map(|it| key_of(it).to_owned()).zip(0..)).collect(),
            ..Self::default()
        };
        // The SKILL.md of a nested skill is a plain file of the outer skill. Its own metadata is
        // better, so it is inserted last.
        let is_skill_file = |file: &BuiltFile<F>, of: &Numbered<F>| file.key == key_of(of);
        for is_last in [false, true] {
            for skill in &skills {
                let files = skill.skill.files.iter();
                let files = files.filter(|file| is_skill_file(file, skill) == is_last);
                this.files
                    .extend(files.map(|file| (file.key.clone(), Arc::clone(file))));
            }
        }
        this.directories = directories(this.files.values().map(|file| &file.resource));
        this.skills = skills;
        this
    }

    /// Returns the target of the file with this URI, in any spelling. Returns `None` if no skill
    /// has the file.
    pub(super) fn file(&self, uri: &str) -> Option<F> {
        let file = self.files.get(&normalized_uri(uri).ok()?)?;
        Some(file.target.clone())
    }

    /// Returns the digest and the size of the file with the normalized URI `key`. Returns `None` if
    /// there is no such file, or if a function of the host makes its bytes at each read.
    pub(super) fn identity(&self, key: &str) -> Option<Identity> {
        self.files.get(key)?.identity
    }

    /// Returns the skill with this `SKILL.md`, in any spelling of the URI.
    pub(super) fn skill(&self, uri: &str) -> Option<&Skill> {
        let place = *self.by_key.get(&normalized_uri(uri).ok()?)?;
        Some(self.skills[place].skill.entry.skill())
    }

    /// Returns the normalized URI of a directory, and its children. The argument is the directory's
    /// URI in any spelling.
    pub(super) fn directory(&self, uri: &str) -> Option<(String, &[Child])> {
        let key = normalized_uri(uri).ok()?;
        let children = self.directories.get(&key)?;
        Some((key, children))
    }

    /// Returns the number of a skill, or `None` if the skill is not published. `key` is the
    /// normalized URI of its `SKILL.md`.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        Some(self.skills[*self.by_key.get(key)?].number)
    }

    /// Returns the `SKILL.md` of each listed skill as a resource, with its normalized URI. The
    /// skills are in the order of their numbers.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&str, &Resource)> {
        let listed = self.skills.iter().filter(|it| it.skill.is_listed);
        listed.map(|it| (key_of(it), &self.files[key_of(it)].resource))
    }

    /// Returns the URIs of the files of this snapshot that `other` lacks, or that differ in
    /// `other`.
    pub(super) fn files_unlike(&self, other: &Self) -> BTreeSet<String> {
        let differs = |(key, file): &(&String, &Arc<BuiltFile<F>>)| {
            let same = |other: &Arc<BuiltFile<F>>| {
                other.identity == file.identity && other.resource.uri == file.resource.uri
            };
            !other.files.get(*key).is_some_and(same)
        };
        let unlike = self.files.iter().filter(differs);
        unlike.map(|(_, file)| file.resource.uri.clone()).collect()
    }
}

/// Returns the normalized URI of a skill's `SKILL.md`.
pub(super) fn key_of<F>(skill: &Numbered<F>) -> &str {
    skill.skill.entry.uri().normalized()
}

/// Returns the normalized URI of a skill's directory, with a slash at the end.
fn base_of<F>(skill: &BuiltSkill<F>) -> &str {
    let key = skill.entry.uri().normalized();
    &key[..key.len() - SKILL_FILE.len()]
}

/// Checks that two skills can be published together. Their URIs must differ. If one skill is nested
/// in the other one, the outer skill must have all files of the nested skill, with equal contents.
// E-SKILL-S-37
pub(super) fn fit_together<F>(one: &BuiltSkill<F>, other: &BuiltSkill<F>) -> Result<()> {
    let (one_base, other_base) = (base_of(one), base_of(other));
    let fault = if one_base == other_base {
        "a skill with this URI is there already: remove it first or choose another name".to_owned()
    } else if one_base.starts_with(other_base) {
        match missing(one, other) {
            Some(fault) => fault,
            None => return Ok(()),
        }
    } else if other_base.starts_with(one_base) {
        match missing(other, one) {
            Some(fault) => fault,
            None => return Ok(()),
        }
    } else {
        return Ok(());
    };
    let text = format!("skill '{}': {fault}", one.entry.uri());
    Err(Error::invalid(text))
}

/// Returns an error text if a file of `nested` is missing in `outer`, or has another content there.
fn missing<F>(nested: &BuiltSkill<F>, outer: &BuiltSkill<F>) -> Option<String> {
    let have: HashMap<&str, Option<Identity>> =
        (outer.files.iter().map(|file| (&*file.key, file.identity))).collect();
    let differs = |file: &&Arc<BuiltFile<F>>| have.get(&*file.key) != Some(&file.identity);
    let file = nested.files.iter().find(differs)?;
    Some(format!(
        "'{}' is nested in '{}', which does not have the file '{}' with the same content",
        nested.entry.uri(),
        outer.entry.uri(),
        Excerpt(&file.resource.uri)
    ))
}

/// Returns the directories of these files with their children, by normalized URI. The directories
/// above a skill are included, up to the first path segment of the URI.
// E-SKILL-S-59, E-SKILL-S-61
fn directories<'a>(files: impl Iterator<Item = &'a Resource>) -> HashMap<String, Vec<Child>> {
    let mut found: HashMap<String, BTreeMap<String, Resource>> = HashMap::new();
    for file in files {
        let Ok(mut key) = normalized_uri(&file.uri) else {
            continue;
        };
        let root = root_len(&key);
        let mut resource = file.clone();
        while let Some(slash) = key.rfind('/').filter(|slash| *slash >= root) {
            let name = key.split_off(slash + 1);
            key.truncate(slash);
            // The URI has as many segments as its normalized form.
            let uri = resource.uri.rsplit_once('/').map_or("", |(uri, _)| uri);
            let uri = uri.to_owned();
            let children = found.entry(key.clone()).or_default();
            children.entry(name).or_insert(resource);
            let name = uri.rsplit('/').next().unwrap_or_default();
            let name = percent_decoded(name).unwrap_or_else(|| name.to_owned());
            resource = Resource::new(uri, name).mime_type(DIRECTORY_MIME_TYPE);
        }
    }
    let sorted = |children: BTreeMap<String, Resource>| {
        let children = children.into_iter();
        children
            .map(|(name, resource)| Child { name, resource })
            .collect()
    };
    let all = found.into_iter();
    all.map(|(key, children)| (key, sorted(children))).collect()
}

/// Returns the length of the part of a normalized URI that precedes its first path segment.
fn root_len(uri: &str) -> usize {
    let scheme = uri.find(':').map_or(0, |colon| colon + 1);
    let rest = &uri[scheme..];
    let authority = if rest.starts_with("//") { 2 } else { 0 };
    let slash = usize::from(rest[authority..].starts_with('/'));
    scheme + authority + slash
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // E-SKILL-S-56, E-SKILL-S-59, E-SKILL-S-61
    #[test]
    fn directories_go_up_to_the_first_segment() {
        let files = ["skill://a%2Db/x/SKILL.md", "skill://a%2Db/x/d/e", "x:/p/q"];
        let files = files.map(|uri| Resource::new(uri, "file"));
        let found = directories(files.iter());
        let children = |key: &str| -> Vec<(&str, &str, bool)> {
            let children = found[key].iter();
            children
                .map(|it| {
                    let is_directory = it.resource.mime_type.as_deref() == Some("inode/directory");
                    (&*it.name, &*it.resource.uri, is_directory)
                })
                .collect()
        };
        assert_eq!(children("skill://a-b"), [("x", "skill://a%2Db/x", true)]);
        assert_eq!(
            children("skill://a-b/x"),
            [
                ("SKILL.md", "skill://a%2Db/x/SKILL.md", false),
                ("d", "skill://a%2Db/x/d", true)
            ]
        );
        assert_eq!(children("x:/p"), [("q", "x:/p/q", false)]);
        assert_eq!(found.len(), 4);
        let named: Vec<&str> = (found["skill://a-b"].iter().map(|it| &*it.resource.name)).collect();
        assert_eq!(named, ["x"]);
    }
}
