//! A token store in files that only their owner can read.
//!
//! Each name has a file; the file name is the hash of the name. A file is replaced atomically, so
//! that no process reads a partial file. Processes may share a refresh token. A lock file
//! serializes renewal, so that they use the refresh token one after the other.
//!
//! ```text
//!  {hash}.json            the stored content
//!  {hash}.{random}.new    being written; locked by its writer, which distinguishes it from
//!                         the leftover of a killed process
//!  {hash}.lock            locked while the tokens are renewed
//! ```

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::random;
use super::secret::Secret;
use super::store::Store;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::http::CredentialWait;
use crate::transport::sys::private::{self, Access, User};

/// The interval between two attempts to lock a file.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of characters of a file name's hash: SHA-256 in base64url.
const DIGEST: usize = 43;
/// The maximum number of attempts to write a file. Another process may mistake the new file for a
/// leftover and remove it.
const MAX_TRIES: usize = 3;
/// The maximum number of attempts to read a file. On Windows a file can't be read while its writer,
/// which has just renamed it, still has it locked.
const MAX_READS: usize = 20;
/// The maximum length of a file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A store that keeps secrets in a folder, in files with mode 0600, for processes of this user. On
/// Windows, the access control lists of the files name this user and the system only.
///
/// The files are as safe as the user's account, like the keys of `ssh`. Where the system has a key
/// chain, a [`Store`] that uses the key chain is safer.
///
/// # Examples
///
/// ```
/// use mcplink::auth::{Browser, FileStore, OAuth};
///
/// # let folder = std::env::temp_dir().join(format!("mcplink-example-{}", std::process::id()));
/// // The user need not log in again when the program starts again.
/// let store = FileStore::new(&folder)?;
/// let oauth = OAuth::login(Browser::new()).store(store).build()?;
/// # drop(oauth);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FileStore {
    folder: PathBuf,
    /// The user that has to own the files.
    user: User,
}

impl FileStore {
    /// Makes a store in a folder. The folder is created with mode 0700 if it does not exist.
    /// Partially written files of killed processes are removed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the folder can't be created or written to. [`ErrorKind::Invalid`]
    /// when the folder belongs to another user, or others may write to it.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        let failed = |error| failed("the folder of the store can't be used", &folder, error);
        private::create_folder(&folder, true).map_err(failed)?;
        let access = fs::metadata(&folder).and_then(|it| Access::of(&folder, &it));
        let access = access.map_err(failed)?;
        if let Some(fault) = access.others_may_write() {
            let text = format!(
                "others may write into '{}' ({fault}): expected a folder of the user's own ({})",
                folder.display(),
                private::FOLDER_ADVICE
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let user = user_in(&folder)?.map_err(failed)?;
        check_owner(&folder, &access.owner, &user)?;
        let store = Self { folder, user };
        // A leftover that can't be removed does no harm.
        _ = store.sweep("");
        Ok(store)
    }

    /// Removes partially written files whose names begin with `beginning`, since they contain
    /// secrets.
    fn sweep(&self, beginning: &str) -> io::Result<()> {
        let mut swept = Ok(());
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            // The folder may contain unrelated files.
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && name.starts_with(beginning) && is_half_written(name) {
                let removed = remove_leftover(&entry.path());
                swept = swept.and(removed);
            }
        }
        swept
    }

    /// Writes a new file and renames it to the name of the old file.
    fn replace(&self, name: &str, path: &Path, content: &Secret) -> Result<io::Result<()>> {
        let new = self.path(name, &format!("{}.new", random::text()?));
        let replaced = write(&new, content).and_then(|_locked| fs::rename(&new, path));
        if let Err(error) = replaced {
            // The file might not exist.
            _ = fs::remove_file(&new);
            return Ok(Err(error));
        }
        Ok(self.sync())
    }

    /// Flushes the directory to disk. Without this, a power failure may bring back an old or
    /// removed file.
    fn sync(&self) -> io::Result<()> {
        match private::sync_folder(&self.folder) {
            // Some file systems do not support flushing a directory.
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
        match read(&path, &self.user) {
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
                // Another process may have removed the file as a leftover, before it was locked.
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

    fn lock(&self, name: &str, waiting: &CredentialWait) -> Result<Box<dyn Send>> {
        let path = self.path(name, "lock");
        let failed = |error| failed("what is kept can't be locked", &path, error);
        // The lock file is never removed: after a removal, two processes could lock different
        // files.
        let file = private::open_or_create(&path).map_err(failed)?;
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

/// Writes a file. The file stays locked until the returned value is dropped.
fn write(path: &Path, content: &Secret) -> io::Result<File> {
    let mut file = private::create_new(path)?;
    file.lock()?;
    file.write_all(content.reveal().as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// Whether a file name is that of a partially written file: a hash, random text and the ending
/// `new`.
fn is_half_written(name: &str) -> bool {
    let is_word = |text: &str| {
        let mut bytes = text.bytes();
        bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let parts: Vec<_> = name.split('.').collect();
    matches!(parts[..], [about, random, "new"] if about.len() == DIGEST && is_word(about) && is_word(random))
}

/// Removes a partially written file, unless its writer still holds the lock.
fn remove_leftover(path: &Path) -> io::Result<()> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let file = match private::open_existing(path) {
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

/// Returns the owner of new files in a folder. Creates a file to find out.
fn user_in(folder: &Path) -> Result<io::Result<User>> {
    let path = folder.join(format!("{}.{}.new", random::digest(""), random::text()?));
    let made = private::create_new(&path).and_then(|file| file.metadata());
    let user = made.and_then(|metadata| Ok(Access::of(&path, &metadata)?.owner));
    // Failing to remove the file is harmless: the file is empty, and a later sweep removes it.
    _ = fs::remove_file(&path);
    Ok(user)
}

/// Checks that a file or folder belongs to the user. Another owner could replace the content.
fn check_owner(path: &Path, owner: &User, user: &User) -> Result<()> {
    if owner == user {
        return Ok(());
    }
    let text = format!(
        "'{}' belongs to another user ({owner}): it is not used by this one ({user}), since tokens in it could be replaced",
        path.display()
    );
    Err(Error::new(ErrorKind::Invalid, text))
}

fn read(path: &Path, user: &User) -> io::Result<Result<Secret>> {
    for _ in 1..MAX_READS {
        match read_once(path, user) {
            Err(error) if private::is_locked(&error) => thread::sleep(PAUSE),
            read => return read,
        }
    }
    read_once(path, user)
}

fn read_once(path: &Path, user: &User) -> io::Result<Result<Secret>> {
    let file = File::open(path)?;
    let access = Access::of_file(&file)?;
    if let Err(error) = check_owner(path, &access.owner, user) {
        return Ok(Err(error));
    }
    if let Some(fault) = access.others_may_read() {
        let text = format!(
            "others may read '{}' ({fault}): it is not used ({})",
            path.display(),
            private::FILE_ADVICE
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
