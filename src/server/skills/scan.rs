//! Scans a folder for skills.
//!
//! First the whole tree is listed, without reading files. Then the files of each skill that may be
//! published are read, one at a time.

use std::collections::HashMap;
use std::fs::{self, DirEntry, FileType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bounded_read::read_at_most;
use super::build::{BuiltSkill, FileSource, Identity, SkillSource, front_matter_of};
use super::folder::SkillFolder;
use super::options::{SkillOptions, SkippedSkill};
use super::store::Scanned;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Resource;
use crate::skills::{Digest, SKILL_FILE, SkillLimits};

/// The maximum depth of folders below a [`SkillFolder`].
const MAX_DEPTH: usize = 32;
/// The maximum number of files and folders in a [`SkillFolder`].
const MAX_ENTRIES: usize = 200_000;

/// A folder with all its files and subfolders.
struct Tree {
    name: String,
    path: PathBuf,
    files: Vec<FoundFile>,
    folders: Vec<Self>,
    /// The first entry of this folder that can't be published, with the reason.
    fault: Option<(PathBuf, Error)>,
}

struct FoundFile {
    name: String,
    path: PathBuf,
    size: u64,
}

/// The result of reading a file.
#[derive(Clone)]
struct ReadFile {
    identity: Identity,
    is_text: bool,
    /// The content of the file, if the file is a `SKILL.md`.
    text: Option<Arc<[u8]>>,
}

/// Scans a folder. `target` makes the target of each file, which serves requests to read the file.
/// The arguments of `target` are the metadata of the file, its path, and its digest and size.
///
/// # Errors
///
/// [`ErrorKind::Io`] when the folder can't be read, [`ErrorKind::Limit`] when it has too many
/// entries.
pub(super) fn scan<F>(
    folder: &SkillFolder,
    options: &SkillOptions,
    target: &dyn Fn(&Resource, PathBuf, Identity) -> F,
) -> Result<Scanned<F>> {
    let failed = |error| Error::io(format_args!("folder '{}'", folder.path.display()), error);
    let root = fs::canonicalize(&folder.path).map_err(failed)?;
    fs::read_dir(&root).map_err(failed)?;
    let name = root.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default().to_owned();
    let mut entries = 0;
    let tree = list(root, name, MAX_DEPTH, &mut entries)?;
    let mut scan = Scan {
        folder,
        options,
        target,
        read: HashMap::new(),
        found: Scanned {
            skills: Vec::new(),
            skipped: Vec::new(),
        },
    };
    // The folder itself is no segment of the URIs, unless it is a skill.
    let names = if tree.is_skill() {
        vec![&*tree.name]
    } else {
        vec![]
    };
    scan.visit(&tree, &names, false)?;
    Ok(scan.found)
}

/// Lists a folder with all folders below it.
fn list(path: PathBuf, name: String, depth: usize, entries: &mut usize) -> Result<Tree> {
    let mut tree = Tree {
        name,
        path,
        files: Vec::new(),
        folders: Vec::new(),
        fault: None,
    };
    let mut found: Vec<DirEntry> = match fs::read_dir(&tree.path).and_then(Iterator::collect) {
        Ok(found) => found,
        Err(error) => {
            let error = Error::io("reading the folder", error);
            tree.fault = Some((tree.path.clone(), error));
            return Ok(tree);
        }
    };
    *entries += found.len();
    if *entries > MAX_ENTRIES {
        let text = format!("the folder has more than {MAX_ENTRIES} files and folders");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    found.sort_by_key(DirEntry::file_name);
    for entry in found {
        let path = entry.path();
        match add(&mut tree, &entry, depth, entries) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Limit && *entries > MAX_ENTRIES => {
                return Err(error);
            }
            Err(error) => _ = tree.fault.get_or_insert((path, error)),
        }
    }
    Ok(tree)
}

/// Adds a directory entry to the tree of its folder. Entries whose names begin with a dot are left
/// out.
fn add(tree: &mut Tree, entry: &DirEntry, depth: usize, entries: &mut usize) -> Result<()> {
    let name = entry.file_name();
    if name.as_encoded_bytes().starts_with(b".") {
        return Ok(());
    }
    let Ok(name) = name.into_string() else {
        return Err(Error::invalid("its name is not UTF-8"));
    };
    let failed = |error| Error::io("looking at the entry", error);
    let kind = entry.file_type().map_err(failed)?;
    if kind.is_dir() {
        if depth == 0 {
            let text = format!("it lies deeper than {MAX_DEPTH} folders");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let folder = list(entry.path(), name, depth - 1, entries)?;
        tree.folders.push(folder);
        return Ok(());
    }
    if !kind.is_file() {
        return Err(Error::invalid(format!("it is {}", noun(kind))));
    }
    tree.files.push(FoundFile {
        name,
        path: entry.path(),
        size: entry.metadata().map_err(failed)?.len(),
    });
    Ok(())
}

fn noun(kind: FileType) -> &'static str {
    match kind.is_symlink() {
        true => "a symbolic link",
        false => "neither a file nor a folder",
    }
}

impl Tree {
    fn is_skill(&self) -> bool {
        self.files.iter().any(|file| file.name == SKILL_FILE)
    }

    /// Returns the first entry in the folder, or below it, that can't be published.
    fn first_fault(&self) -> Option<&(PathBuf, Error)> {
        let below = || self.folders.iter().find_map(Self::first_fault);
        self.fault.as_ref().or_else(below)
    }

    /// Adds all files below this folder to `into`, with their paths below the skill's folder.
    /// `prefix` is the path of this folder.
    fn all_files<'a>(&'a self, prefix: &str, into: &mut Vec<(String, &'a FoundFile)>) {
        let files = self.files.iter();
        into.extend(files.map(|file| (format!("{prefix}{}", file.name), file)));
        for folder in &self.folders {
            folder.all_files(&format!("{prefix}{}/", folder.name), into);
        }
    }
}

struct Scan<'a, F> {
    folder: &'a SkillFolder,
    options: &'a SkillOptions,
    target: &'a dyn Fn(&Resource, PathBuf, Identity) -> F,
    /// The results of reading files, by path. A file of a nested skill belongs to the outer skill
    /// too, but is read only once.
    read: HashMap<PathBuf, ReadFile>,
    found: Scanned<F>,
}

