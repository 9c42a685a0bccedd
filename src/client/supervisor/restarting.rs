//! The restarting thread, which connects a client again after its connection ended unexpectedly.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Phase, RESTARTS, Supervisor};
use crate::client::connection::ClientConnection;
use crate::client::restart::ConnectionEvent;
use crate::error::{Error, ErrorKind};
use crate::protocol::{LogLevel, tell};
use crate::schema::{SetLevelRequestParams, method};
use crate::transport::message::RequestKind;

/// How long a close of the client waits for the restarting thread. Closing the connection takes
/// additional time.
const PATIENCE: Duration = Duration::from_secs(10);

impl Supervisor {
    /// Runs the restarting thread, which restarts the server. The thread ends when the server is
    /// connected or the client is over.
    pub(super) fn restart(self: Arc<Self>) {
        RESTARTS.set(self.id());
        while let Some(error) = self.next_loss() {
            // The transport may belong to the host and may panic.
            let tried = catch_unwind(AssertUnwindSafe(|| self.try_again(error)));
            if tried.is_err() {
                self.give_up(Error::new(ErrorKind::Io, "the transport panicked"));
            }
        }
        if self.is_over() {
            self.server.subscriptions.end_waiting();
        }
        self.state.lock().restarting = false;
        self.changed.notify_all();
    }

    /// Returns the error that ended the connection, if this thread has to restart the server.
    /// Returns `None` if the server is connected or the client is over. If the connection ends
    /// later, another thread is started.
    // `restarting` is cleared under the lock under which `Up` is seen. So no loss falls in between.
    fn next_loss(&self) -> Option<Error> {
        let mut state = self.state.lock();
        match &state.phase {
            Phase::Down(error) => Some(error.clone()),
            Phase::Up => {
                state.restarting = false;
                None
            }
            Phase::Over(_) => None,
        }
    }

    /// Makes one attempt to restart the server, after the delay of the attempt.
    fn try_again(self: &Arc<Self>, error: Error) {
        let Some(again) = &self.again else { return };
        let old = self.state.lock().connection.take();
        if let Some(old) = old {
            old.close();
        }
        let chance = RandomState::new().hash_one(self.id());
        let next = again.attempts.lock().next(chance);
        let Some((attempt, delay)) = next else {
            return self.give_up(error);
        };
        self.tell(ConnectionEvent::Lost {
            error,
            attempt,
            delay,
        });
        if self.is_over_after(delay) {
            return;
        }
        let transport = again.transport.lock().again();
        let outcome = match transport {
            Some(transport) => self.connect(transport, None),
            None => {
                let text = "the transport can't be made again: see Transport::again";
                return self.give_up(Error::new(ErrorKind::State, text));
            }
        };
        match outcome {
            Ok(()) => {
                let patience = self.settings.connect_timeout;
                let capabilities = &self.description().capabilities;
                let connection = self.connection();
                self.restore_log_level(&connection);
                self.server
                    .subscriptions
                    .restore(&connection, capabilities, patience);
                if !self.is_over() {
                    self.tell(ConnectionEvent::Restored { attempt });
                }
            }
            Err(error) => {
                let mut state = self.state.lock();
                if matches!(state.phase, Phase::Down(_)) {
                    state.phase = Phase::Down(error);
                }
            }
        }
    }

    /// Sends the log level to the server of the new connection, if the host has set a log level.
    fn restore_log_level(&self, connection: &ClientConnection) {
        let Some(level) = self.server.log_level.lock().clone() else {
            return;
        };
        if connection.revision.is_modern() || self.description().capabilities.logging.is_none() {
            return;
        }
        let params = SetLevelRequestParams::new(level);
        let sent = connection.peer.start_quick_request(
            method::LOGGING_SET_LEVEL,
            RequestKind::default(),
            |_, text| serde_json::to_writer(text, &params),
            drop,
        );
        // Sending fails if the server has gone again.
        drop(sent);
    }

    /// Waits for `delay`, or until the client is over. Returns whether the client is over.
    fn is_over_after(&self, delay: Duration) -> bool {
        let deadline = Instant::now().checked_add(delay);
        let mut state = self.state.lock();
        while !matches!(state.phase, Phase::Over(_))
            && deadline.is_none_or(|deadline| Instant::now() < deadline)
        {
            state = self.changed.wait_until(state, deadline);
        }
        matches!(state.phase, Phase::Over(_))
    }

    pub(super) fn give_up(&self, error: Error) {
        let attempts = self
            .again
            .as_ref()
            .map_or(0, |again| again.attempts.lock().made());
        let text =
            format!("the server is given up after {attempts} restarts (Restart::max_attempts)");
        let error = error.context(text);
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Over(_)) {
            return;
        }
        state.phase = Phase::Over(error.clone());
        drop(state);
        self.server.subscriptions.stop_lasting();
        self.changed.notify_all();
        self.tell(ConnectionEvent::GivenUp { error });
    }

    pub(super) fn join_restarter(&self) {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state.lock();
        if RESTARTS.get() == self.id() {
            return;
        }
        while state.restarting && Instant::now() < deadline {
            state = self.changed.wait_until(state, Some(deadline));
        }
        let thread = state.restarter.take();
        let has_ended = !state.restarting;
        drop(state);
        match thread {
            // The panics of the thread were caught, so the result has no information.
            Some(thread) if has_ended => _ = thread.join(),
            Some(_) => {
                tell(
                    self.settings.log.as_ref(),
                    LogLevel::Warning,
                    "client",
                    || {
                        "a callback of ClientBuilder::on_connection_event still runs although the client is closed".to_owned()
                    },
                );
            }
            None => {}
        }
    }
}
