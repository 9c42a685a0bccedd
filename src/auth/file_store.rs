//! Secrets in files that only their owner may read.
//!
//! One file a name, which is the hash of the name; replaced as a whole, so that nobody reads half of one; and one that is locked while what
//! the other holds is renewed, so that processes that share a refresh token take turns.
//!
//! ```text
//!  {hash}.json            what is kept
//!  {hash}.{random}.new    what is being written; locked by the one who writes, so it is told from what one left behind that was killed
//!  {hash}.lock            locked while what is kept is renewed
//! ```

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::random;
use super::secret::Secret;
use super::store::Store;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::http::Waiting;

/// How long to wait before another look at a lock.
const PAUSE: Duration = Duration::from_millis(50);
/// So long is the hash of a name: SHA-256 in base64url.
const DIGEST: usize = 43;
/// So often a file is written anew that was taken for a leftover.
const MAX_TRIES: usize = 3;
/// Nothing that is kept is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Keeps secrets in a folder, in files with mode 0600, for this user's processes.
///
/// They are as safe as the user's account is, like the keys of `ssh`. Where the system has a key chain, a [`Store`] of the host's over that is
/// safer.
#[derive(Clone)]
pub struct FileStore {
    folder: PathBuf,
    /// The one whose files these have to be.
    user: u32,
}

impl FileStore {
    /// Uses a folder, which is made if it is not there, with mode 0700. What processes left there half written that were killed is removed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when it can't be made or written to, [`ErrorKind::Invalid`] when it belongs to another user, or others may write into it.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let failed = |error| failed("the folder of the store can't be used", &folder, error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let metadata = fs::metadata(&folder).map_err(failed)?;
        let mode = metadata.mode();
        if mode & 0o022 != 0 {
            let text = format!(
                "others may write into '{}' (mode {:o}): expected a folder of the user's own (chmod 700)",
                folder.display(),
                mode & 0o777
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let user = user_in(&folder)?.map_err(failed)?;
        check_owner(&folder, metadata.uid(), user)?;
        let store = Self { folder, user };
        // What can't be removed is in nobody's way.
        _ = store.sweep("");
        Ok(store)
    }

    /// Removes what was left behind half written, in files whose names begin so: there are secrets in it.
    fn sweep(&self, beginning: &str) -> io::Result<()> {
        let mut swept = Ok(());
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            // The folder may have files of others.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && name.starts_with(beginning) && is_half_written(name) {
                let removed = remove_leftover(&entry.path());
                swept = swept.and(removed);
            }
        }
        swept
    }

    /// Writes a new file, and puts it in the place of what is kept.
    fn replace(&self, name: &str, path: &Path, content: &Secret) -> Result<io::Result<()>> {
        let new = self.path(name, &format!("{}.new", random::text()?));
        let replaced = write(&new, content).and_then(|_locked| fs::rename(&new, path));
        if let Err(error) = replaced {
            // It may not even be there.
            _ = fs::remove_file(&new);
            return Ok(Err(error));
        }
        Ok(self.sync())
    }

    /// Waits until the disk has what changed in the folder: otherwise the system may have the old
    /// file after it lost power, or one that was removed.
    fn sync(&self) -> io::Result<()> {
        match File::open(&self.folder)?.sync_all() {
            // Some file systems have no such thing for folders.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }

    fn path(&self, name: &str, ending: &str) -> PathBuf {
        self.folder
            .join(format!("{}.{ending}", random::digest(name)))
    }
}

impl Store for FileStore {
    fn load(&self, name: &str) -> Result<Option<Secret>> {
        let path = self.path(name, "json");
        match read(&path, self.user) {
            Ok(read) => read.map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("what is kept can't be read", &path, error)),
        }
    }

    fn save(&self, name: &str, content: &Secret) -> Result<()> {
        let path = self.path(name, "json");
        let mut saved = self.replace(name, &path, content)?;
        for _ in 1..MAX_TRIES {
            match &saved {
                // Another process may have looked for leftovers in the moment before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    saved = self.replace(name, &path, content)?;
                }
                _ => break,
            }
        }
        saved.map_err(|error| failed("nothing can be kept", &path, error))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name, "json");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("what is kept can't be removed", &path, error))
            }
            _ => {
                let swept = self.sweep(&random::digest(name));
                swept.map_err(|error| {
                    failed("what was half written can't be removed", &path, error)
                })?;
                let synced = self.sync();
                synced.map_err(|error| failed("what was removed may come back", &path, error))
            }
        }
    }

    fn lock(&self, name: &str, waiting: &Waiting) -> Result<Box<dyn Send>> {
        let path = self.path(name, "lock");
        let failed = |error| failed("what is kept can't be locked", &path, error);
        // It stays there: one that is removed could be locked twice.
        let file = private().create(true).open(&path).map_err(failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Box::new(file)),
                Err(TryLockError::WouldBlock) if waiting.pause(Instant::now() + PAUSE) => {}
                Err(TryLockError::WouldBlock) => {
                    let text = format!(
                        "another process renews the tokens, and was not done in time: '{}' is locked",
                        path.display()
                    );
                    return Err(Error::new(ErrorKind::Timeout, text));
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore")
            .field("folder", &self.folder)
            .finish()
    }
}

