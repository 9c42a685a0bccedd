//! The ranges of a message's members in its text. One pass finds them and validates the JSON.
//!
//! Every message is scanned here, so the scanner is hand-written and several times faster than a
//! general parser. The scanner accepts only messages in the usual form. All other messages are
//! parsed by `serde_json`, whose error texts are also better. Invariant: the scanner never accepts
//! a text that the parser rejects, and never returns other members than the parser. In doubt the
//! scanner returns `None`.

use std::ops::Range;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::lenient::is_empty_array;
use super::raw_object::MemberRanges;
use super::text::next_special;

/// The ranges of the members of a message, which are not yet interpreted.
/// [`Message::of`](super::Message) checks their types with better error texts than serde's.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MessageMembers {
    pub(super) jsonrpc: Option<Range<usize>>,
    pub(super) id: Option<Range<usize>>,
    pub(super) method: Option<Range<usize>>,
    /// Whether `method` is known to be a string without escapes.
    pub(super) has_plain_method: bool,
    pub(super) params: Option<Range<usize>>,
    pub(super) result: Option<Range<usize>>,
    pub(super) error: Option<Range<usize>>,
    /// The ranges of the members of `params`, if `params` is an object that was scanned.
    pub(super) member_ranges: MemberRanges,
}

impl MessageMembers {
    /// Parses a text with `serde_json`. Does not limit the nesting depth.
    pub(super) fn read(text: &str) -> serde_json::Result<Self> {
        let raw: Raw<'_> = serde_json::from_str(text)?;
        let range_of = |raw: Option<&RawValue>| {
            let value = raw?.get();
            let start = value.as_ptr() as usize - text.as_ptr() as usize;
            Some(start..start + value.len())
        };
        Ok(Self {
            jsonrpc: range_of(raw.jsonrpc),
            id: range_of(raw.id),
            method: range_of(raw.method),
            has_plain_method: false,
            params: range_of(raw.params),
            result: range_of(raw.result),
            error: range_of(raw.error),
            member_ranges: MemberRanges::default(),
        })
    }

    /// Scans a message in the usual form: an object that is nested at most `max_depth` deep.
    /// Returns `None` if the scanner does not accept the text, which may be valid nevertheless.
    #[inline]
    pub(super) fn scan(text: &str, max_depth: usize) -> Option<Self> {
        let mut envelope = Self::default();
        envelope.find(text, max_depth)?;
        Some(envelope)
    }

    /// Applies lenient reading. Removes `null` members if another member determines the kind of
    /// message. Removes params that are `null` or an empty array.
    #[inline]
    pub(super) fn forgive(&mut self, text: &str) {
        let has_outcome = self.result.is_some() || self.error.is_some();
        let has_odd_params = self
            .params
            .as_ref()
            .is_some_and(|params| !text[params.start..].starts_with('{'));
        if has_odd_params
            || has_outcome && self.method.is_some()
            || self.result.is_some() && self.error.is_some()
        {
            self.take_away(text);
        }
    }

    #[cold]
    fn take_away(&mut self, text: &str) {
        let is = |range: &Range<usize>, what: fn(&str) -> bool| what(&text[range.clone()]);
        let is_null = |range: &mut Range<usize>| is(range, |value| value == "null");
        self.params
            .take_if(|params| is(params, |value| value == "null" || is_empty_array(value)));
        self.method.take_if(is_null);
        if self.method.is_some() || self.result.is_some() {
            self.error.take_if(is_null);
        }
        if self.method.is_some() || self.error.is_some() {
            self.result.take_if(is_null);
        }
    }

