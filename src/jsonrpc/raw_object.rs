//! Iterators over the members of an object, and over the items of an array, that are known to be
//! valid JSON.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess};

use super::text::read_string;
use super::tokens::Tokens;

/// An iterator over the members of an object, in their order. If the text is not valid JSON, the
/// iterator yields some members or none, and does not panic.
pub(crate) struct RawObject<'a> {
    /// The ranges of the first members of the object, if they were recorded.
    known: &'a [MemberRange],
    /// The tokens after the recorded members, which contain all other members.
    rest: Tokens<'a>,
}

/// The ranges of the first members of an object, recorded when the message was parsed. With these
/// ranges, a later search need not scan the members again. The object may have more members.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemberRanges {
    count: usize,
    first: [MemberRange; 4],
}

/// The ranges of a member's key and value. The key's range does not include the quotes. The key has
/// no escapes.
#[derive(Clone, Debug, Default, PartialEq)]
struct MemberRange {
    key: Range<u32>,
    value: Range<u32>,
}

impl MemberRanges {
    /// Records the next member, if there is a free slot. `key` is the range of the member's key
    /// without the quotes. The key has no escapes.
    pub(super) fn add(&mut self, key: Range<usize>, value: Range<usize>) {
        // A range that ends within `u32` also begins within it.
        if let Some(room) = self.first.get_mut(self.count)
            && let Ok(end) = u32::try_from(value.end)
        {
            *room = MemberRange {
                key: key.start as u32..key.end as u32,
                value: value.start as u32..end,
            };
            self.count += 1;
        }
    }

    /// Returns the members of the object that has the range `object` in `text`.
    pub(super) fn members<'a>(&'a self, text: &'a str, object: &Range<usize>) -> RawObject<'a> {
        let known = &self.first[..self.count];
        let start = known
            .last()
            .map_or(object.start, |last| last.value.end as usize);
        let (text, depth) = (&text[..object.end], 0);
        let rest = Tokens {
            text,
            at: start,
            depth,
        };
        RawObject { known, rest }
    }
}

impl<'a> RawObject<'a> {
    /// Returns the members of an object, given as JSON text.
    pub(crate) fn of(object: &'a str) -> Self {
        let (known, rest) = (&[], Tokens::of(object));
        Self { known, rest }
    }

    /// Returns the next member whose range was not recorded.
    #[inline(never)]
    fn next_unknown(&mut self) -> Option<<Self as Iterator>::Item> {
        self.rest.next_of(b"{,")?;
        let key = self.rest.next_of(b"\"")?;
        self.rest.next_of(b":")?;
        let value = self.rest.next_value()?;
        // A key with half of a surrogate pair is no text. It is returned as it is written.
        let written = Cow::Borrowed(&key[1..key.len() - 1]);
        Some((read_string(key).unwrap_or(written), value))
    }
}

impl<'a> Iterator for RawObject<'a> {
    /// A member: its decoded key, and its value as JSON text.
    type Item = (Cow<'a, str>, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Some((MemberRange { key, value }, others)) = self.known.split_first() else {
            return self.next_unknown();
        };
        self.known = others;
        let text = self.rest.text;
        let written = |range: &Range<u32>| text.get(range.start as usize..range.end as usize);
        Some((Cow::Borrowed(written(key)?), written(value)?))
    }
}

/// An iterator over the items of an array, as JSON texts. If the text is not valid JSON, the
/// iterator yields some items or none, and does not panic.
#[cfg(not(feature = "validation"))]
pub(crate) struct RawArray<'a>(Tokens<'a>);

#[cfg(not(feature = "validation"))]
impl<'a> RawArray<'a> {
    /// Returns the items of an array, given as JSON text.
    pub(crate) fn of(array: &'a str) -> Self {
        Self(Tokens::of(array))
    }
}

#[cfg(not(feature = "validation"))]
impl<'a> Iterator for RawArray<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0.next_of(b"[,")?;
        self.0.next_value()
    }
}

