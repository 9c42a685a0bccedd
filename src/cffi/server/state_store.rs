//! The state store: remembers which request states clients have presented.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::settings::mcplink_server_options_t;
use crate::cffi::refusal::set;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, missing};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::server::StateStore;

/// The name of the setting. Only one state store can be set.
pub(super) const STATE_STORE: &str = "state_store";

/// Records that a client presents a request state, and says whether the state is presented for the
/// first time. Of two concurrent calls for one id, only one may say so: a database does this with
/// "set if absent, with a time to live".
///
/// The function runs on the thread of the client's call, which waits for it, and on several threads
/// at once, also with a pump.
///
/// client: text that identifies the principal. Without a principal, the text identifies the
/// session, address or connection. A store with a capacity can use it to keep one client from
/// filling the store. Valid until the callback returns.
/// id: the id of the state: 32 letters, digits, '-' and '_'; valid until the callback returns.
/// lifetime_ms: how long the id has to be remembered, in milliseconds. The state has expired
/// afterwards.
/// is_first: receives true if the state is presented for the first time. It is false before, and a
/// state for which it stays false is refused.
/// Returns: MCPLINK_OK. Any other status means that the store can't tell: the state is then
/// refused.
pub type mcplink_state_claim_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        client: mcplink_str_t,
        id: mcplink_str_t,
        lifetime_ms: u64,
        is_first: *mut bool,
    ) -> mcplink_status_t,
>;

type ClaimFn = Callback<mcplink_state_claim_fn>;

/// The state store of the host, for one server.
struct HostStore {
    hook: Arc<Hook<ClaimFn>>,
    /// The number of the server's handle.
    owner: u64,
}

impl StateStore for HostStore {
    fn claim(&self, id: &str, lifetime: Duration) -> Result<bool> {
        self.claim_for("", id, lifetime)
    }

    fn claim_for(&self, client: &str, id: &str, lifetime: Duration) -> Result<bool> {
        let (client, id) = (Text::from(client), Text::from(id));
        let lifetime = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        // Not a `bool`: a host in another language may write any byte.
        let mut is_first = 0_u8;
        let out: *mut bool = (&raw mut is_first).cast();
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (self.hook.callback)(
                self.hook.user.ptr(),
                client.view(),
                id.view(),
                lifetime,
                out,
            )
        });
        if status != Some(mcplink_status::MCPLINK_OK.code()) {
            let text = "the state store can't tell whether it was presented before";
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(is_first == 1)
    }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets the store of the host that makes each request state usable only once (replay
    /// protection), for servers that several processes serve. A store in the memory of one process
    /// is set with mcplink_server_options_set_single_use_state. Each of these two functions
    /// replaces the store that was set with the other one. Default: no store.
    ///
    /// callback: see mcplink_state_claim_fn. NULL is refused: to have no store, call
    /// mcplink_server_options_set_single_use_state with false.
    /// user, destroy: passed to callback; destroy runs when the store is replaced, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_set_state_store(callback: mcplink_state_claim_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        options.unset(STATE_STORE);
        options.add_for(STATE_STORE, move |builder, owner| {
            let hook = Arc::clone(&hook);
            builder.state_store(HostStore { hook, owner })
        });
    }
}