    /// Determines the members of a text. Returns `None` if the text does not have the usual form.
    fn find(&mut self, text: &str, max_depth: usize) -> Option<()> {
        let scan = Scan(text.as_bytes());
        let room = max_depth.min(Scan::LEVELS).checked_sub(1)?;
        let at = scan.space(0);
        let at = scan.object(at, Scan::name, |name, at| {
            let end = match (name, scan.get(at)?) {
                (Some(Name::Params), b'{') => {
                    // The ranges of the members of `params` are recorded for later searches.
                    let (room, member_ranges) = (room.checked_sub(1)?, &mut self.member_ranges);
                    scan.object(at, Scan::plain_key, |key, at| {
                        let end = scan.value(at, room)?;
                        member_ranges.add(key, at..end);
                        Some(end)
                    })?
                }
                (Some(Name::Method), b'"') => {
                    let special = next_special(scan.0, at + 1);
                    self.has_plain_method = scan.get(special)? == b'"';
                    scan.end_of_string(special)?
                }
                _ => scan.value(at, room)?,
            };
            if let Some(name) = name {
                let member = self.member(name);
                if member.is_some() {
                    return None;
                }
                *member = Some(at..end);
            }
            Some(end)
        })?;
        (scan.space(at) == text.len()).then_some(())
    }

    fn member(&mut self, name: Name) -> &mut Option<Range<usize>> {
        match name {
            Name::Jsonrpc => &mut self.jsonrpc,
            Name::Id => &mut self.id,
            Name::Method => &mut self.method,
            Name::Params => &mut self.params,
            Name::Result => &mut self.result,
            Name::Error => &mut self.error,
        }
    }
}

/// The names of the members of a JSON-RPC message.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl Name {
    fn of(key: &[u8]) -> Option<Self> {
        match key {
            b"jsonrpc" => Some(Self::Jsonrpc),
            b"id" => Some(Self::Id),
            b"method" => Some(Self::Method),
            b"params" => Some(Self::Params),
            b"result" => Some(Self::Result),
            b"error" => Some(Self::Error),
            _ => None,
        }
    }
}

