//! The callback that sees the messages of a connection.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::arg;
use super::user::{Hook, call_back};
use crate::cffi::user::Callback;
use crate::transport::{Direction, Tap, Tapped, Transport};

/// The direction of a message, as seen from this process.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_direction {
    /// The message comes from the peer.
    MCPLINK_DIRECTION_INCOMING = 2001,
    /// The message goes to the peer.
    MCPLINK_DIRECTION_OUTGOING = 2002,
}

/// Receives each message of a connection, unchanged: for logs and traces.
///
/// Each direction is shown in its order. An outgoing message is shown just before it is sent, so a
/// request is shown before its answer. The function runs on the threads that send and receive, also
/// with a pump: for one incoming and one outgoing message at once, and never for two messages of
/// one direction and connection. Meanwhile no other message of that direction is sent or read. So
/// the function must return quickly, must not block, and must not use the same client or server.
/// Messages may contain secrets of users.
///
/// direction: whether the message comes from the peer or goes to it.
/// text, len: the message, which is valid until the function returns and does not end in NUL. len
/// is 0 for a message that was dropped because it was too long.
pub type mcplink_message_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        direction: arg::mcplink_direction,
        text: *const c_char,
        len: usize,
    ),
>;

pub(super) type MessageFn = Callback<mcplink_message_fn>;

/// A function that wraps a transport in a tap. The number is that of the handle to which the
/// connection belongs. A setter stores the function, so that a program without a tap is linked
/// without its code.
pub(super) type Wrap = Arc<dyn Fn(Box<dyn Transport>, u64) -> Box<dyn Transport> + Send + Sync>;

/// Returns the function that wraps a transport in a tap with this hook.
pub(super) fn wrap(hook: Arc<Hook<MessageFn>>) -> Wrap {
    Arc::new(move |transport, owner| {
        let hook = Arc::clone(&hook);
        Box::new(Tap::new(transport, move |message| {
            show(&hook, owner, message);
        }))
    })
}

fn show(hook: &Hook<MessageFn>, owner: u64, message: &Tapped<'_>) {
    let direction = match message.direction {
        Direction::Incoming => mcplink_direction::MCPLINK_DIRECTION_INCOMING,
        Direction::Outgoing => mcplink_direction::MCPLINK_DIRECTION_OUTGOING,
    };
    let (text, len) = (message.text.as_ptr().cast(), message.text.len());
    // A panic of a callback in Rust does not keep the message from its way.
    // SAFETY: the header requires a function that accepts these arguments.
    _ = call_back(owner, || unsafe {
        (hook.callback)(hook.user.ptr(), direction as i32, text, len);
    });
}
