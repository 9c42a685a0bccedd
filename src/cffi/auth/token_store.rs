//! The token store: where tokens and registrations are saved.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::Arc;

use super::settings::{invalid, mcplink_oauth_t, set};
use crate::cffi::actions::actions;
use crate::cffi::client::mcplink_token_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::mcplink_str_t;
use crate::cffi::user::Callback;
use crate::cffi::user::Hook;
use crate::transport::sys::command::text_from_c;

/// Loads the content that was saved last under a name, and returns the content with
/// mcplink_token_set. If nothing is saved, the function does not call mcplink_token_set. The
/// function runs on threads that make calls and on threads that log in, possibly on several threads
/// at once.
///
/// name: the name, which contains no secret; valid until the callback returns.
/// Returns: MCPLINK_OK. Any other status means that the content can't be read: the call that needs
/// the content fails with MCPLINK_E_AUTH.
pub type mcplink_store_load_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        name: mcplink_str_t,
        content: *mut mcplink_token_t,
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

type LoadFn = Callback<mcplink_store_load_fn>;
type SaveFn = Callback<mcplink_store_save_fn>;
type RemoveFn = Callback<mcplink_store_remove_fn>;

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
    pub(super) load: LoadFn,
    pub(super) save: SaveFn,
    pub(super) remove: RemoveFn,
}

actions! {
    /// oauth: the settings.
    set(oauth: mcplink_oauth_t);

    /// Sets the folder in which tokens and registrations are saved, in files that only their owner
    /// may read. Processes that share a folder renew tokens one after the other. Default: tokens
    /// are stored in memory only.
    ///
    /// folder: the path of the folder, in UTF-8 on Windows. The folder is created with mode 0700
    /// when a client is opened. Opening fails if the folder belongs to another user, or if other
    /// users may write to it. NULL to store tokens in memory.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
    fn mcplink_oauth_set_store_folder(folder: *const c_char) {
        oauth.store = if folder.is_null() {
            TokenStore::Memory
        } else {
            let path = text_from_c(CStr::from_ptr(folder).to_bytes());
            let path = path.ok_or_else(|| invalid("folder is no UTF-8"))?;
            TokenStore::Folder(PathBuf::from(path))
        };
    }

    /// Sets the functions of the host that save and load tokens and registrations, for example in
    /// the key chain of the system. Default: tokens are stored in memory only.
    ///
    /// load, save, remove: all three functions; or NULL for all three, to store tokens in memory.
    /// user, destroy: passed to the functions; destroy runs when the store is replaced, or when all
    /// settings, options and clients that use the store are freed.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when only some of the functions are set. Blocks:
    /// no. Since 0.1.
    fn mcplink_oauth_set_store(
        load: mcplink_store_load_fn,
        save: mcplink_store_save_fn,
        remove: mcplink_store_remove_fn; user
    ) {
        let functions = match (load, save, remove) {
            (None, None, None) => None,
            (Some(load), Some(save), Some(remove)) => Some(Functions { load, save, remove }),
            _ => {
                return Err(
                    invalid("load, save and remove go together: all of them or none").into(),
                );
            }
        };
        oauth.store = Hook::new(functions, user).map_or(TokenStore::Memory, TokenStore::Host);
    }
}
