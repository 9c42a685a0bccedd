//! Files and folders that only their owner may use.
//!
//! New files and folders get an access control list of their own: it names their owner and the
//! system, and inherits nothing.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::windows::fs::OpenOptionsExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{
    ERROR_LOCK_VIOLATION, GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW,
    GetNamedSecurityInfoW, GetSecurityInfo, SDDL_REVISION_1, SE_FILE_OBJECT,
};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACE_HEADER, ACL, DACL_SECURITY_INFORMATION, GetAce, GetTokenInformation,
    OWNER_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR, PSID, SECURITY_ATTRIBUTES, TOKEN_QUERY,
    TOKEN_USER, TokenUser,
};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateDirectoryW, CreateFileW, DELETE, FILE_APPEND_DATA, FILE_ATTRIBUTE_NORMAL,
    FILE_CREATION_DISPOSITION, FILE_DELETE_CHILD, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_DATA,
    FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_DATA,
    GetFinalPathNameByHandleW, OPEN_ALWAYS, OPEN_EXISTING, VOLUME_NAME_DOS, WRITE_DAC, WRITE_OWNER,
};

use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::fd::{check, own, wide};

/// The advice in the error about a folder that other users may access.
pub(crate) const FOLDER_ADVICE: &str = "remove the other entries of its access control list";
/// The advice in the error about a file that other users may access.
pub(crate) const FILE_ADVICE: &str = "remove it";

/// The security identifiers that don't count as other users. `OWNER RIGHTS` and `CREATOR OWNER`
/// stand for the owner. The system and administrators can use every file in any case.
const TRUSTED: [&str; 4] = ["S-1-3-4", "S-1-3-0", "S-1-5-18", "S-1-5-32-544"];

const WRITE: u32 = FILE_WRITE_DATA
    | FILE_APPEND_DATA
    | FILE_DELETE_CHILD
    | DELETE
    | WRITE_DAC
    | WRITE_OWNER
    | GENERIC_WRITE
    | GENERIC_ALL;
const READ: u32 = FILE_READ_DATA | GENERIC_READ | GENERIC_ALL;

/// The owner of a file: a security identifier as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User(pub(super) String);

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The access rights of a file or folder.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) owner: User,
    /// The identifiers and rights of accounts that are neither the owner nor [`TRUSTED`].
    others: Vec<(String, u32)>,
}

impl Access {
    /// Returns the access rights of the file or folder at `path`, whose metadata is `metadata`.
    pub(crate) fn of(path: &Path, _metadata: &Metadata) -> io::Result<Self> {
        let path = system_path(path)?;
        Self::read(|owner, list, all| {
            let wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
            let (kind, none) = (SE_FILE_OBJECT, ptr::null_mut());
            let no_list = ptr::null_mut();
            // SAFETY: the path ends in NUL, and there is room for the three addresses.
            unsafe {
                GetNamedSecurityInfoW(path.as_ptr(), kind, wanted, owner, none, list, no_list, all)
            }
        })
    }

    /// Returns the access rights of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Self::read(|owner, list, all| {
            let wanted = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
            let (kind, none) = (SE_FILE_OBJECT, ptr::null_mut());
            let (handle, no_list) = (file.as_raw_handle(), ptr::null_mut());
            // SAFETY: the file is open, and there is room for the three addresses.
            unsafe { GetSecurityInfo(handle, kind, wanted, owner, none, list, no_list, all) }
        })
    }

    fn read(
        get: impl FnOnce(*mut PSID, *mut *mut ACL, *mut PSECURITY_DESCRIPTOR) -> u32,
    ) -> io::Result<Self> {
        let (mut owner, mut list, mut all) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let code = get(&raw mut owner, &raw mut list, &raw mut all);
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code as i32));
        }
        let _freed = Freed(all);
        // SAFETY: both addresses are in the descriptor, which is freed at the end of this function.
        let owner = User(unsafe { sid_text(owner) }?);
        // SAFETY: as before.
        let others = unsafe { others(list, &owner) }?;
        Ok(Self { owner, others })
    }

    /// Returns the reason why other users may write, or `None` if they may not.
    pub(crate) fn others_may_write(&self) -> Option<String> {
        self.others_with(WRITE)
    }

    /// Returns the reason why other users may read or write, or `None` if they may do neither.
    pub(crate) fn others_may_read(&self) -> Option<String> {
        self.others_with(READ | WRITE)
    }

    fn others_with(&self, rights: u32) -> Option<String> {
        let other = self
            .others
            .iter()
            .find(|(_, granted)| granted & rights != 0);
        other.map(|(name, granted)| format!("{name} has access {granted:#x}"))
    }
}

