//! Access of the fuzz targets in `fuzz/` to private functions. This module exists only in builds
//! with `--cfg fuzzing`. It is no part of the API.

pub use crate::auth::fuzzing as auth;
pub use crate::client::fuzzing as config;
pub use crate::jsonrpc::fuzzing as jsonrpc;
pub use crate::server::fuzzing as server;
pub use crate::server::http::fuzzing as jwt;
pub use crate::transport::http::fuzzing as http;

/// URLs and percent-encoding.
pub mod url {
    use crate::schema::url;

    /// Splits a URL into its scheme, user information, host name and path.
    pub fn read(text: &str) -> Option<(&str, Option<&str>, &str, &str)> {
        let url = url::Url::read(text)?;
        Some((url.scheme, url.user, url.host, url.path))
    }

    /// Whether a host name names this machine.
    pub fn is_loopback_host(host: &str) -> bool {
        url::is_loopback_host(host)
    }

    /// Normalizes a URL.
    pub fn normalized(text: &str) -> String {
        url::normalized(text)
    }

    /// Normalizes the escapes of a text.
    pub fn normalized_escapes(text: &str) -> String {
        url::normalized_escapes(text)
    }

    /// Percent-encodes a text.
    pub fn percent_encoded(text: &str) -> String {
        url::percent_encoded(text)
    }

    /// Decodes percent-encoding strictly.
    pub fn percent_decoded(text: &str) -> Option<String> {
        url::percent_decoded(text)
    }

    /// Decodes percent-encoding. Incomplete escapes remain as they are.
    pub fn percent_decoded_bytes(text: &str) -> Vec<u8> {
        url::percent_decoded_bytes(text)
    }

    /// Resolves the dot segments of a path.
    pub fn without_dot_segments(path: &str) -> String {
        url::without_dot_segments(path)
    }
}

/// The encoding of the header fields that repeat values of the body.
pub mod field {
    use std::borrow::Cow;

    use crate::transport::http::field;

    /// Encodes a text as the value of a field.
    pub fn encode(text: &str) -> Cow<'_, str> {
        field::encode(text)
    }

    /// Decodes the value of a field.
    pub fn decode(value: &[u8]) -> Option<Cow<'_, str>> {
        field::decode(value)
    }
}
