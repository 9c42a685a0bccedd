//! URL mode elicitation: warnings about URLs, and the error that requires URL mode elicitations.
//!
//! Spec: Client Features, "Elicitation", "URL Mode" and "Safe URL Handling" (since 2025-11-25).

use serde_json::Value;

use super::elicitation::ElicitRequestURLParams;
use super::tree::{self, Tree};
use super::url::Url;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result, RpcError};

/// A reason to warn the user before a URL is opened. See [`ElicitRequestURLParams::doubts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UrlDoubt {
    /// The text is not a valid URL and must not be opened.
    Malformed,
    /// The scheme is neither `https:` nor `http:`. A program other than the browser would open the
    /// URL.
    OtherScheme,
    /// The connection is not encrypted, and the URL may lead to another machine.
    NotEncrypted,
    /// A label of the host name is Punycode (`xn--…`): the host name may look like another one.
    Punycode,
    /// The host name has letters outside of ASCII, some of which look like ASCII letters.
    NotAscii,
    /// The URL has user information (`user@`) before the host name. The user may mistake the user
    /// information for the host name.
    UserInfo,
}

impl ElicitRequestURLParams {
    /// Returns the host name of the URL. Returns `None` if the URL has no host name. Display the
    /// host name with emphasis.
    pub fn host(&self) -> Option<&str> {
        Url::read(&self.url)
            .map(|url| url.host)
            .filter(|host| !host.is_empty())
    }

    /// Returns the reasons to warn the user before the URL is opened.
    pub fn doubts(&self) -> Vec<UrlDoubt> {
        let Some(url) = Url::read(&self.url) else {
            return vec![UrlDoubt::Malformed];
        };
        let encrypted = url.is("https");
        let plain = url.is("http");
        let punycode = url.host.split('.').any(|part| {
            part.get(..4)
                .is_some_and(|it| it.eq_ignore_ascii_case("xn--"))
        });
        let doubts = [
            (UrlDoubt::OtherScheme, !encrypted && !plain),
            (UrlDoubt::NotEncrypted, plain && !url.is_loopback()),
            (UrlDoubt::Punycode, punycode),
            (UrlDoubt::NotAscii, !url.host.is_ascii()),
            (UrlDoubt::UserInfo, url.user.is_some()),
        ];
        let doubts = doubts.into_iter().filter(|(_, holds)| *holds);
        doubts.map(|(doubt, _)| doubt).collect()
    }

    /// Checks that `url` is an absolute URL.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `url` is not an absolute URL.
    pub fn check(&self) -> Result<()> {
        if Url::read(&self.url).is_some() {
            return Ok(());
        }
        let text = format!(
            "the url of an elicitation is not an absolute address: {}",
            Excerpt(&self.url)
        );
        Err(Error::new(ErrorKind::Invalid, text))
    }
}

object! {
    /// The error (-32042) with which a server refuses a request until URL mode elicitations are
    /// completed. 2025-11-25 only.
    ///
    /// A server does not need this error if it can wait for the user. Then it sends an elicitation
    /// that [`ElicitRequestParams::url`](super::ElicitRequestParams::url) makes, in any revision
    /// that has URL mode.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitRequestURLParams, URLElicitationRequiredError};
    ///
    /// let page = ElicitRequestURLParams::new("Please sign in", "https://example.com/sign-in")
    ///     .elicitation_id("7f3a");
    /// let error = URLElicitationRequiredError::new([page])?.to_rpc_error()?;
    ///
    /// let required = URLElicitationRequiredError::of(&error).expect("the client reads it");
    /// assert_eq!(required.elicitations[0].host(), Some("example.com"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct URLElicitationRequiredError {
        /// The required URL mode elicitations. Each has an `elicitation_id`, by which
        /// `notifications/elicitation/complete` refers to the elicitation.
        pub elicitations: Vec<ElicitRequestURLParams>,
    }
}

impl URLElicitationRequiredError {
    /// Makes an error that requires these URL mode elicitations.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the list is empty, or an elicitation has no `elicitation_id` or
    /// no valid URL.
    pub fn new(elicitations: impl Into<Vec<ElicitRequestURLParams>>) -> Result<Self> {
        let this = Self {
            elicitations: elicitations.into(),
        };
        let invalid = |text: &str| Err(Error::new(ErrorKind::Invalid, text));
        if this.elicitations.is_empty() {
            return invalid("an error that demands pages has to name one");
        }
        for page in &this.elicitations {
            page.check()?;
            if page.elicitation_id.as_deref().is_none_or(str::is_empty) {
                return invalid("a page that an error demands needs an elicitation id");
            }
        }
        Ok(this)
    }

    /// Makes the error object for the response.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the elicitations can't be written as JSON.
    pub fn to_rpc_error(&self) -> Result<RpcError> {
        let text = "pages have to be visited first";
        RpcError::new(ErrorCode::URL_ELICITATION_REQUIRED, text).with_data(self)
    }

