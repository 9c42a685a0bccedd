//! A folder whose files a server offers as resources. Files outside of the folder are not offered.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::error_map::HandlerError;
use super::resources::ResourceRead;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::file_uri::{PathKind, path_of, uri_of};
use crate::schema::{ResourceContents, ResourceTemplate};
use crate::transport::sys::private::open_no_link;

/// A folder whose files are resources with `file:` URIs. No file outside of the folder can be
/// reached.
///
/// A URI is split at `/` before its parts are percent-decoded. A URI is "not found" if it contains
/// `..`, an encoded `/` or `\`, or the name of another host, or if it does not name a regular file.
/// A symbolic link that leads out of the folder is "not found" too. On Windows, some names open
/// another file or a device. So a name is "not found" there if it ends in a dot or a space,
/// contains a colon or another reserved character, or is the name of a device (`NUL`, `com1.txt`).
///
/// A file that another program replaces with a symbolic link or a named pipe between the check and
/// the read is not read. A hard link to a file outside can't be told from a file of the folder. So
/// don't serve a folder in which untrusted users can create hard links.
///
/// # Examples
///
/// ```
/// use mcplink::server::{Folder, Server};
///
/// # fn f() -> mcplink::Result<()> {
/// let folder = Folder::new("/usr/share/doc")?;
/// let server = Server::builder("docs", "1.0")
///     .template(folder.template("doc"), move |read, _| folder.read(read))
///     .build()?;
/// # Ok(())
/// # }
/// ```
// M-RES-S-15
#[derive(Clone, Debug)]
pub struct Folder {
    /// The path of the folder, without symbolic links.
    root: PathBuf,
    /// The URI of the folder, with a slash at its end.
    uri: String,
    max_bytes: u64,
}

impl Folder {
    /// Opens an existing folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the path can't be resolved, [`ErrorKind::Invalid`] when the path does
    /// not name a folder or is not UTF-8.
    pub fn new(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let root = fs::canonicalize(path).map_err(|error| {
            let text = format!("folder '{}': {error}", path.display());
            Error::new(ErrorKind::Io, text)
        })?;
        let uri = root.to_str().and_then(|path| uri_of(path, PathKind::HERE));
        let Some(uri) = uri.filter(|_| root.is_dir()) else {
            let text = format!("'{}' is not a folder with a path in UTF-8", root.display());
            return Err(Error::invalid(text));
        };
        let uri = match uri.ends_with('/') {
            true => uri,
            false => uri + "/",
        };
        Ok(Self {
            root,
            uri,
            max_bytes: 8 << 20,
        })
    }

    /// Sets the maximum size of a file that can be read, in bytes. Defaults to 8 MiB. Reading a
    /// larger file fails.
    pub fn max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = max_bytes;
        self
    }

    /// Returns a resource template that matches the URIs of all files in the folder.
    pub fn template(&self, name: impl Into<String>) -> ResourceTemplate {
        ResourceTemplate::new(format!("{}{{+path}}", self.uri), name)
    }

    /// Returns the URI of the folder, with a slash at its end.
    pub fn uri(&self) -> String {
        self.uri.clone()
    }

    /// Returns the path of the file that a URI names. The file must be in the folder.
    ///
    /// # Errors
    ///
    /// [`HandlerError::not_found`] for every URI that names no file in the folder. So a client
    /// can't find out which files exist outside of the folder.
    pub fn path(&self, uri: &str) -> Result<PathBuf, HandlerError> {
        let path = path_of(uri, PathKind::HERE).ok_or_else(HandlerError::not_found)?;
        if is_elsewhere(&path, &self.root) {
            return Err(HandlerError::not_found());
        }
        let path = fs::canonicalize(path).map_err(|_| HandlerError::not_found())?;
        if path.starts_with(&self.root) && path.is_file() {
            Ok(path)
        } else {
            Err(HandlerError::not_found())
        }
    }

    /// Reads the requested file: as text if the file is UTF-8 without NUL, otherwise as bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`path`](Self::path). If the file can't be read or is larger than
    /// [`max_bytes`](Self::max_bytes), the client gets an internal error, and the reason is logged
    /// for the host.
    pub fn read(&self, read: &ResourceRead) -> Result<ResourceContents, HandlerError> {
        let path = self.path(read.uri())?;
        let mut bytes = Vec::new();
        let file = open_no_link(&path)?;
        if !file.metadata()?.is_file() {
            return Err(HandlerError::not_found());
        }
        file.take(self.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > self.max_bytes {
            let (path, max) = (path.display(), self.max_bytes);
            let text = format!("'{path}' has more than Folder::max_bytes ({max})");
            return Err(Error::new(ErrorKind::Limit, text).into());
        }
        let contents = ResourceContents::of_bytes(read.uri(), bytes);
        Ok(match read.mime_type() {
            Some(mime_type) => contents.mime_type(mime_type),
            None => contents,
        })
    }
}

/// Whether a Windows path is on a machine that the folder is not on. Such a path must not be looked
/// up, because Windows would send the user's credentials to that machine.
fn is_elsewhere(path: &str, root: &Path) -> bool {
    let Some(path) = path.strip_prefix(r"\\") else {
        return false;
    };
    let root = root.to_str().unwrap_or_default();
    let root = root.strip_prefix(r"\\?\UNC\").unwrap_or_default();
    let server = |path: &str| path.split('\\').next().map(str::to_ascii_lowercase);
    server(path) != server(root)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // M-RES-S-15
    #[test]
    fn an_address_is_taken_apart_before_it_is_decoded() {
        fn check(uri: &str, expected: Option<&str>) {
            assert_eq!(path_of(uri, PathKind::Unix).as_deref(), expected, "{uri}");
        }
        check("file:///a/b%20c.txt", Some("/a/b c.txt"));
        check("FILE://localhost/a", Some("/a"));
        check("file:///a/..b/b..", Some("/a/..b/b.."));
        for odd in [
            "file:///a/../b",
            "file:///a/%2e%2e/b",
            "file:///a/%2E./b",
            "file:///a/.%2e",
            "file:///a/./b",
            "file:///a%2fb",
            "file:///a%2F..%2Fb",
            "file:///a%5C..%5Cb",
            "file:///a\\..\\b",
            "file:///a%00",
            "file:///a//b",
            "file:////etc",
            "file:///a/",
            "file:///",
            "file://",
            "file:a",
            "file:/a",
            "file://host/a",
            "file:///a?b",
            "file:///a#b",
            "file:///a%",
            "file:///a%ff",
            "http:///a",
            "/a",
        ] {
            check(odd, None);
        }
        // URIs are percent-decoded only once.
        check("file:///a/%252e%252e/b", Some("/a/%2e%2e/b"));
    }
    #[test]
    fn a_path_of_another_machine_is_not_looked_up() {
        for (path, root, expected) in [
            ("/a/b", "/a", false),
            (r"C:\a\b", r"\\?\C:\a", false),
            (r"\\Server\share\a", r"\\?\UNC\server\share", false),
            (r"\\server\share\a", r"\\?\C:\a", true),
            (r"\\other\share\a", r"\\?\UNC\server\share", true),
        ] {
            assert_eq!(is_elsewhere(path, Path::new(root)), expected, "{path}");
        }
    }
}
