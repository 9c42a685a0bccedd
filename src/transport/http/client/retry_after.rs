//! The field `Retry-After` of a response: when the server can be asked again.
//!
//! Spec: RFC 9110, section 10.2.3.

use std::time::{Duration, SystemTime};

use ureq::http::HeaderMap;

use super::cookies;
use crate::error::{Error, Span};

/// Adds the wait that the server demands to the text of an error. Returns the error unchanged if
/// the server demands none.
pub(crate) fn tell_wait(error: Error, fields: &HeaderMap) -> Error {
    let field = |name: &str| fields.get(name).and_then(|value| value.to_str().ok());
    let date = |text: &str| cookies::date(text).map(about);
    // A date of the server is relative to the clock of the server.
    let now = || {
        let own = field("date").and_then(date);
        own.unwrap_or_else(|| about(SystemTime::now()))
    };
    let wait = field("retry-after").and_then(|text| {
        let seconds = text.trim().parse().ok();
        seconds.or_else(|| Some(date(text)?.saturating_sub(now())))
    });
    match wait {
        Some(seconds @ 1..) => {
            let span = Span(Duration::from_secs(seconds));
            error.remark(format_args!("try again in {span}"))
        }
        _ => error,
    }
}

/// Returns the seconds from 1970 to a time.
fn about(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
