//! Skills in folders of the user: written once, and compared with an entry.
//!
//! The paths of files come from a server. Each is checked, and no link is followed below the folder
//! of the skill, so that nothing outside of it is written or read.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use mcplink::skills::{Digest, FrontMatter, FrontMatterParser, SKILL_FILE, SkillEntry};
use mcplink_skills::SkillContent;

use crate::failure::{Failure, LOST, USAGE};
use crate::skills::Verified;

/// The longest `SKILL.md` that is read to find the name of its skill, in bytes.
const MAX_SKILL_FILE: u64 = 16 << 20;
/// How many files outside of the manifest are named.
const MAX_EXTRA: usize = 20;

/// The place of a skill that is to be written.
pub(crate) struct Target {
    folder: PathBuf,
    /// Whether files may be replaced.
    replaces: bool,
}

impl Target {
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Returns the folder for a skill: the one with its name in `parent`. An existing one is refused,
/// unless it may be replaced.
pub(crate) fn target(parent: &Path, name: &str, replaces: bool) -> Result<Target, Failure> {
    let folder = parent.join(safe_path(name)?);
    match fs::symlink_metadata(&folder) {
        Ok(_) if !replaces => {
            let folder = folder.display();
            let text = format!("{folder} exists: --replace replaces its files");
            Err(Failure::usage(text).with_help("mcplink skills --help"))
        }
        Ok(found) if !found.is_dir() => {
            let text = format!("{} is not a folder", folder.display());
            Err(Failure::new(USAGE, text))
        }
        Ok(_) => Ok(Target { folder, replaces }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Target { folder, replaces }),
        Err(error) => Err(failed(&folder, &error)),
    }
}

/// Returns the path of a file below the folder of its skill. Paths that lead elsewhere, and names
/// with control characters, are refused.
pub(crate) fn safe_path(path: &str) -> Result<PathBuf, Failure> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let relative = Path::new(path);
    let is_safe = relative.components().all(is_plain)
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !path.contains(|c: char| c.is_control() || c == '\\');
    match is_safe {
        true => Ok(relative.to_owned()),
        false => {
            let text = format!("the server names a file '{path}', which is not written");
            Err(Failure::new(LOST, text))
        }
    }
}

/// Writes the files of a skill. They are written to a new folder first, so that a failure replaces
/// nothing.
pub(crate) fn write(target: &Target, files: &[(PathBuf, SkillContent)]) -> Result<(), Failure> {
    let folder = &target.folder;
    let parent = folder.parent().unwrap_or_else(|| Path::new(""));
    fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let staging = parent.join(format!(".{name}.{}.new", std::process::id()));
    fs::create_dir(&staging).map_err(|error| failed(&staging, &error))?;
    let written = write_files(&staging, files).and_then(|()| match target.replaces {
        true => replace(&staging, folder, files),
        false => move_new(&staging, folder),
    });
    // After a failure, or when each file was moved: the folder is ours, and is not needed.
    _ = fs::remove_dir_all(&staging);
    written
}

/// Moves a folder to a path where nothing is.
fn move_new(from: &Path, to: &Path) -> Result<(), Failure> {
    // Renaming would replace an empty folder, which may be the user's. This one is ours.
    fs::create_dir(to).map_err(|error| failed(to, &error))?;
    fs::rename(from, to).map_err(|error| {
        _ = fs::remove_dir(to);
        failed(to, &error)
    })
}

fn write_files(folder: &Path, files: &[(PathBuf, SkillContent)]) -> Result<(), Failure> {
    for (path, content) in files {
        let path = folder.join(path);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            let mut file = File::options().write(true).create_new(true).open(&path)?;
            file.write_all(content.bytes())
        };
        write().map_err(|error| failed(&path, &error))?;
    }
    Ok(())
}

/// Moves the files of one folder into another one. Links in the other one are not followed. Every
/// place is checked before the first file is moved, so that a skill is not replaced in part.
fn replace(from: &Path, to: &Path, files: &[(PathBuf, SkillContent)]) -> Result<(), Failure> {
    for (path, _) in files {
        let mut folder = to.to_owned();
        let parents = path.parent().unwrap_or_else(|| Path::new("")).components();
        make_plain_folder(&folder)?;
        for part in parents {
            folder.push(part);
            make_plain_folder(&folder)?;
        }
        let target = to.join(path);
        if fs::symlink_metadata(&target).is_ok_and(|found| found.is_dir()) {
            let text = format!("{} is a folder", target.display());
            return Err(Failure::new(USAGE, text));
        }
    }
    for (path, _) in files {
        let target = to.join(path);
        fs::rename(from.join(path), &target).map_err(|error| failed(&target, &error))?;
    }
    Ok(())
}

