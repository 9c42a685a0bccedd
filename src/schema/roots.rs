//! Roots: the places in the client's file system that a server may look at.
//!
//! The specification deprecates them in 2026-07-28: new servers had better take paths as arguments of their tools, as addresses of
//! resources, or from their settings.
//!
//! Spec: Client Features, "Roots" (every revision; deprecated in 2026-07-28).
// M-ROOT-X-01, M-ROOT-X-02

use std::path::{Component, Path};

use super::json::Extra;
use super::meta::{MetaObject, RequestMetaObject};
use super::object::OrNull;
use super::url::{Url, unescaped};
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// A place that a server may look at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// The name for people.
    pub name: Option<String>,
    /// What travels beside it. Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Root { uri, name, meta = "_meta", ..extra });

impl Root {
    /// Names a place by its `file://` URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Names a place by its path. Nothing is looked up: resolve links first if the server is to see where they lead.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the path is not absolute, not UTF-8, or goes up (`..`).
    pub fn of_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        match path.to_str() {
            Some(text) if path.is_absolute() && !goes_up => Ok(Self::new(file_uri(text))),
            _ => {
                let shown = path.display().to_string();
                let text = format!(
                    "a root is an absolute path in UTF-8 without '..': {}",
                    Excerpt(&shown)
                );
                Err(Error::new(ErrorKind::Invalid, text))
            }
        }
    }

    setters! {
        /// Sets the name for people.
        name: String,
        /// Sets what travels beside it. Since 2025-06-18.
        meta: MetaObject,
    }

    /// Checks that the address is one of a place in a file system, and goes straight there.
    ///
    /// A client does so before it tells its roots.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when it is not a `file://` URI with an absolute path, has a query or fragment, or steps like `..` in it,
    /// escaped ones too.
    pub fn check(&self) -> Result<()> {
        if steps(&self.uri).is_some() {
            return Ok(());
        }
        let text = format!(
            "a root is a file:// URI of an absolute path without steps like '..': {}",
            Excerpt(&self.uri)
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }

    /// Whether a `file://` URI names this place or one below it.
    ///
    /// Addresses are compared, not files: escapes are read, and an address with steps like `..` is outside of every root. What is a link
    /// may lead out: resolve a path before it is compared.
    pub fn contains(&self, uri: &str) -> bool {
        let (Some(root), Some(steps)) = (steps(&self.uri), steps(uri)) else {
            return false;
        };
        steps.starts_with(&root)
    }
}

/// The host and the steps of the path of a `file://` URI; `None` when it is none, or one that does not go straight.
fn steps(uri: &str) -> Option<Vec<String>> {
    let url = Url::read(uri)?;
    let path = url.path.strip_prefix('/')?;
    if !url.is("file") || url.user.is_some() || path.contains(['?', '#']) {
        return None;
    }
    let host = url.host.to_ascii_lowercase();
    let mut steps = vec![if host == "localhost" {
        String::new()
    } else {
        host
    }];
    for step in path.split('/').filter(|step| !step.is_empty()) {
        let step = unescaped(step)?;
        if step == "." || step == ".." || step.contains(['/', '\\', '\0']) {
            return None;
        }
        steps.push(step);
    }
    Some(steps)
}

fn file_uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

impl FitTo for Root {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        keep_since(&mut self.meta, ProtocolVersion::V2025_06_18, revision);
    }
}

/// The params of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListRootsRequestParams {
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(ListRootsRequestParams { meta = "_meta" });

/// The result of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The client's roots.
    pub roots: Vec<Root>,
    /// What travels beside the result.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ListRootsResult { roots as OrNull, meta = "_meta", ..extra });

impl ListRootsResult {
    /// Names the client's roots.
    pub fn new(roots: impl Into<Vec<Root>>) -> Self {
        Self {
            roots: roots.into(),
            ..Self::default()
        }
    }

    /// Whether a `file://` URI is in one of the roots. See [`Root::contains`].
    pub fn contains(&self, uri: &str) -> bool {
        self.roots.iter().any(|root| root.contains(uri))
    }
}

impl FitTo for ListRootsResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.roots.fit_to(revision);
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
        check("file:///...", true);
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
        let root = Root::of_path("/home/ada/my work/ü").expect("a path");
        assert_eq!(root.uri, "file:///home/ada/my%20work/%C3%BC");
        root.check().expect("a root");
        assert!(root.contains("file:///home/ada/my%20work/%c3%bc/x"));
        for bad in ["relative", "/a/../b", ""] {
            assert!(Root::of_path(bad).is_err(), "{bad}");
        }
    }
}
