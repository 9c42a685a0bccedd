//! The store of a server's skills: their sources, and the snapshot that requests are answered from.
//!
//! The type parameter `F` is the target of a file, which serves requests to read the file. The
//! store only returns targets and never uses them.
//!
//! **Locks:** the lock of `sources` is taken before the lock of `snapshot`. While one of these
//! locks is held, no code of the host runs, and no file is read.

use std::sync::Arc;

use super::build::{BuiltSkill, Identity};
use super::folder::SkillFolder;
use super::options::{SkillChanges, SkillOptions, SkippedSkill};
use super::snapshot::{Numbered, Snapshot, fit_together, key_of};
use crate::error::{Error, Excerpt, Result};
use crate::sync::Mutex;

/// The skills of a server.
pub(in crate::server) struct Skills<F> {
    pub(super) options: SkillOptions,
    sources: Mutex<Sources<F>>,
    snapshot: Mutex<Arc<Snapshot<F>>>,
}

struct Sources<F> {
    folders: Vec<FolderSource<F>>,
    made: Vec<Arc<BuiltSkill<F>>>,
    next_number: u64,
    /// The number of scans that have begun.
    begun: u64,
}

struct FolderSource<F> {
    folder: SkillFolder,
    /// The number of the scan whose result is published.
    scan: u64,
    found: Scanned<F>,
}

/// The result of a scan of a folder.
pub(super) struct Scanned<F> {
    pub(super) skills: Vec<Arc<BuiltSkill<F>>>,
    pub(super) skipped: Vec<SkippedSkill>,
}

/// A reload that has begun: the folders to scan, and the number of the scan.
pub(super) struct Reload {
    pub(super) folders: Vec<SkillFolder>,
    scan: u64,
}

/// The replacement of a snapshot by a new snapshot.
pub(super) struct Swap<F> {
    pub(super) old: Arc<Snapshot<F>>,
    pub(super) new: Arc<Snapshot<F>>,
    /// The warnings about new and changed skills, for the log of the host.
    pub(super) warnings: Vec<String>,
}

/// The list of the server's resources. The store calls the functions of this trait while it holds
/// the lock of its sources.
pub(super) trait OtherResources<F> {
    /// Returns whether the list has a resource with this URI. The list contains the resources that
    /// the host has added, and the `SKILL.md` of each listed skill.
    fn has(&self, uri: &str) -> bool;

    /// Updates the list after a change from the snapshot `old` to the snapshot `new`. Removes the
    /// `SKILL.md` files that only `old` lists, adds those that only `new` lists, and replaces those
    /// that differ.
    fn list(&self, old: &Snapshot<F>, new: &Snapshot<F>);
}

