//! The folder of the instances: its checks, its files, and what killed processes have left in it.
//!
//! An instance with the id ID has these files:
//!
//! - `ID.lock`: a file that its process has locked. The system releases the lock when the process
//!   ends, also if it is killed.
//! - `ID.sock`: the socket.
//! - `ID.json`: the description. It is replaced, never changed, so readers see a whole one.
//! - `ID.new`: the next description, for a moment.
//!
//! **Invariant:** files are made, replaced and removed only under the lock of the folder, which is
//! that of the file `lock`. The only exception is a process that removes its own files at its end.
//! So whoever has the lock of the folder and finds files of an instance without a locked `ID.lock`
//! can remove them: their process has ended. As a precaution against other programs that remove
//! files, a socket on which a process listens stays.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::instance::{Instance, check_name};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::sys::private::Access;
use crate::transport::sys::{file_lock, local, private, random};

/// The name of the file that is locked to change the folder.
pub(super) const LOCK: &str = "lock";
/// The extensions of the files of an instance.
const EXTENSIONS: [&str; 4] = ["json", "new", local::EXTENSION, "lock"];
/// The maximum length of a description, in bytes. JSON may write a byte of a text as six.
const MAX_BYTES: u64 = 128 << 10;
/// The maximum length of a title and of a folder, in bytes.
const MAX_TEXT: usize = 4 << 10;
/// The maximum number of files in the folder that are looked at.
const MAX_FILES: usize = 10_000;
/// The maximum time that publishing waits for another process that changes the folder.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The description of an instance.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Entry {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    pub(crate) version: String,
    #[serde(default)]
    endpoint: String,
}

impl Entry {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            name: name.to_owned(),
            title: None,
            folder: None,
            pid: std::process::id(),
            started: u64::try_from(started.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
            version: version.to_owned(),
            endpoint: String::new(),
        }
    }

    /// Checks the texts of the host.
    pub(crate) fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        let texts = [
            ("title", self.title.as_ref()),
            ("folder", self.folder.as_ref()),
            ("version", Some(&self.version)),
        ];
        for (what, text) in texts {
            let len = text.map_or(0, String::len);
            if len > MAX_TEXT {
                return Err(Error::invalid(format!(
                    "the {what} of '{}' has {len} bytes: the limit is {MAX_TEXT}",
                    self.name
                )));
            }
        }
        Ok(())
    }

    fn instance(self, id: &str, folder: &Path) -> Instance {
        let started = UNIX_EPOCH.checked_add(Duration::from_millis(self.started));
        Instance {
            id: id.to_owned(),
            name: self.name,
            title: self.title,
            folder: self.folder,
            pid: self.pid,
            started: started.unwrap_or(UNIX_EPOCH),
            version: self.version,
            socket: path_in(folder, id, local::EXTENSION),
        }
    }
}

fn path_in(folder: &Path, id: &str, extension: &str) -> PathBuf {
    folder.join(format!("{id}.{extension}"))
}

