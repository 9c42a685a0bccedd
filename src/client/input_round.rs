//! The handlers of the input requests in one round trip, which run at the same time.
//!
//! **Threads.** The thread of the call takes the first request, and then others. Threads `input`
//! are started for further requests, up to the limit of the host. Each takes one request after the
//! other until none is left. The thread of the call joins all of them.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::CancelToken;
use crate::schema::{InputResponse, InputResponses};
use crate::sync::Mutex;
use crate::transport::{Stack, Threads};

/// Runs the handler of one input request.
type Run = Box<dyn FnOnce() -> Result<InputResponse> + Send>;

/// The input requests of one round trip, each with the function that runs its handler.
pub(super) struct InputRound {
    /// Guards the outcome and the input requests whose handlers have not started.
    state: Mutex<State>,
    /// Ends the handlers: the call was cancelled, or a handler has failed.
    stop: CancelToken,
}

struct State {
    waiting: VecDeque<(String, Run)>,
    responses: InputResponses,
    /// The failure that came first. Later ones are its consequence.
    failure: Option<Failure>,
}

enum Failure {
    Refused(Error),
    Panicked(Box<dyn Any + Send>),
}

impl InputRound {
    /// Makes a round. `stop` is the token that the handlers get.
    pub(super) fn new(requests: Vec<(String, Run)>, stop: CancelToken) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                waiting: requests.into(),
                responses: InputResponses::new(),
                failure: None,
            }),
            stop,
        })
    }

    /// Runs all handlers, at most `max` of them at the same time, and returns their responses.
    /// Blocks until every handler that has started has returned. After a failure or a cancellation
    /// no further handler starts.
    ///
    /// # Errors
    ///
    /// The first error of a handler; [`ErrorKind::Cancelled`] when the call was cancelled before
    /// each handler had started.
    ///
    /// # Panics
    ///
    /// If a handler panics, the panic continues on this thread.
    pub(super) fn run(self: Arc<Self>, max: usize, threads: &Threads) -> Result<InputResponses> {
        let count = self.state.lock().waiting.len().min(max);
        let first = self.take();
        let mut helpers = Vec::new();
        for _ in 1..count {
            let round = Arc::clone(&self);
            match threads.start("input", Stack::Large, move || round.run_from(round.take())) {
                Ok(helper) => helpers.push(helper),
                // The handlers then run on fewer threads.
                Err(_) => break,
            }
        }
        self.run_from(first);
        for helper in helpers {
            // The panics of handlers are caught, and a hook's panic was reported.
            _ = helper.join();
        }
        let mut state = self.state.lock();
        match state.failure.take() {
            None if state.waiting.is_empty() => Ok(std::mem::take(&mut state.responses)),
            None => {
                let text = "the call was cancelled while the server waited for input";
                Err(Error::new(ErrorKind::Cancelled, text).sent(true))
            }
            Some(Failure::Refused(error)) => Err(error),
            Some(Failure::Panicked(panic)) => {
                drop(state);
                resume_unwind(panic)
            }
        }
    }

    /// Takes an input request whose handler is to start.
    fn take(&self) -> Option<(String, Run)> {
        match self.stop.is_triggered() {
            true => None,
            false => self.state.lock().waiting.pop_front(),
        }
    }

    fn run_from(&self, first: Option<(String, Run)>) {
        let mut next = first;
        while let Some((key, run)) = next {
            let failure = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(response)) => {
                    self.state.lock().responses.insert(key, response);
                    None
                }
                Ok(Err(error)) => Some(Failure::Refused(error)),
                Err(panic) => Some(Failure::Panicked(panic)),
            };
            if let Some(failure) = failure {
                self.state.lock().failure.get_or_insert(failure);
                self.stop.cancel();
            }
            next = self.take();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn response() -> Result<InputResponse> {
        InputResponse::new(&serde_json::json!({}))
    }

    fn round(runs: Vec<Run>, stop: &CancelToken) -> Arc<InputRound> {
        let keyed = runs.into_iter().enumerate();
        let keyed = keyed.map(|(key, run)| (key.to_string(), run)).collect();
        InputRound::new(keyed, stop.clone())
    }

    #[test]
    fn no_handler_starts_after_a_failure_or_a_cancellation() {
        let failing: Run = Box::new(|| Err(Error::new(ErrorKind::Unsupported, "no")));
        let never: Run = Box::new(|| unreachable!("the round has failed"));
        let stop = CancelToken::new();
        let round_1 = round(vec![failing, never], &stop);
        let error = round_1.run(1, &Threads::new()).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(stop.is_triggered());

        let stop = CancelToken::new();
        let cancel = stop.clone();
        let cancelling: Run = Box::new(move || {
            cancel.cancel();
            response()
        });
        let never: Run = Box::new(|| unreachable!("the call was cancelled"));
        let error = round(vec![cancelling, never], &stop).run(1, &Threads::new());
        assert_eq!(error.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_panic_ends_the_others_and_continues_on_the_thread_of_the_call() {
        let stop = CancelToken::new();
        let (token, (began, has_begun)) = (stop.clone(), mpsc::channel());
        let waits: Run = Box::new(move || {
            began.send(()).expect("the other handler waits");
            assert!(token.wait(Duration::from_secs(30)), "nothing ended it");
            response()
        });
        let panics: Run = Box::new(move || {
            let begun = has_begun.recv_timeout(Duration::from_secs(30));
            begun.expect("both run at once");
            panic!("a handler panicked on purpose")
        });
        let run = || round(vec![waits, panics], &stop).run(2, &Threads::new());
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it goes on here");
        let text = panic.downcast_ref::<&str>().expect("a text");
        assert_eq!(*text, "a handler panicked on purpose");
    }
}
