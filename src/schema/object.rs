//! How objects of the schema are read and written: the macro [`members!`] names their members, the functions here do the work for all.
//!
//! Each type names only where its members go. What is done for one member is one function for all types that have members of the same
//! kind, so that a hundred types cost little code; and members that a type doesn't name are kept as they are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::json::Extra;
use super::{misfit, tree};
use crate::jsonrpc::RequestId;

/// Implements `Serialize` and `Deserialize` of a struct: its fields in the order in which they are written, with their names on the wire
/// where those are others, and with a [`Form`] where the value is written in another way than its type is.
///
/// A field that is an `Option` may be absent and is left out when it is `None`, one of another type has to be there (see [`Member`]). What
/// is not named goes to the field behind `..`, or is ignored without one. It is an error when a member comes twice. A field behind `;` is
/// not on the wire: it has what was left out when the struct was read.
macro_rules! members {
    ($name:ident { $($members:tt)* }) => {
        readable!($name { $($members)* });
        writable!($name { $($members)* });
        required!($name);
    };
}

/// The half of [`members!`] that reads.
macro_rules! readable {
    ($name:ident {
        $($field:ident $(= $wire:literal)? $(as $form:ty)?),* $(, ..$extra:ident)? $(,)?
        $(; $misfits:ident)?
    }) => {
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<$name, A::Error> {
                        use $crate::schema::object::{Name, known, read};
                        $(let mut $field = None;)*
                        $(let mut $extra = $crate::schema::Extra::new();)?
                        let by_parts = $crate::schema::misfit::is_by_parts();
                        while let Some(Name(name)) = members.next_key()? {
                            match &*name {
                                $(wire!($field $($wire)?) => read::<form!($($form)?), _, A>(
                                    &mut $field,
                                    wire!($field $($wire)?),
                                    &mut members,
                                    by_parts,
                                )?,)*
                                _ => unnamed!(members $(, name => $extra)?)?,
                            }
                        }
                        Ok($name {
                            $($field: known::<form!($($form)?), _, _>(
                                $field,
                                wire!($field $($wire)?),
                            )?,)*
                            $($extra,)?
                            $($misfits: $crate::schema::misfit::Misfits::found(),)?
                        })
                    }
                }

                object!(deserializer, $name [$(wire!($field $($wire)?)),*] $($extra)?)
            }
        }
    };
}

/// Reads an object whose members are all known, or not. Who flattens the first kind into an object of theirs gives it what it knows, and no more.
macro_rules! object {
    ($deserializer:ident, $name:ident [$($wire:expr),*]) => {
        $deserializer.deserialize_struct(stringify!($name), &[$($wire),*], Members)
    };
    ($deserializer:ident, $name:ident [$($wire:expr),*] $extra:ident) => {
        $deserializer.deserialize_map(Members)
    };
}

/// The half of [`members!`] that writes.
macro_rules! writable {
    ($name:ident {
        $($field:ident $(= $wire:literal)? $(as $form:ty)?),* $(, ..$extra:ident)? $(,)?
        $(; $misfits:ident)?
    }) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut members = serializer.serialize_map(None)?;
                $($crate::schema::object::write::<form!($($form)?), _, S>(
                    &mut members,
                    wire!($field $($wire)?),
                    &self.$field,
                )?;)*
                $($crate::schema::object::write_others::<S>(&mut members, &self.$extra)?;)?
                members.end()
            }
        }
    };
}

/// Reads a member that is not named.
macro_rules! unnamed {
    ($members:ident) => {
        $crate::schema::object::ignore(&mut $members)
    };
    ($members:ident, $name:ident => $extra:ident) => {
        $crate::schema::object::keep(&mut $extra, $name, &mut $members)
    };
}

/// The name of a field on the wire.
macro_rules! wire {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

/// The form of a field.
macro_rules! form {
    () => {
        $crate::schema::object::Own
    };
    ($form:ty) => {
        $form
    };
}

/// What can be the value of a member.
pub(super) trait Member: Serialize + for<'a> Deserialize<'a> {
    /// What is there when the member is not; `None` when it has to be.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether the member is left out.
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

impl Member for Extra {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tree::read_object(deserializer)
    }
}

/// Types that have to be there when a member is of that type.
macro_rules! required {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::schema::object::Member for $type {})+
    };
}

required!(bool, u64, f64, String, Box<RawValue>, RequestId);

impl<T: Serialize + for<'a> Deserialize<'a>> Member for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        misfit::read_list(deserializer)
    }
}

impl<T: Serialize + for<'a> Deserialize<'a>> Member for BTreeMap<String, T> {}

/// How a member is read and written: as its type is, but for what a form says otherwise.
pub(super) trait Form<T: Member> {
    fn absent() -> Option<T> {
        T::absent()
    }

