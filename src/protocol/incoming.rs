//! Active requests: requests of the peer that this side is serving.
//!
//! ```text
//!            accept                 answer (result, error, dropped, panic)
//!  (none) ───────────▶ open ───────────────────────────────────────────▶ answered
//!                        │  ╲ the peer cancels  ───▶ cancelled: nothing more is sent for it
//!                        ╰─── the connection ends ─▶ closed
//! ```
//!
//! **Invariant:** an exchange is in the table exactly while it is *open*. The exchange leaves
//! *open* once, under its own lock. Only the thread that changes the phase to *answered* queues the
//! answer. Any other message of the exchange is queued under that lock while the exchange is
//! *open*. So there is one response, no response after a cancel, and no progress after the response
//! or a cancel.
//!
//! **Lock order:** an exchange's lock before the outbox's lock. No thread holds the table's lock
//! together with another lock.
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock, Weak};

use super::cancel::{Callback, CancelToken};
use super::response_sink::Origin;
use crate::error::{Error, ErrorKind, Result, RpcError};
use crate::jsonrpc::{self, RequestId};
use crate::sync::Mutex;

/// A request of the peer together with all messages that answer it.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) id: RequestId,
    /// The token that is cancelled when the peer no longer waits for the answer. Created on first
    /// use, because most requests end before any code needs the token.
    cancel: OnceLock<CancelToken>,
    pub(crate) origin: Origin,
    /// The key of the exchange in the table; `None` if the key is the request id.
    number: Option<NonZeroU64>,
    // Guards the step out of *open*. Messages of the exchange are queued under this lock, so that
    // no message is queued after the step. No thread waits for room under this lock, because a
    // cancel must not wait for a peer that does not read.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    /// An object that is notified when the peer no longer waits for the answer.
    watcher: Option<Weak<dyn Watcher>>,
}

/// An observer that is notified when a long-lived request is cancelled. A watcher costs less memory
/// than a cancel token.
pub(crate) trait Watcher: Send + Sync {
    /// Notifies the watcher that the peer has cancelled the request, or that the connection is
    /// closed. The call happens in order with notification handlers.
    fn cancelled(&self);
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Open,
    Answered,
    Cancelled,
    Closed,
}

impl Phase {
    /// Returns an error if messages must not be sent in this phase.
    fn refuse(self) -> Result<()> {
        match self {
            Self::Open => Ok(()),
            Self::Answered => Err(Error::new(
                ErrorKind::State,
                "the request is answered already",
            )),
            Self::Cancelled => Err(Error::new(
                ErrorKind::Cancelled,
                "the peer cancelled the request",
            )),
            Self::Closed => Err(Error::new(ErrorKind::Closed, "the connection is closed")),
        }
    }
}

impl Exchange {
    fn new(id: RequestId, origin: Origin, number: Option<NonZeroU64>) -> Self {
        Self {
            id,
            cancel: OnceLock::new(),
            origin,
            number,
            state: Mutex::new(State {
                phase: Phase::Open,
                watcher: None,
            }),
        }
    }

