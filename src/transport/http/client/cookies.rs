//! Cookies of the server, or of a load balancer in front of the server.
//!
//! Cookies are kept in memory while the connection is open. A cookie is sent only to the origin
//! that set it. A wider domain in the cookie has no effect. No text of the library shows the value
//! of a cookie.
//!
//! Spec: RFC 6265, sections 5.1 to 5.4; RFC 6265bis, section 4.1.3, "Cookie Name Prefixes".

use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use ureq::http::header::{COOKIE, SET_COOKIE};
use ureq::http::{HeaderMap, HeaderValue, Uri};

use crate::schema::date::{MONTHS, seconds_before};
use crate::sync::Mutex;

/// The maximum number of cookies that are kept. At the limit, the oldest cookie is removed.
const MAX_COOKIES: usize = 50;
/// The maximum length of a cookie's name and value together, in bytes. A longer cookie is ignored.
const MAX_COOKIE: usize = 4096;
/// The maximum length of the names and values of all stored cookies together, in bytes. Many
/// servers limit the size of a request head. At the limit, the oldest cookies are removed.
const MAX_BYTES: usize = 8192;
/// The maximum lifetime of a cookie, as in browsers. A longer lifetime is shortened.
const MAX_AGE: Duration = Duration::from_secs(400 * 86_400);

/// The stored cookies of one connection to a server.
#[derive(Default)]
pub(super) struct Cookies(Mutex<Vec<Cookie>>);

/// A cookie that the server has set. Its name and path identify it, because all cookies have the
/// same origin.
struct Cookie {
    name: String,
    value: String,
    path: String,
    is_secure: bool,
    /// The time when the cookie expires. `None` means that the cookie lives as long as the
    /// connection.
    expires: Option<Instant>,
}

/// The effect of a `Set-Cookie` field.
enum Said {
    Keep(Cookie),
    Forget { name: String, path: String },
}

impl Cookies {
    /// Stores the cookies that a response of the server sets.
    pub(super) fn take(&self, uri: &Uri, fields: &HeaderMap) {
        if !fields.contains_key(SET_COOKIE) {
            return;
        }
        let now = (Instant::now(), SystemTime::now());
        let mut kept = self.0.lock();
        for said in fields.get_all(SET_COOKIE) {
            let said = std::str::from_utf8(said.as_bytes());
            if let Some(said) = said.ok().and_then(|text| Said::read(text, uri, now)) {
                said.apply(&mut kept);
            }
        }
    }

    /// Adds the stored cookies for a URL to the header fields of a request. If the host application
    /// sets a cookie with the same name, only that cookie is sent. Cookies of the host application
    /// come first.
    pub(super) fn give(&self, uri: &Uri, fields: &mut HeaderMap) {
        let mut kept = self.0.lock();
        if kept.is_empty() {
            return;
        }
        let now = Instant::now();
        kept.retain(|cookie| cookie.expires.is_none_or(|expires| expires > now));
        let mut meant: Vec<&Cookie> = kept.iter().filter(|cookie| cookie.is_for(uri)).collect();
        // Cookies with longer paths come first. Cookies with equal paths stay in the order of their
        // arrival.
        meant.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let own = fields.get_all(COOKIE).into_iter();
        let own: Vec<String> = own
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        let is_own = |name: &str| {
            let pairs = own.iter().flat_map(|value| value.split(';'));
            let mut names = pairs.map(|pair| pair.split('=').next().unwrap_or_default().trim());
            names.any(|own| own == name)
        };
        let meant = meant.into_iter().filter(|cookie| !is_own(&cookie.name));
        let mut text = own.join("; ");
        for Cookie { name, value, .. } in meant {
            let gap = if text.is_empty() { "" } else { "; " };
            text.push_str(&format!("{gap}{name}={value}"));
        }
        drop(kept);
        let Ok(mut value) = HeaderValue::from_str(&text) else {
            return;
        };
        value.set_sensitive(true);
        if !text.is_empty() {
            fields.insert(COOKIE, value);
        }
    }

    /// Removes the values of the stored cookies from a text that the server sent.
    pub(super) fn redact(&self, text: &str) -> String {
        let kept = self.0.lock();
        let values = kept.iter().map(|cookie| cookie.value.trim_matches('"'));
        // A shorter value is hardly a secret, and its removal would damage the text.
        let secrets = values.filter(|value| value.len() > 3);
        secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[…]"))
    }
}

impl Cookie {
    fn is_for(&self, uri: &Uri) -> bool {
        let path = uri.path();
        let is_below = path.strip_prefix(&*self.path).is_some_and(|rest| {
            rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/')
        });
        is_below && (!self.is_secure || is_https(uri))
    }

