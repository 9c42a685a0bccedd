//! Unions whose variants are distinguished by `type`.
//!
//! Nearly all peers write `type` as the first member. In this case the rest of the object is
//! deserialized directly into the variant's struct. Otherwise the object is first collected as raw
//! text. The result is equal in both cases.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A union type whose variants are distinguished by the member `type`.
pub(super) trait Tagged: Sized {
    /// The Rust type of the values that the JSON member `type` can have.
    type Kind: for<'a> From<&'a str> + for<'de> Deserialize<'de>;

    /// The description of the union in error texts.
    const EXPECTED: &'static str;

    /// Reads the remaining members of the variant.
    fn read<'de, D: Deserializer<'de>>(kind: Self::Kind, rest: D) -> Result<Self, D::Error>;
}

pub(super) fn deserialize<'de, T: Tagged, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
        match members.next_key::<Key>()? {
            Some(Key::Type) => {
                let kind = members.next_value()?;
                T::read(kind, MapAccessDeserializer::new(members))
            }
            Some(Key::Other(first)) => read_unordered(first, members),
            None => Err(A::Error::missing_field("type")),
        }
    }
}

/// Reads a union whose first member is not `type` (slow path).
fn read_unordered<'de, T: Tagged, A: MapAccess<'de>>(
    first: Box<str>,
    mut members: A,
) -> Result<T, A::Error> {
    let mut kind = None;
    let mut rest = ObjectText::new();
    rest.push(&first, &*members.next_value::<Box<RawValue>>()?);
    while let Some(key) = members.next_key::<Key>()? {
        match key {
            Key::Type if kind.is_some() => return Err(A::Error::duplicate_field("type")),
            Key::Type => kind = Some(members.next_value()?),
            Key::Other(key) => rest.push(&key, &*members.next_value::<Box<RawValue>>()?),
        }
    }
    let kind = kind.ok_or_else(|| A::Error::missing_field("type"))?;
    let text = rest.finish();
    T::read(kind, &mut serde_json::Deserializer::from_str(&text)).map_err(A::Error::custom)
}

enum Key {
    Type,
    Other(Box<str>),
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        match text {
            "type" => Self::Type,
            other => Self::Other(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::macros::read_text(deserializer)
    }
}

/// A variant of a union whose `type` this library doesn't know: the whole object, as received.
#[derive(Clone, Debug)]
pub struct Unknown {
    kind: Box<str>,
    raw: Box<RawValue>,
}

impl Unknown {
    pub(super) fn read<'de, D: Deserializer<'de>>(
        kind: Box<str>,
        rest: D,
    ) -> Result<Self, D::Error> {
        struct Rest(Box<str>);

        impl<'de> Visitor<'de> for Rest {
            type Value = Unknown;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Unknown, A::Error> {
                let mut text = ObjectText::new();
                text.push("type", &self.0);
                while let Some(key) = members.next_key::<String>()? {
                    text.push(&key, &*members.next_value::<Box<RawValue>>()?);
                }
                let raw = RawValue::from_string(text.finish()).map_err(A::Error::custom)?;
                Ok(Unknown { kind: self.0, raw })
            }
        }

        rest.deserialize_map(Rest(kind))
    }

    /// Returns the `type` of the variant.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the whole object, including `type`.
    pub fn as_raw(&self) -> &RawValue {
        &self.raw
    }
}

/// Compares the objects as texts.
impl PartialEq for Unknown {
    fn eq(&self, other: &Self) -> bool {
        self.raw.get() == other.raw.get()
    }
}

impl Serialize for Unknown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

/// A builder of an object's JSON text, member by member.
struct ObjectText(Vec<u8>);

impl ObjectText {
    fn new() -> Self {
        Self(vec![b'{'])
    }

    fn push(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        // Writing texts and raw JSON to a `Vec` never fails.
        serde_json::to_writer(&mut self.0, key).expect("a string is JSON");
        self.0.push(b':');
        serde_json::to_writer(&mut self.0, value).expect("text and raw JSON are JSON");
    }

    fn finish(mut self) -> String {
        self.0.push(b'}');
        String::from_utf8(self.0).expect("JSON is written as UTF-8")
    }
}
