//! Roots: the directories and files of the client that a server may access.
//!
//! The specification deprecates roots in 2026-07-28. New servers should take paths as arguments of
//! their tools, as URIs of resources, or from their settings.
//!
//! Spec: Client Features, "Roots" (every revision; deprecated in 2026-07-28).
// M-ROOT-X-01, M-ROOT-X-02

use std::path::Path;

use super::file_uri::{PathKind, steps, uri_of};
use super::meta::{MetaObject, RequestMetaObject};
use super::object::OrNull;
use crate::error::{Error, ErrorKind, Excerpt, Result};

object! {
    /// A directory or file that a server may access.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::schema::Root;
    ///
    /// let project = Root::new("file:///home/ada/project").name("Project");
    /// project.check()?;
    /// assert!(project.contains("file:///home/ada/project/src/main.rs"));
    /// assert!(!project.contains("file:///home/ada/project/../.ssh/id"));
    /// let roots = vec![project];
    /// let builder = Client::builder("host", "1.0").on_list_roots(move |_| Ok(roots.clone()));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Root: FitTo {
        /// The `file://` URI of the directory or file.
        pub uri: String,
        /// The display name of the root.
        pub name?: String,
        /// Metadata of the root (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a root from its `file://` URI.
    pub fn new(uri: impl Into<String>);
}

impl Root {
    /// Makes a root from a path. Does not access the file system. If the server has to see the
    /// targets of symbolic links, resolve the links first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the path is not absolute, not UTF-8, or contains `..`. On
    /// Windows, also when the path begins with neither a drive nor the name of a server and a
    /// share, or has a name that Windows reads in another way, such as `NUL`.
    pub fn of_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        match path.to_str().and_then(|text| uri_of(text, PathKind::HERE)) {
            Some(uri) => Ok(Self::new(uri)),
            None => {
                let shown = path.display().to_string();
                let text = format!(
                    "a root is an absolute path in UTF-8 without '..': {}",
                    Excerpt(&shown)
                );
                Err(Error::new(ErrorKind::Invalid, text))
            }
        }
    }

    /// Checks that the URI names a directory or file by an absolute path without `..`.
    ///
    /// A client checks its roots before it sends them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the URI is not a `file://` URI with an absolute path, has a
    /// query or fragment, or has segments like `..`, escaped or not.
    pub fn check(&self) -> Result<()> {
        if steps(&self.uri, PathKind::HERE).is_some() {
            return Ok(());
        }
        let text = format!(
            "a root is a file:// URI of an absolute path without steps like '..': {}",
            Excerpt(&self.uri)
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Whether a `file://` URI names the directory or file of this root, or a path below it.
    ///
    /// Compares URIs, not files. Escapes are decoded, and a URI with segments like `..` is outside
    /// of every root. A symbolic link may lead out of the root: resolve a path before the
    /// comparison.
    ///
    /// On Windows, drive letters are compared without regard to case, and other names exactly. A
    /// URI is outside of every root if it has a name that Windows does not take literally, such as
    /// `a.`, `a:b` or `NUL`.
    pub fn contains(&self, uri: &str) -> bool {
        let (Some(root), Some(steps)) =
            (steps(&self.uri, PathKind::HERE), steps(uri, PathKind::HERE))
        else {
            return false;
        };
        steps.starts_with(&root)
    }
}

object! {
    /// The params of `roots/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::{ListRootsRequestParams, ListRootsResult, read_json};
    ///
    /// // By hand. `Context::list_roots` asks clients of every revision.
    /// fn roots(peer: &Peer) -> mcplink::Result<ListRootsResult> {
    ///     let params = ListRootsRequestParams::default();
    ///     read_json(&peer.request("roots/list", &params, RequestOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListRootsRequestParams {
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta",
    }
}

object! {
    /// The result of `roots/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ListRootsResult, Root};
    /// use mcplink::server::{AskError, Context};
    ///
    /// // A server stays within the roots of its client.
    /// fn is_allowed(context: &Context, uri: &str) -> Result<bool, AskError> {
    ///     let roots: ListRootsResult = context.list_roots("roots")?;
    ///     Ok(roots.contains(uri))
    /// }
    /// assert!(ListRootsResult::new([Root::new("file:///a")]).contains("file:///a/b"));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListRootsResult: FitTo {
        /// The client's roots.
        pub roots: Vec<Root> as OrNull [fit],
        /// Metadata of the result (`_meta`).
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    /// Makes a result from the client's roots.
    pub fn new(roots: impl Into<Vec<Root>>);
}

impl ListRootsResult {
    /// Whether a `file://` URI is in one of the roots. See [`Root::contains`].
    pub fn contains(&self, uri: &str) -> bool {
        self.roots.iter().any(|root| root.contains(uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ROOT-C-04, M-ROOT-C-06, L-ROOT-C-03
    #[test]
    fn a_root_is_a_file_uri_that_goes_straight_to_its_place() {
        fn check(uri: &str, good: bool) {
            assert_eq!(Root::new(uri).check().is_ok(), good, "{uri}");
        }
        check("file:///home/ada/projects", true);
        check("file:///", true);
        check("FILE:///a%20b/", true);
        check("file://localhost/a", true);
        check("file://share.example/a", true);
        // Windows ignores the dots at the end of a name.
        check("file:///...", cfg!(unix));
        for bad in [
            "",
            "/home/ada",
            "https://example.com/a",
            "file:a",
            "file://",
            "file://host",
            "file:///a/../b",
            "file:///a/%2e%2E/b",
            "file:///a/.%2e/b",
            "file:///a/./b",
            "file:///a/%2e%2e%2fb",
            "file:///a%00b",
            "file:///a%5c..%5cb",
            "file:///a?b",
            "file:///a#b",
            "file:///%ff",
            "file:///a b",
        ] {
            check(bad, false);
        }
    }

    // M-ROOT-S-10, L-ROOT-S-06
    #[test]
    fn what_is_below_a_root_is_in_it_and_nothing_else() {
        let roots = ListRootsResult::new([
            Root::new("file:///home/ada/my%20work/"),
            Root::new("file:///tmp"),
        ]);
        for inside in [
            "file:///home/ada/my%20work",
            "file:///home/ada/my%20work/a/b",
            "file:///home/ada/%6dy%20work/a",
            "file://localhost/tmp/a",
        ] {
            assert!(roots.contains(inside), "{inside}");
        }
        for outside in [
            "file:///home/ada",
            "file:///home/ada/my%20workshop",
            "file:///tmp/../home",
            "file:///tmp/%2e%2e/home",
            "file://other/tmp/a",
            "https://example.com/tmp",
            "/tmp/a",
        ] {
            assert!(!roots.contains(outside), "{outside}");
        }
        assert!(!ListRootsResult::default().contains("file:///tmp"));
        assert!(!Root::new("nonsense").contains("nonsense"));
    }

    #[test]
    fn a_path_becomes_a_root() {
        let (path, beginning) = match cfg!(windows) {
            true => (r"C:\my work\ü", "file:///C:"),
            false => ("/home/ada/my work/ü", "file:///home/ada"),
        };
        let root = Root::of_path(path).expect("a path");
        assert_eq!(root.uri, format!("{beginning}/my%20work/%C3%BC"));
        root.check().expect("a root");
        assert!(root.contains(&format!("{beginning}/my%20work/%c3%bc/x")));
        for bad in ["relative", "/a/../b", ""] {
            assert!(Root::of_path(bad).is_err(), "{bad}");
        }
    }
}
