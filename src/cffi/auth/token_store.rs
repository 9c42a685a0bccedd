//! The token store: where tokens and registrations are saved.

use std::ffi::c_void;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cffi::output::mcplink_output_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::mcplink_str_t;
use crate::cffi::user::{Callback, Hook};

/// Loads the content that was saved last under a name. The function runs on threads that make calls
/// and on threads that log in, possibly on several threads at once.
///
/// name: the name, which contains no secret; valid until the callback returns.
/// content: receives the content by mcplink_output_set. Without a call nothing is saved.
/// Returns: MCPLINK_OK. Any other status means that the content can't be read: the call that needs
/// the content fails with MCPLINK_E_AUTH.
pub type mcplink_store_load_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        name: mcplink_str_t,
        content: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;

/// Saves content under a name, atomically: the new content replaces the earlier content completely
/// or not at all. For threads see mcplink_store_load_fn.
///
/// name: the name, which contains no secret; valid until the callback returns.
/// content: JSON text with secret tokens and keys; valid until the callback returns.
/// Returns: MCPLINK_OK. Any other status means that the content can't be saved: the library then
/// stores the content in memory only.
pub type mcplink_store_save_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        name: mcplink_str_t,
        content: mcplink_str_t,
    ) -> mcplink_status_t,
>;

/// Removes the content that is saved under a name. A missing name is not an error. For threads see
/// mcplink_store_load_fn.
///
/// name: the name; valid until the callback returns.
/// Returns: MCPLINK_OK; any other status if the content could not be removed.
pub type mcplink_store_remove_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, name: mcplink_str_t) -> mcplink_status_t>;

/// The kind of the token store.
#[derive(Clone, Default)]
pub(super) enum TokenStore {
    #[default]
    Memory,
    Folder(PathBuf),
    Host(Arc<Hook<Functions>>),
}

#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) load: Callback<mcplink_store_load_fn>,
    pub(super) save: Callback<mcplink_store_save_fn>,
    pub(super) remove: Callback<mcplink_store_remove_fn>,
}
