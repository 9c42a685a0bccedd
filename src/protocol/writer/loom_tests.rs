//! Models of the writer. `loom` runs each model in all possible orders of its threads.

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

fn push(writer: &Writer, when: When) {
    let mut message = Some(SessionMessage::new("x".into()));
    writer.push(&mut message, when).expect("open");
    assert!(message.is_none(), "there is room");
}

/// Two threads queue and flush. Each thread may leave when the other thread is writing.
/// Nevertheless all messages are written.
#[test]
fn loom_nothing_stays_behind() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let writer = Arc::new(Writer::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        let write = |writer: &Writer| {
            push(&writer, When::Elsewhere);
            assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        };
        let other = {
            let writer = Arc::clone(&writer);
            loom::thread::spawn(move || write(&writer))
        };
        write(&writer);
        other.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 2);
        assert!(!writer.is_due(false));
    });
}

/// A caller relies on the reading thread to write its message, while the reading thread withdraws
/// its promise to flush. Either the last check of the reading thread finds the message, or the
/// caller writes the message.
#[test]
fn loom_what_is_seen_to_is_written() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let writer = Arc::new(Writer::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        writer.will_flush(true);
        let caller = {
            let writer = Arc::clone(&writer);
            loom::thread::spawn(move || {
                push(&writer, When::Now);
                if !writer.is_seen_to() {
                    assert!(matches!(writer.flush(Instant::now()), Flush::Done));
                }
            })
        };
        writer.will_flush(false);
        if writer.is_due(false) {
            assert!(matches!(writer.flush(Instant::now()), Flush::Done));
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
        let writer = Arc::new(Writer::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        writer.will_flush(true);
        let caller = {
            let writer = Arc::clone(&writer);
            loom::thread::spawn(move || {
                push(&writer, When::Soon);
                if !writer.is_seen_to() && writer.has_soon() {
                    assert!(matches!(writer.flush(Instant::now()), Flush::Done));
                }
            })
        };
        writer.will_flush(false);
        assert!(!writer.is_due(false), "the message may wait");
        if writer.has_soon() {
            assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        }
        caller.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 1);
    });
}

/// A source whose messages are created when the writer pulls them.
struct Waiting {
    writer: std::sync::Weak<Writer>,
    count: Arc<loom::sync::Mutex<usize>>,
}

impl Source for Waiting {
    fn pull(&self, _enough: usize) -> bool {
        let count = std::mem::take(&mut *self.count.lock().expect("no panic"));
        let writer = self.writer.upgrade().expect("it pulls");
        for _ in 0..count {
            push(&writer, When::Elsewhere);
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
        let writer = Arc::new(Writer::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        let count = Arc::new(loom::sync::Mutex::new(0));
        let teller = {
            let (writer, count) = (Arc::clone(&writer), Arc::clone(&count));
            loom::thread::spawn(move || {
                *count.lock().expect("no panic") += 1;
                writer.want_pull(|| {
                    Box::new(Waiting {
                        writer: Arc::downgrade(&writer),
                        count: Arc::clone(&count),
                    })
                });
                assert!(matches!(writer.flush(Instant::now()), Flush::Done));
            })
        };
        push(&writer, When::Elsewhere);
        assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        teller.join().expect("no panic");
        assert_eq!(*sent.lock().expect("no panic"), 2);
        assert!(writer.is_empty());
    });
}

/// Draining does not end while another thread writes.
#[test]
fn loom_draining_waits_for_the_writer() {
    loom::model(|| {
        let sent = Arc::new(loom::sync::Mutex::new(0));
        let writer = Arc::new(Writer::new(Box::new(Counting(Arc::clone(&sent))), 1000));
        push(&writer, When::Elsewhere);
        let writing = {
            let writer = Arc::clone(&writer);
            loom::thread::spawn(move || _ = writer.flush(Instant::now()))
        };
        writer.drain(Instant::now() + Duration::from_secs(3600));
        assert_eq!(*sent.lock().expect("no panic"), 1);
        writing.join().expect("no panic");
    });
}
