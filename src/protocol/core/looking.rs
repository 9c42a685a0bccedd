//! What whoever reads looks after: handlers that run long, a peer that says nothing. And what can be seen from outside.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::activity::Activity;
use super::super::call::{Turn, start_request};
use super::super::crew::Job;
use super::super::in_hand::Late;
use super::super::keepalive::{Beat, PingParams, Pulse};
use super::super::log::LogLevel;
use super::Core;
use crate::error::Span;
use crate::transport::clock::about_now;

impl Core {
    /// Does what its time has come for, and tells how long the thread that reads may wait for input; `None` for as long as it likes.
    pub(super) fn look_around(self: &Arc<Self>) -> Option<Duration> {
        if self.engine().in_hand.is_empty() && self.pulse.is_none() {
            return None;
        }
        let now = Instant::now();
        let handlers = self.engine().in_hand.look(now).map(|(late, next)| {
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

    fn log_late(&self, late: &Late, what: &str) {
        self.log(LogLevel::Warning, || {
            format!(
                "the handler of {} of '{}' {what} {} (slow_handler is {})",
                late.what,
                self.peer(),
                Span(late.took),
                Span(self.settings.slow_handler)
            )
        });
    }

    /// When to look again; `None` when the peer is given up.
    fn keep_alive(self: &Arc<Self>, pulse: &Pulse, now: Instant) -> Option<Duration> {
        loop {
            match pulse.beat(now) {
                Beat::Wait(span) => return Some(span),
                Beat::Ping => pulse.ping(|method, params| {
                    let send = |message| self.send_started(message, None);
                    let write = |id, text: &mut Vec<u8>| params(id, text);
                    let sent = start_request(self, method, write, Turn::Quick, drop, send);
                    sent.inspect_err(|error| {
                        self.log(LogLevel::Warning, || {
                            format!("'{}' could not be pinged: {error}", self.peer())
                        });
                    })
                    .ok()
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

    /// Has the peer pinged from now on, if that was asked for, with requests of this method.
    pub(crate) fn start_pinging(&self, method: &'static str, params: PingParams) {
        // Where each request has a way of its own, there is no line between two of them that could go dead.
        if self.carrier.is_some() {
            return;
        }
        if let Some(pulse) = &self.pulse {
            pulse.start(method, params);
        }
    }

    /// A handler that can be seen while it runs.
    pub(super) fn seen(self: &Arc<Self>, key: u64, handler: impl FnOnce() + Send + 'static) -> Job {
        let core = Arc::clone(self);
        Box::new(move || {
            core.engine().in_hand.begin_run(key, about_now());
            let _run = core.running(key);
            handler();
        })
    }

    /// A handler that was said to run does so until the guard is dropped.
    pub(super) fn running(&self, key: u64) -> Run<'_> {
        Run { core: self, key }
    }

    pub(in crate::protocol) fn activity(&self) -> Activity {
        let now = Instant::now();
        let (waiting_handlers, waiting_callbacks) = self.engine().crew.waiting();
        let (writing, waiting_to_write) = self.engine().outbox.who_writes(now);
        Activity {
            peer: self.peer(),
            has_ended: self.has_ended(),
            calls: self.engine().calls.show(now),
            requests: self.engine().in_hand.show(now),
            writing,
            waiting_to_write,
            queued_bytes: self.engine().outbox.queued_bytes(),
            waiting_handlers,
            waiting_callbacks,
            threads: self.engine().crew.threads(),
        }
    }
}

/// A handler runs.
pub(super) struct Run<'a> {
    core: &'a Core,
    key: u64,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if let Some(late) = self.core.engine().in_hand.end_run(self.key, about_now()) {
            self.core.log_late(&late, "took");
        }
    }
}