/// Makes a folder, unless it exists. A link to a folder is refused.
fn make_plain_folder(folder: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => {
            let text = format!("{} is not a folder", folder.display());
            Err(Failure::new(USAGE, text))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir(folder).map_err(|error| failed(folder, &error))
        }
        Err(error) => Err(failed(folder, &error)),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::new(USAGE, format!("{}: {error}", path.display()))
}

/// Returns the name of the skill in a folder.
pub(crate) fn name(folder: &Path) -> Result<String, Failure> {
    let path = folder.join(SKILL_FILE);
    let bytes = read_file(&path, MAX_SKILL_FILE).map_err(|error| failed(&path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    let front_matter = FrontMatter::split(&text)
        .and_then(|parts| FrontMatterParser::yaml().parse(parts.yaml()))
        .map_err(|error| Failure::new(USAGE, format!("{}: {error:#}", path.display())))?;
    let name = front_matter.get("name").and_then(|name| name.as_str());
    let name = name.map(str::to_owned);
    name.ok_or_else(|| Failure::new(USAGE, format!("{} names no skill", path.display())))
}

/// Reads a plain file of at most `max` bytes.
fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("not a plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Compares the files of a folder with the manifest and the front matter of an entry.
pub(crate) fn verify(folder: &Path, entry: &SkillEntry) -> Result<Vec<Verified>, Failure> {
    let mut verified = Vec::new();
    for file in entry.files() {
        let path = folder.join(safe_path(&file.path)?);
        let fault =
            match plain_parents(folder, &file.path).and_then(|()| read_file(&path, file.size)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some("missing".to_owned()),
                Err(error) => Some(error.to_string()),
                Ok(bytes) if bytes.len() as u64 != file.size => {
                    Some(format!("its size is not {} bytes", file.size))
                }
                Ok(bytes) => match Digest::of(&bytes) {
                    found if found == file.digest => front_matter_fault(entry, &file.uri, &bytes),
                    found => Some(format!(
                        "its digest is {found}, not {}, which is that of the server",
                        file.digest
                    )),
                },
            };
        let path = file.path.clone();
        verified.push(Verified { path, fault });
    }
    let mut extra = Vec::new();
    let known = |path: &str| entry.files().any(|file| file.path == path);
    find_extra(folder, "", &known, &mut extra)?;
    verified.extend(extra.into_iter().map(|path| Verified {
        path,
        fault: Some("not a file of the skill".to_owned()),
    }));
    Ok(verified)
}

/// Returns an error if a folder on the way to a file is a link.
fn plain_parents(folder: &Path, path: &str) -> io::Result<()> {
    let mut folder = folder.to_owned();
    for part in Path::new(path).parent().unwrap_or_else(|| Path::new("")) {
        folder.push(part);
        if !fs::symlink_metadata(&folder)?.is_dir() {
            return Err(io::Error::other(
                "a link or a file is in the place of its folder",
            ));
        }
    }
    Ok(())
}

/// Returns how the front matter of `SKILL.md` differs from the entry.
fn front_matter_fault(entry: &SkillEntry, uri: &str, bytes: &[u8]) -> Option<String> {
    if uri != entry.uri().as_str() {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let compared = FrontMatter::split(&text)
        .and_then(|parts| FrontMatterParser::yaml().parse(parts.yaml()))
        .and_then(|found| FrontMatter::compare(entry.front_matter(), &found));
    compared.err().map(|error| format!("{error:#}"))
}

/// Collects the paths of the files in a folder that are not known. Links are not followed.
fn find_extra(
    root: &Path,
    below: &str,
    known: &dyn Fn(&str) -> bool,
    extra: &mut Vec<String>,
) -> Result<(), Failure> {
    let folder = root.join(below);
    let failed = |error: io::Error| failed(&folder, &error);
    let entries = fs::read_dir(&folder).map_err(failed)?;
    let mut names: Vec<(String, bool)> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        let name: &OsStr = &entry.file_name();
        names.push((name.to_string_lossy().into_owned(), is_folder));
    }
    names.sort();
    for (name, is_folder) in names {
        let path = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        if extra.len() == MAX_EXTRA {
            return Ok(());
        }
        match is_folder {
            true => find_extra(root, &path, known, extra)?,
            false if !known(&path) => extra.push(path),
            false => {}
        }
    }
    Ok(())
}
