//! Pages beside the endpoint: the health of the server, and static pages of the host.
//!
//! Pages are public: they need neither a session nor credentials, and `Origin` is not checked. The
//! `Host` check and all limits of the listener apply.

use std::borrow::Cow;
use std::sync::Arc;

use super::refusal::Refusal;
use crate::error::{Error, Excerpt, Result};
use crate::server::debug_fields::debug_fields;
use crate::skills::Digest;
use crate::transport::http::{HttpRequest, ResponseHead};

/// A static page of the host, for [`HttpOptions::page`](super::HttpOptions::page). Clones share the
/// content.
///
/// The page is answered to GET and HEAD, with a strong `ETag` made from its content and its type. A
/// client that sends the tag in `If-None-Match` gets status 304. All replicas with the same page
/// send the same tag.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{HttpOptions, HttpPage};
///
/// let robots = HttpPage::new("text/plain", "User-agent: *\nDisallow: /\n")
///     .cache_control("public, max-age=3600");
/// let options = HttpOptions::new()
///     .health("/healthz")
///     .page("/robots.txt", robots);
/// options.check()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct HttpPage {
    content_type: Cow<'static, str>,
    cache_control: Cow<'static, str>,
    etag: String,
    body: Arc<[u8]>,
    /// Whether pages of every site may read the page.
    is_readable_by_all: bool,
}

impl HttpPage {
    /// Makes a page from its media type and its content.
    pub fn new(content_type: impl Into<Cow<'static, str>>, body: impl Into<Vec<u8>>) -> Self {
        let (content_type, body) = (content_type.into(), body.into());
        let tagged = [content_type.as_bytes(), b"\n", &body].concat();
        let digest = Digest::of(&tagged).to_string();
        let hex = digest.rsplit(':').next().unwrap_or_default();
        Self {
            etag: format!("\"{}\"", &hex[..32]),
            cache_control: Cow::Borrowed("no-cache"),
            content_type,
            body: body.into(),
            is_readable_by_all: false,
        }
    }

    /// Sets the value of `Cache-Control`. Defaults to `no-cache`: clients may store the page, and
    /// ask with the tag whether it has changed.
    pub fn cache_control(mut self, value: impl Into<Cow<'static, str>>) -> Self {
        self.cache_control = value.into();
        self
    }

    /// Lets pages of every site read this page.
    pub(super) fn readable_by_all(mut self) -> Self {
        self.is_readable_by_all = true;
        self
    }

    /// Returns the entity tag, with its quotes.
    pub fn etag(&self) -> &str {
        &self.etag
    }

    /// Returns the response to a request for the page.
    ///
    /// Spec: RFC 9110, section 13.1.2.
    pub(super) fn respond(&self, request: &HttpRequest<'_>) -> Refusal {
        let answer = match request.method {
            "GET" | "HEAD" => self.content(request),
            "OPTIONS" if self.is_readable_by_all => {
                Refusal::empty(ResponseHead::new(204).header("Access-Control-Max-Age", "600"))
            }
            _ if self.is_readable_by_all => {
                let text = "allowed here: GET, HEAD";
                Refusal::text(405, text).header("Allow", "GET, HEAD, OPTIONS")
            }
            _ => not_allowed(),
        };
        if !self.is_readable_by_all {
            return answer;
        }
        // E-CARD-S-04
        answer
            .header("Access-Control-Allow-Origin", "*")
            .header("Access-Control-Allow-Methods", "GET")
            .header(
                "Access-Control-Allow-Headers",
                "Content-Type, If-None-Match",
            )
            .header("Access-Control-Expose-Headers", "ETag")
    }

    fn content(&self, request: &HttpRequest<'_>) -> Refusal {
        let is_known = names_tag(request, &self.etag);
        let head = ResponseHead::new(if is_known { 304 } else { 200 })
            .header("ETag", self.etag.clone())
            .header("Cache-Control", self.cache_control.clone());
        if is_known {
            return Refusal::empty(head);
        }
        Refusal {
            head: head
                .header("Content-Type", self.content_type.clone())
                .header("X-Content-Type-Options", "nosniff"),
            body: self.body.to_vec(),
        }
    }

    /// Checks that the values can be sent as header fields.
    pub(super) fn check(&self, path: &str) -> Result<()> {
        for (name, value) in [
            ("Content-Type", &self.content_type),
            ("Cache-Control", &self.cache_control),
        ] {
            let is_sound = |byte: u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
            if value.is_empty() || !value.bytes().all(is_sound) {
                let path = Excerpt(path);
                let text = format!("the page '{path}' has a {name} that can't be sent");
                return Err(Error::invalid(text));
            }
        }
        Ok(())
    }
}

// Shows the type and the size, not the content.
debug_fields!(HttpPage, content_type, bytes = |it| it.body.len(), etag);

fn not_allowed() -> Refusal {
    Refusal::text(405, "allowed here: GET, HEAD").header("Allow", "GET, HEAD")
}

/// Whether `If-None-Match` has this entity tag. The comparison is weak.
fn names_tag(request: &HttpRequest<'_>, etag: &str) -> bool {
    let tags = request
        .values("If-None-Match")
        .flat_map(|value| value.split(|byte| *byte == b','));
    let mut tags = tags.map(<[u8]>::trim_ascii);
    tags.any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes())
}

/// Returns the answer of the health page.
pub(super) fn health(request: &HttpRequest<'_>, is_healthy: bool) -> Refusal {
    if !matches!(request.method, "GET" | "HEAD") {
        return not_allowed();
    }
    let (status, body) = match is_healthy {
        true => (200, "ok\n"),
        false => (503, "closing\n"),
    };
    Refusal {
        head: ResponseHead::new(status)
            .header("Content-Type", "text/plain")
            .header("Cache-Control", "no-store"),
        body: body.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_every_form() {
        let etag = "\"a\"";
        for (value, expected) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("*", true),
            ("\"b\", W/\"c\" ,\"a\"", true),
            ("\"b\"", false),
            ("a", false),
            ("w/\"a\"", false),
            ("", false),
        ] {
            let fields = [("if-none-match", value.as_bytes())];
            let request = HttpRequest::new("GET", "/").headers(&fields);
            assert_eq!(names_tag(&request, etag), expected, "{value}");
        }
    }

    #[test]
    fn the_tag_depends_on_content_and_type() {
        let page = HttpPage::new("text/plain", "a");
        assert_eq!(page.etag(), HttpPage::new("text/plain", "a").etag());
        assert_ne!(page.etag(), HttpPage::new("text/plain", "b").etag());
        assert_ne!(page.etag(), HttpPage::new("text/html", "a").etag());
        assert_eq!(page.etag().len(), 34);
    }
}
