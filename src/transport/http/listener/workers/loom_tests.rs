//! Models of the worker pool. `loom` runs each model in all possible orders of its threads.

use super::*;

fn workers() -> Arc<Workers<u32>> {
    let workers = Arc::new(Workers::new(sizes(1, 9)));
    assert_eq!(workers.push(0, key(1).own()), Ok(Spawn::One));
    workers
}

/// Two jobs are queued while the only worker becomes idle. The worker is woken, and takes both.
#[test]
fn loom_a_job_is_never_left_lying() {
    loom::model(|| {
        let workers = workers();
        let worker = {
            let workers = Arc::clone(&workers);
            loom::thread::spawn(move || {
                workers.arrived();
                let taken = (0..3).filter_map(|_| workers.next());
                taken.map(|taken| taken.job).sum::<u32>()
            })
        };
        assert!(workers.push(1, key(1).own()).is_ok());
        assert!(workers.push(2, key(2).own()).is_ok());
        assert_eq!(worker.join().expect("no panic"), 3);
    });
}

/// A job is queued while a worker registers its slot as idle and removes it again. The job is
/// taken once, and the slot is removed.
#[test]
fn loom_who_sits_down_and_rises_misses_no_job() {
    loom::model(|| {
        let workers = workers();
        let worker = {
            let workers = Arc::clone(&workers);
            loom::thread::spawn(move || {
                workers.arrived();
                let slot = Arc::new(IdleSlot::Idle(Condvar::new()));
                let mut taken = Vec::new();
                for _ in 0..2 {
                    let found = workers
                        .take_or_idle(&slot)
                        .or_else(|| workers.leave_idle(&slot));
                    taken.extend(found.map(|taken| taken.job));
                }
                assert!(!workers.state.lock().has(&slot));
                taken
            })
        };
        assert!(workers.push(1, key(1).own()).is_ok());
        let mut taken = worker.join().expect("no panic");
        taken.extend(workers.stop());
        assert_eq!(taken, [0, 1]);
    });
}

/// A request begins to wait while its client's only permit is released. The permit is granted
/// once.
#[test]
fn loom_a_request_that_waits_gets_the_permit_that_is_given_back() {
    loom::model(|| {
        let workers = workers();
        let (permit, _) = workers.permit(&key(1)).expect("it is free");
        let (one, other) = (Arc::clone(&workers), Arc::clone(&workers));
        let reader = loom::thread::spawn(move || {
            one.arrived();
            let job = one.next().map(|taken| taken.job);
            assert_eq!(job, Some(0));
            let own = one.permit(&key(1)).map(|(permit, _)| permit);
            let own = own.unwrap_or_else(|| {
                assert!(one.wait(0, key(1)).is_ok());
                let taken = one.next().expect("it is granted");
                assert_eq!(taken.job, 0);
                taken.permit.expect("a permit")
            });
            _ = one.release(&own);
        });
        let handler = loom::thread::spawn(move || _ = other.release(&permit));
        handler.join().expect("no panic");
        reader.join().expect("no panic");
        assert_eq!(workers.state.lock().permits.held(), 0);
        assert!(workers.stop().is_empty());
    });
}

/// A client goes while its handler returns. The permit is counted once.
#[test]
fn loom_a_client_that_goes_at_the_end_of_its_handler_leaves_no_trace() {
    loom::model(|| {
        let workers = workers();
        let (permit, _) = workers.permit(&key(1)).expect("it is free");
        let (one, other) = (Arc::clone(&workers), Arc::clone(&permit));
        let poller = loom::thread::spawn(move || _ = one.orphan(&other));
        _ = workers.release(&permit);
        poller.join().expect("no panic");
        let state = workers.state.lock();
        assert_eq!((state.orphans, state.permits.held()), (0, 0));
    });
}

/// The pool is stopped while a worker becomes idle. The worker ends.
#[test]
fn loom_stopping_reaches_every_thread() {
    loom::model(|| {
        let workers = workers();
        let worker = {
            let workers = Arc::clone(&workers);
            loom::thread::spawn(move || while workers.next().is_some() {})
        };
        let _ = workers.stop();
        worker.join().expect("no panic");
        assert_eq!(workers.threads(), 0);
    });
}
