//! Access of the fuzz targets to what clients read from servers that they log in to.
#![cfg(fuzzing)]

use super::form;
use super::http_url::HttpUrl;
use crate::transport::http::challenge::Demand;

/// The demand of a server: the URL of its metadata, the scopes, the error, and whether it names an
/// OAuth scheme.
pub type DemandParts = (Option<String>, Option<Vec<String>>, Option<String>, bool);

/// Reads the values of the fields `WWW-Authenticate`.
pub fn demand<'a>(values: impl Iterator<Item = &'a str>) -> DemandParts {
    let demand = Demand::read(values);
    let scopes = demand.scopes.map(|scopes| scopes.into_iter().collect());
    (
        demand.resource_metadata,
        scopes,
        demand.error,
        demand.is_oauth,
    )
}

/// Appends a name and its value to a form.
pub fn push_pair(form: &mut String, name: &str, value: &str) {
    form::push(form, name, value);
}

/// Returns the pairs of a form.
pub fn pairs(form: &str) -> Vec<(String, String)> {
    form::pairs(form).collect()
}

/// The parts of an absolute URL: its origin, its host, and whether it is on this machine.
pub type UrlParts = (String, String, bool);

fn parts(url: &HttpUrl) -> UrlParts {
    (url.origin(), url.host(), url.is_loopback())
}

/// Reads an absolute URL.
pub fn http_url(text: &str) -> Option<UrlParts> {
    HttpUrl::read("the URL", text).ok().map(|url| parts(&url))
}

/// Resolves a reference relative to a URL. Returns the parts of the result, and its text.
pub fn join(base: &str, reference: &str) -> Option<(UrlParts, String)> {
    let base = HttpUrl::read("the URL", base).ok()?;
    let joined = base.join("the reference", reference).ok()?;
    Some((parts(&joined), joined.text().to_owned()))
}
