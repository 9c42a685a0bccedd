//! Calendar dates, and the formats of times: RFC 3339, which is a profile of ISO 8601, and HTTP.
//!
//! This module never reads the clock: callers pass times as arguments. Dates are Gregorian, and
//! days are counted from 1970-01-01. Internally, a year begins in March, so that the leap day is
//! its last day. An era is 400 years, and five months in a row have 153 days.

use std::time::Duration;

const SECONDS_OF_DAY: u64 = 86_400;

/// The number of days from March 1 of year 0 to 1970-01-01.
const EPOCH: u64 = 719_468;

/// The names of the months in dates of HTTP.
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub(crate) const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns the year, month and day of the date that is `days` days after 1970-01-01.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

/// Returns the seconds from 1970-01-01 to the beginning of a date, which is in 1970 or later. If
/// the month has fewer than `day` days, the date is in the next month.
#[cfg(feature = "http-client")]
pub(crate) fn seconds_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, shifted) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * shifted + 2) / 5 + day - 1;
    (days - EPOCH) * SECONDS_OF_DAY
}

/// Formats the time since the beginning of 1970 as `2025-11-25T10:30:00.125Z`.
pub(crate) fn iso_8601(since: Duration) -> String {
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (year, month, day) = civil_from_days(seconds / SECONDS_OF_DAY);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// A date of HTTP, such as `Thu, 01 Jan 1970 00:00:00 GMT`.
#[cfg(feature = "http-server")]
pub(crate) type HttpDate = [u8; 29];

/// Formats the seconds since 1970 as the value of a `Date` field (RFC 9110, section 5.6.7). Only
/// the last four digits of a year are written.
#[cfg(feature = "http-server")]
pub(crate) fn http_date(seconds: u64) -> HttpDate {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (days, time) = (seconds / SECONDS_OF_DAY, seconds % SECONDS_OF_DAY);
    let (year, month, day) = civil_from_days(days);
    let name = |list: &[&'static str], at: u64| list[usize::try_from(at).unwrap_or(0) % list.len()];
    let text = format!(
        "{}, {day:02} {} {:04} {:02}:{:02}:{:02} GMT",
        name(&DAYS, days % 7),
        name(&MONTHS, month - 1),
        year % 10_000,
        time / 3600,
        time / 60 % 60,
        time % 60,
    );
    let mut date = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    date.copy_from_slice(text.as_bytes());
    date
}

/// Whether a text is a full date of RFC 3339.
pub(crate) fn is_date(text: &str) -> bool {
    let &[_, _, _, _, b'-', _, _, b'-', _, _] = text.as_bytes() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) =
        (number(text, 0, 4), number(text, 5, 7), number(text, 8, 10))
    else {
        return false;
    };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Whether a text is a date and time of RFC 3339, leap seconds included.
pub(crate) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else {
        return false;
    };
    let (clock, hours, minutes) = match time.strip_suffix(['Z', 'z']) {
        Some(clock) => (clock, Some(0), Some(0)),
        None => {
            let Some(at) = time.rfind(['+', '-']) else {
                return false;
            };
            let (clock, offset) = time.split_at(at);
            let &[_, _, _, b':', _, _] = offset.as_bytes() else {
                return false;
            };
            (clock, number(offset, 1, 3), number(offset, 4, 6))
        }
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let &[_, _, b':', _, _, b':', _, _] = clock.as_bytes() else {
        return false;
    };
    let within = |number: Option<u32>, end| number.is_some_and(|number| number < end);
    is_date(date)
        && within(number(clock, 0, 2), 24)
        && within(number(clock, 3, 5), 60)
        && within(number(clock, 6, 8), 61)
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && within(hours, 24)
        && within(minutes, 60)
}

/// Parses the digits from `start` to `end` of a text. Returns `None` for any other characters.
fn number(text: &str, start: usize, end: usize) -> Option<u32> {
    let digits = text.get(start..end)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dates_of_rfc_3339_are_taken() {
        fn check(format: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
            for text in good {
                assert!(format(text), "{text}");
            }
            for text in bad {
                assert!(!format(text), "{text}");
            }
        }
        check(
            is_date,
            &["2024-02-29", "2000-02-29", "1999-12-31"],
            &[
                "2023-02-29",
                "1900-02-29",
                "2024-13-01",
                "2024-00-10",
                "2024-04-31",
                "2024-1-1",
                "+024-01-01",
                "２０２４-01-01",
                "",
            ],
        );
        check(
            is_date_time,
            &[
                "2026-07-28T12:00:00Z",
                "2026-07-28t23:59:60.125z",
                "2026-07-28T00:00:00-08:30",
            ],
            &[
                "2026-07-28",
                "2026-07-28T24:00:00Z",
                "2026-07-28T12:00Z",
                "2026-07-28T12:00:00",
                "2026-07-28T12:00:00.Z",
                "2026-07-28T12:00:00+0800",
                "2026-07-28T12:00:00+24:00",
                "T",
                "2026-07-28TZ",
            ],
        );
    }

    // L-TASK-B-15
    #[test]
    fn times_are_written_in_iso_8601() {
        fn check(millis: u64, expected: &str) {
            assert_eq!(iso_8601(Duration::from_millis(millis)), expected);
        }
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_764_066_600_125, "2025-11-25T10:30:00.125Z");
        check(1_785_196_800_000, "2026-07-28T00:00:00.000Z");
        check(4_107_542_399_000, "2100-02-28T23:59:59.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
    }

    #[cfg(feature = "http-server")]
    #[test]
    fn times_are_written_as_dates_of_http() {
        fn check(seconds: u64, expected: &str) {
            assert_eq!(std::str::from_utf8(&http_date(seconds)), Ok(expected));
        }
        check(0, "Thu, 01 Jan 1970 00:00:00 GMT");
        check(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT");
        check(951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT");
        check(951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT");
        check(1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT");
        check(1_785_196_800, "Tue, 28 Jul 2026 00:00:00 GMT");
        check(253_402_300_800, "Sat, 01 Jan 0000 00:00:00 GMT");
    }

    #[cfg(feature = "http-client")]
    #[test]
    fn dates_are_counted_back_to_the_same_day() {
        for days in (0..200_000).step_by(13) {
            let (year, month, day) = civil_from_days(days);
            let seconds = seconds_before(year, month, day);
            assert_eq!(seconds, days * SECONDS_OF_DAY, "{year}-{month}-{day}");
        }
        let (first_of_march, overflow) = (seconds_before(2023, 3, 1), seconds_before(2023, 2, 29));
        assert_eq!(first_of_march, overflow);
    }
}
