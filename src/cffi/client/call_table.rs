//! The calls of a client, written as tables.
//!
//! ```ignore
//! calls! {
//!     ///
//!     client: mcplink_client_t;
//!
//!     /// Reads a resource.
//!     ///
//!     /// uri: the URI of the resource.
//!     /// options, out, err: see mcplink_client_call_tool. The result is {"contents":[...]}.
//!     fn mcplink_client_read_resource(uri: *const c_char) -> mcplink_result_t {
//!         let uri = name(uri, "uri")?.to_owned();
//!         Ok(Request::new(method::RESOURCES_READ, move |client, options| {
//!             client.prepare_resource(&uri, options, read(method::RESOURCES_READ))
//!         }))
//!     }
//!     /// Starts to read a resource without waiting: the non-blocking form of
//!     /// mcplink_client_read_resource.
//!     start mcplink_client_read_resource_start;
//! }
//! ```
//!
//! Each entry becomes two exported functions: one that waits for the result of the call, and one
//! that starts the call. The body makes the [`Request`](super::calling::Request), from the client
//! and the arguments of C, which is unsafe code. An entry without `-> mcplink_result_t`
//! has no parameter `out`.
//!
//! cbindgen does not expand macros, so `header/tables.rs` does it for the header.

macro_rules! calls {
    (
        $client:ident: $object:ident;
        $(
            $(#[$comment:meta])*
            fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block
            $(#[$start_comment:meta])*
            start $start:ident;
        )*
    ) => {$(
        $(#[$comment])*
        #[must_use]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            client: *mut $object,
            $($argument: $type,)*
            options: *const $crate::cffi::client::call_options::mcplink_call_options_t,
            $(out: *mut *mut $result,)?
            err: *mut *mut $crate::cffi::error::mcplink_error_t,
        ) -> $crate::cffi::status::mcplink_status_t {
            let out: &[*mut *mut $crate::cffi::result::mcplink_result_t] =
                &[$(out as *mut *mut $result)?];
            let out = out.first().copied();
            // SAFETY: the header requires valid arguments.
            unsafe {
                $crate::cffi::client::calling::call(client, options, out, err, |$client| {
                    _ = $client;
                    $body
                })
            }
        }

        $(#[$start_comment])*
        #[must_use]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $start(
            client: *mut $object,
            $($argument: $type,)*
            options: *const $crate::cffi::client::call_options::mcplink_call_options_t,
            callback: $crate::cffi::client::call::mcplink_done_fn,
            user: *mut std::ffi::c_void,
            destroy: $crate::cffi::user::mcplink_destroy_fn,
            out: *mut *mut $crate::cffi::client::call::mcplink_call_t,
            err: *mut *mut $crate::cffi::error::mcplink_error_t,
        ) -> $crate::cffi::status::mcplink_status_t {
            let done = (callback, user, destroy);
            // SAFETY: the header requires valid arguments.
            unsafe {
                $crate::cffi::client::call::start(client, options, done, out, err, |$client| {
                    _ = $client;
                    $body
                })
            }
        }
    )*};
}