    /// Returns the URL mode elicitations that an error requires. Returns `None` if the error has
    /// another code, or its data is invalid.
    pub fn of(error: &RpcError) -> Option<Self> {
        if error.code != ErrorCode::URL_ELICITATION_REQUIRED {
            return None;
        }
        let data: Self = tree::read(error.data.as_ref()?.get()).ok()?;
        Self::new(data.elicitations).ok()
    }
}

/// Returns the ids of the URL mode elicitations that an error requires. Returns `None` if the error
/// has another code, or its data is invalid.
pub(crate) fn demanded_pages(error: &RpcError) -> Option<Vec<String>> {
    if error.code != ErrorCode::URL_ELICITATION_REQUIRED {
        return None;
    }
    let Tree(data) = tree::read(error.data.as_ref()?.get()).ok()?;
    let pages = data.get("elicitations")?.as_array()?;
    let id = |page: &Value| {
        let text = |name: &str| page.get(name).and_then(Value::as_str);
        text("message").filter(|_| text("mode") == Some("url"))?;
        Url::read(text("url")?)?;
        let id = text("elicitationId").filter(|id| !id.is_empty())?;
        Some(id.to_owned())
    };
    let ids: Option<Vec<String>> = pages.iter().map(id).collect();
    ids.filter(|ids| !ids.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str) -> ElicitRequestURLParams {
        ElicitRequestURLParams::new("Sign in", url)
    }

    // M-ELIC-C-38, M-ELIC-C-43, M-ELIC-C-44, L-ELIC-C-37, L-ELIC-C-41
    #[test]
    fn the_host_is_told_and_what_is_odd_about_it() {
        fn check(url: &str, host: Option<&str>, doubts: &[UrlDoubt]) {
            assert_eq!(page(url).host(), host, "{url}");
            assert_eq!(page(url).doubts(), doubts, "{url}");
        }
        check("https://example.com/sign-in?id=1", Some("example.com"), &[]);
        check("http://localhost:8080/", Some("localhost"), &[]);
        check("http://127.0.0.1/", Some("127.0.0.1"), &[]);
        check(
            "http://127.evil.example/",
            Some("127.evil.example"),
            &[UrlDoubt::NotEncrypted],
        );
        check(
            "https://login.xn--exmple-cua.com/",
            Some("login.xn--exmple-cua.com"),
            &[UrlDoubt::Punycode],
        );
        check(
            "https://ex\u{430}mple.com/",
            Some("ex\u{430}mple.com"),
            &[UrlDoubt::NotAscii],
        );
        check(
            "http://example.com@evil.example/",
            Some("evil.example"),
            &[UrlDoubt::NotEncrypted, UrlDoubt::UserInfo],
        );
        check("javascript:alert(1)", None, &[UrlDoubt::OtherScheme]);
        check("not a url", None, &[UrlDoubt::Malformed]);
    }

    // L-ELIC-S-19, L-ELIC-S-20
    #[test]
    fn an_error_demands_pages_with_ids_and_nothing_else() {
        assert!(URLElicitationRequiredError::new([]).is_err());
        assert!(URLElicitationRequiredError::new([page("https://example.com")]).is_err());
        let nameless = page("https://example.com").elicitation_id("");
        assert!(URLElicitationRequiredError::new([nameless]).is_err());
        let nowhere = page("nowhere").elicitation_id("1");
        assert!(URLElicitationRequiredError::new([nowhere]).is_err());
        let good = page("https://example.com").elicitation_id("1");
        let error = URLElicitationRequiredError::new([good]).expect("whole");
        let rpc = error.to_rpc_error().expect("JSON");
        assert_eq!(
            serde_json::to_value(&rpc).expect("JSON"),
            serde_json::json!({
                "code": -32042,
                "message": "pages have to be visited first",
                "data": { "elicitations": [
                    { "mode": "url", "message": "Sign in", "url": "https://example.com", "elicitationId": "1" },
                ] },
            })
        );
        assert_eq!(
            demanded_pages(&rpc).map(|ids| ids.len()),
            Some(error.elicitations.len())
        );
        assert_eq!(URLElicitationRequiredError::of(&rpc), Some(error));
        let form = r#"{"code":-32042,"message":"m","data":{"elicitations":[{"message":"m","requestedSchema":{}}]}}"#;
        let form: RpcError = serde_json::from_str(form).expect("an error");
        assert_eq!(URLElicitationRequiredError::of(&form), None);
        assert_eq!(demanded_pages(&form), None);
        let other = RpcError::internal("no");
        assert_eq!(URLElicitationRequiredError::of(&other), None);
        assert_eq!(demanded_pages(&other), None);
    }
}