/// Memory that the system has allocated for the caller.
struct Freed(*mut std::ffi::c_void);

impl Drop for Freed {
    fn drop(&mut self) {
        // SAFETY: the system has allocated it for this value, which frees it once.
        unsafe { LocalFree(self.0) };
    }
}

/// Returns the identifiers and rights of the entries of an access control list that grant rights to
/// other users.
///
/// # Safety
///
/// `list` must be null or a valid list.
unsafe fn others(list: *const ACL, owner: &User) -> io::Result<Vec<(String, u32)>> {
    const ALLOWED: u8 = 0;
    const ALLOWED_IF: u8 = 9;
    const DENIED: [u8; 4] = [1, 6, 10, 12];
    if list.is_null() {
        return Ok(vec![("everyone".to_owned(), u32::MAX)]);
    }
    let mut others = Vec::new();
    // SAFETY: the caller guarantees a valid list.
    for index in 0..unsafe { (*list).AceCount } {
        let mut entry = ptr::null_mut();
        // SAFETY: the list has an entry with this index.
        check(unsafe { GetAce(list, index.into(), &raw mut entry) })?;
        // SAFETY: each entry begins with a header.
        let kind = unsafe { (*entry.cast::<ACE_HEADER>()).AceType };
        if DENIED.contains(&kind) {
            continue;
        }
        if kind != ALLOWED && kind != ALLOWED_IF {
            others.push((format!("an entry of type {kind}"), u32::MAX));
            continue;
        }
        let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
        // SAFETY: entries of both types have rights, and end with a security identifier.
        let (rights, name) = unsafe {
            (
                (*entry).Mask,
                sid_text((&raw mut (*entry).SidStart).cast())?,
            )
        };
        if name != owner.0 && !TRUSTED.contains(&&*name) {
            others.push((name, rights));
        }
    }
    Ok(others)
}

/// Returns the text of a security identifier.
///
/// # Safety
///
/// `sid` must be valid.
unsafe fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = ptr::null_mut();
    // SAFETY: the caller guarantees a valid identifier, and there is room for the address.
    check(unsafe { ConvertSidToStringSidW(sid, &raw mut text) })?;
    let _freed = Freed(text.cast());
    let mut len = 0;
    // SAFETY: the text ends in NUL, and is freed at the end of this function.
    let text = unsafe {
        while *text.add(len) != 0 {
            len += 1;
        }
        std::slice::from_raw_parts(text, len)
    };
    Ok(String::from_utf16_lossy(text))
}

/// Returns a path as the system expects it, with a NUL at the end. The path is absolute and has the
/// prefix by which the system accepts a path of any length.
fn system_path(path: &Path) -> io::Result<Vec<u16>> {
    let path = std::path::absolute(path)?;
    let mut units: Vec<u16> = path.as_os_str().encode_wide().collect();
    if units.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // A path of a drive, such as `C:\a`. Paths of other kinds are left as they are.
    if units.get(1) == Some(&b':'.into()) {
        units.splice(0..0, r"\\?\".encode_utf16());
    }
    units.push(0);
    Ok(units)
}

/// Returns the user of this process.
pub(super) fn user() -> io::Result<String> {
    let mut token = ptr::null_mut();
    // SAFETY: there is room for the handle.
    check(unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) })?;
    let token = own(token)?;
    // A `TOKEN_USER` with the longest identifier, which has 68 bytes, in aligned memory.
    let mut room = [0u64; 16];
    let (len, mut needed) = (size_of_val(&room) as u32, 0);
    // SAFETY: the token is open, and the buffer has that length.
    check(unsafe {
        let (token, to) = (token.as_raw_handle(), room.as_mut_ptr().cast());
        GetTokenInformation(token, TokenUser, to, len, &raw mut needed)
    })?;
    // SAFETY: the call has succeeded, so the buffer begins with a `TOKEN_USER`, whose identifier is
    // in the buffer too.
    unsafe { sid_text((*room.as_ptr().cast::<TOKEN_USER>()).User.Sid) }
}

/// Calls `make` with the security attributes of a new file or folder.
pub(super) fn with_owner_only<T>(
    make: impl FnOnce(*const SECURITY_ATTRIBUTES) -> T,
) -> io::Result<T> {
    // The user is the owner, even if this process is elevated. The user and the system have full
    // access, and new files in a folder inherit these entries (OICI). Nothing is inherited from the
    // parent folder (P).
    let user = user()?;
    let text = wide(&format!("O:{user}D:P(A;OICI;FA;;;{user})(A;OICI;FA;;;SY)"));
    let mut descriptor = ptr::null_mut();
    // SAFETY: the text ends in NUL, and there is room for the address.
    check(unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            text.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            ptr::null_mut(),
        )
    })?;
    let _freed = Freed(descriptor);
    let attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor,
        bInheritHandle: 0,
    };
    Ok(make(&raw const attributes))
}

