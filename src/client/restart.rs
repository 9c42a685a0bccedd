//! When and how often a server that was lost is started again.

use std::time::Duration;

use crate::error::Error;

/// Has a client start its server again when it was lost: a child process that crashed, for example. See
/// [`ClientBuilder::restart`](super::ClientBuilder::restart).
///
/// The first restart comes after [`first_delay`](Self::first_delay), each further one after twice the time, less up to half of it at
/// random, so that many clients of one server do not come all at once.
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
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long to wait before the first attempt. Defaults to 250 ms.
    pub fn first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = delay;
        self
    }

    /// How long to wait at most before an attempt. Defaults to 30 s.
    pub fn max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// How often to try in a row before the server is given up. Defaults to 10; 0 gives it up at once. A server that came back and was
    /// lost again before [`reset_after`](Self::reset_after) goes on in the same row.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// How long a server has to stay for its losses before to be forgotten: delays and attempts start anew then. Defaults to 60 s.
    pub fn reset_after(mut self, uptime: Duration) -> Self {
        self.reset_after = uptime;
        self
    }

    /// Whether calls that the lost server may have begun are sent to the new one by themselves, when doing them twice does no harm: reading
    /// and listing, and tools that say of themselves that they only read or are idempotent ([`ToolAnnotations`]), as far as this client has
    /// listed them. Defaults to no: what a server says of its tools has to be trusted for it.
    ///
    /// Calls that were not sent at all wait for the new server either way, within their deadline.
    ///
    /// [`ToolAnnotations`]: crate::schema::ToolAnnotations
    pub fn resend_harmless_calls(mut self, resends: bool) -> Self {
        self.resends = resends;
        self
    }

    pub(super) fn resends(&self) -> bool {
        self.resends
    }
}

/// What became of the connection of a client: see [`on_connection_event`](super::ClientBuilder::on_connection_event). Its text tells it to people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionEvent {
    /// The server was lost, or could not be started again, and will be started in a while. Calls that were in flight have failed.
    #[non_exhaustive]
    Lost {
        /// What ended the connection, or why it could not be made.
        error: Error,
        /// The attempt that comes next, in a row that began with 1.
        attempt: u32,
        /// How long until then.
        delay: Duration,
    },
    /// The server is there again. It may be another version, and knows nothing of what was before: assume that everything changed.
    #[non_exhaustive]
    Restored {
        /// The attempt that brought it back.
        attempt: u32,
    },
    /// The server is not started again. Calls fail from now on.
    #[non_exhaustive]
    GivenUp {
        /// What ended the last connection, or why it could not be made.
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

/// Counts the attempts. The clock and chance are arguments.
#[derive(Debug)]
pub(super) struct Attempts {
    settings: Restart,
    made: u32,
}

impl Attempts {
    pub(super) fn new(settings: Restart) -> Self {
        Self { settings, made: 0 }
    }

    /// The server was there for so long.
    pub(super) fn was_up(&mut self, uptime: Duration) {
        if uptime >= self.settings.reset_after {
            self.made = 0;
        }
    }

    /// The number of the next attempt, and when it is due; `None` when there is none.
    pub(super) fn next(&mut self, random: u64) -> Option<(u32, Duration)> {
        if self.made >= self.settings.max_attempts {
            return None;
        }
        self.made += 1;
        let doublings = (self.made - 1).min(31);
        let delay = self.settings.first_delay.saturating_mul(1 << doublings);
        let delay = delay.min(self.settings.max_delay);
        // 0 to 255 of 512 parts.
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
            // Short uptimes change nothing.
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
