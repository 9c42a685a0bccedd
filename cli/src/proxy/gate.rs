//! The threads on which calls of one server wait for it.
//!
//! **Threads.** `call`, started by [`Gate::run`] when no thread is idle: each runs one job after
//! the other, and ends after [`IDLE`] without a job. No thread joins them. The threads of the
//! proxy's own connections never wait for a server: over HTTP, the connection of the client would
//! wait with them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many calls run at one server at once. The others wait.
const MAX_AT_ONCE: usize = 64;
/// How long a thread waits for a job before it ends.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs on threads, at most [`MAX_AT_ONCE`] at the same time. Each server has a gate of its
/// own, so a slow server occupies no thread of another one.
#[derive(Default)]
pub(super) struct Gate(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified, under the lock, when a thread is called.
    called: Condvar,
}

#[derive(Default)]
struct State {
    threads: usize,
    /// The threads that wait and were not called.
    idle: usize,
    /// The threads that were called and have not woken up. A job has called each of them, so a job
    /// never waits behind a running one while another thread could start.
    calls: usize,
    waiting: VecDeque<Job>,
}

impl Gate {
    /// Runs a job on another thread, as soon as fewer than [`MAX_AT_ONCE`] jobs run.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.0.state();
        state.waiting.push_back(Box::new(job));
        if state.idle > 0 {
            state.idle -= 1;
            state.calls += 1;
            self.0.called.notify_one();
            return;
        }
        if state.threads >= MAX_AT_ONCE {
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("call".to_owned());
        if thread.spawn(move || shared.work()).is_err() {
            let mut state = self.0.state();
            state.threads -= 1;
            // Without any thread, the job runs here.
            let job = match state.threads {
                0 => state.waiting.pop_front(),
                _ => None,
            };
            drop(state);
            if let Some(job) = job {
                job();
            }
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a thread.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                drop(state);
                job();
                state = self.state();
                continue;
            }
            state.idle += 1;
            let end = Instant::now() + IDLE;
            while state.calls == 0 {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    state.idle -= 1;
                    state.threads -= 1;
                    return;
                }
                let waited = self.called.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            state.calls -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, mpsc};

    use super::*;

    #[test]
    fn jobs_beyond_the_limit_wait_for_a_thread() {
        let gate = Gate::default();
        let all_run = Arc::new(Barrier::new(MAX_AT_ONCE + 1));
        let may_end = Arc::new(Barrier::new(MAX_AT_ONCE + 1));
        for _ in 0..MAX_AT_ONCE {
            let (run, end) = (Arc::clone(&all_run), Arc::clone(&may_end));
            gate.run(move || {
                run.wait();
                end.wait();
            });
        }
        all_run.wait();
        let (done, is_done) = mpsc::channel();
        let last = done.clone();
        gate.run(move || last.send(()).expect("the test waits"));
        assert_eq!(gate.0.state().waiting.len(), 1, "it ran beyond the limit");
        may_end.wait();
        let long = Duration::from_secs(30);
        is_done.recv_timeout(long).expect("it ran");
        // Idle threads run later jobs.
        gate.run(move || done.send(()).expect("the test waits"));
        is_done.recv_timeout(long).expect("it ran");
        assert!(gate.0.state().threads <= MAX_AT_ONCE);
    }
}
