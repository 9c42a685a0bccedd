//! Keep-alive: pings of a silent peer.
//!
//! The reading thread notices the silence, so no timer thread is needed. The reading thread waits
//! for input at most until the next ping is due. Any message of the peer is a sign of life, not
//! only the answer to a ping.
//!
//! Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::Span;
use crate::sync::Mutex;

/// The settings for pinging a silent peer. When the peer does not answer, the connection is closed.
///
/// Each unanswered ping is logged. A peer that is busy with one long operation may be unable to
/// answer pings in the meantime. Choose times that suit the calls and the network.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::client::Client;
/// use mcplink::protocol::KeepAlive;
///
/// let client =
///     Client::builder("host", "1.0").keep_alive(KeepAlive::every(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct KeepAlive {
    interval: Duration,
    timeout: Duration,
    max_failures: u32,
}

impl KeepAlive {
    /// Creates settings with which a ping is sent when the peer was silent for this interval.
    /// Typical values are minutes.
    pub fn every(interval: Duration) -> Self {
        Self {
            interval,
            timeout: Duration::from_secs(30),
            max_failures: 3,
        }
    }

    /// Sets the timeout of a ping. If the peer sends neither an answer nor any other message within
    /// this time, the ping has failed. Defaults to 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the number of consecutive failed pings after which the connection is closed. Defaults
    /// to 3; 0 means 1.
    ///
    /// The next ping is sent when the previous ping has failed.
    pub fn max_failures(mut self, failures: u32) -> Self {
        self.max_failures = failures.max(1);
        self
    }
}

impl std::fmt::Display for KeepAlive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            interval,
            timeout,
            max_failures,
        } = self;
        let (interval, timeout) = (Span(*interval), Span(*timeout));
        write!(
            f,
            "keep_alive: every {interval}, timeout {timeout}, max_failures {max_failures}"
        )
    }
}

/// A function that serializes the params of a ping. The arguments are the request id and the
/// buffer.
pub(crate) type PingParams = Arc<dyn Fn(i64, &mut Vec<u8>) -> serde_json::Result<()> + Send + Sync>;

/// The keep-alive state of one connection.
pub(crate) struct Pulse {
    pub(crate) settings: KeepAlive,
    state: Mutex<State>,
}

struct State {
    /// The method and the params of a ping; `None` before the connection is initialized.
    ping: Option<(&'static str, PingParams)>,
    seen: Instant,
    pinged: Option<Instant>,
    /// The id of the last ping.
    call: Option<i64>,
    failures: u32,
}

/// The next keep-alive action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// The time for which no action is due.
    Wait(Duration),
    /// A ping has to be sent.
    Ping,
    /// The number of consecutive pings that have failed. The number is below the limit.
    Failed(u32),
    /// The number of consecutive pings that have failed. The number has reached the limit, so the
    /// peer counts as dead.
    Dead(u32),
}

impl Pulse {
    pub(crate) fn new(settings: KeepAlive, now: Instant) -> Self {
        let state = State {
            ping: None,
            seen: now,
            pinged: None,
            call: None,
            failures: 0,
        };
        Self {
            settings,
            state: Mutex::new(state),
        }
    }

    /// Starts to ping the peer with requests of this method. Called when the connection is
    /// initialized.
    pub(crate) fn start(&self, method: &'static str, params: PingParams) {
        self.state.lock().ping = Some((method, params));
    }

    /// Records a sign of life of the peer.
    pub(crate) fn seen(&self, now: Instant) {
        let mut state = self.state.lock();
        state.seen = now;
        state.pinged = None;
        state.failures = 0;
    }

    pub(crate) fn beat(&self, now: Instant) -> Beat {
        let KeepAlive {
            interval,
            timeout,
            max_failures,
        } = self.settings;
        let mut state = self.state.lock();
        if state.ping.is_none() {
            return Beat::Wait(interval);
        }
        match state.pinged {
            Some(at) => {
                let waited = now.saturating_duration_since(at);
                if waited < timeout {
                    return Beat::Wait(timeout - waited);
                }
                state.pinged = None;
                state.failures += 1;
                if state.failures >= max_failures {
                    Beat::Dead(state.failures)
                } else {
                    Beat::Failed(state.failures)
                }
            }
            None => {
                let silent = now.saturating_duration_since(state.seen);
                if state.failures == 0 && silent < interval {
                    return Beat::Wait(interval - silent);
                }
                state.pinged = Some(now);
                Beat::Ping
            }
        }
    }

    /// Sends a ping with the function `send`, which gets the id of the previous ping and returns
    /// the id of the new one.
    pub(crate) fn ping(
        &self,
        send: impl FnOnce(Option<i64>, &'static str, &PingParams) -> Option<i64>,
    ) {
        let mut state = self.state.lock();
        let (old, ping) = (state.call.take(), state.ping.clone());
        drop(state);
        let call = ping.and_then(|(method, params)| send(old, method, &params));
        self.state.lock().call = call;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    // L-PING-B-02, L-PING-B-03, L-PING-B-04, L-PING-B-05
    #[test]
    fn only_silence_leads_to_pings_and_only_their_failing_to_the_end() {
        let start = Instant::now();
        let after = |seconds| start + SECOND * seconds;
        let settings = KeepAlive::every(SECOND * 60)
            .timeout(SECOND * 10)
            .max_failures(2);
        let pulse = Pulse::new(settings, start);
        // No ping before the connection is initialized.
        assert_eq!(pulse.beat(after(100)), Beat::Wait(SECOND * 60));
        pulse.start("ping", Arc::new(|_, _| Ok(())));
        pulse.seen(after(100));
        assert_eq!(pulse.beat(after(130)), Beat::Wait(SECOND * 30));
        pulse.seen(after(150));
        assert_eq!(pulse.beat(after(160)), Beat::Wait(SECOND * 50));
        assert_eq!(pulse.beat(after(210)), Beat::Ping);
        assert_eq!(pulse.beat(after(212)), Beat::Wait(SECOND * 8));
        assert_eq!(pulse.beat(after(220)), Beat::Failed(1));
        assert_eq!(pulse.beat(after(220)), Beat::Ping);
        // Any message counts as a sign of life.
        pulse.seen(after(225));
        assert_eq!(pulse.beat(after(230)), Beat::Wait(SECOND * 55));
        assert_eq!(pulse.beat(after(285)), Beat::Ping);
        assert_eq!(pulse.beat(after(295)), Beat::Failed(1));
        assert_eq!(pulse.beat(after(295)), Beat::Ping);
        assert_eq!(pulse.beat(after(305)), Beat::Dead(2));
    }
}
