//! Pings of a peer that says nothing.
//!
//! Whoever reads notices the silence, so that no thread is needed for it: reading waits no longer than until a ping is due. Anything that
//! comes is a sign of life, not only the answer.
//!
//! Spec: Base Protocol, Utilities, "Ping" (up to 2025-11-25).

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call::StartedCall;
use crate::error::Span;
use crate::sync::Mutex;

/// Pings a peer that has said nothing for a while, and gives it up when it does not answer.
///
/// Each unanswered ping is told to the log. A peer that works on something long and does nothing else meanwhile can't answer: choose times
/// that fit what is called, and the way to the peer.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::client::Client;
/// use mcplink::protocol::KeepAlive;
///
/// let client = Client::builder("host", "1.0").keep_alive(KeepAlive::every(Duration::from_secs(60)));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct KeepAlive {
    interval: Duration,
    timeout: Duration,
    max_failures: u32,
}

impl KeepAlive {
    /// Pings after so much silence. Seconds are often, minutes are usual.
    pub fn every(interval: Duration) -> Self {
        Self {
            interval,
            timeout: Duration::from_secs(30),
            max_failures: 3,
        }
    }

    /// How long the peer may take to answer a ping, or to say anything else. Defaults to 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// After how many unanswered pings in a row, each sent when the time of the one before was over, the connection is closed. Defaults to
    /// 3; 0 is taken for 1.
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

/// Writes the params of a ping.
pub(crate) type PingParams = Arc<dyn Fn(i64, &mut Vec<u8>) -> serde_json::Result<()> + Send + Sync>;

/// The pings of one connection.
pub(crate) struct Pulse {
    pub(crate) settings: KeepAlive,
    state: Mutex<State>,
}

struct State {
    /// What is sent; nothing before the conversation is open.
    ping: Option<(&'static str, PingParams)>,
    seen: Instant,
    pinged: Option<Instant>,
    call: Option<StartedCall>,
    failures: u32,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Nothing for so long.
    Wait(Duration),
    /// A ping is to be sent.
    Ping,
    /// So many pings in a row had no answer.
    Failed(u32),
    /// And that were too many.
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

    /// The conversation is open: the peer can be pinged with a request of this method.
    pub(crate) fn start(&self, method: &'static str, params: PingParams) {
        self.state.lock().ping = Some((method, params));
    }

    /// A sign of life.
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

    /// Sends a ping with `send`; one that was not answered is no longer waited for.
    pub(crate) fn ping(&self, send: impl FnOnce(&'static str, &PingParams) -> Option<StartedCall>) {
        let mut state = self.state.lock();
        let (old, ping) = (state.call.take(), state.ping.clone());
        drop(state);
        if let Some(old) = old {
            old.forget();
        }
        let call = ping.and_then(|(method, params)| send(method, &params));
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
        // Not before the conversation is open.
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
        // Anything that comes will do.
        pulse.seen(after(225));
        assert_eq!(pulse.beat(after(230)), Beat::Wait(SECOND * 55));
        assert_eq!(pulse.beat(after(285)), Beat::Ping);
        assert_eq!(pulse.beat(after(295)), Beat::Failed(1));
        assert_eq!(pulse.beat(after(295)), Beat::Ping);
        assert_eq!(pulse.beat(after(305)), Beat::Dead(2));
    }
}
