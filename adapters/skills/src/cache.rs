//! A cache of skill files on disk.
//!
//! ```text
//!  {root}/{hash of the label}/origin.json                     {"label": …}
//!  {root}/{hash of the label}/{hash of the URI}/origin.json   {"label": …, "uri": …}
//!  {root}/{hash of the label}/{hash of the URI}/{digest}      the bytes of a file
//!  …/{digest}.{process}.{number}.new                          being written
//! ```
//!
//! Hashes are SHA-256, so labels and URIs of any length and spelling have different paths, also on
//! file systems that ignore case. A file is written under another name and renamed, so that a
//! killed process leaves no partial file. Each read computes the digest again.
//!
//! Spec: Extensions, Skills, "Security Considerations", "Caching".

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use mcplink::skills::{Digest, SKILL_FILE, SkillFile};
use mcplink::{Error, ErrorKind, Result, private_files};
use serde::{Deserialize, Serialize};

use crate::content::SkillContent;
use crate::excerpt::Excerpt;
use crate::listing::SkillId;

/// The name of the file that contains the server label and skill URI of a folder.
const ORIGIN: &str = "origin.json";
/// The maximum length of an [`ORIGIN`] file, in bytes.
const MAX_ORIGIN_BYTES: u64 = 1 << 20;
/// The ending of files that are being written.
const PARTIAL: &str = "new";
/// The age at which a partial file counts as the leftover of a killed process.
const LEFTOVER_AGE: Duration = Duration::from_secs(60 * 60);
/// The beginning of the texts of errors about the folder of the cache.
const UNUSABLE: &str = "the skill cache can't be used";
/// The default of [`SkillCache::max_bytes`].
const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// A cache of skill files in a folder of the user; clones share the cache.
///
/// The cache stores the files that were read, separately for each server and skill. Every read
/// computes the digest again. A file that was changed on disk is removed and not used. No file is
/// executable. Content from the cache always has the [`SkillId`] of its skill. It counts as
/// received from the server of the skill, even if the host was restarted or has removed the server
/// since.
///
/// Choose a folder that no program searches for skills. No cached file has the name `SKILL.md`.
/// When the host removes a server, call [`forget`](Self::forget).
///
/// # Examples
///
/// ```no_run
/// use mcplink_skills::{SkillCache, Skills};
///
/// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
/// let cache = SkillCache::new("/home/alice/.cache/host/skill-files")?;
/// let skills = Skills::new(client, "github").cache(&cache);
/// // The user removes the server:
/// cache.forget("github")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SkillCache(Arc<Folder>);

struct Folder {
    root: PathBuf,
    max_bytes: AtomicU64,
    /// The number of the next partial file. Numbers distinguish the partial files of this process.
    number: AtomicU64,
    /// The total size of the cached files, in bytes. The value may be inaccurate if other processes
    /// use the same folder.
    total: Mutex<u64>,
}

/// The content of an [`ORIGIN`] file.
#[derive(Serialize, Deserialize)]
struct Origin {
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
}

