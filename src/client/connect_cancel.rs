//! Connecting with a cancel token.
//!
//! Most waits during connecting check the token. Opening a transport, a DNS lookup and a TCP
//! connect cannot check the token. Therefore connecting has its own thread. If an uninterruptible
//! wait blocks this thread, the caller returns without joining it.
//!
//! **Threads.** `mcplink-connect` runs one connect operation. The thread ends with the operation,
//! at the latest when the uninterruptible wait ends. If the caller has returned, the thread closes
//! the connection. The caller joins the thread unless an uninterruptible wait blocks it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

use super::handle::Client;
use super::settings::ClientSettings;
use super::supervisor::Supervisor;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::CancelToken;
use crate::transport::{Stack, Transport};

/// How long a cancelled connect may take to end the server. After this time the caller returns
/// without joining the connecting thread. Ending a child process takes a fraction of this time.
const PATIENCE: Duration = Duration::from_secs(1);

enum Event {
    Cancelled,
    /// The result of connecting, or the panic of the connecting thread. If the caller has already
    /// returned, the client is dropped, which closes the connection.
    Done(std::thread::Result<Result<Client>>),
}

/// Connects to a server on another thread. Returns early when the token is cancelled.
pub(super) fn connect(
    settings: ClientSettings,
    transport: Box<dyn Transport>,
    token: &CancelToken,
) -> Result<Client> {
    if token.is_triggered() {
        return Err(cancelled());
    }
    let (sender, events) = mpsc::channel();
    let (result_sender, cancel) = (sender.clone(), token.clone());
    let threads = settings.threads.clone();
    let thread = threads.start("connect", Stack::Large, move || {
        // The transport may belong to the host. A panic of it is resumed on the calling thread.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            Supervisor::open(settings, transport, Some(cancel)).map(Client::new)
        }));
        // Sending fails if the caller has returned without this thread.
        _ = result_sender.send(Event::Done(opened));
    })?;
    let _on_cancel = token.on_trigger(move || _ = sender.send(Event::Cancelled));
    let done = match events.recv() {
        Ok(Event::Done(done)) => done,
        Ok(Event::Cancelled) => match events.recv_timeout(PATIENCE) {
            // Connecting has just succeeded, but the connection is no longer wanted.
            Ok(Event::Done(Ok(done))) => Ok(done.and_then(|unwanted| {
                unwanted.0.supervisor.close_at_once();
                Err(cancelled())
            })),
            Ok(Event::Done(panicked)) => panicked,
            _ => return Err(cancelled()),
        },
        Err(mpsc::RecvError) => return Err(cancelled()),
    };
    // The thread has sent its result, and its panic was caught.
    _ = thread.join();
    done.unwrap_or_else(|panic| resume_unwind(panic))
        .map_err(|error| {
            if token.is_triggered() && error.kind() != ErrorKind::Cancelled {
                let error = error.context("connecting was cancelled");
                error.with_kind(ErrorKind::Cancelled)
            } else {
                error
            }
        })
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "connecting was cancelled")
}
