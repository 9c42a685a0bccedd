//! The limit of calls that run at one server at once.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many calls run at one server at once. The others wait, so a slow server occupies only these
/// threads.
pub(super) const MAX_AT_ONCE: usize = 32;

type Job = Box<dyn FnOnce() + Send>;

/// Runs jobs on the threads that bring them, at most [`MAX_AT_ONCE`] at the same time. A thread
/// whose job has ended goes on with the job that has waited longest.
#[derive(Default)]
pub(super) struct Gate(Mutex<State>);

#[derive(Default)]
struct State {
    running: usize,
    waiting: VecDeque<Job>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a job now, or leaves it to the first thread that becomes free.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        if state.running >= MAX_AT_ONCE {
            state.waiting.push_back(Box::new(job));
            return;
        }
        state.running += 1;
        drop(state);
        let mut pass = Pass {
            gate: self,
            is_held: true,
        };
        job();
        while let Some(next) = pass.next() {
            next();
        }
    }
}

/// The right of one thread to run jobs. A job that panics gives it back.
struct Pass<'a> {
    gate: &'a Gate,
    is_held: bool,
}

impl Pass<'_> {
    /// Takes the next job. Gives the right back if there is none, under the same lock: a job that
    /// comes later then finds a free place.
    fn next(&mut self) -> Option<Job> {
        let mut state = self.gate.state();
        let next = state.waiting.pop_front();
        if next.is_none() {
            state.running -= 1;
            self.is_held = false;
        }
        next
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_held {
            self.gate.state().running -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, mpsc};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn jobs_beyond_the_limit_wait_for_a_thread() {
        let gate = Arc::new(Gate::default());
        let all_run = Arc::new(Barrier::new(MAX_AT_ONCE + 1));
        let may_end = Arc::new(Barrier::new(MAX_AT_ONCE + 1));
        let threads: Vec<_> = (0..MAX_AT_ONCE)
            .map(|_| {
                let (gate, run, end) = (Arc::clone(&gate), all_run.clone(), may_end.clone());
                thread::spawn(move || {
                    gate.run(move || {
                        run.wait();
                        end.wait();
                    });
                })
            })
            .collect();
        all_run.wait();
        let (done, is_done) = mpsc::channel();
        gate.run(move || done.send(()).expect("the test waits"));
        assert!(is_done.try_recv().is_err(), "it ran beyond the limit");
        may_end.wait();
        for thread in threads {
            thread.join().expect("no panic");
        }
        is_done
            .recv_timeout(Duration::from_secs(30))
            .expect("it ran");
        assert_eq!(gate.state().running, 0);
    }
}
