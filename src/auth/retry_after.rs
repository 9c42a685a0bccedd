//! The field `Retry-After` of a response: the time at which a server can be asked again.
//!
//! Spec: RFC 9110, sections 5.6.7 and 10.2.3.

use std::time::Duration;

use super::dpop::now_seconds;
use super::fetch::Answer;
use crate::error::{Error, Span};
use crate::schema::date::{MONTHS, seconds_before};

impl Answer {
    /// Adds the wait that the server demands (`Retry-After`) to the text of an error. Returns the
    /// error unchanged if the server demands none.
    pub(super) fn tell_wait(&self, error: Error) -> Error {
        // A date of the server is relative to the clock of the server.
        let now = || {
            self.field("date")
                .and_then(read_date)
                .unwrap_or_else(now_seconds)
        };
        let wait = self.field("retry-after").and_then(|text| {
            let seconds = text.parse().ok();
            seconds.or_else(|| Some(read_date(text)?.saturating_sub(now())))
        });
        match wait {
            Some(seconds @ 1..) => {
                let span = Span(Duration::from_secs(seconds));
                error.remark(format_args!("try again in {span}"))
            }
            _ => error,
        }
    }
}

/// Parses a date of HTTP, in the current format or one of the two obsolete formats. Returns the
/// seconds since 1970.
fn read_date(text: &str) -> Option<u64> {
    let words = text.split([' ', '-', ',']).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let (day, month, year, time) = match words[..] {
        [_, day, month, year, time, "GMT"] => (day, month, year, time),
        // The format of the function `asctime` of C.
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let number = |text: &str, end: u64| text.parse().ok().filter(|number| *number < end);
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let day = number(day, 32).filter(|day| *day > 0)?;
    let year = match number(year, 10_000)? {
        // A year of two digits is at most 50 years ahead; these years are enough for waits.
        year @ 0..=69 => year + 2000,
        year @ 70..=99 => year + 1900,
        year => Some(year).filter(|year| *year >= 1970)?,
    };
    let mut fields = time.split(':');
    let (hour, minute) = (number(fields.next()?, 24)?, number(fields.next()?, 60)?);
    let second = number(fields.next()?, 61)?;
    let time = hour * 3600 + minute * 60 + second;
    let is_whole = fields.next().is_none();
    is_whole.then(|| seconds_before(year, month, day) + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_each_format_of_http() {
        fn check(text: &str, expected: Option<u64>) {
            assert_eq!(read_date(text), expected, "{text}");
        }
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Monday, 28-Nov-33 00:00:00 GMT", Some(2_016_748_800));
        check("Fri, 31 Dec 9999 23:59:60 GMT", Some(253_402_300_800));
        for bad in [
            "",
            "soon",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 10000 08:49:37 GMT",
            "Sun, 06 Non 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37:01 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        ] {
            check(bad, None);
        }
    }
}