    /// Registers a watcher for the cancellation of the request. Returns `false` if the exchange is
    /// no longer open.
    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) -> bool {
        let mut state = self.state.lock();
        let is_open = state.phase == Phase::Open;
        if is_open {
            state.watcher = Some(watcher);
        }
        is_open
    }

    /// Returns the token that is cancelled when the peer no longer waits for the answer.
    pub(crate) fn cancel(&self) -> &CancelToken {
        self.cancel.get_or_init(CancelToken::new)
    }

    /// Changes the phase from *open* to *answered*. Only a caller that gets `Ok` may queue the
    /// response.
    pub(crate) fn begin_answer(&self) -> Result<()> {
        self.step(Phase::Answered).map(drop)
    }

    /// If the exchange is open, runs `queue` under the lock of the exchange. So the messages that
    /// `queue` queues precede the response and a cancellation.
    pub(crate) fn while_open(&self, queue: impl FnOnce() -> Result<()>) -> Result<()> {
        let state = self.state.lock();
        state.phase.refuse()?;
        queue()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state.lock().phase == Phase::Open
    }

    /// Answers the request with `error` when the connection ends, if the request has a response
    /// sink.
    fn cut_off(&self, error: &RpcError) {
        let Some(sink) = &self.origin.sink else {
            return;
        };
        let text = jsonrpc::write_error(Some(&self.id), error);
        if let Some(text) = self.origin.completed_by(Some(text)) {
            sink.cut_off(text);
        }
    }

    /// Closes the response sink, because no more messages are sent for the request. The sink of a
    /// batch is not closed, because it also serves the other members of the batch.
    fn close_outlet(&self) {
        if let Origin {
            batch: None,
            sink: Some(sink),
            ..
        } = &self.origin
        {
            sink.close();
        }
    }

    /// Changes the phase from *open* to `to`. Returns the watcher. A caller that answers the
    /// request ignores the watcher.
    fn step(&self, to: Phase) -> Result<Option<Weak<dyn Watcher>>> {
        let mut state = self.state.lock();
        state.phase.refuse()?;
        state.phase = to;
        Ok(state.watcher.take())
    }

    /// Cancels the token, so that handlers see that the peer no longer waits for the answer.
    /// Returns the callbacks that the caller has to run.
    fn fire(&self, watcher: Option<Weak<dyn Watcher>>, reason: Option<String>) -> Vec<Callback> {
        self.close_outlet();
        let mut callbacks = self.cancel().fire(reason);
        if let Some(watcher) = watcher {
            callbacks.push(Box::new(move || {
                if let Some(watcher) = watcher.upgrade() {
                    watcher.cancelled();
                }
            }));
        }
        callbacks
    }
}

/// The table of active requests.
#[derive(Debug, Default)]
pub(crate) struct Exchanges(Mutex<Table>);

#[derive(Debug, Default)]
// Only table lookups happen under this lock. Exchanges are cancelled after the lock is released.
struct Table {
    /// One of the open exchanges. Often only one request is open at a time, and then the tree below
    /// needs no node.
    one: Option<Arc<Exchange>>,
    /// The open exchanges except the exchange in `one`, by request id.
    open: BTreeMap<RequestId, Arc<Exchange>>,
    /// The open exchanges whose request ids are not unique on this connection. The key is the
    /// number of the exchange.
    apart: BTreeMap<u64, Arc<Exchange>>,
    next: u64,
    closed: bool,
}

impl Table {
    /// Removes an exchange from the table, unless another exchange has taken its entry.
    fn remove(&mut self, exchange: &Arc<Exchange>) {
        let is_it = |held: &mut Arc<Exchange>| Arc::ptr_eq(held, exchange);
        if self.one.take_if(is_it).is_some() {
            return;
        }
        if let Some(number) = exchange.number {
            self.apart.remove(&number.get());
        } else if let Some(held) = self.open.get(&exchange.id)
            && Arc::ptr_eq(held, exchange)
        {
            self.open.remove(&exchange.id);
        }
        // A `BTreeMap` keeps a node when it becomes empty. A new map has no allocation.
        if self.open.is_empty() {
            self.open = BTreeMap::new();
        }
    }
}

/// The reason why a request was not added to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another active request uses the id of the request.
    InUse,
    /// The connection is closed, so no peer waits for an answer.
    Closed,
}

impl Exchanges {
    /// Adds a request to the table and returns the exchange of the request.
    ///
    /// # Errors
    ///
    /// The reason why the request was not added.
    pub(crate) fn open(&self, id: &RequestId, origin: &Origin) -> Result<Arc<Exchange>, Refusal> {
        let mut table = self.0.lock();
        if table.closed {
            return Err(Refusal::Closed);
        }
        if origin.apart {
            table.next += 1;
            let number = table.next;
            let counted = NonZeroU64::new(number);
            let exchange = Arc::new(Exchange::new(id.clone(), origin.clone(), counted));
            table.apart.insert(number, Arc::clone(&exchange));
            return Ok(exchange);
        }
        let is_taken = table.one.as_ref().is_some_and(|one| one.id == *id);
        if is_taken || table.open.contains_key(id) {
            return Err(Refusal::InUse);
        }
        let exchange = Arc::new(Exchange::new(id.clone(), origin.clone(), None));
        let held = Arc::clone(&exchange);
        if table.one.is_none() {
            table.one = Some(held);
        } else {
            table.open.insert(id.clone(), held);
        }
        Ok(exchange)
    }

