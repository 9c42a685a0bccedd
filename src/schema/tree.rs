//! JSON trees of the members for which a type has no field, with a limit on their memory.
//!
//! A `serde_json::Value` takes up to a hundred times the memory of its text. For example, `{"":0}`
//! becomes an object with capacity for several members. Without a limit, one message of a peer
//! could use gigabytes. [`read`] fails if the trees of a text would exceed 64 MiB + 4 × the text
//! length.

use std::cell::Cell;
use std::fmt;
use std::iter::once;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::misfit::{self, Misfit};
use crate::jsonrpc::{surrogates, typed};

/// A JSON object with any members. The specification calls it `JSONObject`.
pub type JsonObject = Map<String, Value>;

/// The members of a JSON object that have no field in the object's Rust type. They are stored, so
/// that a relay forwards them too.
pub type Extra = JsonObject;

/// The memory that the values parsed from one JSON text may use, in bytes, whatever the length of
/// the text. Each byte of the text allows `FOR_EACH` bytes more.
const ALWAYS: usize = 64 << 20;
const FOR_EACH: usize = 4;
/// The maximum length of a text whose trees are not counted, in bytes. The trees of such a text
/// can't exceed the limit.
const HARMLESS: usize = 512 << 10;

/// The approximate memory of one value in a tree, including the overhead of the allocator.
const VALUE: usize = size_of::<Value>();
const ARRAY: usize = 4 * VALUE;
const OBJECT: usize = 512;
const MEMBER: usize = 128;
const STRING: usize = 16;

/// The key with which `serde_json` passes numbers if its feature `arbitrary_precision` is enabled.
const NUMBER: &str = "$serde_json::private::Number";

thread_local! {
    /// The memory that trees may still use on this thread, in bytes. `usize::MAX` while no limit is
    /// active.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Deserializes a text from a peer. Accepts an empty array where an empty object is expected, a
/// whole number where an integer is expected, such as `5.0`, and half of a surrogate pair.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(text: &str) -> serde_json::Result<T> {
    match within_bounds(text, || serde_json::from_str(text)) {
        Err(Unread::Misfit(error)) => {
            let halves = surrogates::replaced(text);
            let text = halves.as_ref().map_or(text, |(text, ..)| text);
            let text = typed::with_whole_numbers(text);
            within_bounds(&text, || misfit::read_members(&text)).map_err(|_| error)
        }
        read => read.map_err(Unread::into_error),
    }
}

/// Runs `read`. If the data does not fit, runs `read` again in lenient mode, which accepts an empty
/// array where an empty object is expected. In types with derived `Deserialize`, only members that
/// are read with [`optional`] are read leniently.
pub(crate) fn read_with<T>(read: impl Fn() -> serde_json::Result<T>) -> serde_json::Result<T> {
    match read() {
        Err(error) if error.is_data() => misfit::in_members(read).map_err(|_| error),
        read => read,
    }
}

/// Reads an optional member that is an object. Types with derived `Deserialize` use this function.
pub(crate) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: for<'a> Deserialize<'a>,
    D: Deserializer<'de>,
{
    misfit::read_optional(deserializer)
}

/// Deserializes a text from a peer, as [`read`] does. Drops invalid members and list entries if the
/// rest is valid without them. Returns descriptions of the dropped members and entries.
pub(crate) fn read_entries<T: for<'a> Deserialize<'a>>(
    text: &str,
) -> serde_json::Result<(T, Vec<Misfit>)> {
    match within_bounds(text, || serde_json::from_str(text)) {
        Ok(read) => Ok((read, Vec::new())),
        Err(Unread::Misfit(error)) => {
            let halves = surrogates::replaced(text);
            let found = halves.as_ref();
            let found = found.map(|(_, count, first)| Misfit::of_halves(text, *count, *first));
            let text = halves.as_ref().map_or(text, |(text, ..)| text);
            let text = typed::with_whole_numbers(text);
            match within_bounds(&text, || misfit::read_entries(&text, found)) {
                Err(Unread::TooLarge(error)) => Err(error),
                read => read.map_err(|_| error),
            }
        }
        Err(unread) => Err(unread.into_error()),
    }
}

/// The reason why a text could not be read.
enum Unread {
    /// The error for a text with a part that does not have the expected type, or with an invalid
    /// string. A string is invalid, for example, if it has half of a surrogate pair.
    Misfit(serde_json::Error),
    /// The error for a text whose JSON trees would take more memory than the limit.
    TooLarge(serde_json::Error),
}

impl Unread {
    fn into_error(self) -> serde_json::Error {
        let (Self::Misfit(error) | Self::TooLarge(error)) = self;
        error
    }
}

fn within_bounds<T>(text: &str, read: impl FnOnce() -> serde_json::Result<T>) -> Result<T, Unread> {
    bounded(text.len(), || match read() {
        // The limit is checked first, because lenient reading may have dropped a part at the limit.
        _ if LEFT.get() == 0 => Err(Unread::TooLarge(too_large())),
        read => read.map_err(Unread::Misfit),
    })
}

/// Deserializes a text from a peer strictly: deviations from the specification are errors.
pub(crate) fn read_strictly<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    bounded(text.len(), || misfit::read_strictly(text))
}

/// Runs `read` with the memory limit for the JSON trees of a text of `len` bytes.
pub(crate) fn bounded<T>(len: usize, read: impl FnOnce() -> T) -> T {
    struct Outer(usize);

    impl Drop for Outer {
        fn drop(&mut self) {
            LEFT.set(self.0);
        }
    }

    let bound = ALWAYS.saturating_add(len.saturating_mul(FOR_EACH));
    let _outer = (len > HARMLESS).then(|| Outer(LEFT.replace(bound)));
    read()
}

