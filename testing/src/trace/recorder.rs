//! The recorder, which writes messages as lines of JSON.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use mcplink::transport::{Tap, Tapped, Transport};

use super::Entry;
use crate::sync::Mutex;

/// Writes messages as lines of JSON: see the [module](super) for the format.
///
/// Clones write to the same destination. The thread that sends or receives a message writes and
/// flushes its line before it passes the message on. So a trace is complete even if the program
/// crashes, and a slow destination slows the connection. A write error does not disturb the
/// connection: the recorder stops recording, and [`finish`](Self::finish) reports the error.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
    /// The name of the peer in each line.
    peer: Option<Arc<str>>,
}

struct Shared {
    start: Instant,
    /// The destination of the lines. The lock is held while a line is written, so that lines stay
    /// whole.
    out: Mutex<Out>,
}

struct Out {
    write: Box<dyn Write + Send>,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Creates a recorder that writes to `write`. The recorded times count from this moment.
    pub fn new(write: impl Write + Send + 'static) -> Self {
        let out = Out {
            write: Box::new(write),
            failed: None,
        };
        let shared = Arc::new(Shared {
            start: Instant::now(),
            out: Mutex::new(out),
        });
        Self { shared, peer: None }
    }

    /// Returns a recorder for the messages of another connection, which writes to the same
    /// destination. Its lines name the peer of that connection (`"peer"`), so a program with
    /// several connections can record all of them in one trace. A [`Replay`](super::Replay) skips
    /// these lines.
    pub fn for_peer(&self, name: &str) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            peer: Some(name.into()),
        }
    }

    /// Wraps a transport so that all of its messages are recorded.
    pub fn tap(&self, transport: impl Transport + 'static) -> Tap {
        let this = self.clone();
        Tap::new(transport, move |message| this.record(message))
    }

    /// Records one message. Call this method from the hook of a [`Tap`] if the hook also does other
    /// work.
    pub fn record(&self, message: &Tapped<'_>) {
        let since = message.at.saturating_duration_since(self.shared.start);
        let t = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let Ok(mut line) = serde_json::to_vec(&Entry::of(t, self.peer.as_deref(), message)) else {
            return;
        };
        // Raw JSON has line breaks only between its tokens, where a space is equivalent.
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        let mut out = self.shared.out.lock();
        if out.failed.is_none() {
            let written = out.write.write_all(&line).and_then(|()| out.write.flush());
            out.failed = written.err();
        }
    }

    /// Checks that all messages so far were written.
    ///
    /// # Errors
    ///
    /// The first write error. Nothing was recorded after that error. Later calls return another
    /// error of the same kind.
    pub fn finish(&self) -> io::Result<()> {
        let mut out = self.shared.out.lock();
        match out.failed.take() {
            Some(error) => {
                let again = io::Error::new(error.kind(), "recording failed before");
                out.failed = Some(again);
                Err(error)
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use mcplink::jsonrpc::TooLong;
    use mcplink::transport::{Direction, Received, SessionMessage};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn check(text: &[u8], expected: &str) {
        let buffer = Buffer::default();
        let recorder = Recorder::new(buffer.clone());
        let message = SessionMessage::new(text.to_vec());
        let mut tapped = Tapped::outgoing(1, &message);
        assert_eq!(tapped.direction, Direction::Outgoing);
        tapped.at = recorder.shared.start;
        recorder.record(&tapped);
        let line = String::from_utf8(buffer.0.lock().clone()).expect("UTF-8");
        assert_eq!(line, format!("{{\"t\":0,\"dir\":\"out\",{expected}}}\n"));
    }

    #[test]
    fn a_line_is_written_for_anything() {
        check(
            br#"{"id":1.0,"b":2,"a":"\n"}"#,
            r#""message":{"id":1.0,"b":2,"a":"\n"}"#,
        );
        check(b"{\r\n \"a\": 1\n}", r#""message":{   "a": 1 }"#);
        check(b"Hello\nthere", r#""text":"Hello\nthere""#);
        check(b"\xff", "\"text\":\"\u{fffd}\"");
        check(b"", r#""text":"""#);
    }

    #[test]
    fn a_peer_is_named_in_the_same_trace() {
        let buffer = Buffer::default();
        let recorder = Recorder::new(buffer.clone());
        let message = SessionMessage::new(b"{}".to_vec());
        let mut tapped = Tapped::outgoing(1, &message);
        tapped.at = recorder.shared.start;
        recorder.for_peer("files").record(&tapped);
        recorder.record(&tapped);
        let lines = String::from_utf8(buffer.0.lock().clone()).expect("UTF-8");
        let expected = concat!(
            r#"{"t":0,"peer":"files","dir":"out","message":{}}"#,
            "\n",
            r#"{"t":0,"dir":"out","message":{}}"#,
            "\n",
        );
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_was_too_long_is_told() {
        let long = Received::TooLong(TooLong {
            bytes: 9,
            id: Some(7.into()),
            is_response: false,
            no_memory: false,
        });
        let buffer = Buffer::default();
        let recorder = Recorder::new(buffer.clone());
        let tapped = Tapped::incoming(1, &long).expect("something");
        recorder.record(&tapped);
        let line = String::from_utf8(buffer.0.lock().clone()).expect("UTF-8");
        let expected = r#""dir":"in","too_long":{"bytes":9,"id":7,"response":false}}"#;
        assert!(line.trim_end().ends_with(expected), "{line}");
    }

    #[test]
    fn a_failure_is_told_and_nothing_else() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let recorder = Recorder::new(Full);
        recorder.finish().expect("nothing was to be written");
        recorder.record(&Tapped::outgoing(1, &SessionMessage::new(b"{}".to_vec())));
        let error = recorder.finish().expect_err("it was full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
