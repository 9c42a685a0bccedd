//! The three shapes that many types of the schema share: open sets of texts, fixed texts, optional fields.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// An enum of texts that keeps a text it doesn't know.
macro_rules! open_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
            /// A value that this library doesn't know, as it came.
            Other(Box<str>),
        }

        impl $name {
            /// The text on the wire.
            $vis fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Other(other.into()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::schema::macros::read_text(deserializer)
            }
        }

        required!($name);
    };
}

/// A member whose only legal value is one text: written always, checked when it is there.
macro_rules! literal {
    ($name:ident = $text:literal) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(super) struct $name;

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($text)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::schema::macros::read_literal(deserializer, $text).map(|()| Self)
            }
        }

        required!($name);
    };
}

/// Chained setters of optional fields, named as the fields are.
macro_rules! setters {
    ($($(#[$meta:meta])* $field:ident: $type:ty,)+) => {
        $(
            $(#[$meta])*
            pub fn $field(mut self, $field: impl Into<$type>) -> Self {
                self.$field = Some($field.into());
                self
            }
        )+
    };
}

/// The cache hint of a result whose struct has the fields `ttl_ms` and `cache_scope`.
///
/// They are fields of each struct rather than one flattened member, since what lies below a flattened member can't hold raw JSON.
macro_rules! cache_hint {
    () => {
        /// Lets the result be kept. Since 2026-07-28.
        pub fn cached(mut self, hint: $crate::schema::CacheHint) -> Self {
            self.ttl_ms = hint.ttl_ms;
            self.cache_scope = hint.cache_scope;
            self
        }

        /// How long and by whom the result may be kept.
        pub fn cache_hint(&self) -> $crate::schema::CacheHint {
            $crate::schema::CacheHint::of(self.ttl_ms, self.cache_scope.clone())
        }

        fn fit_cache_hint(&mut self, revision: $crate::schema::ProtocolVersion) {
            if revision.is_modern() {
                self.ttl_ms.get_or_insert(0);
                self.cache_scope
                    .get_or_insert($crate::schema::CacheScope::Private);
            } else {
                self.ttl_ms = None;
                self.cache_scope = None;
            }
        }
    };
}

/// A page of a list.
macro_rules! list_result {
    ($(#[$meta:meta])* $name:ident { $field:ident $(= $wire:literal)?: Vec<$item:ty> }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            /// Which kind of result it is. Since 2026-07-28.
            pub result_type: Option<$crate::schema::ResultType>,
            /// What is on this page.
            pub $field: Vec<$item>,
            /// Where the list goes on; absent on the last page. An empty text is a cursor too.
            pub next_cursor: Option<String>,
            /// For how many milliseconds the page stays fresh. Since 2026-07-28.
            pub ttl_ms: Option<u64>,
            /// Who may share the page; the same on all pages of a list. Since 2026-07-28.
            pub cache_scope: Option<$crate::schema::CacheScope>,
            /// What travels beside the result.
            pub meta: Option<$crate::schema::ResultMetaObject>,
            /// Members that this library doesn't know.
            pub extra: $crate::schema::Extra,
            misfits: $crate::schema::misfit::Misfits,
        }

        members!($name {
            result_type = "resultType",
            $field $(= $wire)? as $crate::schema::object::OrNull,
            next_cursor = "nextCursor",
            ttl_ms = "ttlMs" as $crate::schema::json::Count,
            cache_scope = "cacheScope",
            meta = "_meta",
            ..extra;
            misfits
        });

        impl $name {
            /// Makes the last page.
            pub fn new($field: impl Into<Vec<$item>>) -> Self {
                Self {
                    $field: $field.into(),
                    ..Self::default()
                }
            }

            setters! {
                /// Says where the list goes on.
                next_cursor: String,
            }

            cache_hint!();

            misfits!();
        }

        impl $crate::schema::FitTo for $name {
            fn fit_to(&mut self, revision: $crate::schema::ProtocolVersion) {
                $crate::schema::result::fit_result_type(&mut self.result_type, revision);
                self.fit_cache_hint(revision);
                self.$field.fit_to(revision);
                self.meta.fit_to(revision);
            }
        }
    };
}

/// Reads a text without keeping it when the target knows it.
pub(super) fn read_text<'de, T: for<'a> From<&'a str>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct FromText<T>(PhantomData<T>);

    impl<T: for<'a> From<&'a str>> Visitor<'_> for FromText<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            Ok(T::from(text))
        }
    }

    deserializer.deserialize_str(FromText(PhantomData))
}

pub(super) fn read_literal<'de, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<(), D::Error> {
    struct Exactly(&'static str);

    impl Visitor<'_> for Exactly {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "the string \"{}\"", self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
            if text == self.0 {
                Ok(())
            } else {
                Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
    }

    deserializer.deserialize_str(Exactly(expected))
}