/// Whether a text has the form of an id: a process number and eight hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(pid, random)| {
        pid.parse::<u32>().is_ok()
            && random.len() == 8
            && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// The folder of the instances. Only the user may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Returns the folder of the user, or `None` if it does not exist.
    pub(crate) fn existing() -> Result<Option<Self>> {
        let folder = Self(runtime_folder()?);
        match fs::symlink_metadata(&folder.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => folder.check().map(|()| Some(folder)),
        }
    }

    /// Returns the folder of the user. Makes it if it does not exist.
    pub(crate) fn make() -> Result<Self> {
        let folder = Self(runtime_folder()?);
        folder.make_again().map(|()| folder)
    }

    /// Makes the folder if it does not exist, and checks it.
    pub(super) fn make_again(&self) -> Result<()> {
        match private::create_folder(&self.0, false) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(self.failed("made", error))
            }
            _ => self.check(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Checks that the folder is the user's alone.
    pub(super) fn check(&self) -> Result<()> {
        let failed = |error| self.failed("checked", error);
        let found = fs::symlink_metadata(&self.0).map_err(failed)?;
        if !found.is_dir() {
            let text = format!("'{}' is a link or a file: expected a folder", self.shown());
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let access = Access::of(&self.0, &found).map_err(failed)?;
        let fault = match access.others_may_read() {
            Some(fault) => format!("{fault}: {}", private::FOLDER_ADVICE),
            None if local::user().is_ok_and(|user| user == access.owner) => return Ok(()),
            None => "its owner is another user".to_owned(),
        };
        let text = format!(
            "other users may use the folder '{}' ({fault})",
            self.shown()
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    fn shown(&self) -> String {
        Excerpt(&self.0.display().to_string()).to_string()
    }

    fn failed(&self, what: &str, error: io::Error) -> Error {
        Error::io(format_args!("'{}' can't be {what}", self.shown()), error)
    }

    /// Returns the living instances with this name, or all, the oldest first. Removes the files of
    /// processes that have ended.
    pub(crate) fn list(&self, name: Option<&str>) -> Result<Vec<Instance>> {
        let (mut living, mut left) = (Vec::new(), false);
        for id in self.ids()? {
            let found = self.read(&id).map_err(|error| self.failed("read", error))?;
            match found {
                Found::Living(entry) => living.extend(entry.map(|it| it.instance(&id, &self.0))),
                Found::Left => left = true,
            }
        }
        if left {
            self.clean();
        }
        living.retain(|instance| name.is_none_or(|name| name == instance.name));
        living.sort_by(|one, other| {
            let key = |it: &Instance| (it.started, it.id.clone());
            key(one).cmp(&key(other))
        });
        Ok(living)
    }

    /// Returns the ids of the instances that have files in the folder.
    fn ids(&self) -> Result<BTreeSet<String>> {
        let files = fs::read_dir(&self.0).map_err(|error| self.failed("read", error))?;
        let mut ids = BTreeSet::new();
        for file in files.take(MAX_FILES) {
            let file = file.map_err(|error| self.failed("read", error))?.path();
            if file
                .extension()
                .is_some_and(|it| EXTENSIONS.map(OsStr::new).contains(&it))
                && let Some(id) = file.file_stem().and_then(OsStr::to_str)
                && is_id(id)
            {
                ids.insert(id.to_owned());
            }
        }
        Ok(ids)
    }

    /// Reads the files of an instance. Fails if the system can't open them at the moment, for
    /// example without a free descriptor: then nothing is known of the process.
    fn read(&self, id: &str) -> io::Result<Found> {
        use io::ErrorKind::{InvalidInput, NotFound, PermissionDenied};

        match local::open_own(&path_in(&self.0, id, "lock")) {
            Ok(lock) if !is_unlocked(&lock) => {}
            Err(error) if !matches!(error.kind(), NotFound | InvalidInput) => {
                return match error.kind() {
                    PermissionDenied => Ok(Found::Living(None)),
                    _ => Err(error),
                };
            }
            _ => return Ok(Found::Left),
        }
        let file = match local::open_own(&path_in(&self.0, id, "json")) {
            Ok(file) => file,
            Err(error) => match error.kind() {
                NotFound | InvalidInput | PermissionDenied => return Ok(Found::Living(None)),
                _ => return Err(error),
            },
        };
        let mut text = Vec::new();
        let read = file.take(MAX_BYTES + 1).read_to_end(&mut text);
        let is_whole = read.is_ok_and(|len| len as u64 <= MAX_BYTES);
        let entry = is_whole.then(|| serde_json::from_slice::<Entry>(&text).ok());
        let entry = entry.flatten().filter(|entry| entry.check().is_ok());
        Ok(Found::Living(entry))
    }

    /// Locks the folder until the result is dropped. Fails with `TimedOut` if another process has
    /// the lock for longer than `span`.
    fn lock(&self, span: Duration) -> io::Result<File> {
        let file = private::open_or_create(&self.0.join(LOCK))?;
        file_lock::lock(&file, span).map(|()| file)
    }

    /// Removes the files of instances whose processes have ended. Leaves them if another process
    /// changes the folder now, or if they can't be removed.
    pub(crate) fn clean(&self) {
        let Ok(_locked) = self.lock(Duration::ZERO) else {
            return;
        };
        for id in self.ids().unwrap_or_default() {
            let socket = path_in(&self.0, &id, local::EXTENSION);
            // A process that listens lives. Another program has removed its lock.
            if matches!(self.read(&id), Ok(Found::Left)) && local::is_unused(&socket) {
                self.remove(&id);
            }
        }
    }

    /// Removes the files of an instance.
    fn remove(&self, id: &str) {
        for extension in EXTENSIONS {
            // A file that can't be removed is left to the next process that lists.
            _ = fs::remove_file(path_in(&self.0, id, extension));
        }
    }

    /// Makes the socket and the file of a new instance. `listen` makes the socket at a path.
    pub(crate) fn publish<T>(
        &self,
        entry: Entry,
        listen: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<(T, PublishedFile)> {
        entry.check()?;
        self.clean();
        let mut bytes = [0; 4];
        random::fill(&mut bytes)?;
        let id = format!("{}-{:08x}", entry.pid, u32::from_ne_bytes(bytes));
        let locked = self.lock(LOCK_WAIT);
        let _locked = locked.map_err(|error| self.failed("locked", error))?;
        let socket = path_in(&self.0, &id, local::EXTENSION);
        let endpoint = local::endpoint(&socket);
        let entry = Entry { endpoint, ..entry };
        let made = private::create_new(&path_in(&self.0, &id, "lock")).and_then(|lock| {
            lock.lock()?;
            let listener = listen(&socket)?;
            self.write(&id, &entry)?;
            Ok((listener, lock))
        });
        match made {
            Ok((listener, lock)) => {
                let folder = self.clone();
                let published = PublishedFile {
                    folder,
                    id,
                    entry,
                    lock: Some(lock),
                };
                Ok((listener, published))
            }
            Err(error) => {
                self.remove(&id);
                let doing = format!("making the socket '{}'", socket.display());
                Err(Error::io(doing, error))
            }
        }
    }

    /// Writes a description and puts it in its place. The caller has the lock of the folder.
    fn write(&self, id: &str, entry: &Entry) -> io::Result<()> {
        let text = serde_json::to_vec(entry).expect("texts and numbers are JSON");
        let new = path_in(&self.0, id, "new");
        // The file of an attempt that has failed.
        _ = fs::remove_file(&new);
        private::create_new(&new)?.write_all(&text)?;
        local::replace(&new, &path_in(&self.0, id, "json"))
    }
}

/// The state of an instance, as its files show it.
enum Found {
    /// The process lives. The description is missing if it can't be read.
    Living(Option<Entry>),
    /// The process has ended, or the files have gone.
    Left,
}

fn runtime_folder() -> Result<PathBuf> {
    let found = local::runtime_folder();
    found.map_err(|error| Error::io("looking for the folder of published servers", error))
}

/// Whether no process has locked a file. If locks don't work, the file counts as locked, so that
/// nothing of a living process is removed.
fn is_unlocked(file: &File) -> bool {
    file.try_lock_shared().is_ok()
}

/// The files of an instance of this process.
#[derive(Debug)]
pub(crate) struct PublishedFile {
    folder: Folder,
    id: String,
    entry: Entry,
    /// The file that this process has locked, until the files are removed.
    lock: Option<File>,
}

impl PublishedFile {
    /// Replaces the title.
    pub(crate) fn set_title(&mut self, title: Option<String>) -> Result<()> {
        let entry = Entry {
            title,
            ..self.entry.clone()
        };
        entry.check()?;
        self.replace(entry)
    }

    /// Keeps the files from being removed as files that nobody has used for long.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        if let Some(lock) = &self.lock {
            let touched = lock.set_modified(SystemTime::now());
            touched.map_err(|error| self.folder.failed("changed", error))?;
        }
        self.replace(self.entry.clone())
    }

    fn replace(&mut self, entry: Entry) -> Result<()> {
        let folder = &self.folder;
        let locked = folder.lock(LOCK_WAIT);
        let _locked = locked.map_err(|error| folder.failed("locked", error))?;
        let written = folder.write(&self.id, &entry);
        written.map_err(|error| folder.failed("written to", error))?;
        self.entry = entry;
        Ok(())
    }

    pub(crate) fn instance(&self) -> Instance {
        self.entry.clone().instance(&self.id, &self.folder.0)
    }

    /// Removes the files.
    pub(crate) fn remove(&mut self) {
        // On Windows, the name of an open file stays.
        self.lock = None;
        self.folder.remove(&self.id);
    }
}
