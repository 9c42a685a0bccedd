//! The members of schema objects: how the value of a member is read, written and omitted.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A type of the struct fields that are read from and written to members of JSON objects.
pub(super) trait Member: Serialize + for<'a> Deserialize<'a> {
    /// Returns the value for an absent member. Returns `None` if the member is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether a member with this value is omitted when its object is written.
    fn is_absent(&self) -> bool {
        false
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl<T: Member> Member for Option<T> {
    fn absent() -> Option<Self> {
        Some(None)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(Perhaps(PhantomData))
    }
}

struct Perhaps<T>(PhantomData<T>);

impl<'de, T: Member> Visitor<'de> for Perhaps<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("option")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        T::read(deserializer).map(Some)
    }
}

/// The serialization of a member: the functions that read and write it. By default the type of the
/// member decides; an implementation replaces some of the functions.
pub(super) trait Form<T: Member> {
    fn absent() -> Option<T> {
        T::absent()
    }

    fn is_absent(value: &T) -> bool {
        value.is_absent()
    }

    /// Whether an invalid member may be dropped, so that the rest of its object is used.
    fn is_dispensable() -> bool {
        Self::absent().is_some()
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }

    fn write<S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }
}