impl<F: Clone> Skills<F> {
    pub(super) fn new(options: SkillOptions) -> Self {
        let sources = Sources {
            folders: Vec::new(),
            made: Vec::new(),
            next_number: 0,
            begun: 0,
        };
        Self {
            options,
            sources: Mutex::new(sources),
            snapshot: Mutex::new(Arc::default()),
        }
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot<F>> {
        Arc::clone(&self.snapshot.lock())
    }

    /// Returns the target of the file with this URI, in any spelling. Returns `None` if no skill
    /// has the file.
    pub(in crate::server) fn find(&self, uri: &str) -> Option<F> {
        self.snapshot().file(uri)
    }

    /// Returns whether the file with the normalized URI `key` is published with this digest and
    /// size.
    pub(super) fn publishes(&self, key: &str, identity: Identity) -> bool {
        self.snapshot().identity(key) == Some(identity)
    }

    /// Returns the skipped skills, and other skipped entries, of all folders.
    pub(super) fn skipped(&self) -> Vec<SkippedSkill> {
        let sources = self.sources.lock();
        let folders = sources.folders.iter();
        folders
            .flat_map(|it| it.found.skipped.iter().cloned())
            .collect()
    }

    /// Adds a folder, and publishes the skills that a scan found in it.
    pub(super) fn add_folder(
        &self,
        folder: SkillFolder,
        found: Scanned<F>,
        others: &impl OtherResources<F>,
    ) -> Swap<F> {
        let mut sources = self.sources.lock();
        let scan = sources.begun;
        sources.folders.push(FolderSource {
            folder,
            scan,
            found,
        });
        self.assemble(&mut sources, others)
    }

    /// Begins a reload. The caller scans the returned folders, and then calls
    /// [`end_reload`](Self::end_reload).
    pub(super) fn begin_reload(&self) -> Reload {
        let mut sources = self.sources.lock();
        sources.begun += 1;
        let folders = sources.folders.iter();
        Reload {
            folders: folders.map(|it| it.folder.clone()).collect(),
            scan: sources.begun,
        }
    }

    /// Publishes the skills that the scans of a reload found. The skills are discarded if a scan
    /// that began later is published already.
    pub(super) fn end_reload(
        &self,
        reload: &Reload,
        found: Vec<Scanned<F>>,
        others: &impl OtherResources<F>,
    ) -> Swap<F> {
        let mut sources = self.sources.lock();
        for (source, found) in sources.folders.iter_mut().zip(found) {
            if source.scan < reload.scan {
                source.scan = reload.scan;
                source.found = found;
            }
        }
        self.assemble(&mut sources, others)
    }

    /// Publishes a skill that was made in code. If such a skill with the same URI is published
    /// already, `replaces` decides: the new skill replaces it, or the function fails.
    pub(super) fn publish(
        &self,
        skill: BuiltSkill<F>,
        replaces: bool,
        others: &impl OtherResources<F>,
    ) -> Result<Swap<F>> {
        let mut sources = self.sources.lock();
        let key = skill.entry.uri().normalized();
        let mut made = sources.made.iter();
        let place = made.position(|it| replaces && it.entry.uri().normalized() == key);
        let folders = sources.folders.iter().flat_map(|it| &it.found.skills);
        let mut all = sources.made.iter().chain(folders).enumerate();
        all.try_for_each(|(index, other)| match place {
            Some(place) if place == index => Ok(()),
            _ => fit_together(&skill, other),
        })?;
        check_free(&skill, &self.snapshot(), others)?;
        let skill = Arc::new(skill);
        match place {
            Some(place) => sources.made[place] = skill,
            None => sources.made.push(skill),
        }
        Ok(self.assemble(&mut sources, others))
    }

    /// Removes a skill that was made in code. Returns `None` if there is no such skill.
    pub(super) fn remove(&self, uri: &str, others: &impl OtherResources<F>) -> Option<Swap<F>> {
        let mut sources = self.sources.lock();
        let key = crate::skills::normalized_uri(uri).ok()?;
        let mut made = sources.made.iter();
        let place = made.position(|it| it.entry.uri().normalized() == key)?;
        let removed = sources.made.remove(place);
        let swap = self.assemble(&mut sources, others);
        // A handler may run any code when it is dropped, so the lock is released before.
        drop(sources);
        drop(removed);
        Some(swap)
    }

    /// Creates a snapshot of all sources, and publishes the snapshot. Skips a skill of a folder if
    /// the skill can't be published together with the skills before it.
    fn assemble(&self, sources: &mut Sources<F>, others: &impl OtherResources<F>) -> Swap<F> {
        let old = self.snapshot();
        let mut accepted: Vec<Arc<BuiltSkill<F>>> = sources.made.clone();
        for source in &mut sources.folders {
            for skill in std::mem::take(&mut source.found.skills) {
                let mut others_too = accepted.iter();
                let fits = others_too.try_for_each(|other| fit_together(&skill, other));
                match fits.and_then(|()| check_free(&skill, &old, others)) {
                    Ok(()) => {
                        accepted.push(Arc::clone(&skill));
                        source.found.skills.push(skill);
                    }
                    Err(reason) => source.found.skipped.push(SkippedSkill {
                        path: skill.origin.clone(),
                        reason,
                    }),
                }
            }
        }
        let warnings = warnings(&accepted, &old);
        let mut numbered: Vec<_> = accepted
            .into_iter()
            .map(|skill| {
                let known = old.number(skill.entry.uri().normalized());
                let number = known.unwrap_or_else(|| {
                    sources.next_number += 1;
                    sources.next_number - 1
                });
                Numbered { skill, number }
            })
            .collect();
        numbered.sort_by_key(|it| it.number);
        let new = Arc::new(Snapshot::of(numbered));
        *self.snapshot.lock() = Arc::clone(&new);
        others.list(&old, &new);
        Swap { old, new, warnings }
    }

    /// Returns the number that the next new skill will get. All earlier skills have smaller
    /// numbers.
    pub(super) fn next_number(&self) -> u64 {
        self.sources.lock().next_number
    }
}

/// Checks that no resource of the host has the URI of a file of this skill.
fn check_free<F: Clone>(
    skill: &BuiltSkill<F>,
    old: &Snapshot<F>,
    others: &impl OtherResources<F>,
) -> Result<()> {
    // The list of resources has the SKILL.md of the listed skills.
    let is_ours = |key: &str| old.listed().any(|(listed, _)| listed == key);
    let is_taken = |uri: &str, key: &str| others.has(uri) && !is_ours(key);
    let mut files = skill.files.iter();
    match files.find(|file| is_taken(&file.resource.uri, &file.key)) {
        Some(file) => {
            let (skill, uri) = (skill.entry.uri(), Excerpt(&file.resource.uri));
            let text = format!("skill '{skill}': there is another resource with the URI '{uri}'");
            Err(Error::invalid(text))
        }
        None => Ok(()),
    }
}

/// Returns the warnings about the skills that are new or have changed since the old snapshot.
// E-SKILL-S-31
fn warnings<F: Clone>(skills: &[Arc<BuiltSkill<F>>], old: &Snapshot<F>) -> Vec<String> {
    let is_new = |skill: &&Arc<BuiltSkill<F>>| {
        let known = old.skill(skill.entry.uri().as_str());
        known != Some(skill.entry.skill())
    };
    let mut warnings = Vec::new();
    for skill in skills.iter().filter(is_new) {
        warnings.extend(skill.warnings.iter().cloned());
        let (uri, name) = (skill.entry.uri(), skill.entry.name());
        let mut others = skills.iter().filter(|other| other.entry.uri() != uri);
        if let Some(other) = others.find(|other| other.entry.name() == name) {
            let (other, name) = (other.entry.uri(), Excerpt(name));
            warnings.push(format!(
                "the skills '{uri}' and '{other}' have one name: '{name}'"
            ));
        }
    }
    warnings
}

impl<F: Clone> Swap<F> {
    /// Returns the skills that were added, changed or removed.
    pub(super) fn changes(&self) -> SkillChanges {
        let mut changes = SkillChanges::default();
        for skill in &self.new.skills {
            let uri = skill.skill.entry.uri().to_string();
            match self.old.skill(&uri) {
                None => changes.added.push(uri),
                Some(old) if old != skill.skill.entry.skill() => changes.changed.push(uri),
                Some(_) => {}
            }
        }
        let gone = |skill: &&Numbered<F>| self.new.number(key_of(skill)).is_none();
        let gone = self.old.skills.iter().filter(gone);
        changes
            .removed
            .extend(gone.map(|it| it.skill.entry.uri().to_string()));
        changes
    }

    /// Returns the URIs of the files that were changed or removed.
    pub(super) fn changed_files(&self) -> Vec<String> {
        self.old.files_unlike(&self.new).into_iter().collect()
    }
}
