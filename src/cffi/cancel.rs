//! One token for many calls: "the user pressed Escape".

use super::entry::{Outcome, plain, value};
use super::handle::{Gate, Handled, enter, free_handle, hand_out};
use super::status::{mcplink_status, mcplink_status_t};
use crate::protocol::CancelToken;

/// Ends calls that were given it, from any thread: "the user pressed Escape". One token may serve many calls.
pub struct mcplink_cancel_t {
    gate: Gate,
    token: CancelToken,
}

impl Handled for mcplink_cancel_t {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The calls that were given it go on.
    fn close(&self) {}
}

/// The token behind a pointer that C passes; NULL for none.
///
/// # Safety
///
/// `cancel` is NULL or a token that lives.
pub(super) unsafe fn optional_token(
    cancel: *const mcplink_cancel_t,
) -> Outcome<Option<CancelToken>> {
    if cancel.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises the same.
    let cancel = unsafe { enter(cancel, "cancel") }?;
    Ok(Some(cancel.token.clone()))
}

/// Makes a token that is not triggered.
///
/// Returns: the token, the caller's to free; it may be freed while calls that were given it go on. NULL when there is no memory for it.
/// Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_cancel_new() -> *mut mcplink_cancel_t {
    value(std::ptr::null_mut(), || {
        hand_out(mcplink_cancel_t {
            gate: Gate::new(),
            token: CancelToken::new(),
        })
    })
}

/// Triggers a token, once and for all: calls that were given it end with MCPLINK_E_CANCELLED, and those that are given it later are not sent.
/// Their servers are told.
///
/// cancel: the token.
/// Returns: MCPLINK_OK, when it was triggered before too. Threads: any, but no signal handler. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_cancel_trigger(cancel: *mut mcplink_cancel_t) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that it is a token of ours.
        unsafe { enter(cancel, "cancel") }?.token.trigger();
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Whether a token was triggered.
///
/// cancel: NULL for false.
/// Returns: true if so. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_cancel_is_triggered(cancel: *const mcplink_cancel_t) -> bool {
    value(false, || {
        // SAFETY: the header says that it is a token of ours.
        let cancel = unsafe { enter(cancel, "cancel") };
        cancel.is_ok_and(|cancel| cancel.token.is_triggered())
    })
}

/// Frees a token. Calls that were given it go on, and can't be ended by it any more unless it was triggered.
///
/// cancel: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_cancel_free(cancel: *mut mcplink_cancel_t) {
    // SAFETY: the header says that it is a token of ours, freed once.
    unsafe { free_handle(cancel) }
}
