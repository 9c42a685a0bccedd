//! The macro `object!`: defines the struct of a JSON object, and names each field once.

/// Defines the struct of a JSON object. Also implements its serialization, its setters, its
/// constructors and [`FitTo`](super::FitTo).
///
/// ```text
/// object! {
///     /// A resource of a server.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Resource: FitTo {
///         /// The URI of the resource.
///         pub uri: String,
///         /// The display name of the resource.
///         pub title?: String [since V2025_06_18],
///         /// The MIME type of the resource.
///         pub mime_type?: String = "mimeType",
///         /// The size of the resource in bytes.
///         pub size?: u64 as Count,
///         ..extra
///     }
///
///     /// Makes a resource with this URI.
///     pub fn new(uri: impl Into<String>);
/// }
/// ```
///
/// **Fields.** Members are written in the order of the fields. `title?: String` is an
/// `Option<String>` with a chained setter. `title: Option<String>` is an optional field without a
/// setter. A field of another type is required when the object is read.
///
/// **Serialization.** `= "mimeType"` is the name in JSON, if it is not the name of the field.
/// `as Count` replaces the usual serialization of the type by a [`Form`](super::member::Form).
/// `..extra` adds the field `extra` for the other members of the object. Without it, the other
/// members are ignored. `..extra; misfits` also adds the method `misfits`, which returns the parts
/// that were dropped when the object was read.
///
/// **Revisions.** The brackets say how `fit_to` adapts a field to a revision:
///
/// - `[since R]` removes the value before revision R.
/// - `[since R or VALUE]` does the same. From revision R on, VALUE replaces an absent value.
/// - `[only R]` removes the value in all revisions except R.
/// - `[fit]` adapts the value with the `FitTo` of its own type. `[since R, fit]` does both.
///
/// The documentation of the field tells the revision R. `: FitTo` implements the trait with the
/// brackets alone. A struct that needs more omits it, and implements the trait by hand. That
/// implementation calls `self.fit_fields(revision)`, which does what the brackets say.
///
/// **Constructors.** A function without a body sets the fields that its parameters name. All other
/// fields get their default values.
macro_rules! object {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident $(: $fit_to:ident)? {
            $(
                $(#[$doc:meta])*
                $vis:vis $field:ident $(?: $optional:ty)? $(: $type:ty)?
                    $(= $wire:literal)? $(as $form:ident)? $([$($fit:tt)+])?
            ),*
            $(, ..$extra:ident)? $(,)? $(; $misfits:ident)?
        }
        $($constructors:tt)*
    ) => {
        $(#[$attribute])*
        #[non_exhaustive]
        pub struct $name {
            $(
                $(#[$doc])*
                $(#[doc = revisions!($($fit)+)])?
                $vis $field: $(Option<$optional>)? $($type)?,
            )*
            $(
                /// The other members: those without a field of their own.
                pub $extra: $crate::schema::Extra,
            )?
            $($misfits: $crate::schema::misfit::Misfits,)?
        }

        members!($name {
            $($field $(= $wire)? $(as $form)?),* $(, ..$extra)? $(; $misfits)?
        });

        impl $name {
            $(setter! {
                $field $($optional)? $(as $form)?
                => $(#[$doc])* $(#[doc = revisions!($($fit)+)])?
            })*
            constructors! { [$($field)* $($extra)? $($misfits)?] $($constructors)* }
            $(misfits!($misfits);)?
        }

        fit_fields! { $name $($($field [$($fit)+])?)* }

        $(impl $crate::schema::$fit_to for $name {
            fn fit_to(&mut self, revision: $crate::schema::ProtocolVersion) {
                self.fit_fields(revision);
            }
        })?
    };
}

/// Defines the chained setter of an optional field. Its documentation repeats that of the field.
macro_rules! setter {
    ($field:ident $(as $form:ident)? => $(#[$doc:meta])*) => {};
    ($field:ident $type:ty $(as $form:ident)? => $(#[$doc:meta])*) => {
        #[doc = concat!(" Sets the field `", stringify!($field), "`.")]
        ///
        $(#[$doc])*
        pub fn $field(mut self, $field: argument!($type $(as $form)?)) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
}

/// The type of the parameter of a setter. For a whole number it is the type of the field, so that
/// `size(3)` compiles: with a conversion to `u64`, the type of the literal would be `i32`.
macro_rules! argument {
    ($type:ty as Count) => { $type };
    ($type:ty as CountOrNull) => { $type };
    ($type:ty as NotNegative) => { $type };
    ($type:ty as Whole) => { $type };
    ($type:ty $(as $form:ident)?) => { impl Into<$type> };
}

/// Defines the constructors of a struct with these fields.
macro_rules! constructors {
    ($fields:tt $(
        $(#[$attribute:meta])*
        $vis:vis fn $new:ident($($param:ident: $type:ty),* $(,)?);
    )*) => {
        $(
            $(#[$attribute])*
            $vis fn $new($($param: $type),*) -> Self {
                construct!($fields $($param)*)
            }
        )*
    };
}

/// Expands to a struct whose fields have the values of the parameters with their names. Other
/// fields have their default values.
macro_rules! construct {
    ([$($field:ident)*] $($param:ident)*) => {{
        use $crate::schema::object_macro::{FieldValue, Given, Omitted};
        let given = ($(Given($param),)*);
        // Each field is a variable. It is first omitted, then replaced if there is a parameter.
        $(#[allow(unused_variables)] let $field = Omitted;)*
        let ($($param,)*) = given;
        Self { $($field: FieldValue::value($field),)* }
    }};
}

/// Where the value of a field comes from in a constructor.
pub(super) trait FieldValue<T> {
    fn value(self) -> T;
}

/// A field that the constructor has a parameter for.
pub(super) struct Given<V>(pub(super) V);

impl<T, V: Into<T>> FieldValue<T> for Given<V> {
    fn value(self) -> T {
        self.0.into()
    }
}

/// A field that the constructor has no parameter for.
pub(super) struct Omitted;

impl<T: Default> FieldValue<T> for Omitted {
    fn value(self) -> T {
        T::default()
    }
}

/// Defines the method `fit_fields` of a struct. A struct without brackets gets no such method.
macro_rules! fit_fields {
    ($name:ident) => {};
    ($name:ident $($field:ident [$($fit:tt)+])+) => {
        impl $name {
            fn fit_fields(&mut self, revision: $crate::schema::ProtocolVersion) {
                $(fit_field!(self.$field, revision, $($fit)+);)+
            }
        }
    };
}

/// Expands to the code that adapts one field to a revision.
macro_rules! fit_field {
    ($field:expr, $revision:ident, fit) => {
        $crate::schema::FitTo::fit_to(&mut $field, $revision)
    };
    ($field:expr, $revision:ident, since $since:ident $(, $fit:ident)?) => {
        if $revision < $crate::schema::ProtocolVersion::$since {
            $field = None;
        }
        $(fit_field!($field, $revision, $fit);)?
    };
    ($field:expr, $revision:ident, since $since:ident or $value:expr) => {
        if $revision < $crate::schema::ProtocolVersion::$since {
            $field = None;
        } else {
            $field.get_or_insert($value);
        }
    };
    ($field:expr, $revision:ident, only $only:ident) => {
        if $revision != $crate::schema::ProtocolVersion::$only {
            $field = None;
        }
    };
}

/// Expands to the sentence that tells the revisions of a field.
macro_rules! revisions {
    (fit) => {
        ""
    };
    (since $since:ident $($rest:tt)*) => {
        concat!(" Since ", date!($since), ".")
    };
    (only $only:ident) => {
        concat!(" ", date!($only), " only.")
    };
}

/// Expands to the date of a revision.
macro_rules! date {
    (V2025_03_26) => {
        "2025-03-26"
    };
    (V2025_06_18) => {
        "2025-06-18"
    };
    (V2025_11_25) => {
        "2025-11-25"
    };
    (V2026_07_28) => {
        "2026-07-28"
    };
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro makes public items")]
mod tests {
    use crate::schema::{FitTo, ProtocolVersion};

    object! {
        /// An object with each kind of field.
        #[derive(Debug, PartialEq)]
        pub struct Sample: FitTo {
            kind: Option<String> = "type" [since V2026_07_28 or "new".to_owned()],
            name: String,
            title?: String [since V2025_06_18],
            task?: String [only V2025_11_25],
            inner: Option<Inner> [since V2025_03_26, fit],
            ..extra
        }

        fn new(name: impl Into<String>);

        fn of_inner(inner: Inner, name: String);
    }

    object! {
        /// An object in an object.
        #[derive(Debug, Default, PartialEq)]
        pub struct Inner: FitTo {
            icon?: String [since V2025_11_25],
        }
    }

    #[test]
    fn constructors_set_what_they_name() {
        let sample = Sample::new("n");
        assert_eq!(sample.name, "n");
        assert_eq!(
            (sample.title, sample.task, sample.inner),
            (None, None, None)
        );
        let sample = Sample::of_inner(Inner::default(), "n".to_owned());
        assert_eq!(sample.inner, Some(Inner { icon: None }));
    }

    #[test]
    fn fields_are_adapted_as_their_brackets_say() {
        fn check(revision: ProtocolVersion, expected: &str) {
            let inner = Inner::default().icon("i");
            let mut sample = Sample::of_inner(inner, "n".to_owned()).title("t").task("k");
            sample.fit_to(revision);
            let text = serde_json::to_string(&sample).expect("JSON");
            assert_eq!(text, expected, "{revision}");
            assert_eq!(serde_json::from_str::<Sample>(&text).expect("JSON"), sample);
        }
        use ProtocolVersion::*;
        check(V2024_11_05, r#"{"name":"n"}"#);
        check(V2025_03_26, r#"{"name":"n","inner":{}}"#);
        check(V2025_06_18, r#"{"name":"n","title":"t","inner":{}}"#);
        check(
            V2025_11_25,
            r#"{"name":"n","title":"t","task":"k","inner":{"icon":"i"}}"#,
        );
        check(
            V2026_07_28,
            r#"{"type":"new","name":"n","title":"t","inner":{"icon":"i"}}"#,
        );
    }
}
