//! JSON numbers of any size, compared by their exact value.

use std::cmp::Ordering;

/// A decimal number: 0.DIGITS times 10 to the power of `exponent`, negated if `is_negative`. Zero
/// has no digits; other numbers have neither a leading nor a trailing zero. So equal numbers have
/// equal fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; returns `None` for other text. An exponent beyond 64 bits becomes the
    /// largest or smallest one.
    pub(super) fn read(json: &str) -> Option<Self> {
        let (is_negative, text) = match json.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, json),
        };
        let (text, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
        let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
        if whole.is_empty() || unsigned.is_empty() {
            return None;
        }
        if !is_number(whole) || !is_number(fraction) || !is_number(unsigned) {
            return None;
        }
        let furthest = if power.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        };
        let power = power.parse::<i64>().unwrap_or(furthest);
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let Some(first) = all.iter().position(|digit| *digit != b'0') else {
            return Some(Self {
                is_negative: false,
                digits: Vec::new(),
                exponent: 0,
            });
        };
        let end = all.iter().rposition(|digit| *digit != b'0')? + 1;
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        Some(Self {
            is_negative,
            digits: all[first..end].to_vec(),
            exponent: power.saturating_add(point),
        })
    }

    pub(super) fn is_integer(&self) -> bool {
        i64::try_from(self.digits.len()).is_ok_and(|count| count <= self.exponent.max(0))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || {
            let mine = (self.exponent, &self.digits);
            mine.cmp(&(other.exponent, &other.digits))
        };
        sign(self)
            .cmp(&sign(other))
            .then_with(|| match self.is_negative {
                true => by_size().reverse(),
                false => by_size(),
            })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
