//! Functions that return a status, and the reason of a failure through `err`, written as tables.
//!
//! ```ignore
//! fallible! {
//!     enter(server: *mut mcplink_server_t);
//!
//!     /// Adds a folder, whose files are resources.
//!     ///
//!     /// path: the folder.
//!     /// Returns: MCPLINK_OK; MCPLINK_E_IO if the folder can't be read.
//!     fn mcplink_server_add_folder(path: *const c_char) {
//!         server.add_folder(filled(path, "path")?)?;
//!     }
//!
//!     /// Returns the statistics of the server.
//!     ///
//!     /// out: receives an array; NULL on failure. The caller frees it with mcplink_json_free.
//!     fn mcplink_server_stats() -> out: mcplink_json_t {
//!         Document::parse(&server.stats().to_string())?.into_raw()
//!     }
//! }
//! ```
//!
//! Each entry becomes an exported function. Its first parameter is the object, which the function
//! of the first line finds: [`enter`](super::handle::enter), [`need`](super::entry::need) or
//! [`taken`](super::refusal::taken). The body can fail with `?`, return early with another status,
//! and is unsafe code. An entry with a result has one more parameter, which receives the object
//! that the body makes. `; user` stands for the user data of a callback, as in
//! [`actions`](super::actions).
//!
//! cbindgen does not expand macros, so `header/tables.rs` does it for the header.

macro_rules! fallible {
    (
        $find:ident($this:ident: $object:ty);
        $(
            $(#[$comment:meta])*
            fn $name:ident($($argument:ident: $type:ty),* $(,)? $(; $user:ident)?)
            $(-> $out:ident: $made:ident)? $body:block
        )*
    ) => {$(
        $(#[$comment])*
        #[must_use]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $this: $object,
            $($argument: $type,)*
            $($user: *mut std::ffi::c_void, destroy: $crate::cffi::user::mcplink_destroy_fn,)?
            $($out: *mut *mut $made,)?
            err: *mut *mut $crate::cffi::error::mcplink_error_t,
        ) -> $crate::cffi::status::mcplink_status_t {
            $(let $user = $crate::cffi::user::UserData::new($user, destroy);)?
            // SAFETY: the header requires objects of this library, valid arguments, and pointers
            // that can be written to.
            unsafe {
                $crate::cffi::entry::ffi(err, || {
                    $($crate::cffi::entry::clear($out)?;)?
                    let $this = $find($this, stringify!($this))?;
                    let _made = $body;
                    $($out.write(_made);)?
                    Ok($crate::cffi::status::mcplink_status::MCPLINK_OK)
                })
            }
        }
    )*};
}
