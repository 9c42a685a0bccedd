//! Roots: the places in the client's file system that a server may look at.
//!
//! Spec: Client Features, "Roots" (every revision; deprecated in 2026-07-28).

use serde::{Deserialize, Serialize};

use super::json::Extra;
use super::meta::{MetaObject, RequestMetaObject};
use super::version::{FitTo, ProtocolVersion, keep_since};

/// A place that a server may look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Root {
    /// Where it is: a `file://` URI.
    pub uri: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What travels beside it. Since 2025-06-18.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

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

    setters! {
        /// Sets the name for people.
        name: String,
        /// Sets what travels beside it. Since 2025-06-18.
        meta: MetaObject,
    }
}

impl FitTo for Root {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        keep_since(&mut self.meta, ProtocolVersion::V2025_06_18, revision);
    }
}

/// The params of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsRequestParams {
    /// What travels beside the params.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMetaObject>,
}

/// The result of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The client's roots.
    pub roots: Vec<Root>,
    /// What travels beside the result.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ListRootsResult {
    /// Names the client's roots.
    pub fn new(roots: impl Into<Vec<Root>>) -> Self {
        Self {
            roots: roots.into(),
            ..Self::default()
        }
    }
}

impl FitTo for ListRootsResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.roots.fit_to(revision);
    }
}