/// For files that are nobody else's.
fn private() -> OpenOptions {
    let mut options = File::options();
    options.write(true).mode(0o600);
    options
}

/// Writes a file, which stays locked as long as what is given back is there.
fn write(path: &Path, content: &Secret) -> io::Result<File> {
    let mut file = private().create_new(true).open(path)?;
    file.lock()?;
    file.write_all(content.reveal().as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// Whether a file has the name of one that is being written here: the hash of what it is about, something random, and the ending.
fn is_half_written(name: &str) -> bool {
    let is_word = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let parts: Vec<_> = name.split('.').collect();
    matches!(parts[..], [about, random, "new"] if about.len() == DIGEST && is_word(about) && is_word(random))
}

/// Removes what was being written, unless it still is.
fn remove_leftover(path: &Path) -> io::Result<()> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let file = match private().open(path) {
        Err(error) if is_gone(&error) => return Ok(()),
        opened => opened?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(()),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    match fs::remove_file(path) {
        Err(error) if !is_gone(&error) => Err(error),
        _ => Ok(()),
    }
}

/// The user whose files ours are: who has just made one.
fn user_in(folder: &Path) -> Result<io::Result<u32>> {
    let path = folder.join(format!("{}.{}.new", random::digest(""), random::text()?));
    let made = private().create_new(true).open(&path);
    let user = made.and_then(|file| Ok(file.metadata()?.uid()));
    // It is empty, and as good as one that was half written.
    _ = fs::remove_file(&path);
    Ok(user)
}

/// Checks that something is the user's own: whoever else has it can put there what he likes.
fn check_owner(path: &Path, owner: u32, user: u32) -> Result<()> {
    if owner == user {
        return Ok(());
    }
    let text = format!(
        "'{}' belongs to another user ({owner}): it is not used by this one ({user}), since tokens in it could be replaced",
        path.display()
    );
    Err(Error::new(ErrorKind::Invalid, text))
}

fn read(path: &Path, user: u32) -> io::Result<Result<Secret>> {
    let file = File::open(path)?;
    if let Err(error) = check_owner(path, file.metadata()?.uid(), user) {
        return Ok(Err(error));
    }
    let mode = file.metadata()?.mode();
    if mode & 0o077 != 0 {
        let text = format!(
            "others may read '{}' (mode {:o}): it is not used (chmod 600, or remove it)",
            path.display(),
            mode & 0o777
        );
        return Ok(Err(Error::new(ErrorKind::Invalid, text)));
    }
    let len = file.metadata()?.len();
    let mut text = String::with_capacity(usize::try_from(len.min(MAX_BYTES)).unwrap_or(0));
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(Ok(Secret::new(text)))
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let path = path.display().to_string();
    Error::io(format_args!("{what}: '{}'", Excerpt(&path)), error)
}