    fn is(&self, name: &str, path: &str) -> bool {
        self.name == name && self.path == path
    }

    fn len(&self) -> usize {
        self.name.len() + self.value.len()
    }
}

impl Said {
    /// Parses a `Set-Cookie` field. Returns `None` if the field has to be ignored. `now` is the
    /// current time, first by the monotonic clock and then by the system clock.
    fn read(text: &str, uri: &Uri, now: (Instant, SystemTime)) -> Option<Self> {
        // Tab is the only allowed control character.
        if text.chars().any(|c| c.is_control() && c != '\t') || !text.is_ascii() {
            return None;
        }
        let mut parts = text.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.len() + value.len() > MAX_COOKIE {
            return None;
        }
        let mut path = None;
        let (mut is_secure, mut has_domain) = (false, false);
        let (mut max_age, mut expires) = (None, None);
        for part in parts {
            let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match &*attribute.trim().to_ascii_lowercase() {
                "path" => path = Some(value).filter(|value| value.starts_with('/')),
                "secure" => is_secure = true,
                "max-age" => max_age = seconds(value).or(max_age),
                "expires" => expires = date(value).or(expires),
                "domain" => {
                    let domain = value.strip_prefix('.').unwrap_or(value);
                    has_domain = !domain.is_empty();
                    // The cookie is for another host.
                    if has_domain && !is_within(uri.host()?, domain) {
                        return None;
                    }
                }
                _ => {}
            }
        }
        if is_secure && !is_https(uri) {
            return None;
        }
        let begins = |prefix: &str| {
            let head = name.get(..prefix.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
        };
        let is_for_all = path == Some("/") && !has_domain;
        if (begins("__secure-") && !is_secure) || (begins("__host-") && !(is_secure && is_for_all))
        {
            return None;
        }
        let path = path.unwrap_or_else(|| default_path(uri)).to_owned();
        let name = name.to_owned();
        let left = match (max_age, expires) {
            (Some(left), _) => Some(left),
            (None, Some(at)) => Some(at.duration_since(now.1).unwrap_or_default()),
            (None, None) => None,
        };
        if left.is_some_and(|left| left.is_zero()) {
            return Some(Self::Forget { name, path });
        }
        Some(Self::Keep(Cookie {
            name,
            value: value.to_owned(),
            path,
            is_secure,
            expires: left.and_then(|left| now.0.checked_add(left.min(MAX_AGE))),
        }))
    }

    fn apply(self, kept: &mut Vec<Cookie>) {
        match self {
            Self::Forget { name, path } => kept.retain(|cookie| !cookie.is(&name, &path)),
            Self::Keep(cookie) => {
                match kept
                    .iter_mut()
                    .find(|old| old.is(&cookie.name, &cookie.path))
                {
                    Some(old) => *old = cookie,
                    None => kept.push(cookie),
                }
                let mut bytes: usize = kept.iter().map(Cookie::len).sum();
                while kept.len() > MAX_COOKIES || bytes > MAX_BYTES {
                    bytes -= kept.remove(0).len();
                }
            }
        }
    }
}

fn is_https(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// Whether a host is equal to `domain`, or is a subdomain of `domain`.
fn is_within(host: &str, domain: &str) -> bool {
    let (host, domain) = (host.to_ascii_lowercase(), domain.to_ascii_lowercase());
    let is_name = || {
        host.trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_err()
    };
    let rest = host.strip_suffix(&domain);
    rest.is_some_and(|rest| rest.is_empty() || (rest.ends_with('.') && is_name()))
}

/// Returns the default path of a cookie: the directory of the requested path.
fn default_path(uri: &Uri) -> &str {
    let path = uri.path();
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

/// Parses a number of seconds. Returns zero for a negative number, and `None` if the text is not a
/// number.
fn seconds(text: &str) -> Option<Duration> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.len() < text.len() {
        return Some(Duration::ZERO);
    }
    Some(Duration::from_secs(digits.parse().unwrap_or(u64::MAX)))
}

/// Parses a date in any of the formats that servers use (RFC 6265, section 5.1.1).
pub(super) fn date(text: &str) -> Option<SystemTime> {
    let is_delimiter = |c: char| !(c.is_ascii_alphanumeric() || c == ':' || !c.is_ascii());
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in text.split(is_delimiter).filter(|word| !word.is_empty()) {
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let number = || word[..digits].parse::<u64>().ok();
        if time.is_none()
            && let Some(found) = time_of_day(word)
        {
            time = Some(found);
        } else if day.is_none() && matches!(digits, 1 | 2) {
            day = number();
        } else if month.is_none()
            && let Some(found) = month_of(word)
        {
            month = Some(found);
        } else if year.is_none() && matches!(digits, 2..=4) {
            year = number();
        }
    }
    let (time, day, month) = (time?, day?, month?);
    let year = match year? {
        year @ 0..=69 => year + 2000,
        year @ 70..=99 => year + 1900,
        year => year,
    };
    if !(1..=31).contains(&day) || year < 1601 {
        return None;
    }
    // A date before the epoch has passed in any case.
    if year < 1970 {
        return Some(SystemTime::UNIX_EPOCH);
    }
    let seconds = seconds_before(year, month, day) + time;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Parses a time of day into seconds since midnight.
fn time_of_day(word: &str) -> Option<u64> {
    let mut fields = word.split(':').map(|field| {
        // Other characters may follow the last number.
        let digits = field.bytes().take_while(u8::is_ascii_digit).count();
        let number = field[..digits].parse::<u64>().ok();
        number.filter(|_| matches!(digits, 1 | 2))
    });
    let (hour, minute, second) = (fields.next()??, fields.next()??, fields.next()??);
    let is_one = hour < 24 && minute < 60 && second < 60;
    is_one.then_some(hour * 3600 + minute * 60 + second)
}

/// Returns the number of a month (1 to 12), which its first three letters determine.
fn month_of(word: &str) -> Option<u64> {
    let word = word.get(..3)?;
    let at = MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))?;
    Some(at as u64 + 1)
}

impl fmt::Debug for Cookies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cookies")
            .field("kept", &self.0.lock().len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which cookies a request to `to` has, after `from` has set the cookies of `set` in
    /// order.
    fn check(from: &str, set: &[&str], to: &str, expected: &str) {
        assert_eq!(shown(from, set, to), expected, "{set:?}");
    }

    fn shown(from: &str, set: &[&str], to: &str) -> String {
        let cookies = Cookies::default();
        let mut fields = HeaderMap::new();
        for set in set {
            fields.append(SET_COOKIE, HeaderValue::from_str(set).expect("a value"));
        }
        cookies.take(&from.parse().expect("a URL"), &fields);
        let mut sent = HeaderMap::new();
        cookies.give(&to.parse().expect("a URL"), &mut sent);
        assert!(sent.values().all(HeaderValue::is_sensitive));
        let value = sent.get(COOKIE).map(|value| value.to_str().expect("text"));
        value.unwrap_or_default().to_owned()
    }

    const HERE: &str = "http://a.test/mcp/x";
    const SAFE: &str = "https://a.test/mcp/x";

    #[test]
    fn cookies_are_shown_again() {
        check(HERE, &["a=1"], HERE, "a=1");
        check(
            HERE,
            &[" a = \"1 2\" ; HttpOnly; SameSite=Lax"],
            HERE,
            "a=\"1 2\"",
        );
        check(HERE, &["a=1", "b=x=y", "a=2"], HERE, "a=2; b=x=y");
        check(HERE, &["a="], HERE, "a=");
        check(HERE, &["a", "=1", "", "a=\u{fc}", "a=1; path"], HERE, "a=1");
        let long = format!("a={}", "x".repeat(MAX_COOKIE));
        check(HERE, &[&long], HERE, "");
    }

    #[test]
    fn paths_bound_where_a_cookie_goes() {
        check(HERE, &["a=1"], "http://a.test/mcp/", "a=1");
        check(HERE, &["a=1"], "http://a.test/mcp", "a=1");
        check(HERE, &["a=1"], "http://a.test/mcpx", "");
        check(HERE, &["a=1"], "http://a.test/", "");
        check("http://a.test/mcp", &["a=1"], "http://a.test/", "a=1");
        check(HERE, &["a=1; Path=/"], "http://a.test/b", "a=1");
        check(HERE, &["a=1; path=/b"], HERE, "");
        check(HERE, &["a=1; path=/b/"], "http://a.test/b/c", "a=1");
        check(HERE, &["a=1; path=b"], HERE, "a=1");
        check(HERE, &["a=1; path=/", "a=2"], HERE, "a=2; a=1");
    }

    #[test]
    fn cookies_end() {
        check(HERE, &["a=1; Max-Age=60"], HERE, "a=1");
        check(HERE, &["a=1", "a=; max-age=0"], HERE, "");
        check(HERE, &["a=1", "a=2; Max-Age=-1"], HERE, "");
        check(HERE, &["a=1", "a=; path=/; max-age=0"], HERE, "a=1");
        check(HERE, &["a=1; max-age=99999999999999999999999"], HERE, "a=1");
        check(HERE, &["a=1; max-age=soon"], HERE, "a=1");
        let past = "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
        check(HERE, &["a=1", past], HERE, "");
        let future = "expires=Sun, 06-Nov-94 08:49:37 GMT; expires=Fri, 31 Dec 9999 23:59:59 GMT";
        check(HERE, &[&format!("a=1; {future}")], HERE, "a=1");
        check(
            HERE,
            &["a=1; max-age=0; expires=Fri, 31 Dec 9999 23:59:59 GMT"],
            HERE,
            "",
        );
        check(HERE, &["a=1; expires=never"], HERE, "a=1");
    }

    #[test]
    fn cookies_of_others_are_not_taken() {
        check(HERE, &["a=1; Domain=a.test"], HERE, "a=1");
        check(HERE, &["a=1; Domain=.Test"], HERE, "a=1");
        check(HERE, &["a=1; Domain="], HERE, "a=1");
        check(HERE, &["a=1; Domain=b.test"], HERE, "");
        check(HERE, &["a=1; Domain=x.a.test"], HERE, "");
        let address = "http://127.0.0.1/";
        check(
            address,
            &["a=1; domain=127.0.0.1", "b=1; domain=0.0.1"],
            address,
            "a=1",
        );
    }

    #[test]
    fn secure_cookies_need_https() {
        check(HERE, &["a=1; Secure"], HERE, "");
        check(SAFE, &["a=1; secure"], SAFE, "a=1");
        check(SAFE, &["a=1; Secure"], HERE, "");
        check(SAFE, &["__Secure-a=1", "__Host-b=1; Secure"], SAFE, "");
        let host = "__host-a=1; secure; path=/";
        check(SAFE, &[host], SAFE, "__host-a=1");
        check(SAFE, &[&format!("{host}; domain=a.test")], SAFE, "");
    }

    #[test]
    fn cookies_are_bounded() {
        let many: Vec<String> = (0..200)
            .map(|number| format!("n{number}={number}"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let kept = shown(HERE, &many, HERE);
        assert_eq!(kept.split("; ").count(), MAX_COOKIES);
        assert!(
            kept.ends_with("n199=199") && !kept.contains("n149="),
            "{kept}"
        );
        let long = "x".repeat(3000);
        let long: Vec<String> = (0..4).map(|number| format!("n{number}={long}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        let kept = shown(HERE, &long, HERE);
        assert!(kept.starts_with("n2=") && kept.len() < MAX_BYTES);
    }

    #[test]
    fn the_hosts_own_cookies_hold() {
        let cookies = Cookies::default();
        let uri: Uri = HERE.parse().expect("a URL");
        let set = ["own=theirs", "other=1"];
        for set in set {
            let fields = HeaderMap::from_iter([(SET_COOKIE, HeaderValue::from_static(set))]);
            cookies.take(&uri, &fields);
        }
        let mut sent = HeaderMap::new();
        sent.append(COOKIE, HeaderValue::from_static("own=ours; x=y"));
        cookies.give(&uri, &mut sent);
        let sent: Vec<_> = sent.get_all(COOKIE).into_iter().collect();
        assert_eq!(sent, ["own=ours; x=y; other=1"]);
    }

    #[test]
    fn values_are_shown_nowhere() {
        let cookies = Cookies::default();
        let fields = HeaderMap::from_iter([(
            SET_COOKIE,
            HeaderValue::from_static("a=\"s3cret-value\"; path=/"),
        )]);
        cookies.take(&HERE.parse().expect("a URL"), &fields);
        assert!(!format!("{cookies:?}").contains("s3cret"));
        assert_eq!(cookies.redact("got s3cret-value"), "got […]");
    }

    #[test]
    fn dates_are_read_in_all_spellings() {
        fn check(text: &str, expected: Option<u64>) {
            let found = date(text).and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
            assert_eq!(found.map(|since| since.as_secs()), expected, "{text}");
        }
        let one = Some(784_111_777);
        check("Sun, 06 Nov 1994 08:49:37 GMT", one);
        check("Sunday, 06-Nov-94 08:49:37 GMT", one);
        check("Sun Nov  6 08:49:37 1994", one);
        check("06 november 1994 8:49:37", one);
        check("Thu, 29 Feb 2024 00:00:00 GMT", Some(1_709_164_800));
        check("Wed, 21 Oct 2015 07:28:00 GMT", Some(1_445_412_480));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799));
        check("Mon, 01 Jan 1900 00:00:00 GMT", Some(0));
        check("Mon, 01 Jan 0001 00:00:00 GMT", Some(978_307_200));
        for none in [
            "",
            "never",
            "Sun, 06 Nov 1994",
            "06 Nov 1994 24:00:00",
            "0 Nov 1994 1:1:1",
        ] {
            check(none, None);
        }
    }
}
