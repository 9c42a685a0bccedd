//! Watched calls: calls whose progress and outcome go to callbacks, so that no thread has to wait.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call::{Call, Patience, cancelled_error, judge, reason_of, time_text, timed_out};
use super::call_channel::{Outcome, Progress};
use super::cancel::{CancelToken, OnCancel};
use super::core::Core;
use super::outgoing::{CallEvent, Delivery, OnEnd, OnProgress};
use super::request_options::RequestOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::{RawResult, RequestId};
use crate::sync::Mutex;
use crate::transport::clock::about_now;
use crate::transport::deadlines::Watched;
use crate::transport::exchange_transport::{CancelHandle, ExchangeOutcome};

/// A call whose progress and outcome go to callbacks. Dropping this value before the outcome has
/// arrived cancels the call: the peer is notified, and the callbacks are dropped.
pub(crate) struct WatchedCall {
    core: Arc<Core>,
    id: i64,
    may_cancel: bool,
    /// The registration of the call with the deadline thread. `None` while the call has an
    /// exchange, whose transport watches the deadline.
    deadline: Arc<Mutex<Option<Watched>>>,
    /// The handle that ends the exchange of the call, if the transport has exchanges.
    exchange: Option<Arc<CancelHandle>>,
    /// The registration of the callback that ends the call when its token is cancelled.
    _on_cancel: Option<OnCancel>,
}

impl WatchedCall {
    /// Cancels the call, and drops its callbacks. Returns false if they have the outcome already.
    fn give_up(&self) -> bool {
        let given_up = self.core.engine().calls.give_up(self.id);
        if given_up && self.may_cancel {
            self.core
                .send_cancelled(self.id, "the caller no longer waits");
        }
        given_up
    }
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        self.give_up();
        if let Some(exchange) = &self.exchange {
            exchange.end();
        }
    }
}

/// The handle that ends a watched call when its token is cancelled or its time is over.
struct Ending {
    core: Arc<Core>,
    id: i64,
    method: Arc<str>,
    may_cancel: bool,
    token: Option<CancelToken>,
    patience: Arc<Patience>,
    /// The timeout and the maximum timeout of the call.
    spans: (Option<Duration>, Option<Duration>),
}

impl Ending {
    /// Ends the call because it was cancelled or its time is over: delivers the error to the call's
    /// callback and notifies the peer. Does nothing if the outcome has arrived.
    fn run(&self, was_sent: bool) {
        let deadline = self.patience.time.lock().deadline;
        let token = self.token.as_ref();
        let is_cancelled = token.is_some_and(CancelToken::is_triggered);
        let (error, reason) = match deadline.passed(Instant::now()) {
            Some(bound) if !is_cancelled => {
                let time = time_text(&deadline, bound, self.spans);
                let error = timed_out(&self.core, &self.method, &time);
                (error, Cow::Borrowed("timed out"))
            }
            _ => (cancelled_error(&self.core, &self.method), reason_of(token)),
        };
        let outcome = Outcome::Over(error.sent(was_sent));
        let delivery = self.core.complete(&RequestId::from(self.id), outcome);
        if delivery == Delivery::Watched && self.may_cancel && was_sent {
            self.core.send_cancelled(self.id, &reason);
        }
    }

    /// Makes the deadline thread of the connection end the call when its time is over.
    fn enforce(
        self,
        cancel_handle: &Arc<CancelHandle>,
        registration: &Mutex<Option<Watched>>,
    ) -> Result<()> {
        let core = Arc::clone(&self.core);
        let ending = Arc::new(self);
        let own = Arc::clone(&ending);
        if !cancel_handle.engage(move || own.run(true)) {
            ending.run(true);
            return Ok(());
        }
        let watched = core.engine().deadlines.add(cancel_handle, true)?;
        *registration.lock() = Some(watched);
        Ok(())
    }