    fn is_absent(value: &T) -> bool {
        value.is_absent()
    }

    /// Whether the rest can be understood without it when it can't be read.
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

/// As its type is.
pub(super) struct Own;

impl<T: Member> Form<T> for Own {}

/// What is always written, but need not be there.
pub(super) struct OrDefault;

impl<T: Member + Default> Form<T> for OrDefault {
    fn absent() -> Option<T> {
        Some(T::default())
    }
}

/// A list of a result. What is written in Go has `null` for one in which there is nothing, unless its author thought of that.
pub(super) struct OrNull;

impl<T: Serialize + for<'a> Deserialize<'a>> Form<Vec<T>> for OrNull {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        if misfit::is_strict() {
            return Vec::read(deserializer);
        }
        Option::<Vec<T>>::read(deserializer).map(Option::unwrap_or_default)
    }
}

/// The same for a list that need not be there.
pub(super) struct OrNothing;

impl<T: Serialize + for<'a> Deserialize<'a>> Form<Vec<T>> for OrNothing {
    fn absent() -> Option<Vec<T>> {
        (!misfit::is_strict()).then(Vec::new)
    }

    fn is_dispensable() -> bool {
        false
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        <OrNull as Form<Vec<T>>>::read(deserializer)
    }
}

/// What has to be there, but is taken for empty where a server's odd description of itself is all that is odd.
pub(super) struct OrUnsaid;

impl<T: Member + Default> Form<T> for OrUnsaid {
    fn absent() -> Option<T> {
        misfit::drops().then(T::default)
    }
}

/// The name of a member, not copied when it stands in the text.
pub(super) struct Name<'de>(pub(super) Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

struct Reader<F, T>(PhantomData<(F, T)>);

impl<'de, F: Form<T>, T: Member> DeserializeSeed<'de> for Reader<F, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        F::read(deserializer)
    }
}

/// Reads a member to its place.
#[inline(never)]
pub(super) fn read<'de, F: Form<T>, T: Member, A: MapAccess<'de>>(
    place: &mut Option<T>,
    name: &'static str,
    members: &mut A,
    by_parts: bool,
) -> Result<(), A::Error> {
    if place.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    if by_parts {
        return misfit::read_member::<F, T, A>(place, name, members);
    }
    *place = Some(members.next_value_seed(Reader::<F, T>(PhantomData))?);
    Ok(())
}

/// Skips a member that the type doesn't know.
#[inline(never)]
pub(super) fn ignore<'de, A: MapAccess<'de>>(members: &mut A) -> Result<(), A::Error> {
    members.next_value::<IgnoredAny>().map(drop)
}

/// Keeps a member that the type doesn't know.
#[inline(never)]
pub(super) fn keep<'de, A: MapAccess<'de>>(
    extra: &mut Extra,
    name: Cow<'de, str>,
    members: &mut A,
) -> Result<(), A::Error> {
    tree::add(extra, name.into_owned(), members)
}

/// What was read to the place of a member.
pub(super) fn known<F: Form<T>, T: Member, E: Error>(
    place: Option<T>,
    name: &'static str,
) -> Result<T, E> {
    place
        .or_else(F::absent)
        .ok_or_else(|| E::missing_field(name))
}

struct Written<'a, F, T>(&'a T, PhantomData<F>);

impl<F: Form<T>, T: Member> Serialize for Written<'_, F, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

/// Writes a member, unless it is absent.
pub(super) fn write<F: Form<T>, T: Member, S: Serializer>(
    members: &mut S::SerializeMap,
    name: &'static str,
    value: &T,
) -> Result<(), S::Error> {
    if F::is_absent(value) {
        return Ok(());
    }
    members.serialize_entry(name, &Written::<F, T>(value, PhantomData))
}

/// Writes the members that the type doesn't know.
#[inline(never)]
pub(super) fn write_others<S: Serializer>(
    members: &mut S::SerializeMap,
    extra: &Extra,
) -> Result<(), S::Error> {
    for (name, value) in extra {
        members.serialize_entry(name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use crate::schema::{CacheHint, JsonObject};

    #[test]
    fn a_type_that_is_flattened_into_another_takes_its_own_members_only() {
        #[derive(Serialize, Deserialize)]
        struct Mine {
            own: u8,
            #[serde(flatten)]
            hint: CacheHint,
            #[serde(flatten)]
            rest: JsonObject,
        }
        let text = r#"{"own":1,"ttlMs":5,"cacheScope":"public","z":1}"#;
        let mine: Mine = serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&mine).expect("JSON"), text);
        assert!(serde_json::from_str::<CacheHint>("[5]").is_err());
    }
}
