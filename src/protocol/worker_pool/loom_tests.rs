//! Models of the worker pool. `loom` runs each model in all possible orders of its threads.

use super::*;

/// The reader runs a handler inline while the watchdog tries to take the receiver: exactly one of
/// them holds the receiver.
#[test]
fn loom_the_receiver_has_one_holder() {
    loom::model(|| {
        let pool = Arc::new(WorkerPool::<u32, ()>::new(4));
        let thief = {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || pool.take())
        };
        let inline = pool.begin_inline(7);
        let kept = match inline {
            Ok((park, spawn)) => {
                assert_eq!(spawn, Spawn::One);
                pool.end_inline(park).0
            }
            Err(receiver) => Some(receiver),
        };
        let stolen = thief.join().expect("no panic");
        assert!(
            kept.is_some() != stolen.is_some(),
            "{kept:?} and {stolen:?}"
        );
    });
}

/// A caller registers while the reading caller leaves. The waiting caller is woken, or finds the
/// receiver.
#[test]
fn loom_a_waiting_caller_is_not_forgotten() {
    loom::model(|| {
        let pool = Arc::new(WorkerPool::<u32, ()>::new(4));
        let channel = CallChannel::new();
        let leaving = {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || pool.release_reader(7))
        };
        let mut receiver = pool.take_or_stand_by(1, &channel);
        while receiver.is_none() {
            if channel.is_empty() {
                // Without the wakeup this wait, and so the model, would never end. A caller
                // that is not yet blocked is covered by the watchdog's tick, which this model
                // does not have.
                loom::thread::yield_now();
            }
            receiver = pool.take();
        }
        assert_eq!(receiver, Some(7));
        let _ = leaving.join().expect("no panic");
    });
}

/// A waiting caller ends while the reading caller leaves. The other waiting caller is woken.
#[test]
fn loom_the_reading_role_is_passed_on() {
    loom::model(|| {
        let pool = Arc::new(WorkerPool::<u32, ()>::new(4));
        let channels = [CallChannel::new(), CallChannel::new()];
        for (id, channel) in (1..).zip(&channels) {
            assert_eq!(pool.take_or_stand_by(id, channel), None);
        }
        let leaving = {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || pool.release_reader(7))
        };
        pool.stand_down(1, &channels[0], false);
        let _ = leaving.join().expect("no panic");
        assert!(!channels[1].is_empty());
    });
}

/// A pool is shared by two clients and has no free permit. A handler of one client is queued while
/// a handler of the other client returns. A free thread takes the queued handler, or a thread is
/// started for it.
#[test]
fn loom_a_handler_of_another_client_is_not_forgotten() {
    loom::model(|| {
        let clients = [1, 2].map(Client::Connection);
        let pool = Arc::new(WorkerPool::<u32, ()>::shared(1, 1, 0));
        pool.end_reading();
        assert_eq!(pool.push_work(Some(&clients[0]), ()), Spawn::One);
        assert!(matches!(pool.next_duty(true), (PoolTask::Run(_), _)));
        let worker = {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || {
                pool.work_done(Some(&Client::Connection(1)), TICK);
                matches!(pool.next_duty(false), (PoolTask::Run(_), _))
            })
        };
        let spawn = pool.push_work(Some(&clients[1]), ());
        let has_run = worker.join().expect("no panic");
        // Both may be true. Then the started thread finds that the other thread was faster.
        assert!(has_run || spawn == Spawn::One);
        let is_run = matches!(pool.next_duty(true), (PoolTask::Run(_), _));
        assert_ne!(has_run, is_run);
        assert_eq!(pool.waiting(), (0, 0));
    });
}

/// The pool closes while the receiver is parked and taken. The receiver is dropped once, and no
/// thread holds it afterwards.
#[test]
fn loom_the_end_takes_the_receiver() {
    loom::model(|| {
        let pool = Arc::new(WorkerPool::<Arc<()>, ()>::new(4));
        let receiver = Arc::new(());
        let watch = Arc::clone(&receiver);
        let parking = {
            let pool = Arc::clone(&pool);
            loom::thread::spawn(move || {
                let _ = pool.park(receiver);
                drop(pool.take());
            })
        };
        pool.end_reading();
        parking.join().expect("no panic");
        assert_eq!(Arc::strong_count(&watch), 1);
    });
}
