//! The getters of objects, written as tables.
//!
//! ```ignore
//! getters! {
//!     get(error: mcplink_error_t);
//!
//!     /// Returns the JSON-RPC code of the peer's error, for example -32602.
//!     ///
//!     /// Returns: 0 when the error did not come from the peer.
//!     fn mcplink_error_rpc_code() -> i64 {
//!         error.error.rpc()?.code.value()
//!     }
//! }
//! ```
//!
//! Each entry becomes an exported function. Its first parameter is a pointer to the object, and
//! the function of the first line finds the object: [`get`](super::entry::get),
//! [`find`](super::entry::find) or [`visit`](super::handle::visit). The body reads the object. If
//! there is no object, or the body ends early with `?`, the function returns the neutral value of
//! its type. Arguments of C can be read in the body, which is unsafe code.
//! cbindgen does not expand macros, so `header/tables.rs` does it for the header.

use super::text::mcplink_str_t;

macro_rules! getters {
    (
        $find:ident($this:ident: $object:ident);
        $(
            $(#[$comment:meta])*
            fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty $body:block
        )*
    ) => {$(
        $(#[$comment])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $this: *const $object,
            $($argument: $type),*
        ) -> $result {
            // SAFETY: the header requires an object of this library, and valid arguments.
            let found: Option<$result> = $crate::cffi::entry::value(None, || unsafe {
                let $this = $find($this, stringify!($name))?;
                Some($body)
            });
            found.unwrap_or(<$result as $crate::cffi::getters::Neutral>::NEUTRAL)
        }
    )*};
}

/// A type of C with a value that stands for "nothing".
pub(super) trait Neutral {
    const NEUTRAL: Self;
}

impl Neutral for bool {
    const NEUTRAL: Self = false;
}

impl Neutral for f64 {
    const NEUTRAL: Self = 0.0;
}

impl Neutral for mcplink_str_t {
    const NEUTRAL: Self = Self::EMPTY;
}

impl<T> Neutral for *const T {
    const NEUTRAL: Self = std::ptr::null();
}

macro_rules! zero_is_neutral {
    ($($integer:ty),*) => {$(
        impl Neutral for $integer {
            const NEUTRAL: Self = 0;
        }
    )*};
}

zero_is_neutral!(i32, i64, u16, u32, u64, usize);