/// Deserializes an object that is known to be valid JSON, without the members named in `aside`.
/// Returns the JSON texts of these members separately. A repeated member is an error.
pub(crate) fn read_beside<'a, T: Deserialize<'a>, const N: usize>(
    members: RawObject<'a>,
    aside: [&'static str; N],
) -> serde_json::Result<(T, [Option<&'a str>; N])> {
    let mut beside = Beside {
        members,
        aside,
        found: [None; N],
        value: "null",
    };
    let read = T::deserialize(MapAccessDeserializer::new(&mut beside))?;
    Ok((read, beside.found))
}

struct Beside<'a, const N: usize> {
    members: RawObject<'a>,
    aside: [&'static str; N],
    found: [Option<&'a str>; N],
    /// The JSON text of the value that belongs to the last key that was read.
    value: &'a str,
}

impl<'de, const N: usize> MapAccess<'de> for &mut Beside<'de, N> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> serde_json::Result<Option<K::Value>> {
        for (name, value) in self.members.by_ref() {
            let Some(index) = self.aside.iter().position(|aside| *aside == name) else {
                self.value = value;
                return seed.deserialize(name.into_deserializer()).map(Some);
            };
            if self.found[index].replace(value).is_some() {
                return Err(serde_json::Error::duplicate_field(self.aside[index]));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> serde_json::Result<V::Value> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(object: &str, expected: &[(&str, &str)]) {
        let found: Vec<_> = RawObject::of(object).collect();
        let found: Vec<_> = found.iter().map(|(key, value)| (&**key, *value)).collect();
        assert_eq!(found, expected, "{object}");
    }

    #[test]
    fn members_are_found_as_they_were_written() {
        check("{}", &[]);
        check(" { } ", &[]);
        check(r#"{"a":1}"#, &[("a", "1")]);
        check(
            " {\t\"a\" : -1.5e3 ,\n\"b\" :\"\" , \"\": null\r\n} ",
            &[("a", "-1.5e3"), ("b", "\"\""), ("", "null")],
        );
        check(
            r#"{"a":"\\","b":"\"}","c\u0041":{"d":["}",{"e":"]"}]},"f":[]}"#,
            &[
                ("a", r#""\\""#),
                ("b", r#""\"}""#),
                ("cA", r#"{"d":["}",{"e":"]"}]}"#),
                ("f", "[]"),
            ],
        );
    }

    #[test]
    fn half_a_surrogate_pair_in_a_key_does_not_end_the_iteration() {
        check(r#"{"\ud800":1,"a":2}"#, &[("\\ud800", "1"), ("a", "2")]);
    }

    #[cfg(not(feature = "validation"))]
    #[test]
    fn items_are_found_as_they_were_written() {
        let cases: [(&str, &[&str]); 7] = [
            ("[]", &[]),
            (" [ ] ", &[]),
            ("[1]", &["1"]),
            (
                " [\n-1.5e3 ,\"]\\\"\" , null,[[],2] ,{\"a\":[3]}\t] ",
                &["-1.5e3", "\"]\\\"\"", "null", "[[],2]", "{\"a\":[3]}"],
            ),
            ("{}", &[]),
            ("[\"a", &[]),
            ("[1,", &["1"]),
        ];
        for (array, items) in cases {
            assert_eq!(RawArray::of(array).collect::<Vec<_>>(), items, "{array}");
        }
    }

    #[test]
    fn what_is_not_json_ends_the_walk() {
        for text in [
            "", "{", "[1]", "null", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"é\\", "{a:1}",
        ] {
            check(text, &[]);
        }
        check(r#"{"a":1,b}"#, &[("a", "1")]);
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Call {
        name: String,
        big: Option<u32>,
        #[serde(rename = "_meta")]
        meta: Option<Vec<u32>>,
    }

    #[test]
    fn members_aside_are_not_looked_into() {
        let read = |text| read_beside::<Call, 1>(RawObject::of(text), ["big"]).expect("fits");
        let (call, big) = read(r#"{"name":"a\tb","big":{"x":[1]},"other":{},"_meta":[1,2]}"#);
        assert_eq!(big, [Some(r#"{"x":[1]}"#)]);
        assert_eq!((&*call.name, call.meta), ("a\tb", Some(vec![1, 2])));
        let (call, big) = read(r#"{"b\u0069g":7}"#);
        assert_eq!((call.big, big), (None, [Some("7")]));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let wrong = |text| {
            let read = read_beside::<Call, 1>(RawObject::of(text), ["big"]);
            read.expect_err(text).to_string()
        };
        assert!(wrong(r#"{"name":1}"#).contains("expected a string"));
        assert!(wrong(r#"{"big":1,"big":2}"#).contains("duplicate field `big`"));
        assert!(wrong(r#"{"big":1,"b\u0069g":2}"#).contains("duplicate field `big`"));
        assert!(wrong(r#"{"name":"","name":""}"#).contains("duplicate field `name`"));
    }
}
