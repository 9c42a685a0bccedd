//! Cancel tokens. One token can cancel many calls.

use super::entry::{Outcome, value};
use super::handle::{Gate, Handled, enter, free_handle, into_raw, visit};
use crate::cffi::handle::entering;
use crate::protocol::CancelToken;

/// A cancel token: cancels the calls that use it, from any thread. For example, a host triggers the
/// token when the user presses Escape. One token may be used by many calls.
pub struct mcplink_cancel_t {
    gate: Gate,
    token: CancelToken,
}

handle!(mcplink_cancel_t is Cancel);

impl Handled for mcplink_cancel_t {
    /// Does nothing: freeing the token does not cancel the calls that use the token.
    fn close(&self) {}
}

/// Returns the cancel token behind a pointer that C passes; `None` for NULL.
///
/// # Safety
///
/// `cancel` is NULL or a live token.
pub(super) unsafe fn optional_token(
    cancel: *const mcplink_cancel_t,
) -> Outcome<Option<CancelToken>> {
    if cancel.is_null() {
        return Ok(None);
    }
    // SAFETY: the safety contract of this function.
    let cancel = unsafe { enter(cancel, "cancel") }?;
    Ok(Some(cancel.token.clone()))
}

/// Makes a cancel token that is not triggered.
///
/// Returns: the token. The caller owns it and frees it with mcplink_cancel_free, which is allowed
/// while calls use the token. NULL after an internal error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_cancel_new() -> *mut mcplink_cancel_t {
    value(std::ptr::null_mut(), || {
        into_raw(mcplink_cancel_t {
            gate: Gate::new(),
            token: CancelToken::new(),
        })
    })
}

actions! {
    entering(cancel: mcplink_cancel_t);

    /// Triggers a token permanently. Calls that use the token end with MCPLINK_E_CANCELLED, and
    /// their servers are notified. Later calls with this token fail, and are not sent.
    ///
    /// Returns: MCPLINK_OK, also when the token was triggered before.
    /// Threads: any, but no signal handler.
    fn mcplink_cancel_trigger() {
        cancel.token.cancel();
    }
}

getters! {
    visit(cancel: mcplink_cancel_t);

    /// Checks whether a token was triggered.
    ///
    /// Returns: true if the token was triggered.
    fn mcplink_cancel_is_triggered() -> bool {
        cancel.token.is_triggered()
    }
}

/// Frees a token. Calls that use the token continue. If the token was not triggered, these calls
/// can no longer be cancelled through the token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_cancel_free(cancel: *mut mcplink_cancel_t) {
    // SAFETY: the header requires a token of this library, freed once.
    unsafe { free_handle(cancel) }
}
