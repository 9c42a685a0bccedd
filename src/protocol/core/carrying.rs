//! Transports on which each request has a way of its own: the thread that waits for the answer takes in what comes.
//!
//! Requests go by the [`Carrier`]. All else that this side sends, notifications and answers, is posted: by the thread that sends it where
//! it has to know whether it arrived, else through the outbox, in order, by whoever writes.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::super::cancel::CancelToken;
use super::super::log::{LogHook, LogLevel, tell};
use super::super::outgoing::{Outcome, There, Waiter};
use super::super::peer::Peer;
use super::routing::Taken;
use super::{Core, STANDING, Standing};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::RequestId;
use crate::transport::carrier::{Carrier, Listening, Ticket};
use crate::transport::clock::after;
use crate::transport::{Received, Sender, SessionMessage};

/// The outbox's sender: posts one message after the other.
pub(super) struct Posting {
    pub(super) carrier: Arc<dyn Carrier>,
    /// How long a peer may take to accept one message.
    pub(super) patience: Duration,
    pub(super) log: Option<LogHook>,
}

impl Sender for Posting {
    /// What does not arrive is told to the host: the connection lives on, since the next message may.
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        while let Some(message) = queue.pop_front() {
            // One that is cut off is lost, so each has its time: the deadline counts when the connection ends.
            let until = if self.carrier.has_stopped() {
                deadline
            } else {
                deadline.max(after(self.patience))
            };
            // What it asks of the host may panic.
            let post = AssertUnwindSafe(|| self.carrier.post(&message, Some(until)));
            let posted = catch_unwind(post).unwrap_or_else(|_| {
                let text = "what the host does for each request panicked";
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
        f.debug_tuple("Posting").field(&self.carrier).finish()
    }
}

impl Core {
    /// What carries requests, on a transport where each has a way of its own.
    pub(crate) fn carrier(&self) -> Option<&Arc<dyn Carrier>> {
        self.carrier.as_ref()
    }

    /// Takes in what came while this thread waits for an answer. A caller keeps its own progress.
    pub(in crate::protocol) fn take_carried(
        self: &Arc<Self>,
        received: Received,
        reader: Option<&mut Waiter>,
    ) {
        let outer = STANDING.replace(Standing::Reading(self.address()));
        let taken = self.take(received);
        STANDING.set(outer);
        let Some(taken) = taken else { return };
        let asks_nothing = matches!(taken, Taken::Progress(..));
        // Progress of the same call may come by several streams at once: what is in the slot came before.
        let reader = reader.filter(|reader| reader.slot.look() == There::Nothing);
        self.hand_on(taken, reader);
        if asks_nothing {
            return;
        }
        if self.engine().outbox.is_due(false) {
            let hands = self.engine().crew.want_flush();
            self.provide(hands);
        }
    }

    /// Sends a request that nobody waits for, on a thread of the connection, which takes in what comes until its outcome is there.
    pub(in crate::protocol) fn start_exchange(
        self: &Arc<Self>,
        message: SessionMessage,
        ticket: &Arc<Ticket>,
    ) -> Result<()> {
        let number = message.related.as_ref().and_then(RequestId::as_i64);
        let (Some(carrier), Some(id)) = (self.carrier.clone(), number) else {
            let text = "only a request of ours has a way of its own";
            return Err(Error::new(ErrorKind::State, text));
        };
        let (core, ticket) = (Arc::clone(self), Arc::clone(ticket));
        let hands = self.engine().crew.push_own(Box::new(move || {
            let carried = carrier.exchange(&message, &ticket, &mut |received| {
                core.take_carried(received, None);
                if core.engine().calls.is_owed(id) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            });
            if let Err(error) = carried {
                // Unless it was given up, or answered by another way.
                _ = core.complete(&RequestId::from(id), Outcome::Failed(error));
            }
        }));
        self.provide(hands);
        Ok(())
    }

    /// Starts to take in what belongs to no call, on a thread of the connection. Waits until it is clear whether there will be any, at
    /// most for `patience`, and until `cancel` is triggered.
    pub(crate) fn listen(self: &Arc<Self>, patience: Duration, cancel: Option<&CancelToken>) {
        let Some(carrier) = self.carrier.clone() else {
            return;
        };
        let (settled, wait) = mpsc::channel();
        let waker = settled.clone();
        let _nudge = cancel.map(|token| token.on_trigger(move || _ = waker.send(())));
        let core = Arc::clone(self);
        let hands = self.engine().crew.push_own(Box::new(move || {
            let mut news = |news| match news {
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
            let listened = carrier.listen(&mut news, &mut |received| {
                core.take_carried(received, None);
                ControlFlow::Continue(())
            });
            if let Err(error) = listened {
                core.log(LogLevel::Warning, || {
                    format!("nothing can be heard beside calls: {error}")
                });
            }
        }));
        self.provide(hands);
        // Nothing depends on it: what the server says meanwhile waits for the stream, or is lost with it.
        _ = wait.recv_timeout(patience);
    }

    /// Speaks the first transport of this kind from now on, on which everything comes by one stream: its end is that of the connection.
    /// Waits for that stream, at most for `patience`, and until `cancel` is triggered.
    pub(crate) fn fall_back(
        self: &Arc<Self>,
        patience: Duration,
        cancel: Option<&CancelToken>,
    ) -> Result<()> {
        let Some(carrier) = self.carrier.clone() else {
            let text = "there is no older form of this transport";
            return Err(Error::new(ErrorKind::Unsupported, text));
        };
        let ticket = Ticket::until(None);
        let (settled, wait) = mpsc::channel();
        let waker = settled.clone();
        let _nudge = cancel.map(|token| {
            token.on_trigger(move || {
                let text = "cancelled while the server's stream was opened";
                _ = waker.send(Err(Error::new(ErrorKind::Cancelled, text).sent(true)));
            })
        });
        let (core, own) = (Arc::clone(self), Arc::clone(&ticket));
        let hands = self.engine().crew.push_own(Box::new(move || {
            let mut is_open = false;
            let fell = carrier.fall_back(
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
        }));
        self.provide(hands);
        let outcome = wait.recv_timeout(patience).unwrap_or_else(|_| {
            let text = format!(
                "'{}' did not say within {} where messages go",
                self.peer(),
                Span(patience)
            );
            Err(Error::new(ErrorKind::Timeout, text).sent(true))
        });
        // Nobody waits for the stream any more.
        outcome.inspect_err(|_| ticket.end())
    }
}
