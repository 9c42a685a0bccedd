//! The event bus: passes changes between the processes of one server.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::mcplink_server_t;
use super::settings::mcplink_server_options_t;
use crate::cffi::handle::entering;
use crate::cffi::refusal::set;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, missing, optional};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::server::{Deliver, EventBus};

/// Passes an event to the other processes of a server. There, the host calls mcplink_server_deliver
/// with the event. An event is a short text, which only servers of this library read.
///
/// The function runs on the thread that makes the change, also with a pump, and on several threads
/// at once. So it should only queue the event, and never wait for the network.
///
/// event: the event; valid until the callback returns.
/// Returns: MCPLINK_OK. Any other status means that the other processes will not get the event,
/// which the server logs. The host should call mcplink_server_deliver with NULL there as soon as it
/// can reach them.
pub type mcplink_event_publish_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, event: mcplink_str_t) -> mcplink_status_t,
>;

type PublishFn = Callback<mcplink_event_publish_fn>;

/// The event bus of the host, for one server.
struct HostBus {
    hook: Arc<Hook<PublishFn>>,
    /// The number of the server's handle.
    owner: u64,
}

impl EventBus for HostBus {
    fn publish(&self, event: &str) -> Result<()> {
        let event = Text::from(event);
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (self.hook.callback)(self.hook.user.ptr(), event.view())
        });
        if status != Some(mcplink_status::MCPLINK_OK.code()) {
            let text = "the callback of mcplink_server_options_set_event_bus failed";
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(())
    }

    /// The host delivers with `mcplink_server_deliver`.
    fn subscribe(&self, _: Deliver) -> Result<Box<dyn Send + Sync>> {
        Ok(Box::new(()))
    }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets the function by which a server tells its other processes of changes: updates of
    /// resources, and changes of lists. All processes are expected to offer the same lists.
    /// Default: none, so only the clients of this process are notified of its changes.
    ///
    /// callback: see mcplink_event_publish_fn. NULL is refused.
    /// user, destroy: passed to callback; destroy runs when the function is replaced, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_set_event_bus(callback: mcplink_event_publish_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        options.unset("event_bus");
        options.add_for("event_bus", move |builder, owner| {
            let hook = Arc::clone(&hook);
            builder.event_bus(HostBus { hook, owner })
        });
    }
}

actions! {
    entering(server: mcplink_server_t);

    /// Takes an event that another process of this server has published with the function of
    /// mcplink_server_options_set_event_bus, and notifies the clients. The function only queues, so
    /// it may be called from any thread. An event that is delivered twice causes one needless
    /// notification.
    ///
    /// event: the event. NULL when events may have been lost, for example because a connection was
    /// broken: then each client is told that everything it has subscribed to has changed.
    /// Returns: MCPLINK_OK.
    fn mcplink_server_deliver(event: *const c_char) {
        server.server.deliver(optional(event, "event")?);
    }
}