impl<F> Scan<'_, F> {
    /// Adds the skills in a folder and below it to the result. `names` are the segments of the
    /// folder's URI. `is_inside` tells whether the folder is in the folder of a skill.
    fn visit(&mut self, tree: &Tree, names: &[&str], is_inside: bool) -> Result<()> {
        if tree.is_skill() {
            match self.skill(tree, names) {
                Ok(skill) => self.found.skills.push(Arc::new(skill)),
                Err(reason) => self.skip(&tree.path, reason),
            }
        } else if !is_inside && let Some((path, reason)) = &tree.fault {
            self.skip(path, reason.clone());
        }
        let is_inside = is_inside || tree.is_skill();
        for folder in &tree.folders {
            let names = [names, &[&folder.name]].concat();
            self.visit(folder, &names, is_inside)?;
        }
        // Only skills in this folder can share files with each other.
        if !is_inside {
            self.read.clear();
        }
        Ok(())
    }

    fn skip(&mut self, path: &Path, reason: Error) {
        let path = path.to_owned();
        self.found.skipped.push(SkippedSkill { path, reason });
    }

    fn skill(&mut self, tree: &Tree, names: &[&str]) -> Result<BuiltSkill<F>> {
        if let Some((path, fault)) = tree.first_fault() {
            let path = path.strip_prefix(&tree.path).unwrap_or(path).display();
            return Err(fault.clone().context(format_args!("'{path}'")));
        }
        let mut found = Vec::new();
        tree.all_files("", &mut found);
        let limits = &self.options.limits;
        check_limits(&found, limits)?;
        let directory = self.folder.uri_of(names)?;
        let mut files = Vec::new();
        let mut text = None;
        for (path, file) in found {
            let content = self.read_file(file)?;
            if path == SKILL_FILE {
                text.clone_from(&content.text);
            }
            files.push(FileSource {
                path,
                identity: Some(content.identity),
                is_text: Some(content.is_text),
                body: file.path.clone(),
            });
        }
        let parser = self.options.parser.as_ref();
        let source = SkillSource {
            directory,
            front_matter: front_matter_of(&text.unwrap_or_default(), None, parser)?,
            files,
            is_listed: self.folder.is_listed,
            meta: None,
            origin: tree.path.clone(),
        };
        source.build(limits, |resource, path, identity| {
            let identity = identity.expect("files of folders have a digest");
            (self.target)(resource, path, identity)
        })
    }

    fn read_file(&mut self, file: &FoundFile) -> Result<ReadFile> {
        if let Some(known) = self.read.get(&file.path) {
            return Ok(known.clone());
        }
        let name = &file.name;
        let failed = |error| Error::io(format_args!("reading '{name}'"), error);
        let max = self.options.limits.max_bytes;
        let bytes = read_at_most(&file.path, max).map_err(failed)?;
        let size = bytes.len() as u64;
        let is_skill_file = file.name == SKILL_FILE;
        let content = ReadFile {
            identity: (Digest::of(&bytes), size),
            is_text: std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0')),
            text: is_skill_file.then(|| bytes.into()),
        };
        self.read.insert(file.path.clone(), content.clone());
        Ok(content)
    }
}

/// Checks the number and the total size of a skill's files, before any file is read.
// E-SKILL-S-40
fn check_limits(files: &[(String, &FoundFile)], limits: &SkillLimits) -> Result<()> {
    let (found, max) = (files.len(), limits.max_files);
    if found > max {
        let text = format!("the skill has {found} files, more than SkillLimits::max_files ({max})");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let sizes = files.iter().map(|(_, file)| file.size);
    let (found, max) = (sizes.fold(0, u64::saturating_add), limits.max_bytes);
    if found > max {
        let text = format!("the skill has {found} bytes, more than SkillLimits::max_bytes ({max})");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Ok(())
}