    /// Removes a request from the table before its response is sent. From then on the peer may
    /// reuse the request id.
    pub(crate) fn forget(&self, exchange: &Arc<Exchange>) {
        self.0.lock().remove(exchange);
    }

    /// Processes the peer's cancellation of a request. Returns the exchange and the callbacks that
    /// the caller has to run. Returns `None` if the request is not active.
    pub(crate) fn cancel(
        &self,
        id: &RequestId,
        reason: Option<String>,
    ) -> Option<(Arc<Exchange>, Vec<Callback>)> {
        let mut table = self.0.lock();
        let exchange = table.one.take_if(|one| one.id == *id);
        let exchange = exchange.or_else(|| table.open.remove(id));
        drop(table);
        let exchange = exchange?;
        let watcher = exchange.step(Phase::Cancelled).ok()?;
        let callbacks = exchange.fire(watcher, reason);
        Some((exchange, callbacks))
    }

    /// Cancels a request whose client has disconnected. Returns the callbacks that the caller has
    /// to run. Returns `None` if the request had already ended.
    pub(crate) fn abandon(&self, exchange: &Arc<Exchange>, reason: &str) -> Option<Vec<Callback>> {
        self.0.lock().remove(exchange);
        let watcher = exchange.step(Phase::Cancelled).ok()?;
        Some(exchange.fire(watcher, Some(reason.to_owned())))
    }

    /// Closes every request when the connection ends, and refuses new requests. Never blocks.
    ///
    /// A request with a response sink is answered with `error`. Returns the handlers' callbacks,
    /// which the caller has to run.
    pub(crate) fn close(&self, error: &RpcError) -> Vec<Callback> {
        let mut table = self.0.lock();
        table.closed = true;
        let open = table.one.take().into_iter();
        let open = open.chain(std::mem::take(&mut table.open).into_values());
        let open = open.chain(std::mem::take(&mut table.apart).into_values());
        drop(table);
        let closed = open.filter_map(|exchange| {
            let watcher = exchange.step(Phase::Closed).ok()?;
            exchange.cut_off(error);
            Some(exchange.fire(watcher, Some("the connection is closed".to_owned())))
        });
        closed.flatten().collect()
    }
}

/// A batch: collects the responses to its members. The responses are sent together.
///
/// Spec: Base Protocol, "Batching" (2025-03-26 only).
#[derive(Debug)]
pub(crate) struct Batch(Mutex<BatchState>);

#[derive(Debug)]
struct BatchState {
    /// The number of members without an outcome.
    open: usize,
    responses: Vec<Vec<u8>>,
}

impl Batch {
    /// Creates a batch of `open` members. Each member is ended with [`end_one`](Self::end_one).
    pub(crate) fn new(open: usize) -> Self {
        Self(Mutex::new(BatchState {
            open,
            responses: Vec::new(),
        }))
    }

    /// Ends one member, with or without a response. After the last member, returns the array of all
    /// responses; `None` if there are no responses.
    pub(crate) fn end_one(&self, response: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut state = self.0.lock();
        state.responses.extend(response);
        state.open -= 1;
        if state.open > 0 || state.responses.is_empty() {
            return None;
        }
        let mut array = state.responses.join(&b","[..]);
        array.insert(0, b'[');
        array.push(b']');
        Some(array)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // Each idle modern stream has one. See "Memory" in docs/performance.md.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_exchange_is_small() {
        let size = size_of::<Exchange>();
        assert!(size <= 152, "{size} bytes");
    }

