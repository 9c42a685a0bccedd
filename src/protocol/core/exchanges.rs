//! Exchange transports: each request has its own exchange, and the thread that waits for the answer
//! processes the exchange's messages.
//!
//! The [`ExchangeTransport`] sends each request in an exchange. Notifications and answers of this
//! side have no exchange: the transport's function `post` sends them. If a sending thread has to
//! know whether its notification arrived, the thread calls `post` itself. Other notifications, and
//! all answers, go through the writer in order.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::super::cancel::CancelToken;
use super::super::log::{LogHook, LogLevel, tell};
use super::super::outgoing::Waiter;
use super::super::peer::Peer;
use super::Core;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::RequestId;
use crate::transport::clock::after;
use crate::transport::exchange_transport::{
    CancelHandle, ExchangeOutcome, ExchangeTransport, Listening, StartedExchange,
};
use crate::transport::{Received, Sender, SessionMessage};

/// The sender of the writer on an exchange transport. The sender posts one message after the other.
pub(in crate::protocol) struct Posting {
    pub(in crate::protocol) exchange_transport: Arc<dyn ExchangeTransport>,
    /// How long the peer may take to accept one posted message.
    pub(in crate::protocol) patience: Duration,
    pub(in crate::protocol) log: Option<LogHook>,
}

impl Sender for Posting {
    /// Posts the messages. A message that cannot be posted is logged. The connection continues,
    /// because the next message may arrive.
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        while let Some(message) = queue.pop_front() {
            // A message that is interrupted is lost, so each gets its full time. The deadline
            // applies only when the connection ends.
            let until = if self.exchange_transport.has_stopped() {
                deadline
            } else {
                deadline.max(after(self.patience))
            };
            // Posting calls host code, which may panic.
            let cancel_handle = CancelHandle::until(Some(until));
            let post = AssertUnwindSafe(|| self.exchange_transport.post(&message, &cancel_handle));
            let posted = catch_unwind(post).unwrap_or_else(|_| {
                let text = "code of the host that runs for each request panicked";
                Err(Error::new(ErrorKind::Io, text))
            });
            if let Err(error) = posted {
                tell(self.log.as_ref(), LogLevel::Warning, "transport", || {
                    format!("a message was lost: {error}")
                });
            }
            if !queue.is_empty() && Instant::now() >= deadline {
                let text = "messages wait to be posted";
                return Err(Error::new(ErrorKind::Timeout, text));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Posting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Posting")
            .field(&self.exchange_transport)
            .finish()
    }
}

impl Core {
    /// Returns the exchange transport of the connection, if the connection has one.
    pub(crate) fn exchange_transport(&self) -> Option<&Arc<dyn ExchangeTransport>> {
        self.exchange_transport.as_ref()
    }

    /// Processes a message that arrived while this thread waits for an answer. If the message is
    /// progress for this thread's own call, `reader` stores the progress.
    pub(in crate::protocol) fn take_carried(
        self: &Arc<Self>,
        received: Received,
        reader: Option<&mut Waiter>,
    ) {
        let Some(taken) = self.take(received) else {
            return;
        };
        // Progress of one call may arrive on several streams at once. Progress in the channel is
        // older. So the caller stores progress itself only if the channel is empty.
        let reader = reader.filter(|reader| reader.channel.is_empty());
        self.dispatch(taken, reader);
    }

    /// Starts the exchange of a request whose outcome goes to a callback. `on_end` gets the outcome
    /// of the exchange; it must neither block nor run user code.
    pub(in crate::protocol) fn start_exchange(
        self: &Arc<Self>,
        request: SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        on_end: impl FnOnce(Result<ExchangeOutcome>) + Send + 'static,
    ) -> Result<()> {
        let number = request.related.as_ref().and_then(RequestId::as_i64);
        let (Some(exchange_transport), Some(id)) = (self.exchange_transport.clone(), number) else {
            let text = "only a request of ours has a way of its own";
            return Err(Error::new(ErrorKind::State, text));
        };
        let core = Arc::clone(self);
        exchange_transport.start(StartedExchange {
            request,
            cancel_handle: Arc::clone(cancel_handle),
            deliver: Box::new(move |received| {
                core.take_carried(received, None);
                match core.engine().calls.is_owed(id) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            }),
            on_end: Box::new(on_end),
        })
    }

