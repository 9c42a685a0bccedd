//! The attempts to get a request answered: the first, one more on the same connection after a
//! refusal that the client could resolve, and others on the next connections after restarts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call_options::CallOptions;
use super::connection::ClientConnection;
use super::supervisor::Supervisor;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::clock::about_now;

/// One attempt to get a request answered, on one connection.
pub(super) struct Attempt {
    pub(super) connection: Arc<ClientConnection>,
    /// The session in which the request is sent; `None` without sessions.
    pub(super) session: Option<u64>,
    /// Whether the request was refused on this connection before.
    pub(super) is_again: bool,
    /// The part of the timeout that had passed when this attempt began.
    waited: Duration,
    /// The part of the maximum timeout that had passed when this attempt began.
    elapsed: Duration,
    began: Instant,
    /// The time that users had taken for logins when this attempt began.
    user_time: Duration,
}

impl Attempt {
    fn new(connection: Arc<ClientConnection>, waited: Duration, elapsed: Duration) -> Self {
        Self {
            session: connection.session(),
            is_again: false,
            waited,
            elapsed,
            began: about_now(),
            user_time: connection.user_time(),
            connection,
        }
    }

    /// Returns one more attempt on the same connection.
    pub(super) fn again(self) -> Self {
        let spent = self.spent();
        Self {
            is_again: true,
            ..Self::new(self.connection, self.waited + spent, self.elapsed + spent)
        }
    }

    /// Returns how long this attempt has taken, without the time that users took for a login.
    fn spent(&self) -> Duration {
        let user_time = self.connection.user_time().saturating_sub(self.user_time);
        self.began.elapsed().saturating_sub(user_time)
    }

    /// Returns the options of the call with the time that was left when this attempt began.
    pub(super) fn options<'o>(&self, options: &'o mut CallOptions<'_>) -> CallOptions<'o> {
        options.after(self.waited, self.elapsed)
    }

    /// Returns the options of the call with the time that is left now.
    pub(super) fn rest_of<'o>(&self, options: &'o mut CallOptions<'_>) -> CallOptions<'o> {
        let spent = self.spent();
        options.after(self.waited + spent, self.elapsed + spent)
    }
}

impl Supervisor {
    /// Returns the first attempt at a request. Blocks while the server is being restarted. The wait
    /// counts towards the time limits of the call. If the request was already sent, `sent_on` is
    /// the connection on which it was sent.
    pub(super) fn first_attempt(
        &self,
        options: &mut CallOptions<'_>,
        sent_on: Option<&Arc<ClientConnection>>,
    ) -> Result<Attempt> {
        options.apply_defaults(self.settings().timeouts);
        if let Some(connection) = sent_on.cloned().or_else(|| self.ready_now()) {
            return Ok(Attempt::new(connection, Duration::ZERO, Duration::ZERO));
        }
        let began = Instant::now();
        let connection = self.ready(options)?;
        let waited = began.elapsed();
        Ok(Attempt::new(connection, waited, waited))
    }

    /// Returns the next attempt at a request that failed with `error`, after a restart of the
    /// server. Blocks until the server is connected again.
    ///
    /// A request that was not sent because the connection was lost is sent on the next connection.
    /// If the server may have received the request, a retry needs two conditions: the request is
    /// idempotent, and the host allows retries.
    ///
    /// # Errors
    ///
    /// `error` if the request must not be sent again; `Timeout` or `Cancelled` when the server is
    /// not back in time.
    pub(super) fn next_attempt(
        &self,
        last: &Attempt,
        error: Error,
        options: &mut CallOptions<'_>,
        is_harmless: impl Fn(u64) -> bool,
    ) -> Result<Attempt> {
        let lost = &last.connection;
        if !self.is_loss(&error, lost)
            || error.was_sent() && !(self.resends() && is_harmless(lost.number))
        {
            return Err(error);
        }
        let (began, elapsed) = (Instant::now(), last.elapsed + last.spent());
        let (_, cancel) = options.request.patience();
        let bound = options
            .after(Duration::ZERO, elapsed)
            .request
            .shorter_bound();
        let next = match self.await_newer(Some(lost.number), bound, cancel) {
            Ok(next) => next,
            Err(late) if late.kind() == ErrorKind::Closed => return Err(error),
            Err(late) => return Err(late.sent(error.was_sent())),
        };
        if next.revision != lost.revision {
            let text = format!(
                "the server came back with revision {} instead of {}: call again",
                next.revision, lost.revision
            );
            return Err(error.remark(text));
        }
        let waited = began.elapsed();
        Ok(Attempt::new(next, waited, elapsed + waited))
    }
}