    #[test]
    fn an_exchange_is_answered_once() {
        let exchanges = Exchanges::default();
        let id = RequestId::from(1);
        let exchange = exchanges.open(&id, &Origin::default()).expect("free");
        assert_eq!(
            exchanges.open(&id, &Origin::default()).expect_err("in use"),
            Refusal::InUse
        );
        exchange.begin_answer().expect("first");
        exchanges.forget(&exchange);
        assert_eq!(
            exchange.begin_answer().expect_err("second").kind(),
            ErrorKind::State
        );
        assert!(exchanges.cancel(&id, None).is_none(), "nothing to cancel");
        exchanges.open(&id, &Origin::default()).expect("free again");
        exchanges.close(&RpcError::internal("over"));
        assert_eq!(
            exchanges
                .open(&RequestId::from(2), &Origin::default())
                .expect_err("over"),
            Refusal::Closed
        );
    }

    #[test]
    fn several_requests_are_told_apart_in_whatever_order_they_end() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
            let exchanges = Exchanges::default();
            let ids = [RequestId::from(1), RequestId::from("1"), RequestId::from(2)];
            let open = |id| exchanges.open(id, &Origin::default());
            let opened = ids.each_ref().map(|id| open(id).expect("free"));
            for ended in order {
                let in_use = ids.iter().all(|id| open(id).err() == Some(Refusal::InUse));
                assert!(in_use, "{order:?}");
                exchanges.forget(&opened[ended]);
                exchanges.forget(&opened[ended]);
                let again = open(&ids[ended]).expect("free again");
                assert!(!Arc::ptr_eq(&again, &opened[ended]));
                // A request that ends late does not end the request that has reused its id.
                exchanges.forget(&opened[ended]);
            }
            for id in &ids {
                assert!(exchanges.cancel(id, None).is_some(), "{order:?}");
                assert!(exchanges.cancel(id, None).is_none());
            }
            let left = open(&ids[0]).expect("free");
            let other = open(&ids[1]).expect("free");
            exchanges.close(&RpcError::internal("over"));
            assert!(!left.is_open() && !other.is_open());
        }
    }

    #[test]
    fn nothing_is_sent_after_a_cancel() {
        let exchanges = Exchanges::default();
        let id = RequestId::from("x");
        let exchange = exchanges.open(&id, &Origin::default()).expect("free");
        let (_, callbacks) = exchanges.cancel(&id, Some("why".to_owned())).expect("open");
        assert!(callbacks.is_empty());
        assert!(exchange.cancel().is_triggered());
        assert_eq!(exchange.cancel().reason().as_deref(), Some("why"));
        assert_eq!(
            exchange.begin_answer().expect_err("cancelled").kind(),
            ErrorKind::Cancelled
        );
        assert!(exchange.while_open(|| panic!("not run")).is_err());
    }

    // AMB-71, L-BATCH-B-10
    #[test]
    fn a_batch_is_answered_with_one_array_or_not_at_all() {
        let batch = Batch::new(3);
        assert_eq!(batch.end_one(Some(b"1".to_vec())), None);
        assert_eq!(batch.end_one(None), None);
        assert_eq!(
            batch.end_one(Some(b"2".to_vec())).as_deref(),
            Some(&b"[1,2]"[..])
        );
        assert_eq!(Batch::new(1).end_one(None), None);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// Answer, cancel and close happen at the same time: exactly one of the three ends the
    /// exchange.
    #[test]
    fn loom_an_exchange_ends_once() {
        loom::model(|| {
            let exchanges = Arc::new(Exchanges::default());
            let id = RequestId::from(1);
            let exchange = exchanges.open(&id, &Origin::default()).expect("free");
            let cancelling = {
                let (exchanges, id) = (Arc::clone(&exchanges), id.clone());
                loom::thread::spawn(move || exchanges.cancel(&id, None).is_some())
            };
            let answering = {
                let (exchanges, exchange) = (Arc::clone(&exchanges), Arc::clone(&exchange));
                loom::thread::spawn(move || {
                    let won = exchange.begin_answer().is_ok();
                    exchanges.forget(&exchange);
                    won
                })
            };
            exchanges.close(&RpcError::internal("over"));
            let cancelled = cancelling.join().expect("no panic");
            let answered = answering.join().expect("no panic");
            assert!(!(cancelled && answered), "both won");
            assert!(!exchange.is_open());
            assert_eq!(exchange.cancel().is_triggered(), !answered);
        });
    }
}
