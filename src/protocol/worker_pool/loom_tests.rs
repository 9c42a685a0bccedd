//! Models of the worker pool. `loom` runs each model in all possible orders of its threads.

use super::*;

/// The reader runs a handler inline while the watchdog arrives: exactly one of them holds the
/// receiver.
#[test]
fn loom_the_receiver_has_one_holder() {
    loom::model(|| {
        let crew = Arc::new(WorkerPool::<u32>::new(4));
        let thief = {
            let crew = Arc::clone(&crew);
            loom::thread::spawn(move || crew.take())
        };
        let inline = crew.begin_inline(7);
        let kept = match inline {
            Ok((park, hands)) => {
                assert_eq!(hands, Spawn::One);
                crew.end_inline(park).0
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
        let crew = Arc::new(WorkerPool::<u32>::new(4));
        let channel = CallChannel::new();
        let leaving = {
            let crew = Arc::clone(&crew);
            loom::thread::spawn(move || crew.release_reader(7))
        };
        let mut receiver = crew.take_or_stand_by(1, &channel);
        while receiver.is_none() {
            if channel.is_empty() {
                // Without the wakeup this wait, and so the model, would never end. A caller
                // that is not yet blocked is covered by the watchdog's tick, which this model
                // does not have.
                loom::thread::yield_now();
            }
            receiver = crew.take();
        }
        assert_eq!(receiver, Some(7));
        let _ = leaving.join().expect("no panic");
    });
}

/// A pool is shared by two clients and has no free permit. A handler of one client is queued while
/// a handler of the other client returns. A free thread takes the queued handler, or a thread is
/// started for it.
#[test]
fn loom_a_handler_of_another_client_is_not_forgotten() {
    let work = |number| Work {
        run: Run::Job(Box::new(|| {})),
        key: None,
        client: Some(Client::Connection(number)),
    };
    loom::model(move || {
        let crew = Arc::new(WorkerPool::<u32>::shared(1, 1, 0));
        crew.end_reading();
        assert_eq!(crew.push_work(work(1)), Spawn::One);
        assert!(matches!(crew.next_duty(true), (PoolTask::Run(_), _)));
        let worker = {
            let crew = Arc::clone(&crew);
            loom::thread::spawn(move || {
                crew.work_done(Some(&Client::Connection(1)), TICK);
                matches!(crew.next_duty(false), (PoolTask::Run(_), _))
            })
        };
        let spawn = crew.push_work(work(2));
        let has_run = worker.join().expect("no panic");
        // Both may be true. Then the started thread finds that the other thread was faster.
        assert!(has_run || spawn == Spawn::One);
        let is_run = matches!(crew.next_duty(true), (PoolTask::Run(_), _));
        assert_ne!(has_run, is_run);
        assert_eq!(crew.waiting(), (0, 0));
    });
}

/// The pool closes while the receiver is parked and taken. The receiver is dropped once, and no
/// thread holds it afterwards.
#[test]
fn loom_the_end_takes_the_receiver() {
    loom::model(|| {
        let crew = Arc::new(WorkerPool::<Arc<()>>::new(4));
        let receiver = Arc::new(());
        let watch = Arc::clone(&receiver);
        let parking = {
            let crew = Arc::clone(&crew);
            loom::thread::spawn(move || {
                let _ = crew.park(receiver);
                drop(crew.take());
            })
        };
        crew.end_reading();
        parking.join().expect("no panic");
        assert_eq!(Arc::strong_count(&watch), 1);
    });
}