/// Reads the params of a notification whose method is `method`, without parsing the whole message.
/// Calls `member` for each member of `params`, with the key, which has no escapes, and the value.
///
/// Returns `Some` only for a text in the usual form, with the method before the params. If the
/// function returns `None`, discard the members: the text may be a notification in another form,
/// another message or no JSON at all. Even if the function returns `Some`, the text may be invalid
/// UTF-8.
pub(crate) fn find_params<'a>(
    text: &'a [u8],
    method: &str,
    max_depth: usize,
    mut member: impl FnMut(&'a [u8], &'a [u8]) -> Option<()>,
) -> Option<()> {
    let scan = Scan(text);
    let room = max_depth.min(Scan::LEVELS).checked_sub(2)?;
    let (mut has_version, mut has_method, mut has_params) = (false, false, false);
    let at = scan.object(scan.space(0), Scan::name, |name, at| match name {
        Some(Name::Jsonrpc) if !std::mem::replace(&mut has_version, true) => {
            scan.word(at, b"\"2.0\"")
        }
        Some(Name::Method) if !std::mem::replace(&mut has_method, true) => {
            let at = scan.word(scan.token_here(at, b'"')?, method.as_bytes())?;
            scan.token_here(at, b'"')
        }
        Some(Name::Params) if has_method && !std::mem::replace(&mut has_params, true) => scan
            .object(at, Scan::plain_key, |key, at| {
                let end = scan.value(at, room)?;
                member(&text[key], &text[at..end])?;
                Some(end)
            }),
        None => scan.value(at, room + 1),
        Some(_) => None,
    })?;
    (has_version && has_params && scan.space(at) == text.len()).then_some(())
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
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

/// Deserializes `null` as `Some`, so that `null` differs from an absent member.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A scanner of a JSON text. Each method takes an index, and returns the index after the JSON that
/// the method accepted, or `None`. Indices are passed by value, so that they stay in registers.
#[derive(Clone, Copy)]
struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    /// The maximum nesting depth that is scanned: [`nested`](Self::nested) needs one bit for each
    /// level.
    const LEVELS: usize = u64::BITS as usize;

    #[inline]
    fn get(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Skips white space.
    #[inline]
    fn space(self, at: usize) -> usize {
        match self.get(at) {
            Some(..=b' ') => self.spaces(at),
            _ => at,
        }
    }

    /// The slow path of [`space`](Self::space), not inlined: most messages have no white space.
    #[inline(never)]
    fn spaces(self, at: usize) -> usize {
        let rest = self.0[at..].iter();
        at + rest
            .take_while(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r'))
            .count()
    }

    /// Skips white space and the byte `expected`.
    #[inline]
    fn token(self, at: usize, expected: u8) -> Option<usize> {
        if self.get(at)? == expected {
            return Some(at + 1);
        }
        self.token_here(self.space(at), expected)
    }

    /// Scans an object, which begins at `at`. The function `key` takes the index after the first
    /// quote of a key; it returns information about the key, and the index of the value. The
    /// function `member` takes this result, and returns the end of the value.
    #[inline]
    fn object<K>(
        self,
        at: usize,
        key: impl Fn(Self, usize) -> Option<(K, usize)>,
        mut member: impl FnMut(K, usize) -> Option<usize>,
    ) -> Option<usize> {
        let mut at = self.token(at, b'{')?;
        if let Some(end) = self.token(at, b'}') {
            return Some(end);
        }
        loop {
            let (known, value) = key(self, self.token(at, b'"')?)?;
            at = self.space(member(known, self.space(value))?);
            match self.get(at)? {
                b',' => at += 1,
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Returns the range of a key without its quotes, and the index after its colon. Returns `None`
    /// if the key has escapes.
    #[inline]
    fn plain_key(self, start: usize) -> Option<(Range<usize>, usize)> {
        let end = next_special(self.0, start);
        let colon = self.token_here(end, b'"')?;
        Some((start..end, self.token(colon, b':')?))
    }

    /// Scans a key and its colon. Returns the message member with the name of the key (`None` if
    /// there is no such member), and the index after the colon.
    #[inline]
    fn name(self, start: usize) -> Option<(Option<Name>, usize)> {
        const JSONRPC: u64 = u64::from_le_bytes(*b"jsonrpc\"");
        const ID: u64 = u64::from_le_bytes(*b"\0\0\0\0id\":");
        const METHOD: u64 = u64::from_le_bytes(*b"method\":");
        const PARAMS: u64 = u64::from_le_bytes(*b"params\":");
        const RESULT: u64 = u64::from_le_bytes(*b"result\":");
        // Fast path: a key without a space before its colon is compared as one eight-byte integer.
        if let Some(eight) = self.0.get(start..).and_then(<[u8]>::first_chunk) {
            let eight = u64::from_le_bytes(*eight);
            match eight {
                JSONRPC => return Some((Some(Name::Jsonrpc), self.token(start + 8, b':')?)),
                METHOD => return Some((Some(Name::Method), start + 8)),
                PARAMS => return Some((Some(Name::Params), start + 8)),
                RESULT => return Some((Some(Name::Result), start + 8)),
                _ if eight << 32 == ID => return Some((Some(Name::Id), start + 4)),
                _ => {}
            }
        }
        let (key, value) = self.plain_key(start)?;
        Some((Name::of(&self.0[key]), value))
    }

    #[inline]
    fn token_here(self, at: usize, expected: u8) -> Option<usize> {
        (self.get(at)? == expected).then_some(at + 1)
    }

    /// Scans a value that begins at `at` and is nested at most `room` levels deep.
    #[inline(always)]
    fn value(self, at: usize, room: usize) -> Option<usize> {
        match self.get(at)? {
            b'"' => self.string(at + 1),
            b'{' | b'[' => self.nested(at, room),
            first => self.scalar(first, at),
        }
    }

    /// Scans a value that is neither an object nor an array; `first` is its first byte.
    #[inline]
    fn simple(self, first: u8, at: usize) -> Option<usize> {
        match first {
            b'"' => self.string(at + 1),
            _ => self.scalar(first, at),
        }
    }

    /// Scans a number, `true`, `false` or `null`; `first` is its first byte.
    #[inline(never)]
    fn scalar(self, first: u8, at: usize) -> Option<usize> {
        match first {
            b'-' | b'0'..=b'9' => self.number(at),
            b't' => self.word(at, b"true"),
            b'f' => self.word(at, b"false"),
            b'n' => self.word(at, b"null"),
            _ => None,
        }
    }

    /// Scans an object or an array, like [`value`](Self::value). Each iteration of the loop scans a
    /// simple value or an opening bracket.
    fn nested(self, mut at: usize, room: usize) -> Option<usize> {
        // A bit for each open level, the innermost in the lowest bit: 1 for an object, 0 for an
        // array.
        let (mut objects, mut depth) = (0u64, 0);
        loop {
            at = self.space(at);
            at = match self.get(at)? {
                opening @ (b'{' | b'[') => {
                    if depth == room {
                        return None;
                    }
                    let is_object = opening == b'{';
                    // In ASCII each closing bracket is its opening one plus 2.
                    match self.token(at + 1, opening + 2) {
                        Some(end) => end,
                        None => {
                            objects = objects << 1 | u64::from(is_object);
                            depth += 1;
                            at = if is_object { self.key(at + 1)? } else { at + 1 };
                            continue;
                        }
                    }
                }
                first => self.simple(first, at)?,
            };
            loop {
                if depth == 0 {
                    return Some(at);
                }
                let is_object = objects & 1 == 1;
                at = self.space(at);
                let next = self.get(at)?;
                at += 1;
                match next {
                    b',' => {
                        if is_object {
                            at = self.key(at)?;
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

    /// Scans a key and its colon.
    fn key(self, at: usize) -> Option<usize> {
        let at = self.token(at, b'"')?;
        self.token(self.string(at)?, b':')
    }

    /// Scans a string. `at` is the index after its first quote.
    #[inline]
    fn string(self, at: usize) -> Option<usize> {
        self.end_of_string(next_special(self.0, at))
    }

    /// Scans the rest of a string. `at` is the index of the string's first special character.
    #[inline]
    fn end_of_string(self, at: usize) -> Option<usize> {
        match self.get(at)? {
            b'"' => Some(at + 1),
            _ => self.escaped(at),
        }
    }

    /// The slow path of [`end_of_string`](Self::end_of_string), for strings with escapes or invalid
    /// characters.
    #[inline(never)]
    fn escaped(self, mut at: usize) -> Option<usize> {
        loop {
            match self.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => match self.get(at + 1)? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                    b'u' => {
                        let digits = self.0.get(at + 2..at + 6)?;
                        if !digits.iter().all(u8::is_ascii_hexdigit) {
                            return None;
                        }
                        at += 6;
                    }
                    _ => return None,
                },
                _ => return None,
            }
            at = next_special(self.0, at);
        }
    }

    #[inline]
    fn number(self, start: usize) -> Option<usize> {
        let first = start + usize::from(self.get(start)? == b'-');
        let end = self.digits(first)?;
        if self.get(first)? == b'0' && end > first + 1 {
            return None;
        }
        match self.get(end) {
            Some(b'.' | b'e' | b'E') => self.fraction(end),
            _ => Some(end),
        }
    }

    /// Scans the optional fraction and exponent of a number.
    #[inline(never)]
    fn fraction(self, mut at: usize) -> Option<usize> {
        if self.get(at) == Some(b'.') {
            at = self.digits(at + 1)?;
        }
        if let Some(b'e' | b'E') = self.get(at) {
            at += 1;
            if let Some(b'+' | b'-') = self.get(at) {
                at += 1;
            }
            at = self.digits(at)?;
        }
        Some(at)
    }

    fn digits(self, start: usize) -> Option<usize> {
        let mut at = start;
        while let Some(b'0'..=b'9') = self.get(at) {
            at += 1;
        }
        (at > start).then_some(at)
    }

    fn word(self, at: usize, word: &[u8]) -> Option<usize> {
        self.0[at..].starts_with(word).then_some(at + word.len())
    }
}

/// Returns variants of a text: cut off at each position, or with each character replaced, removed
/// or inserted.
#[cfg(test)]
pub(crate) fn variants(text: &str) -> impl Iterator<Item = String> {
    const CHARACTERS: &str = "{}[]\",:\\ \n0159.-+eEutfnrabx/\u{0}\u{1f}\u{7f}é";
    let positions = (0..=text.len()).filter(|position| text.is_char_boundary(*position));
    positions.flat_map(|position| {
        let (head, tail) = text.split_at(position);
        let mut rest = tail.chars();
        rest.next();
        let rest = rest.as_str();
        let other = CHARACTERS.chars().flat_map(move |character| {
            [tail, rest].map(|behind| format!("{head}{character}{behind}"))
        });
        other.chain([head.to_owned(), format!("{head}{rest}")])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::nesting;
    use crate::jsonrpc::raw_object::RawObject;

    /// Checks that scanner and parser determine the same members, if the scanner accepts the text.
    /// Returns whether the scanner accepts the text.
    fn check(text: &str) -> bool {
        let scanned = MessageMembers::scan(text, 128);
        let Some(scanned) = &scanned else {
            return false;
        };
        let mut read = MessageMembers::read(text).expect("it was scanned");
        if let Some(params) = scanned.params.clone() {
            let known = scanned.member_ranges.members(text, &params);
            assert!(known.eq(RawObject::of(&text[params])), "{text}");
        }
        read.member_ranges = scanned.member_ranges.clone();
        if scanned.has_plain_method {
            let written = &text[read.method.clone().expect("there is one")];
            let name = written
                .strip_prefix('"')
                .and_then(|name| name.strip_suffix('"'));
            assert!(name.is_some_and(|name| !name.contains('\\')), "{text}");
            read.has_plain_method = true;
        }
        assert_eq!(read, *scanned, "{text}");
        assert!(!nesting::exceeds(text, Scan::LEVELS), "{text}");
        true
    }

    const USUAL: [&str; 10] = [
        "{}",
        r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"a","arguments":{"b":[1,-0.5e+7,true,{}]}}}"#,
        "\t{ \"id\" :\"x\\u00e9\\\"\" ,\r\n\"result\" : null } \n",
        r#"{"error":{"code":-32700,"message":"é😀\\"},"id":null,"jsonrpc":"2.0"}"#,
        r#"{"params":[],"method":"","x":{"id":1},"y":[[],[[[false]]],{"a":{"b":{}}}]}"#,
        r#"{"a":0,"b":-0,"c":1E5,"d":10.25e-3,"e":"\/\b\f\n\r\t","f":[ ],"g":{ }}"#,
        r#"{"result":"\ud800","":""}"#,
        r#"{"id":123456789012345678901234567890}"#,
        r#"{"params" : { "a" : 1 , "b":[{}],"c":"\"\\","é":{"f":"}"},"g":null , "h":"" } ,"method":"m"}"#,
        r#"{"params":{"params":{"a":1}},"method":"m"}"#,
    ];

    #[test]
    fn usual_messages_are_scanned() {
        for text in USUAL {
            assert!(check(text), "{text}");
        }
        let deep = |levels| format!("{{\"id\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        assert!(check(&deep(Scan::LEVELS - 1)));
        assert!(!check(&deep(Scan::LEVELS)));
        assert!(MessageMembers::scan(&deep(3), 4).is_some());
        assert!(MessageMembers::scan(&deep(3), 3).is_none());
        assert!(MessageMembers::scan("{}", 0).is_none());
        let inside = |levels| deep(levels).replace("\"id\":", "\"params\":{\"a\":") + "}";
        assert!(check(&inside(Scan::LEVELS - 2)));
        assert!(!check(&inside(Scan::LEVELS - 1)));
        assert!(MessageMembers::scan(&inside(2), 4).is_some());
        assert!(MessageMembers::scan(&inside(3), 4).is_none());
        assert!(MessageMembers::scan("{\"params\":{}}", 2).is_some());
        assert!(MessageMembers::scan("{\"params\":{}}", 1).is_none());
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

    #[test]
    fn what_is_scanned_is_json() {
        for text in USUAL {
            for changed in variants(text) {
                check(&changed);
            }
        }
    }
}