fn is_bounded() -> bool {
    LEFT.get() < usize::MAX
}

fn take<E: Error>(bytes: usize) -> Result<(), E> {
    let left = LEFT.get().saturating_sub(bytes);
    LEFT.set(left);
    if left == 0 {
        return Err(too_large());
    }
    Ok(())
}

fn too_large<E: Error>() -> E {
    E::custom(format_args!(
        "_meta and unknown members have too many parts: more than {} MiB and {FOR_EACH} times the text",
        ALWAYS >> 20
    ))
}

/// Counts the memory of one more member in an object that has `count` members.
fn take_member<E: Error>(count: usize, name: &str) -> Result<(), E> {
    let object = if count == 0 { OBJECT } else { 0 };
    take(object + MEMBER + STRING + name.len())
}

/// Reads the value of a member and adds it to an object.
pub(super) fn add<'de, A: MapAccess<'de>>(
    object: &mut JsonObject,
    name: String,
    members: &mut A,
) -> Result<(), A::Error> {
    if is_bounded() {
        take_member(object.len(), &name)?;
    }
    let Tree(value) = members.next_value()?;
    object.insert(name, value);
    Ok(())
}

/// Reads an object into a tree. Counts the memory of the tree if the limit is active.
pub(super) fn read_object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<JsonObject, D::Error> {
    if !is_bounded() {
        return JsonObject::deserialize(deserializer);
    }
    struct Object;

    impl<'de> Visitor<'de> for Object {
        type Value = JsonObject;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<JsonObject, A::Error> {
            let mut object = Map::new();
            while let Some(name) = members.next_key()? {
                add(&mut object, name, &mut members)?;
            }
            Ok(object)
        }
    }

    deserializer.deserialize_map(Object)
}

/// A JSON tree whose memory is counted if the limit is active.
pub(crate) struct Tree(pub(crate) Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !is_bounded() {
            return Value::deserialize(deserializer).map(Tree);
        }
        deserializer.deserialize_any(Counting).map(Tree)
    }
}

/// A visitor that builds the same values as `serde_json`, and counts their memory.
struct Counting;

impl<'de> Visitor<'de> for Counting {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        take(STRING + text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Tree(value)) = values.next_element()? {
            take(if array.is_empty() { ARRAY } else { VALUE })?;
            array.push(value);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = members.next_key()? {
            add(&mut object, name, &mut members)?;
        }
        if object.len() == 1
            && let Some((name, Value::String(digits))) = object.iter().next()
            && name == NUMBER
        {
            let member = once((name.as_str(), digits.as_str()));
            return Value::deserialize(MapDeserializer::new(member));
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an array of about this length, which repeats `part`.
    fn array_of(part: &str, len: usize) -> String {
        let count = len / (part.len() + 1);
        format!("[{}]", vec![part; count].join(","))
    }

    const LONG: usize = HARMLESS + 1000;

    #[test]
    fn large_trees_are_read_as_small_ones_are() {
        let parts = r#"null,true,-1,18446744073709551615,1.5,"é\n",[],{},[[1],{"a":{"b":[]},"a":2}],1e99,{"$serde_json::private::Number":"5"}"#;
        let text = array_of(parts, LONG);
        assert!(text.len() > HARMLESS);
        let Tree(found) = read(&text).expect("JSON");
        let expected: Value = serde_json::from_str(&text).expect("JSON");
        assert!(found == expected);
        let text = format!("{{\"a\":{text},\"b\":1}}");
        let object = bounded(text.len(), || {
            read_object(&mut serde_json::Deserializer::from_str(&text))
        });
        let expected: JsonObject = serde_json::from_str(&text).expect("JSON");
        assert!(object.expect("JSON") == expected);
        assert!(!is_bounded());
    }

    #[test]
    fn trees_of_a_harmless_text_can_not_take_too_much() {
        for part in [
            "{\"\":0}",
            "[0]",
            "[[]]",
            "\"\"",
            "0",
            "{\"\":{\"\":{\"\":[\"a\"]}}}",
        ] {
            let text = array_of(part, HARMLESS);
            let tree = bounded(LONG, || serde_json::from_str::<Tree>(&text));
            assert!(tree.is_ok(), "{part}");
        }
    }

    #[test]
    fn what_takes_too_much_is_refused() {
        for (part, len) in [
            ("{\"\":0}", 2 << 20),
            ("[[0]]", 4 << 20),
            ("\"a\"", 16 << 20),
        ] {
            let error = read::<Tree>(&array_of(part, len)).err().expect(part);
            assert!(error.to_string().contains("too many parts"), "{error}");
            assert!(!is_bounded());
        }
        // One object with many members, each with a name of its own.
        let members: Vec<String> = (0..1 << 20).map(|n| format!("\"{n:x}\":0")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert!(read::<Tree>(&text).is_err());
        assert!(bounded(text.len(), || {
            read_object(&mut serde_json::Deserializer::from_str(&text)).is_err()
        }));
    }

    #[test]
    fn reasonable_ones_are_not() {
        let table = r#"{"id":123456,"name":"some name","tags":["a","b"],"size":{"width":10.5}}"#;
        for (part, len) in [
            (table, 2 << 20),
            ("1234567", 4 << 20),
            ("\"some text here\"", 4 << 20),
        ] {
            assert!(read::<Tree>(&array_of(part, len)).is_ok(), "{part}");
        }
    }
}
