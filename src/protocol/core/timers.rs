//! Timers and introspection. The reading thread runs the timers: it checks for slow handlers and
//! sends keep-alive pings. Any thread can take a snapshot of the connection's activity.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::active_requests::{ActiveRequest, SlowHandler};
use super::super::activity::Activity;
use super::super::call::start_request;
use super::super::keepalive::{Beat, PingParams, Pulse};
use super::super::log::LogLevel;
use super::super::outgoing::OnEnd;
use super::Core;
use crate::error::Span;
use crate::transport::clock::about_now;

impl Core {
    /// Runs due timers. Returns how long the reading thread may wait for input; `None` without a
    /// limit.
    pub(super) fn run_timers(self: &Arc<Self>) -> Option<Duration> {
        if self.requests.is_empty() && self.pulse.is_none() {
            return None;
        }
        let now = Instant::now();
        let handlers = self.requests.look(now).map(|(late, next)| {
            for late in late {
                self.log_late(&late, "has been running for");
            }
            next
        });
        let pulse = self.pulse.as_deref();
        let ping = pulse.and_then(|pulse| self.keep_alive(pulse, now));
        match (handlers, ping) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    fn log_late(&self, late: &SlowHandler, what: &str) {
        let setting = match self.settings.serving {
            true => "ServerBuilder::slow_handler",
            false => "ClientBuilder::slow_handler",
        };
        self.log(LogLevel::Warning, || {
            format!(
                "the handler of {} of '{}' {what} {} ({setting} is {})",
                late.what,
                self.peer(),
                Span::measured(late.took),
                Span(self.settings.slow_handler)
            )
        });
    }

    /// Checks the keep-alive of the connection. Returns the time until the next check; `None` if
    /// the peer counts as dead.
    fn keep_alive(self: &Arc<Self>, pulse: &Pulse, now: Instant) -> Option<Duration> {
        loop {
            match pulse.beat(now) {
                Beat::Wait(span) => return Some(span),
                Beat::Ping => pulse.ping(|previous, method, params| {
                    if let Some(previous) = previous {
                        self.engine().calls.give_up(previous);
                    }
                    let send = |message| self.send_started(message, None);
                    let write = |id, text: &mut Vec<u8>| params(id, text);
                    let sent = start_request(self, method, write, OnEnd::Quick, drop, send);
                    sent.inspect_err(|error| {
                        self.log(LogLevel::Warning, || {
                            format!("'{}' could not be pinged: {error}", self.peer())
                        });
                    })
                    .ok()
                    .map(|call| call.id())
                }),
                Beat::Failed(failures) => self.log(LogLevel::Warning, || {
                    format!(
                        "'{}' has not answered {failures} pings ({})",
                        self.peer(),
                        pulse.settings
                    )
                }),
                Beat::Dead(failures) => {
                    self.give_up(format!(
                        "'{}' was given up: it has not answered {failures} pings ({})",
                        self.peer(),
                        pulse.settings
                    ));
                    return None;
                }
            }
        }
    }

    /// Starts to ping the peer with requests of this method, if keep-alive is configured.
    pub(crate) fn start_pinging(&self, method: &'static str, params: PingParams) {
        // An exchange transport has no permanent connection that could break unnoticed between two
        // requests.
        if self.exchange_transport.is_some() {
            return;
        }
        if let Some(pulse) = &self.pulse {
            pulse.start(method, params);
        }
    }

    /// Returns a guard that records the end of a handler's run when the guard is dropped.
    pub(super) fn running<'a>(&'a self, request: &'a Arc<ActiveRequest>) -> Run<'a> {
        Run {
            core: self,
            request,
        }
    }

    pub(in crate::protocol) fn activity(&self) -> Activity {
        let now = Instant::now();
        let (waiting_handlers, waiting_callbacks) = self.engine().pool.waiting();
        let (writing, waiting_to_write) = self.engine().writer.who_writes(now);
        Activity {
            peer: self.peer(),
            has_ended: self.has_ended(),
            calls: self.engine().calls.show(now),
            requests: self.requests.show(now),
            writing,
            waiting_to_write,
            queued_bytes: self.engine().writer.queued_bytes(),
            waiting_handlers,
            waiting_callbacks,
            threads: self.engine().pool.threads(),
        }
    }
}

/// A guard for a running handler. Dropping the guard records the end of the run.
pub(super) struct Run<'a> {
    core: &'a Core,
    request: &'a Arc<ActiveRequest>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if let Some(late) = self.core.requests.end_run(self.request, about_now()) {
            self.core.log_late(&late, "took");
        }
    }
}
