//! Macros for patterns that many schema types share: open enums, fixed texts, cache hints, list
//! results.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Visitor};

/// Defines an enum of texts, with a variant for unknown texts.
macro_rules! open_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)+
            /// A value that this library doesn't know, with its text as received.
            Other(Box<str>),
        }

        impl $name {
            /// Returns the text of the value, as in messages.
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

/// Defines the type of a member that has only one valid value, a fixed text. The member is always
/// written. A received object may omit the member, but must not have another value.
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

/// Defines the methods for the cache hint of a result. The struct of the result has the fields
/// `ttl_ms` and `cache_scope`.
///
/// The fields are in each struct, because serde can't deserialize raw JSON below a flattened
/// member.
macro_rules! cache_hint {
    () => {
        /// Sets the time for which the result may be cached, and whether users may share it. Since
        /// 2026-07-28.
        pub fn cached(mut self, hint: $crate::schema::CacheHint) -> Self {
            self.ttl_ms = hint.ttl_ms;
            self.cache_scope = hint.cache_scope;
            self
        }

        /// Returns the time for which the result may be cached, and whether users may share it.
        pub fn cache_hint(&self) -> $crate::schema::CacheHint {
            $crate::schema::CacheHint::of(self.ttl_ms, self.cache_scope.clone())
        }
    };
}

/// Defines the result of a list method: one page of the list.
macro_rules! list_result {
    ($(#[$meta:meta])* $name:ident { $field:ident $(= $wire:literal)?: Vec<$item:ty> }) => {
        object! {
            $(#[$meta])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $name: FitTo {
                /// The kind of result.
                pub result_type: Option<$crate::schema::ResultType>
                    = "resultType" [since V2026_07_28 or $crate::schema::ResultType::Complete],
                /// The entries of this page.
                pub $field: Vec<$item> $(= $wire)? as OrNull [fit],
                /// The cursor of the next page; absent on the last page. An empty text is a valid
                /// cursor.
                pub next_cursor?: String = "nextCursor",
                /// The time for which the page stays fresh, in milliseconds.
                pub ttl_ms: Option<u64>
                    = "ttlMs" as Count [since V2026_07_28 or 0],
                /// Whether users may share the cached page. All pages of a list have the same
                /// value.
                pub cache_scope: Option<$crate::schema::CacheScope>
                    = "cacheScope" [since V2026_07_28 or $crate::schema::CacheScope::Private],
                /// Metadata of the result (`_meta`).
                pub meta: Option<$crate::schema::ResultMetaObject> = "_meta" [fit],
                ..extra; misfits
            }

            /// Makes a page of a list. The page is the last page, unless `next_cursor` is set.
            pub fn new($field: impl Into<Vec<$item>>);
        }

        impl $name {
            cache_hint!();

            pub(crate) fn add_misfit(&mut self, misfit: $crate::schema::Misfit) {
                self.misfits.add(misfit);
            }
        }
    };
}

/// Deserializes a text as a type. Does not allocate if the type knows the text.
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