impl SkillCache {
    /// Opens a cache in a folder. The folder is created if it does not exist, and only the user may
    /// use it then: on Unix its mode is 0700.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Io`]: the folder can't be created or written to.
    /// - [`ErrorKind::Invalid`]: other users may write to the folder, or the folder belongs to
    ///   another user, is inside the folder of a skill, or contains the folder of a skill.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let failed = |error| failed("the folder of the skill cache can't be used", &root, error);
        unless_it_exists(private_files::create_folder_all(&root)).map_err(failed)?;
        let root = fs::canonicalize(&root).map_err(failed)?;
        check_private(&root)?;
        check_apart_from_skills(&root)?;
        let cache = Self(Arc::new(Folder {
            max_bytes: AtomicU64::new(DEFAULT_MAX_BYTES),
            number: AtomicU64::new(0),
            total: Mutex::new(0),
            root,
        }));
        cache.check_owner()?;
        let files = cache.files();
        *cache.lock_total() = files.iter().map(|file| file.size).sum();
        Ok(cache)
    }

    /// Sets the maximum total size of the cached files, in bytes. Defaults to 256 MiB. Above the
    /// limit, the least recently used files are removed.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        self.0.max_bytes.store(max_bytes, Ordering::Relaxed);
        self
    }

    /// Reads a file of a skill from the cache; `None` if the cache does not have the file with this
    /// digest. Size and digest are checked again. A file that fails the check is removed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] or [`ErrorKind::Invalid`] when the cache can't be used.
    /// [`ErrorKind::Limit`] when there is no memory for the file.
    // E-SKILL-C-32, E-SKILL-C-77
    pub fn read(&self, skill: &SkillId, file: &SkillFile) -> Result<Option<SkillContent>> {
        let folder = self.path_of(skill);
        if !self.is_usable(&folder)? {
            return Ok(None);
        }
        let path = folder.join(hex(&file.digest));
        match read_bounded(&path, file.size) {
            Ok(bytes) if Digest::of(&bytes) == file.digest && bytes.len() as u64 == file.size => {
                let content = SkillContent::new(skill.clone(), &file.uri, bytes);
                Ok(Some(content.verified().cached()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                let text = "the system has no memory for a cached skill file";
                Err(Error::new(ErrorKind::Limit, text))
            }
            // The file was changed, or is a link.
            _ => {
                self.remove(&path)?;
                Ok(None)
            }
        }
    }

    /// Writes a verified file.
    pub(crate) fn store(&self, skill: &SkillId, file: &SkillFile, bytes: &[u8]) -> Result<()> {
        let max = self.0.max_bytes.load(Ordering::Relaxed);
        if file.size > max {
            return Ok(());
        }
        let folder = self.path_of(skill);
        let label_folder = folder
            .parent()
            .expect("a skill's folder is in that of its label");
        let origin = |uri| Origin {
            label: skill.label.clone(),
            uri,
        };
        self.make(label_folder, &origin(None))?;
        self.make(&folder, &origin(Some(skill.uri.clone())))?;
        let path = folder.join(hex(&file.digest));
        self.write(&path, bytes)?;
        let mut total = self.lock_total();
        *total += file.size;
        if *total > max {
            *total = self.evict(&path, max);
        }
        Ok(())
    }

    /// Removes all files of the server with this label.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when a file can't be removed.
    // E-SKILL-C-80
    pub fn forget(&self, label: &str) -> Result<()> {
        self.remove(&self.0.root.join(hex(&Digest::of(label.as_bytes()))))
    }

    /// Removes all files of a skill.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when a file can't be removed.
    pub fn forget_skill(&self, skill: &SkillId) -> Result<()> {
        self.remove(&self.path_of(skill))
    }

    /// Returns the skills that have files in the cache. A folder without a valid `origin.json` is
    /// left out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the cache can't be read.
    pub fn skills(&self) -> Result<Vec<SkillId>> {
        let mut skills = Vec::new();
        for folder in self
            .skill_folders()
            .map_err(|error| failed("the skill cache can't be read", &self.0.root, error))?
        {
            skills.extend(self.origin_of(&folder).ok());
        }
        skills.sort();
        Ok(skills)
    }

    /// Returns the folder for the files of a skill. Each pair of label and URI has a folder of its
    /// own.
    // E-SKILL-C-10
    pub fn path_of(&self, skill: &SkillId) -> PathBuf {
        let label = hex(&Digest::of(skill.label.as_bytes()));
        let uri = hex(&Digest::of(skill.uri.as_bytes()));
        self.0.root.join(label).join(uri)
    }

    /// Returns the skill to which a folder, or a file in the folder, belongs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the path is not in the folder of a skill in this cache, or when
    /// the file `origin.json` of this folder is invalid. [`ErrorKind::Io`] when `origin.json` can't
    /// be read.
    // E-SKILL-C-10, E-SKILL-C-79
    pub fn origin_of(&self, path: &Path) -> Result<SkillId> {
        let below = path
            .strip_prefix(&self.0.root)
            .map_err(|_| invalid(path, "is not in the skill cache"))?;
        let folder: PathBuf = below.components().take(2).collect();
        let folder = self.0.root.join(folder);
        let file = folder.join(ORIGIN);
        let read = read_bounded(&file, MAX_ORIGIN_BYTES);
        let read = read.map_err(|error| failed("the origin can't be read", &file, error))?;
        let origin: Option<Origin> = serde_json::from_slice(&read).ok();
        let Some(Origin {
            label,
            uri: Some(uri),
        }) = origin
        else {
            return Err(invalid(&file, "is not the origin of a skill"));
        };
        let skill = SkillId { label, uri };
        if self.path_of(&skill) != folder {
            return Err(invalid(&file, "names another skill"));
        }
        Ok(skill)
    }

    /// Whether the folder of a skill exists. Returns an error if the folder or its parent is a
    /// link, or if other users may write to it.
    fn is_usable(&self, folder: &Path) -> Result<bool> {
        let is_not_found =
            |code| io::Error::from_raw_os_error(code).kind() == io::ErrorKind::NotFound;
        for folder in [folder.parent().unwrap_or(&self.0.root), folder] {
            match check_private(folder) {
                Err(error) if error.os_code().is_some_and(is_not_found) => return Ok(false),
                checked => checked?,
            }
        }
        Ok(true)
    }

    /// Creates a folder and its file `origin.json`, if they do not exist.
    fn make(&self, folder: &Path, origin: &Origin) -> Result<()> {
        unless_it_exists(private_files::create_folder(folder)).map_err(|error| {
            failed(
                "a folder of the skill cache can't be created",
                folder,
                error,
            )
        })?;
        check_private(folder)?;
        let path = folder.join(ORIGIN);
        if fs::symlink_metadata(&path).is_ok_and(|known| known.is_file()) {
            return Ok(());
        }
        let text = serde_json::to_string(origin).expect("texts are JSON");
        self.write(&path, text.as_bytes())
    }

    /// Writes a file under another name, and renames it. Replaces a link by the file.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let number = self.0.number.fetch_add(1, Ordering::Relaxed);
        let ending = format!("{}.{number}.{PARTIAL}", std::process::id());
        let partial = path.with_extension(ending);
        let written = write_new(&partial, bytes).and_then(|()| fs::rename(&partial, path));
        written.map_err(|error| {
            // The partial file might not exist.
            _ = fs::remove_file(&partial);
            failed("a skill file can't be cached", path, error)
        })
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let removed = match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(
                "a part of the skill cache can't be removed",
                path,
                error,
            )),
            _ => {
                let files = self.files();
                *self.lock_total() = files.iter().map(|file| file.size).sum();
                Ok(())
            }
        }
    }

    /// Removes the least recently used files, until the total size is at most `max` bytes. Does not
    /// remove the file `newest`. Returns the total size of the remaining files.
    fn evict(&self, newest: &Path, max: u64) -> u64 {
        let mut files = self.files();
        files.sort_by_key(|file| file.used);
        let mut total: u64 = files.iter().map(|file| file.size).sum();
        for file in files.iter().filter(|file| file.path != newest) {
            if total <= max {
                break;
            }
            // A file that can't be removed is tried again the next time.
            if fs::remove_file(&file.path).is_ok() {
                total -= file.size;
            }
        }
        total
    }

    // Each value of the total is valid, so a panic on another thread does no harm.
    fn lock_total(&self) -> MutexGuard<'_, u64> {
        self.0.total.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached files. Removes the leftovers of killed processes.
    fn files(&self) -> Vec<Cached> {
        let mut files = Vec::new();
        for folder in self.skill_folders().unwrap_or_default() {
            for path in children(&folder).unwrap_or_default() {
                let Ok(found) = fs::symlink_metadata(&path) else {
                    continue;
                };
                let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                if path.extension().is_some_and(|ending| ending == PARTIAL) {
                    if used.elapsed().is_ok_and(|age| age > LEFTOVER_AGE) {
                        // A leftover that can't be removed does no harm.
                        _ = fs::remove_file(&path);
                    }
                } else if found.is_file() && !path.ends_with(ORIGIN) {
                    let size = found.len();
                    files.push(Cached { path, size, used });
                }
            }
        }
        files
    }

    fn skill_folders(&self) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for label in children(&self.0.root)? {
            if is_real_folder(&label) {
                let skills = children(&label)?.into_iter();
                folders.extend(skills.filter(|folder| is_real_folder(folder)));
            }
        }
        Ok(folders)
    }

    /// Checks that the cache folder belongs to the user of this process. Creates a temporary file,
    /// whose owner is this user.
    fn check_owner(&self) -> Result<()> {
        let root = &self.0.root;
        let probe = root.join(format!("{}.{PARTIAL}", std::process::id()));
        let failed = |error| {
            failed(
                "the folder of the skill cache can't be written",
                root,
                error,
            )
        };
        // A leftover of an earlier process with this number.
        _ = fs::remove_file(&probe);
        write_new(&probe, b"").map_err(failed)?;
        let is_own = private_files::have_same_owner(root, &probe);
        fs::remove_file(&probe).map_err(failed)?;
        match is_own.map_err(failed)? {
            true => Ok(()),
            false => Err(invalid(root, "belongs to another user")),
        }
    }
}

