//! Files and folders that only the user of this process may use.
//!
//! A host uses these functions for data that other users must neither change nor read, for example
//! caches, approvals and tokens. On Unix they set and check owner and mode. On Windows they set and
//! check access control lists: those of new files and folders name the user and the system, and
//! inherit nothing.
//!
//! # Examples
//!
//! ```no_run
//! use std::io::Write as _;
//! use std::path::Path;
//!
//! use mcplink::private_files;
//!
//! # fn f() -> mcplink::Result<()> {
//! let folder = Path::new("/home/alice/.local/share/host");
//! private_files::create_folder_all(folder)?;
//! private_files::check_folder(folder)?;
//! private_files::create_file(&folder.join("approvals.json"))?.write_all(b"[]")?;
//! # Ok(())
//! # }
//! ```

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::sys::private::{self, Access};

/// Creates a folder that only the user may use. On Unix its mode is 0700.
///
/// # Errors
///
/// As [`std::fs::create_dir`], for example if the path exists.
pub fn create_folder(path: &Path) -> io::Result<()> {
    private::create_folder(path, false)
}

/// Creates a folder and its missing parents. Only the user may use the new folders. A folder that
/// exists is left as it is: see [`check_folder`].
///
/// # Errors
///
/// As [`std::fs::create_dir_all`].
pub fn create_folder_all(path: &Path) -> io::Result<()> {
    private::create_folder(path, true)
}

/// Creates a file that only the user may use, and opens it for writing. On Unix its mode is 0600.
///
/// # Errors
///
/// As [`std::fs::File::create_new`], for example if the path exists.
pub fn create_file(path: &Path) -> io::Result<File> {
    private::create_new(path)
}

/// Opens a file for reading, and follows no link in any segment of its path, even if another
/// program replaces folders at the same time. Does not wait for a named pipe.
///
/// `path` is absolute, as [`std::fs::canonicalize`] returns it. If its last segment is a link, this
/// function fails, or opens the link itself. So check that the metadata of the opened file is that
/// of a regular file.
///
/// # Errors
///
/// The error of the operating system. [`io::ErrorKind::NotFound`] when there is no such file.
pub fn open_without_links(path: &Path) -> io::Result<File> {
    private::open_no_link(path)
}

/// Checks that a path is a folder, not a link to a folder, and that only its owner may write to it.
/// On Windows the system and administrators may write too.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] when the check fails. [`ErrorKind::Io`] when the folder can't be looked
/// at, for example because it does not exist.
pub fn check_folder(path: &Path) -> Result<()> {
    let shown = path.display().to_string();
    let shown = Excerpt(&shown);
    let failed = |error| Error::io(format_args!("'{shown}' can't be checked"), error);
    let found = fs::symlink_metadata(path).map_err(failed)?;
    if !found.is_dir() {
        let text = format!("'{shown}' is a link or a file: expected a folder");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    let access = Access::of(path, &found).map_err(failed)?;
    match access.others_may_write() {
        None => Ok(()),
        Some(fault) => {
            let advice = private::FOLDER_ADVICE;
            let text = format!("'{shown}' may be written by others ({fault}): {advice}");
            Err(Error::new(ErrorKind::Invalid, text))
        }
    }
}

/// Whether two files or folders have the same owner. To find out whether a folder belongs to the
/// user of this process, compare it with a [new file](create_file). Links are not followed.
///
/// # Errors
///
/// The error of the operating system, for example if one of them does not exist.
pub fn have_same_owner(one: &Path, other: &Path) -> io::Result<bool> {
    let owner = |path| {
        let access = fs::symlink_metadata(path).and_then(|found| Access::of(path, &found));
        access.map(|access| access.owner)
    };
    Ok(owner(one)? == owner(other)?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_is_created_is_the_users_alone() {
        let root = std::env::temp_dir().join(format!("mcplink-files-{}", std::process::id()));
        _ = fs::remove_dir_all(&root);
        let folder = root.join("deep").join("folder");
        create_folder_all(&folder).expect("a folder");
        create_folder_all(&folder).expect("it exists");
        let error = create_folder(&folder).expect_err("it exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        check_folder(&folder).expect("only its owner may write");
        let file = folder.join("file");
        create_file(&file).expect("a file");
        let error = create_file(&file).expect_err("it exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert!(have_same_owner(&folder, &file).expect("their owners"));
        assert!(have_same_owner(&folder, &root.join("none")).is_err());
        let error = check_folder(&file).expect_err("no folder");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let error = check_folder(&root.join("none")).expect_err("nothing is there");
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.os_code().is_some(), "{error}");
        let file = fs::canonicalize(&file).expect("its path");
        let opened = open_without_links(&file).expect("it opens");
        assert!(opened.metadata().expect("its metadata").is_file());
        drop(opened);
        fs::remove_dir_all(&root).expect("it can be removed");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let root = std::env::temp_dir().join(format!("mcplink-open-{}", std::process::id()));
        _ = fs::remove_dir_all(&root);
        create_folder(&root).expect("a folder");
        let link = root.join("link");
        symlink(&root, &link).expect("a link");
        let error = check_folder(&link).expect_err("a link");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o770)).expect("it is ours");
        let error = check_folder(&root).expect_err("the group may write");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("770"), "{error}");
        fs::remove_dir_all(&root).expect("it can be removed");
    }
}