    /// Makes a thread of the connection receive the messages that belong to no call.
    ///
    /// Blocks until this side knows whether the peer has a stream for these messages. Blocks at
    /// most for `patience`, or until `cancel` is cancelled.
    pub(crate) fn listen(self: &Arc<Self>, patience: Duration, cancel: Option<&CancelToken>) {
        let Some(exchange_transport) = self.exchange_transport.clone() else {
            return;
        };
        let (settled, wait) = mpsc::channel();
        let waker = settled.clone();
        let _nudge = cancel.map(|token| token.on_trigger(move || _ = waker.send(())));
        let core = Arc::clone(self);
        self.run_own(move || {
            let mut on_event = |on_event| match on_event {
                Listening::Settled => _ = settled.send(()),
                Listening::Refused {
                    error,
                    is_new,
                    was_open,
                } => {
                    if is_new {
                        core.log(LogLevel::Warning, || {
                            format!(
                                "nothing is heard beside calls until there is a stream: {error}"
                            )
                        });
                    }
                    if was_open {
                        core.handlers.say_unheard(&error);
                    }
                }
                Listening::Back => {
                    core.log(LogLevel::Info, || {
                        let peer = core.peer();
                        format!("the stream of '{peer}' is back: changes may have been missed")
                    });
                    core.handlers.say_heard_again(&Peer::new(Arc::clone(&core)));
                }
            };
            let listened = exchange_transport.listen(&mut on_event, &mut |received| {
                core.take_carried(received, None);
                ControlFlow::Continue(())
            });
            if let Err(error) = listened {
                core.log(LogLevel::Warning, || {
                    format!("nothing can be heard beside calls: {error}")
                });
            }
        });
        // A timeout is harmless: messages of this side wait for the stream, or are lost with the
        // stream.
        _ = wait.recv_timeout(patience);
    }

    /// Switches to the older HTTP+SSE transport, where all messages arrive on one stream. When the
    /// stream ends, the connection ends.
    ///
    /// Blocks until the stream is open, at most for `patience`, or until `cancel` is cancelled.
    pub(crate) fn fall_back(
        self: &Arc<Self>,
        patience: Duration,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        let Some(exchange_transport) = self.exchange_transport.clone() else {
            let text = "there is no older form of this transport";
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        let cancel_handle = CancelHandle::until(None);
        let (settled, wait) = mpsc::channel();
        let waker = settled.clone();
        let _nudge = cancel.map(|token| {
            token.on_trigger(move || {
                let text = "cancelled while the server's stream was opened";
                _ = waker.send(Err(Error::new(ErrorKind::Cancelled, text).sent(true)));
            })
        });
        let (core, own) = (Arc::clone(self), Arc::clone(&cancel_handle));
        self.run_own(move || {
            let mut is_open = false;
            let fell = exchange_transport.fall_back(
                &own,
                &mut || {
                    is_open = true;
                    _ = settled.send(Ok(()));
                },
                &mut |received| {
                    core.take_carried(received, None);
                    ControlFlow::Continue(())
                },
            );
            match fell {
                Err(error) if is_open => core.end(&error.with_kind(ErrorKind::Closed)),
                Err(error) => _ = settled.send(Err(error)),
                Ok(()) => {}
            }
        });
        let outcome = wait.recv_timeout(patience).unwrap_or_else(|_| {
            let text = format!(
                "'{}' did not say within {} where messages go",
                self.peer(),
                Span(patience)
            );
            Err(Error::new(ErrorKind::Timeout, text).sent(true))
        });
        // After an error no thread waits for the stream any more.
        outcome.inspect_err(|_| cancel_handle.end())
    }
}
