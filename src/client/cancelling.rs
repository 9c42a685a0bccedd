//! Connecting that can be given up from another thread.
//!
//! What waits for the server during an opening heeds the token by itself. Some waits can't: a transport that is being opened, the lookup of
//! a name, the making of a TCP connection. So the opening has a thread of its own, which is left behind when it stays in one of these.
//!
//! **Threads.** `mcplink-connect`, for one opening. It ends with it, at the latest when the wait that can't be interrupted does, and closes
//! what nobody wants any more. Joined unless it was left behind.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc;
use std::time::Duration;

use super::link::Link;
use super::{Client, ClientBuilder};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::CancelToken;
use crate::transport::{Stack, Transport};

/// How long a cancelled opening may take to end the server before it is left behind: a child is reaped in a fraction of it.
const PATIENCE: Duration = Duration::from_secs(1);

enum News {
    Cancelled,
    /// What came of the opening, or its panic. A client that nobody takes closes when it is dropped.
    Done(std::thread::Result<Result<Client>>),
}

/// Connects, until the token is triggered.
pub(super) fn connect(
    settings: ClientBuilder,
    transport: Box<dyn Transport>,
    token: &CancelToken,
) -> Result<Client> {
    if token.is_triggered() {
        return Err(cancelled());
    }
    let (sender, news) = mpsc::channel();
    let (teller, heeded) = (sender.clone(), token.clone());
    let threads = settings.threads.clone();
    let thread = threads.start("connect", Stack::Large, move || {
        // A transport may be the host's: its panic is the caller's.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            Link::open(settings, transport, Some(heeded)).map(Client::new)
        }));
        // It fails when this thread was left behind.
        _ = teller.send(News::Done(opened));
    })?;
    let _told = token.on_trigger(move || _ = sender.send(News::Cancelled));
    let done = match news.recv() {
        Ok(News::Done(done)) => done,
        Ok(News::Cancelled) => match news.recv_timeout(PATIENCE) {
            // It came about just now, but is not wanted any more.
            Ok(News::Done(Ok(done))) => Ok(done.and_then(|unwanted| {
                unwanted.0.link.close_at_once();
                Err(cancelled())
            })),
            Ok(News::Done(panicked)) => panicked,
            _ => return Err(cancelled()),
        },
        Err(mpsc::RecvError) => return Err(cancelled()),
    };
    // It has said its last word, and its panic was caught.
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
