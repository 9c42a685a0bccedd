//! The members of a message, found in the one pass that also checks that its text is JSON.
//!
//! Every message takes this way, so it is worth a scan of its own, several times faster than a general parser. The scan is strict and shy:
//! what it does not understand at once, it leaves to the parser, which also knows what to say about it. So it may only err by giving up.

use std::ops::Range;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::members::Places;
use super::text::next_special;

/// The members of a message by their places, all of them raw: which type each has to have is checked with a better message than serde's.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Envelope {
    pub(super) jsonrpc: Option<Range<usize>>,
    pub(super) id: Option<Range<usize>>,
    pub(super) method: Option<Range<usize>>,
    pub(super) params: Option<Range<usize>>,
    pub(super) result: Option<Range<usize>>,
    pub(super) error: Option<Range<usize>>,
    /// Those of `params`, if it is an object that was scanned.
    pub(super) places: Places,
}

impl Envelope {
    /// Reads a text. Nesting is no matter here.
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        let raw: Raw<'_> = serde_json::from_str(text)?;
        let place = |raw: Option<&RawValue>| {
            let value = raw?.get();
            let start = value.as_ptr() as usize - text.as_ptr() as usize;
            Some(start..start + value.len())
        };
        Ok(Self {
            jsonrpc: place(raw.jsonrpc),
            id: place(raw.id),
            method: place(raw.method),
            params: place(raw.params),
            result: place(raw.result),
            error: place(raw.error),
            places: Places::default(),
        })
    }

    /// The same for the usual message: an object that is nested no deeper than `max_depth`. `None` may mean anything.
    pub(super) fn scan(text: &str, max_depth: usize) -> Option<Self> {
        let mut envelope = Self::default();
        let mut scan = Scan {
            bytes: text.as_bytes(),
            at: 0,
        };
        let room = max_depth.min(Scan::LEVELS).checked_sub(1)?;
        scan.object(|scan, key, first| {
            let key = &scan.bytes[key];
            let start = scan.at;
            if first == b'{' && key == b"params" {
                // Whoever looks into the params will look for its members.
                let (room, places) = (room.checked_sub(1)?, &mut envelope.places);
                scan.object(|scan, key, _| {
                    let start = scan.at;
                    scan.value(room)?;
                    places.add(key, start..scan.at);
                    Some(())
                })?;
            } else {
                scan.value(room)?;
            }
            if let Some(member) = envelope.member(key) {
                if member.is_some() {
                    return None;
                }
                *member = Some(start..scan.at);
            }
            Some(())
        })?;
        scan.skip_space();
        (scan.at == scan.bytes.len()).then_some(envelope)
    }

    fn member(&mut self, key: &[u8]) -> Option<&mut Option<Range<usize>>> {
        match key {
            b"jsonrpc" => Some(&mut self.jsonrpc),
            b"id" => Some(&mut self.id),
            b"method" => Some(&mut self.method),
            b"params" => Some(&mut self.params),
            b"result" => Some(&mut self.result),
            b"error" => Some(&mut self.error),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Keeps `null` apart from an absent member.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A place in a text. Each step goes behind what it has found to be JSON, or gives up.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    /// How deep a value may be nested that is scanned: one bit for each level.
    const LEVELS: usize = u64::BITS as usize;

    fn skip_space(&mut self) {
        _ = self.next_token();
    }

    /// What comes behind white space.
    #[inline]
    fn next_token(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            // Most messages have none.
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// An object. `member` is given the place of each key and what its value begins with: it stands before the value then, and goes behind
    /// it.
    #[inline]
    fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Range<usize>, u8) -> Option<()>,
    ) -> Option<()> {
        self.token(b'{')?;
        if self.next_token()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            let key = self.key()?;
            let first = self.next_token()?;
            member(self, key, first)?;
            let next = self.next_token()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    fn token(&mut self, expected: u8) -> Option<()> {
        (self.next_token()? == expected).then(|| self.at += 1)
    }

    /// A key with its colon; gives what stands between the quotes. One with escapes is left to others.
    fn key(&mut self) -> Option<Range<usize>> {
        self.token(b'"')?;
        let start = self.at;
        self.at = next_special(self.bytes, start);
        let key = start..self.at;
        self.token_here(b'"')?;
        self.token(b':')?;
        Some(key)
    }

    fn token_here(&mut self, expected: u8) -> Option<()> {
        (*self.bytes.get(self.at)? == expected).then(|| self.at += 1)
    }

    /// A value with no more than so many levels. The loop takes a value, or the beginning of one, in each turn.
    fn value(&mut self, room: usize) -> Option<()> {
        // A bit for each level that is open: whether it is an object. The innermost is the lowest.
        let (mut objects, mut depth) = (0u64, 0);
        loop {
            match self.next_token()? {
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                opening @ (b'{' | b'[') => {
                    self.at += 1;
                    let is_object = opening == b'{';
                    if depth == room {
                        return None;
                    }
                    // The closing brackets stand two places behind the opening ones.
                    if self.next_token()? == opening + 2 {
                        self.at += 1;
                    } else {
                        objects = objects << 1 | u64::from(is_object);
                        depth += 1;
                        if is_object {
                            self.nested_key()?;
                        }
                        continue;
                    }
                }
                _ => return None,
            }
            loop {
                if depth == 0 {
                    return Some(());
                }
                let is_object = objects & 1 == 1;
                let next = self.next_token()?;
                self.at += 1;
                match next {
                    b',' => {
                        if is_object {
                            self.nested_key()?;
                        }
                        break;
                    }
                    b'}' if is_object => {}
                    b']' if !is_object => {}
                    _ => return None,
                }
                objects >>= 1;
                depth -= 1;
            }
        }
    }

    fn nested_key(&mut self) -> Option<()> {
        self.token(b'"')?;
        self.at -= 1;
        self.string()?;
        self.token(b':')
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at = next_special(self.bytes, self.at);
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => match self.bytes.get(self.at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
                    b'u' => {
                        let digits = self.bytes.get(self.at + 2..self.at + 6)?;
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        self.at += 6;
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at)? {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.bytes[self.at..]
            .starts_with(word)
            .then(|| self.at += word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::members::Members;
    use crate::jsonrpc::nesting;

    /// Where the scan finds something, the parser finds the same.
    fn check(text: &str) -> bool {
        let scanned = Envelope::scan(text, 128);
        let Some(scanned) = &scanned else {
            return false;
        };
        let mut read = Envelope::read(text).expect("it was scanned");
        if let Some(params) = scanned.params.clone() {
            let known = scanned.places.members(text, &params);
            assert!(known.eq(Members::of(&text[params])), "{text}");
        }
        read.places = scanned.places.clone();
        assert_eq!(read, *scanned, "{text}");
        assert!(!nesting::exceeds(text.as_bytes(), Scan::LEVELS), "{text}");
        true
    }

    const USUAL: [&str; 8] = [
        "{}",
        r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,-0.5e+7,true,{}]}}}"#,
        "\t{ \"id\" :\"x\\u00e9\\\"\" ,\r\n\"result\" : null } \n",
        r#"{"error":{"code":-32700,"message":"é😀\\"},"id":null,"jsonrpc":"2.0"}"#,
        r#"{"params":[],"method":"","x":{"id":1},"y":[[],[[[false]]],{"a":{"b":{}}}]}"#,
        r#"{"a":0,"b":-0,"c":1E5,"d":10.25e-3,"e":"\/\b\f\n\r\t","f":[ ],"g":{ }}"#,
        r#"{"result":"\ud800","":""}"#,
        r#"{"id":123456789012345678901234567890}"#,
    ];

    #[test]
    fn usual_messages_are_scanned() {
        for text in USUAL {
            assert!(check(text), "{text}");
        }
        let deep = |levels| format!("{{\"id\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(check(&deep(Scan::LEVELS - 1)));
        assert!(!check(&deep(Scan::LEVELS)));
        assert!(Envelope::scan(&deep(3), 4).is_some());
        assert!(Envelope::scan(&deep(3), 3).is_none());
        assert!(Envelope::scan("{}", 0).is_none());
    }

    #[test]
    fn what_is_unusual_or_wrong_is_left_to_the_parser() {
        for text in [
            "",
            " ",
            "{",
            "}",
            "[]",
            "[{}]",
            "5",
            "\"\"",
            "null",
            "{}{}",
            "{} x",
            "{,}",
            "{\"id\"}",
            "{\"id\":}",
            "{\"id\":1,}",
            "{\"id\":1 \"x\":2}",
            "{\"id\":01}",
            "{\"id\":1.}",
            "{\"id\":.5}",
            "{\"id\":+1}",
            "{\"id\":-}",
            "{\"id\":1e}",
            "{\"id\":tru}",
            "{\"id\":nulll}",
            "{\"id\":\"\\x\"}",
            "{\"id\":\"\\u12g4\"}",
            "{\"id\":\"\\u12\"}",
            "{\"id\":\"\n\"}",
            "{\"id\":\"\u{1}\"}",
            "{\"id\":\"a}",
            "{\"id\":[1,]}",
            "{\"id\":[1}",
            "{\"id\":{]}",
            "{\"id\":{\"a\":1]}",
            "{\"id\":[,1]}",
            "{\"id\":{\"a\"}}",
            "{\"id\":{1:2}}",
            "{id:1}",
            "{'id':1}",
            "{\"id\":1,\"id\":2}",
            "{\"i\\u0064\":1}",
            "\u{feff}{}",
            "{\"id\":\u{a0}1}",
            "{\"a\":[[]}",
        ] {
            assert!(!check(text), "{text}");
        }
    }

    /// One byte of a good message is changed, taken out or put in, everywhere and for every character that means something.
    #[test]
    fn what_is_scanned_is_json() {
        for text in USUAL {
            for place in (0..=text.len()).filter(|place| text.is_char_boundary(*place)) {
                let (head, tail) = text.split_at(place);
                check(head);
                let mut rest = tail.chars();
                rest.next();
                check(&format!("{head}{}", rest.as_str()));
                for character in "{}[]\",:\\ \n0159.-+eEutfnrabx/\u{0}\u{1f}\u{7f}é".chars() {
                    check(&format!("{head}{character}{tail}"));
                    check(&format!("{head}{character}{}", rest.as_str()));
                }
            }
        }
    }
}