/// Creates a folder that only the user may use.
pub(crate) fn create_folder(path: &Path, recursive: bool) -> io::Result<()> {
    if recursive {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(parent) = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            create_folder(parent, true)?;
        }
    }
    let system_path = system_path(path)?;
    let made = with_owner_only(|owner_only| {
        // SAFETY: the path ends in NUL; the attributes are valid during the call.
        check(unsafe { CreateDirectoryW(system_path.as_ptr(), owner_only) })
    })?;
    match made {
        // Another process has created it meanwhile.
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists && recursive && path.is_dir() =>
        {
            Ok(())
        }
        made => made,
    }
}

fn open(path: &Path, how: FILE_CREATION_DISPOSITION) -> io::Result<File> {
    let path = system_path(path)?;
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    let (access, kind) = (GENERIC_WRITE, FILE_ATTRIBUTE_NORMAL);
    let opened = with_owner_only(|owner_only| {
        // SAFETY: the path ends in NUL; the attributes are valid during the call.
        own(unsafe {
            let none = ptr::null_mut();
            CreateFileW(path.as_ptr(), access, share, owner_only, how, kind, none)
        })
    })?;
    opened.map(File::from)
}

/// Creates a file that only the user may use, and opens it for writing.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    open(path, CREATE_NEW)
}

/// Opens a file for writing. Creates the file if it does not exist; then only the user may use it.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    open(path, OPEN_ALWAYS)
}

/// Opens an existing file for writing.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    open(path, OPEN_EXISTING)
}

/// Opens a file for reading. `path` is a path as [`std::fs::canonicalize`] returns it. Fails if a
/// segment of the path is a link to another place, even if another program replaces folders at the
/// same time. If the last segment is a link, may open the link itself, which is no regular file.
// The system tells the path of the file that was opened.
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    let file = options.open(path)?;
    if path_of(&file)? != path.as_os_str() {
        let text = "a segment of the path is a link";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(file)
}

/// Returns the path of an open file, in the form that [`std::fs::canonicalize`] returns.
fn path_of(file: &File) -> io::Result<OsString> {
    let mut path = vec![0u16; 512];
    loop {
        let len = u32::try_from(path.len()).unwrap_or(u32::MAX);
        let handle = file.as_raw_handle();
        // SAFETY: the handle is open, and the buffer is writable for its length.
        let needed =
            unsafe { GetFinalPathNameByHandleW(handle, path.as_mut_ptr(), len, VOLUME_NAME_DOS) };
        match needed as usize {
            0 => return Err(io::Error::last_os_error()),
            needed if needed < path.len() => return Ok(OsString::from_wide(&path[..needed])),
            needed => path.resize(needed + 1, 0),
        }
    }
}

/// Does nothing: a user can't flush a folder on this system. Its file systems keep a journal, so a
/// power failure leaves the old file or the new one.
pub(crate) fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether a read failed because another process has locked the file. Locks bind every reader on
/// this system.
pub(crate) fn is_locked(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_LOCK_VIOLATION as i32)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn new_files_and_folders_are_their_owners_alone() {
        let mut number = [0; 8];
        super::super::random::fill(&mut number).expect("random bytes");
        let name = format!("mcplink-private-{:016x}", u64::from_ne_bytes(number));
        let root = std::env::temp_dir().join(name);
        let folder = root.join("deep").join("folder");
        create_folder(&folder, true).expect("a folder");
        create_folder(&folder, true).expect("it is there");
        let error = create_folder(&folder, false).expect_err("it is there");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        let path = folder.join("file");
        let mut file = create_new(&path).expect("a file");
        file.write_all(b"secret").expect("room");
        assert_eq!(
            create_new(&path).expect_err("it is there").kind(),
            io::ErrorKind::AlreadyExists
        );
        let of_folder = std::fs::metadata(&folder).and_then(|it| Access::of(&folder, &it));
        let of_folder = of_folder.expect("its rights");
        let of_file = File::open(&path).and_then(|file| Access::of_file(&file));
        let of_file = of_file.expect("its rights");
        assert_eq!(of_folder.others_may_write(), None, "{of_folder:?}");
        assert_eq!(of_file.others_may_read(), None, "{of_file:?}");
        assert_eq!(of_folder.owner, of_file.owner);
        assert!(of_file.owner.0.starts_with("S-1-"), "{of_file:?}");
        drop(file);
        std::fs::remove_dir_all(&root).expect("it can be removed");
    }
}
