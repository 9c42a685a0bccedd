//! The paths that a server over HTTP serves beside its endpoint: pages, health, server card.

use super::guard::check_allowed;
use super::options::HttpOptions;
use super::pages::HttpPage;
use super::refusal::{is_at, without_slash};
use crate::error::{Error, Excerpt, Result};
use crate::transport::http::HttpRequest;

impl HttpOptions {
    /// Checks the pages, the allowed hosts and the allowed origins.
    /// [`Server::listen_http`](crate::server::Server::listen_http) does so too.
    /// [`Server::http_service`](crate::server::Server::http_service) does not: there a page at a
    /// path of the protocol is never served, and the first of two pages with one path is. A host
    /// name or an origin that no request can have then allows nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when a page or the health page has a path
    /// of the protocol, the path of another page or no valid path, or a media type that can't be
    /// sent; when an allowed host is no host name or an allowed origin is no origin. The error text
    /// has the path, host or origin.
    pub fn check(&self) -> Result<()> {
        check_card_path(self)?;
        check_allowed(self)?;
        let refuse = |path: &str, why: &str| {
            let text = format!("the page '{}' {why}", Excerpt(path));
            Err(Error::invalid(text))
        };
        let health = self.health.iter();
        let paths = health.chain(self.pages.iter().map(|(path, _)| path));
        let mut before: Vec<&str> = Vec::new();
        for path in paths {
            if !path.bytes().all(|byte| byte.is_ascii_graphic()) || path.contains(['?', '#']) {
                return refuse(
                    path,
                    "has no path of a URL: write it without query, and encoded",
                );
            }
            if let Some(used) = own_use(self, path) {
                return refuse(
                    path,
                    &format!("has the path of the {used}: choose another one"),
                );
            }
            if before.contains(&without_slash(path)) {
                return refuse(path, "is there twice");
            }
            before.push(without_slash(path));
        }
        self.pages
            .iter()
            .try_for_each(|(path, page)| page.check(path))
    }
}

/// Whether a request is for the health page. The paths of the protocol are never those of a page.
pub(super) fn is_health(options: &HttpOptions, request: &HttpRequest<'_>) -> bool {
    let path = options.health.as_deref();
    path.is_some_and(|path| is_at(request, path) && own_use(options, path).is_none())
}

/// Returns the page of the host that a request is for.
pub(super) fn wanted<'a>(
    options: &'a HttpOptions,
    request: &HttpRequest<'_>,
) -> Option<&'a HttpPage> {
    let mut pages = options.pages.iter();
    let (path, page) = pages.find(|(path, _)| is_at(request, path))?;
    own_use(options, path).is_none().then_some(page)
}

/// Returns what the protocol uses a path for, if it does.
fn own_use(options: &HttpOptions, path: &str) -> Option<&'static str> {
    let is = |own: &str| without_slash(own) == without_slash(path);
    let old = options.old_paths.as_ref();
    if is(&options.path) {
        Some("endpoint")
    } else if old.is_some_and(|(stream, post)| is(stream) || is(post)) {
        Some("transport of 2024-11-05")
    } else if options.serves_metadata_at(path) {
        Some("metadata of the protected resource")
    } else if options.card_path().is_some_and(|card| is(&card)) {
        Some("server card")
    } else {
        None
    }
}

/// Checks that no other path of the protocol is that of the server card.
// AMB-77
fn check_card_path(options: &HttpOptions) -> Result<()> {
    let (Some(card), Some((stream, post))) = (options.card_path(), &options.old_paths) else {
        return Ok(());
    };
    match [stream, post]
        .iter()
        .any(|path| without_slash(path) == card)
    {
        true => Err(Error::invalid(format!(
            "the server card and HttpOptions::old_paths have the path '{}'",
            Excerpt(&card)
        ))),
        false => Ok(()),
    }
}

/// A path of the HTTP+SSE transport: its stream, with the path for messages, or that path.
pub(super) enum OldPath<'a> {
    Stream(&'a str),
    Post,
}

/// Returns which path of the HTTP+SSE transport a request has, if any.
pub(super) fn old_path<'a>(
    options: &'a HttpOptions,
    request: &HttpRequest<'_>,
) -> Option<OldPath<'a>> {
    let (stream, post) = options.old_paths.as_ref()?;
    if is_at(request, stream) {
        return Some(OldPath::Stream(post));
    }
    is_at(request, post).then_some(OldPath::Post)
}

/// Returns the HTTP methods that a web page may use at the path of a request.
pub(super) fn methods_at(options: &HttpOptions, request: &HttpRequest<'_>) -> &'static str {
    match old_path(options, request) {
        Some(OldPath::Stream(_)) => "GET",
        Some(OldPath::Post) => "POST",
        None => "POST, GET, DELETE",
    }
}
