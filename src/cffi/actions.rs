//! Functions that change an object or act on it, and return a status, written as tables.
//!
//! ```ignore
//! actions! {
//!     set(options: mcplink_client_options_t);
//!
//!     /// Sets the default timeout of calls. Default: 60 s.
//!     ///
//!     /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
//!     fn mcplink_client_options_set_timeout_ms(milliseconds: u32) {
//!         options.timeouts.timeout = span(milliseconds);
//!     }
//!
//!     /// Sets the function that receives events.
//!     ///
//!     /// callback, user, destroy: see mcplink_event_fn.
//!     fn mcplink_client_options_on_event(callback: mcplink_event_fn; user) {
//!         options.hooks.event = Hook::new(callback, user);
//!     }
//! }
//! ```
//!
//! Each entry becomes an exported function. Its first parameter is the object, and it returns a
//! status. The function of the first line finds the object and runs the body:
//!
//! - [`set`](super::refusal::set): the object is settings, which remember a refused setter,
//! - [`entering`](super::handle::entering): the object is a handle, which the thread enters,
//! - [`needing`](super::entry::needing), [`needing_mut`](super::entry::needing_mut): any other
//!   object.
//!
//! The body can fail with `?`. Arguments of C can be read in the body, which is unsafe code.
//! `; user` after the parameters stands for the parameters `user` and `destroy` of a callback. They
//! become [`UserData`](super::user::UserData) before the object is looked for, so `destroy` runs if
//! there is no object.
//!
//! cbindgen does not expand macros, so `header/tables.rs` does it for the header.

macro_rules! actions {
    (
        $run:ident($this:ident: $object:ident);
        $(
            $(#[$comment:meta])*
            fn $name:ident($($argument:ident: $type:ty),* $(,)? $(; $user:ident)?) $body:block
        )*
    ) => {$(
        $(#[$comment])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $this: *mut $object,
            $($argument: $type,)*
            $($user: *mut std::ffi::c_void, destroy: $crate::cffi::user::mcplink_destroy_fn)?
        ) -> $crate::cffi::status::mcplink_status_t {
            $(let $user = $crate::cffi::user::UserData::new($user, destroy);)?
            // SAFETY: the header requires an object of this library, which only this thread
            // changes, and valid arguments.
            unsafe {
                $run($this, stringify!($this), stringify!($name), |$this| {
                    $body;
                    Ok(())
                })
            }
        }
    )*};
}