    /// Handles the end of the call's exchange.
    fn end_exchange(
        self,
        carried: Result<ExchangeOutcome>,
        cancel_handle: &Arc<CancelHandle>,
        registration: &Mutex<Option<Watched>>,
    ) {
        let token = self.token.as_ref();
        let error = match carried {
            // The answer arrives on another stream, without the exchange.
            Ok(ExchangeOutcome::Elsewhere) => {
                let (core, id) = (Arc::clone(&self.core), RequestId::from(self.id));
                if let Err(error) = self.enforce(cancel_handle, registration) {
                    core.complete(&id, Outcome::Failed(error.sent(true)));
                }
                return;
            }
            Ok(ExchangeOutcome::Answered) => {
                Error::new(ErrorKind::Protocol, "nothing that came was the answer").sent(true)
            }
            Err(error) => error,
        };
        let time = self.patience.time.lock().deadline;
        let is_over =
            token.is_some_and(CancelToken::is_triggered) || time.passed(Instant::now()).is_some();
        if is_over {
            return self.run(error.was_sent());
        }
        // This has no effect after the answer.
        let id = RequestId::from(self.id);
        self.core.complete(&id, Outcome::Failed(error));
    }
}

impl Call {
    /// Passes the progress and the outcome of the call to callbacks from now on. No thread has to
    /// wait for the call any more. If the request is not sent yet, starts its exchange. A deadline
    /// thread ends the call when its time is over.
    ///
    /// `on_end` runs exactly once, on the thread that finds the outcome, often the reading thread.
    /// Neither callback may block or run user code. `options` are the options with which the call
    /// was started.
    ///
    /// # Errors
    ///
    /// Fails when the exchange or the deadline thread can't be started. The call is then cancelled,
    /// and the callbacks are dropped.
    pub(crate) fn watch(
        mut self,
        options: &RequestOptions<'_>,
        on_progress: impl Fn(Progress) -> bool + Send + 'static,
        on_end: impl FnOnce(Result<RawResult>) + Send + 'static,
    ) -> Result<WatchedCall> {
        let core = Arc::clone(&self.core);
        let patience = Patience::of(&self);
        let mut watched = WatchedCall {
            core: Arc::clone(&core),
            id: self.waiter.id,
            may_cancel: self.may_cancel,
            deadline: Arc::default(),
            exchange: None,
            _on_cancel: None,
        };
        let extended = Arc::clone(&patience);
        let on_progress: OnProgress = Box::new(move |progress| {
            extended.time.lock().deadline.extend(about_now());
            on_progress(progress)
        });
        let (judging, method) = (Arc::clone(&core), Arc::clone(&self.method));
        let on_end = OnEnd::Quick(Box::new(move |outcome| {
            on_end(judge(&judging, &method, outcome));
        }));
        // The caller may do other work now, so the request must not wait for later requests.
        core.flush_requests(None);
        let calls = &core.engine().calls;
        if let Some((on_end, on_progress)) = calls.watch(&mut self.waiter, on_end, on_progress) {
            self.settle_now(on_end, &on_progress);
            return Ok(watched);
        }
        self.is_watched = true;
        let checked = Arc::clone(&patience);
        let cancel_handle = CancelHandle::new(move |now, held| checked.look(now, held));
        let ending = Ending {
            core: Arc::clone(&core),
            id: self.waiter.id,
            method: Arc::clone(&self.method),
            may_cancel: self.may_cancel,
            token: options.cancel.clone(),
            patience,
            spans: (options.timeout, options.max_timeout),
        };
        let registration = &watched.deadline;
        let started = match self.unsent.take() {
            Some(message) => {
                let (handle, registration) = (Arc::clone(&cancel_handle), Arc::clone(registration));
                watched.exchange = Some(Arc::clone(&cancel_handle));
                let started = core.start_exchange(message, &cancel_handle, move |carried| {
                    ending.end_exchange(carried, &handle, &registration);
                });
                // If nothing was sent, there is nothing to cancel.
                watched.may_cancel &= started.is_ok();
                started
            }
            None => ending.enforce(&cancel_handle, registration),
        };
        // The connection may have ended meanwhile. Then the callback has the outcome.
        if let Err(error) = started
            && watched.give_up()
        {
            return Err(error);
        }
        let token = options.cancel.as_ref();
        watched._on_cancel = token.map(|token| token.on_trigger(move || cancel_handle.end()));
        Ok(watched)
    }

    /// Runs the callbacks of a call whose outcome is in its channel, or is about to arrive there.
    fn settle_now(&mut self, on_end: OnEnd, on_progress: &OnProgress) {
        loop {
            match self.waiter.wait(None) {
                Some(CallEvent::Outcome(outcome)) => return self.core.settle([(on_end, outcome)]),
                Some(CallEvent::Progress(progress)) => _ = on_progress(progress),
                None => {}
            }
        }
    }
}
