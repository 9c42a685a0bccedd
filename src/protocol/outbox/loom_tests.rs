//! Models of the outbox. `loom` runs each model in all possible orders of its threads.

use std::sync::Arc;

use super::*;

#[derive(Debug)]
struct Counting(Arc<loom::sync::Mutex<usize>>);

impl Sender for Counting {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _deadline: Instant) -> Result<()> {
        *self.0.lock().expect("no panic") += queue.len();
        queue.clear();
        Ok(())
    }
}

/// Two threads queue and flush. Each thread may leave when the other thread is writing.
/// Nevertheless all messages are written.
#[test]
fn loom_nothing_stays_behind() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let outbox = Arc::new(Outbox::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        let write = |outbox: &Outbox| {
            outbox
                .push_over(SessionMessage::new("x".into()))
                .expect("room");
            assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
        };
        let other = {
            let outbox = Arc::clone(&outbox);
            loom::thread::spawn(move || write(&outbox))
        };
        write(&outbox);
        other.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 2);
        assert!(!outbox.is_due(false));
    });
}

/// A caller relies on the reading thread to write its message, while the reading thread withdraws
/// its promise to flush. Either the last check of the reading thread finds the message, or the
/// caller writes the message.
#[test]
fn loom_what_is_seen_to_is_written() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let outbox = Arc::new(Outbox::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        outbox.will_flush(true);
        let caller = {
            let outbox = Arc::clone(&outbox);
            loom::thread::spawn(move || {
                let pushed = outbox.try_push(&mut Some(SessionMessage::new("x".into())));
                pushed.expect("open");
                if !outbox.is_seen_to() {
                    assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
                }
            })
        };
        outbox.will_flush(false);
        if outbox.is_due(false) {
            assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
        }
        caller.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 1);
    });
}

/// A caller queues a message whose write may be delayed, while the reading thread withdraws its
/// promise to flush. Either the reading thread finds the message, or the caller sees that it has to
/// write the message before it waits.
#[test]
fn loom_what_may_wait_is_written_too() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let outbox = Arc::new(Outbox::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        outbox.will_flush(true);
        let caller = {
            let outbox = Arc::clone(&outbox);
            loom::thread::spawn(move || {
                let pushed = outbox.try_push_soon(&mut Some(SessionMessage::new("x".into())));
                pushed.expect("open");
                if !outbox.is_seen_to() && outbox.has_soon() {
                    assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
                }
            })
        };
        outbox.will_flush(false);
        assert!(!outbox.is_due(false), "the message may wait");
        if outbox.has_soon() {
            assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
        }
        caller.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 1);
    });
}

/// A source whose messages are created when the writer pulls them.
struct Waiting {
    outbox: std::sync::Weak<Outbox>,
    count: Arc<loom::sync::Mutex<usize>>,
}

impl Source for Waiting {
    fn pull(&self, _enough: usize) -> bool {
        let count = std::mem::take(&mut *self.count.lock().expect("no panic"));
        let outbox = self.outbox.upgrade().expect("it pulls");
        for _ in 0..count {
            let message = SessionMessage::new("x".into());
            outbox.push_over(message).expect("room");
        }
        false
    }
}

/// A source gets a message while another thread writes. Either that writer writes the message,
/// or the thread that announced the message does.
#[test]
fn loom_what_waits_elsewhere_is_written() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let outbox = Arc::new(Outbox::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        let count = Arc::new(loom::sync::Mutex::new(0));
        let teller = {
            let (outbox, count) = (Arc::clone(&outbox), Arc::clone(&count));
            loom::thread::spawn(move || {
                *count.lock().expect("no panic") += 1;
                outbox.want_pull(|| {
                    Box::new(Waiting {
                        outbox: Arc::downgrade(&outbox),
                        count: Arc::clone(&count),
                    })
                });
                assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
            })
        };
        outbox
            .push_over(SessionMessage::new("x".into()))
            .expect("room");
        assert!(matches!(outbox.flush(Instant::now()), Flush::Done));
        teller.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 2);
        assert!(outbox.is_empty());
    });
}

/// Draining does not end while another thread writes.
#[test]
fn loom_draining_waits_for_the_writer() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let outbox = Arc::new(Outbox::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        outbox
            .push_over(SessionMessage::new("x".into()))
            .expect("room");
        let writer = {
            let outbox = Arc::clone(&outbox);
            loom::thread::spawn(move || _ = outbox.flush(Instant::now()))
        };
        outbox.drain(Instant::now() + Duration::from_secs(3600));
        assert_eq!(*sent.lock().expect("no panic"), 1);
        writer.join().expect("no panic");
    });
}