impl fmt::Debug for SkillCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillCache")
            .field("root", &self.0.root)
            .field("total", &*self.lock_total())
            .finish_non_exhaustive()
    }
}

/// A file of the cache.
struct Cached {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// Returns the hexadecimal digits of a digest, which are used as a file name.
fn hex(digest: &Digest) -> String {
    digest.to_string().replace("sha256:", "")
}

/// Ignores the error of a creation whose path exists. What is there is checked afterwards.
fn unless_it_exists(created: io::Result<()>) -> io::Result<()> {
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?
        .map(|child| child.map(|it| it.path()))
        .collect()
}

fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Checks that a path is a folder, not a link, to which only its owner may write.
fn check_private(folder: &Path) -> Result<()> {
    private_files::check_folder(folder).map_err(|error| error.context(UNUSABLE))
}

/// Checks that the cache folder is neither inside the folder of a skill, nor contains the folder of
/// a skill. Otherwise a program that searches for skills could find the cache.
// E-SKILL-C-78
fn check_apart_from_skills(root: &Path) -> Result<()> {
    let has_skill = |folder: &Path| fs::symlink_metadata(folder.join(SKILL_FILE)).is_ok();
    let below = children(root).unwrap_or_default();
    let below = below.iter().map(PathBuf::as_path);
    match root.ancestors().chain(below).find(|it| has_skill(it)) {
        None => Ok(()),
        Some(folder) => {
            let text = format!("has a {SKILL_FILE}: a skill cache is apart from skills");
            Err(invalid(folder, &text))
        }
    }
}

/// Reads a regular file. Fails for a link, and for a file of more than `max` bytes. Sets the
/// modification time, which shows when the file was last used.
fn read_bounded(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = private_files::open_without_links(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > max {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // The time only decides what is evicted first.
    _ = file.set_modified(SystemTime::now());
    let len = usize::try_from(found.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let mut bytes = Vec::new();
    // The byte more shows the end of the file without another allocation.
    bytes.try_reserve_exact(len.saturating_add(1))?;
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a new file that only the user may read and write.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private_files::create_file(path)?;
    file.write_all(bytes)?;
    // After a power failure a renamed file must not be empty.
    file.sync_all()
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let path = path.display().to_string();
    Error::from(error).context(format_args!("{what}: '{}'", Excerpt(&path)))
}

fn invalid(path: &Path, fault: &str) -> Error {
    let path = path.display().to_string();
    let text = format!("'{}' {fault}", Excerpt(&path));
    Error::new(ErrorKind::Invalid, text).context(UNUSABLE)
}
