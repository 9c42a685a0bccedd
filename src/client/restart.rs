//! The restart policy of a client: back-off and number of attempts.

use std::time::Duration;

use crate::error::Error;

/// The restart policy for a server whose connection ended unexpectedly, for example because the
/// child process crashed. See [`ClientBuilder::restart`](super::ClientBuilder::restart).
///
/// The delays use exponential back-off with jitter. The first delay is
/// [`first_delay`](Self::first_delay), and each further delay is twice as long, up to
/// [`max_delay`](Self::max_delay). Each delay is shortened at random by up to one half, so that
/// several clients of one server do not reconnect at the same time.
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use mcplink::client::{Client, Restart};
/// use mcplink::transport::Child;
///
/// # fn main() -> mcplink::Result<()> {
/// let restart = Restart::new().max_attempts(3).first_delay(Duration::from_secs(1));
/// let client = Client::builder("host", "1.0")
///     .restart(restart)
///     .on_connection_event(|event| eprintln!("{event}"))
///     .connect(Child::new("weather-server"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Restart {
    first_delay: Duration,
    max_delay: Duration,
    max_attempts: u32,
    reset_after: Duration,
    resends: bool,
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(30),
            max_attempts: 10,
            reset_after: Duration::from_secs(60),
            resends: false,
        }
    }
}

impl Restart {
    /// Creates the default policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the delay before the first attempt. Defaults to 250 ms.
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = delay;
        self
    }

    /// Limits the delay before an attempt. Defaults to 30 s.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Limits the number of consecutive attempts to restart the server. After the last attempt the
    /// client gives the server up. Defaults to 10. With 0 the client makes no attempt.
    ///
    /// If the connection to a restarted server ends before the uptime reaches
    /// [`reset_after`](Self::reset_after), the counting of attempts continues.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the uptime after which the attempt counter and back-off are reset. Defaults to 60 s.
    pub fn reset_after(mut self, uptime: Duration) -> Self {
        self.reset_after = uptime;
        self
    }

    /// Sets whether idempotent calls are retried automatically on the restarted server, although
    /// the server may have executed the calls before its connection ended. Defaults to no, because
    /// a retry relies on the server's own claims.
    ///
    /// The setting applies to reading and listing, and to tools that declare themselves read-only
    /// or idempotent ([`ToolAnnotations`]) in a list that this client has read. Calls that were not
    /// sent wait for the restarted server in any case, within their deadline.
    ///
    /// [`ToolAnnotations`]: crate::schema::ToolAnnotations
    pub fn retry_idempotent_calls(mut self, resends: bool) -> Self {
        self.resends = resends;
        self
    }

    pub(super) fn resends(&self) -> bool {
        self.resends
    }
}

/// An event of a client's connection: see
/// [`on_connection_event`](super::ClientBuilder::on_connection_event). Displaying the event gives a
/// text for users.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// The connection to the server ended unexpectedly, or a restart failed. The server will be
    /// restarted after a delay. Calls that were in flight have failed.
    #[non_exhaustive]
    Lost {
        /// The error that ended the connection or the attempt.
        error: Error,
        /// The number of the next attempt. The first attempt has the number 1.
        attempt: u32,
        /// The delay before the next attempt.
        delay: Duration,
    },
    /// The server is connected again. The server may now be of another version, and has lost its
    /// earlier state. The host should assume that everything has changed.
    #[non_exhaustive]
    Restored {
        /// The number of the successful attempt.
        attempt: u32,
    },
    /// The client has given the server up: no restart follows, and further calls fail.
    #[non_exhaustive]
    GivenUp {
        /// The error that ended the last connection or attempt.
        error: Error,
    },
}

impl std::fmt::Display for ConnectionEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lost {
                error,
                attempt,
                delay,
            } => {
                let delay = crate::error::Span(*delay);
                write!(
                    f,
                    "the server was lost and is started again in {delay} (attempt {attempt}): {error}"
                )
            }
            Self::Restored { attempt } => {
                write!(f, "the server is there again (attempt {attempt})")
            }
            Self::GivenUp { error } => {
                write!(f, "the server is not started again: {error}")
            }
        }
    }
}

/// The counter of restart attempts. Time and random numbers are arguments of the methods.
#[derive(Debug)]
pub(super) struct Attempts {
    settings: Restart,
    made: u32,
}

impl Attempts {
    pub(super) fn new(settings: Restart) -> Self {
        Self { settings, made: 0 }
    }

    /// Records how long the server was up before its connection ended.
    pub(super) fn was_up(&mut self, uptime: Duration) {
        if uptime >= self.settings.reset_after {
            self.made = 0;
        }
    }

    /// Returns the number of the next attempt and its delay; `None` if no attempt is left.
    pub(super) fn next(&mut self, random: u64) -> Option<(u32, Duration)> {
        if self.made >= self.settings.max_attempts {
            return None;
        }
        self.made += 1;
        let doublings = (self.made - 1).min(31);
        let delay = self.settings.first_delay.saturating_mul(1 << doublings);
        let delay = delay.min(self.settings.max_delay);
        // The jitter is 0 to 255 parts of 512.
        let less = (delay / 512).saturating_mul(u32::from(random as u8));
        Some((self.made, delay - less))
    }

    pub(super) fn made(&self) -> u32 {
        self.made
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn attempts() -> Attempts {
        Attempts::new(
            Restart::new()
                .first_delay(Duration::from_millis(512))
                .max_delay(Duration::from_secs(3))
                .max_attempts(4)
                .reset_after(Duration::from_secs(60)),
        )
    }

    // Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
    #[test]
    fn delays_grow_to_a_bound_and_attempts_to_a_limit() {
        let mut attempts = attempts();
        for (number, millis) in [(1, 512), (2, 1024), (3, 2048), (4, 3000)] {
            assert_eq!(
                attempts.next(0),
                Some((number, Duration::from_millis(millis)))
            );
            // Short uptimes do not reset the counter.
            attempts.was_up(Duration::from_secs(59));
        }
        assert_eq!(attempts.next(0), None);
        attempts.was_up(Duration::from_secs(60));
        assert_eq!(attempts.next(0), Some((1, Duration::from_millis(512))));
    }

    // Seen in other SDKs: a crashed server stays down, or is restarted in a tight loop.
    #[test]
    fn chance_takes_less_than_half_of_a_delay() {
        let delay = |random| attempts().next(random).expect("the first").1;
        assert_eq!(delay(0xab00), Duration::from_millis(512));
        assert_eq!(delay(128), Duration::from_millis(384));
        assert_eq!(delay(u64::MAX), Duration::from_millis(257));
    }

    #[test]
    fn no_delay_is_too_long_to_be_counted() {
        let endless = Restart::new()
            .first_delay(Duration::MAX)
            .max_delay(Duration::MAX)
            .max_attempts(u32::MAX);
        let mut attempts = Attempts::new(endless);
        for _ in 0..100 {
            assert!(attempts.next(0).is_some());
        }
    }
}
