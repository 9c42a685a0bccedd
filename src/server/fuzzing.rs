//! Access of the fuzz targets to URI templates.
#![cfg(fuzzing)]

use std::collections::BTreeMap;

use super::uri::{self, UriTemplate};

/// A URI template.
#[derive(Debug)]
pub struct Template(UriTemplate);

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> Option<Self> {
        UriTemplate::parse(text).ok().map(Self)
    }

    /// Returns the names of the variables.
    pub fn names(&self) -> &[String] {
        self.0.names()
    }

    /// Returns the values of the variables in a URI that matches.
    pub fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.0.matches(uri)
    }

    /// Returns the values of the variables in a normalized URI that matches.
    pub fn matches_normalized(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.0.matches_normalized(uri)
    }
}

/// Whether a text has the form of an absolute URI.
pub fn is_uri(text: &str) -> bool {
    uri::is_uri(text)
}
