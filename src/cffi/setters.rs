//! The setters of settings objects, written as tables.
//!
//! ```ignore
//! setters! {
//!     /// options: the options.
//!     /// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
//!     mcplink_client_options_t as options;
//!
//!     /// Sets the default timeout of calls. Default: 60 s.
//!     ///
//!     /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
//!     fn mcplink_client_options_set_timeout_ms(milliseconds: u32) {
//!         options.timeouts.timeout = Some(span(milliseconds));
//!     }
//! }
//! ```
//!
//! Each entry becomes an exported function. Its first parameter is the object, and it returns a
//! status. The body changes the object, and can refuse an argument with `?`. Arguments of C can be
//! read in the body, which is unsafe code. The function `set` of the module with the table runs the
//! body: most modules import [`refusal::set`](super::refusal::set).
//!
//! The first lines have the comments that all functions of the table share: of the object, and of
//! the result of a function whose own comment has none. cbindgen does not expand macros, so
//! `header/tables.rs` does it for the header.

macro_rules! setters {
    (
        $(#[$shared:meta])*
        $object:ident as $this:ident;
        $(
            $(#[$comment:meta])*
            fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block
        )*
    ) => {$(
        $(#[$comment])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $this: *mut $object,
            $($argument: $type),*
        ) -> $crate::cffi::status::mcplink_status_t {
            // SAFETY: the header requires an object of this library, which only this thread uses,
            // and valid arguments.
            unsafe {
                set($this, stringify!($name), |$this| {
                    $body;
                    Ok(())
                })
            }
        }
    )*};
}

pub(super) use setters;
