//! Where tokens and registrations are kept.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::settings::{invalid, mcplink_oauth_t, set};
use crate::cffi::client::mcplink_token_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::mcplink_str_t;
use crate::cffi::user::{Hook, UserData, mcplink_destroy_fn};

/// Gives what was saved last under a name, with mcplink_token_set; without that nothing is kept there. name: names no secret; valid until it
/// returns. Returns: MCPLINK_OK; anything else when it can't be read, and the call that needs it fails with MCPLINK_E_AUTH. Runs on threads
/// that make calls and on those that log in, possibly on several at once.
pub type mcplink_store_load_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        name: mcplink_str_t,
        content: *mut mcplink_token_t,
    ) -> mcplink_status_t,
>;

/// Keeps content in the place of what was kept under a name: whole or not at all. content: JSON text with tokens and keys in it: whoever has it
/// is let in. Both are valid until it returns. Returns: MCPLINK_OK; anything else when it can't be kept: then it holds as long as the process.
/// Where it runs: see mcplink_store_load_fn.
pub type mcplink_store_save_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        name: mcplink_str_t,
        content: mcplink_str_t,
    ) -> mcplink_status_t,
>;

/// Forgets what is kept under a name; one that is not there is no error. Returns: MCPLINK_OK; anything else when it is still there. Where it
/// runs: see mcplink_store_load_fn.
pub type mcplink_store_remove_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, name: mcplink_str_t) -> mcplink_status_t>;

type LoadFn = unsafe extern "C-unwind" fn(
    *mut c_void,
    mcplink_str_t,
    *mut mcplink_token_t,
) -> mcplink_status_t;
type SaveFn =
    unsafe extern "C-unwind" fn(*mut c_void, mcplink_str_t, mcplink_str_t) -> mcplink_status_t;
type RemoveFn = unsafe extern "C-unwind" fn(*mut c_void, mcplink_str_t) -> mcplink_status_t;

/// Where the host wants them.
#[derive(Clone, Default)]
pub(super) enum Kept {
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

/// Keeps tokens and registrations in a folder, in files that only their owner may read, for the next time. Processes that share one take turns
/// in renewing. In memory without this and mcplink_oauth_set_store.
///
/// oauth: the settings.
/// folder: a path. It is made, with mode 0700, when a client is opened; one that belongs to another user, or that others may write into, is an
/// error then. NULL for memory.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_store_folder(
    oauth: *mut mcplink_oauth_t,
    folder: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are settings of ours and text that ends in NUL.
    unsafe {
        set(oauth, "mcplink_oauth_set_store_folder", |settings| {
            settings.kept = if folder.is_null() {
                Kept::Memory
            } else {
                let path = OsStr::from_bytes(CStr::from_ptr(folder).to_bytes());
                Kept::Folder(PathBuf::from(path))
            };
            Ok(())
        })
    }
}

/// Keeps tokens and registrations where the host wants them, such as the key chain of the system.
///
/// oauth: the settings.
/// load, save, remove: all three; NULL for all three is memory.
/// user, destroy: passed to them, and ended when others are set, or when settings, options and clients that have them are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when some are there and some not. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_oauth_set_store(
    oauth: *mut mcplink_oauth_t,
    load: mcplink_store_load_fn,
    save: mcplink_store_save_fn,
    remove: mcplink_store_remove_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are settings of ours.
    unsafe {
        set(oauth, "mcplink_oauth_set_store", |settings| {
            let functions = match (load, save, remove) {
                (None, None, None) => None,
                (Some(load), Some(save), Some(remove)) => Some(Functions { load, save, remove }),
                _ => {
                    return Err(
                        invalid("load, save and remove go together: all of them or none").into(),
                    );
                }
            };
            settings.kept = Hook::new(functions, user).map_or(Kept::Memory, Kept::Host);
            Ok(())
        })
    }
}
