//! The macro `debug_fields!`: implements `Debug` for types that can't show all of their fields.

/// Implements `Debug` for a type. Writes the named fields, and `..` in place of the others, which
/// are secret, long, or functions of the host.
///
/// `name` is a field. `name = |it| value` names a value that is read from the object.
macro_rules! debug_fields {
    ($type:ident $(, $name:ident $(= $read:expr)?)* $(,)?) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(
                        stringify!($name),
                        $crate::server::debug_fields::value!(self, $name $(, $read)?),
                    ))*
                    .finish_non_exhaustive()
            }
        }
    };
}
pub(super) use debug_fields;

/// The value of a field in `debug_fields!`.
macro_rules! value {
    ($of:ident, $name:ident) => {
        &$of.$name
    };
    ($of:ident, $name:ident, $read:expr) => {
        &$crate::server::debug_fields::read($of, $read)
    };
}
pub(super) use value;

/// Reads a value from an object. The signature tells the compiler the type of a closure.
pub(super) fn read<'a, T, R>(of: &'a T, read: impl FnOnce(&'a T) -> R) -> R {
    read(of)
}
