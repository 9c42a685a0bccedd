//! Serialization of schema objects. The macro `members!` implements it for a struct, as a part of
//! the macro `object!`. Generic functions here read and write the members.
//!
//! A type only names its members. Each function here reads or writes one member, and is shared by
//! all types with members of the same kind. Therefore a hundred types need little code. A member
//! without a field is stored in the type's `extra`. If the type has no `extra`, the member is
//! ignored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::member::{Form, Member};
use super::tree::Extra;
use super::{misfit, tree};
use crate::jsonrpc::RequestId;

/// Implements `Serialize` and `Deserialize` for a struct. The macro takes the fields in the order
/// in which they are written. A field is followed by its JSON name if the two names differ. A field
/// with a special serialization is followed by a [`Form`].
///
/// An `Option` field may be absent, and is omitted if it is `None`. Fields of other types are
/// required (see [`Member`]). Members without a field go to the field after `..`. If no such field
/// is given, they are ignored. A repeated member is an error. The field after `;` is not part of
/// the JSON. It holds the parts that were dropped when the struct was read.
macro_rules! members {
    ($name:ident { $($members:tt)* }) => {
        readable!($name { $($members)* });
        writable!($name { $($members)* });
        required!($name);
    };
}

/// Implements `Deserialize` for a struct, as a part of the macro `members!`.
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
                            $($misfits: $crate::schema::misfit::Misfits::of_last_object(),)?
                        })
                    }
                }

                deserialize_members!(deserializer, $name [$(wire!($field $($wire)?)),*] $($extra)?)
            }
        }
    };
}

/// Expands to the call that deserializes an object into a struct. The call is `deserialize_map` if
/// the struct has a field for unknown members, otherwise `deserialize_struct`. With
/// `deserialize_struct`, a struct that is flattened into another struct gets only its known members
/// from serde.
macro_rules! deserialize_members {
    ($deserializer:ident, $name:ident [$($wire:expr),*]) => {
        $deserializer.deserialize_struct(stringify!($name), &[$($wire),*], Members)
    };
    ($deserializer:ident, $name:ident [$($wire:expr),*] $extra:ident) => {
        $deserializer.deserialize_map(Members)
    };
}

/// Implements `Serialize` for a struct, as a part of the macro `members!`.
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

/// Expands to the call that reads a member without a field. The member is ignored, or stored in the
/// field for unknown members.
macro_rules! unnamed {
    ($members:ident) => {
        $crate::schema::object::ignore(&mut $members)
    };
    ($members:ident, $name:ident => $extra:ident) => {
        $crate::schema::object::keep(&mut $extra, $name, &mut $members)
    };
}

/// Expands to the JSON name of a field.
macro_rules! wire {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $wire:literal) => {
        $wire
    };
}

/// Expands to the serialization of a field (see [`Form`]).
macro_rules! form {
    () => {
        $crate::schema::object::Own
    };
    ($form:ty) => {
        $form
    };
}

impl Member for Extra {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tree::read_object(deserializer)
    }
}

/// Implements [`Member`] for the listed types, without a value for an absent member. So a member of
/// such a type is required.
macro_rules! required {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::schema::member::Member for $type {})+
    };
}

required!(bool, u64, f64, String, Box<RawValue>, RequestId);

impl<T: Serialize + for<'a> Deserialize<'a>> Member for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        misfit::read_list(deserializer)
    }
}

impl<T: Serialize + for<'a> Deserialize<'a>> Member for BTreeMap<String, T> {}

/// The default serialization: the type of the member reads and writes the member.
pub(super) struct Own;

impl<T: Member> Form<T> for Own {}

/// The serialization of a member that is always written, but optional when it is read.
pub(super) struct OrDefault;

impl<T: Member + Default> Form<T> for OrDefault {
    fn absent() -> Option<T> {
        Some(T::default())
    }
}

/// The serialization of a list in a result, where `null` means an empty list. Programs in Go write
/// `null` for an empty list by default.
pub(super) struct OrNull;

impl<T: Serialize + for<'a> Deserialize<'a>> Form<Vec<T>> for OrNull {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
        if misfit::is_strict() {
            return Vec::read(deserializer);
        }
        Option::<Vec<T>>::read(deserializer).map(Option::unwrap_or_default)
    }
}

/// The serialization of a list in a result, where `null` or an absent member means an empty list.
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

/// The serialization of a required member in a server's description of itself. If the member is
/// absent, lenient reading uses an empty value.
pub(super) struct OrUnsaid;

impl<T: Member + Default> Form<T> for OrUnsaid {
    fn absent() -> Option<T> {
        misfit::drops().then(T::default)
    }
}

/// The name of a member, borrowed from the text if possible.
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

/// Reads a member into `slot`.
#[inline(never)]
pub(super) fn read<'de, F: Form<T>, T: Member, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    members: &mut A,
    by_parts: bool,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    if by_parts {
        return misfit::read_member::<F, T, A>(slot, name, members);
    }
    *slot = Some(members.next_value_seed(Reader::<F, T>(PhantomData))?);
    Ok(())
}

/// Skips a member for which the type has no field.
#[inline(never)]
pub(super) fn ignore<'de, A: MapAccess<'de>>(members: &mut A) -> Result<(), A::Error> {
    members.next_value::<IgnoredAny>().map(drop)
}

/// Stores a member for which the type has no field.
#[inline(never)]
pub(super) fn keep<'de, A: MapAccess<'de>>(
    extra: &mut Extra,
    name: Cow<'de, str>,
    members: &mut A,
) -> Result<(), A::Error> {
    tree::add(extra, name.into_owned(), members)
}

/// Returns the value in `slot`, into which a member was read. If the slot is empty, returns the
/// value for an absent member, or an error if the member is required.
pub(super) fn known<F: Form<T>, T: Member, E: Error>(
    slot: Option<T>,
    name: &'static str,
) -> Result<T, E> {
    slot.or_else(F::absent)
        .ok_or_else(|| E::missing_field(name))
}

struct Written<'a, F, T>(&'a T, PhantomData<F>);

impl<F: Form<T>, T: Member> Serialize for Written<'_, F, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

/// Writes a member, unless its value means that the member is absent.
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

/// Writes the members for which the type has no field.
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
