//! The head of a request leaves together with its body.
//!
//! The agent hands the connection the head first, and then the body. Sent like that they would be two packets, of which the first wakes a
//! server that can't do anything with it. A body is a piece of JSON that is at hand, so the head waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, NextTimeout, Transport,
};

/// What is longer is sent at once.
const HELD: usize = 4 << 10;

/// Has connections gather what belongs together. The last one of a chain.
#[derive(Debug)]
pub(super) struct Gathering {
    /// Set when something has left.
    pub(super) has_sent: Arc<AtomicBool>,
    pub(super) has_proxy: bool,
}

impl<T: Transport> Connector<T> for Gathering {
    type Out = Either<T, Gathered<T>>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<T>,
    ) -> Result<Option<Self::Out>, Error> {
        // The way to a proxy is made by the same chain, by itself and without the proxy; what goes through it is gathered above.
        let leads_to_proxy = self.has_proxy && details.config.proxy().is_none();
        Ok(chained.map(|inner| {
            if leads_to_proxy {
                return Either::A(inner);
            }
            Either::B(Gathered {
                inner,
                held: Vec::new(),
                may_hold: true,
                was_heard: false,
                has_sent: Arc::clone(&self.has_sent),
            })
        }))
    }
}

/// A connection that holds back the first piece of what it is to send, until there is a second one or it waits for an answer.
#[derive(Debug)]
pub(super) struct Gathered<T> {
    inner: T,
    held: Vec<u8>,
    /// Nothing was handed over since there was last something to be read: what comes is the beginning of a request.
    may_hold: bool,
    /// Something was read, and it was not asked since whether the connection is open.
    was_heard: bool,
    has_sent: Arc<AtomicBool>,
}

impl<T: Transport> Gathered<T> {
    /// Sends so much of the buffer, with what was held back in front.
    fn send(&mut self, mut amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let held = std::mem::take(&mut self.held);
        let output = self.inner.buffers().output();
        if held.len() + amount <= output.len() {
            output.copy_within(..amount, held.len());
            output[..held.len()].copy_from_slice(&held);
            amount += held.len();
        } else {
            let rest = output[..amount].to_vec();
            output[..held.len()].copy_from_slice(&held);
            self.inner.transmit_output(held.len(), timeout)?;
            self.has_sent.store(true, Ordering::Relaxed);
            self.inner.buffers().output()[..amount].copy_from_slice(&rest);
        }
        self.inner.transmit_output(amount, timeout)?;
        self.has_sent.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl<T: Transport> Transport for Gathered<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if std::mem::take(&mut self.may_hold) && amount <= HELD {
            let output = self.inner.buffers().output();
            self.held.extend_from_slice(&output[..amount]);
            return Ok(());
        }
        self.send(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        if !self.held.is_empty() {
            self.send(0, timeout)?;
        }
        let read = self.inner.await_input(timeout)?;
        (self.may_hold, self.was_heard) = (true, read);
        Ok(read)
    }

    /// It is asked when an exchange has ended, and again when the next one begins. The second time is soon enough to find out.
    fn is_open(&mut self) -> bool {
        std::mem::take(&mut self.was_heard) || self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use ureq::Timeout;
    use ureq::unversioned::transport::LazyBuffers;
    use ureq::unversioned::transport::time::Duration;

    use super::*;

    const BUFFER: usize = 16 << 10;

    /// Notes what is sent, until it refuses to.
    #[derive(Debug)]
    struct Script {
        buffers: LazyBuffers,
        sent: Vec<Vec<u8>>,
        refuses: bool,
        asked_if_open: usize,
    }

    impl Transport for Script {
        fn buffers(&mut self) -> &mut dyn Buffers {
            &mut self.buffers
        }

        fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
            if self.refuses {
                return Err(Error::ConnectionFailed);
            }
            self.sent.push(self.buffers.output()[..amount].to_vec());
            Ok(())
        }

        fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
            Ok(true)
        }

        fn is_open(&mut self) -> bool {
            self.asked_if_open += 1;
            true
        }
    }

    fn connection() -> Gathered<Script> {
        Gathered {
            inner: Script {
                buffers: LazyBuffers::new(BUFFER, BUFFER),
                sent: Vec::new(),
                refuses: false,
                asked_if_open: 0,
            },
            held: Vec::new(),
            may_hold: true,
            was_heard: false,
            has_sent: Arc::default(),
        }
    }

    fn no_timeout() -> NextTimeout {
        NextTimeout {
            after: Duration::NotHappening,
            reason: Timeout::Global,
            ..NextTimeout::default()
        }
    }

    fn write(connection: &mut Gathered<Script>, bytes: &[u8]) -> Result<(), Error> {
        connection.buffers().output()[..bytes.len()].copy_from_slice(bytes);
        connection.transmit_output(bytes.len(), no_timeout())
    }

    fn read(connection: &mut Gathered<Script>) {
        assert!(connection.await_input(no_timeout()).expect("it is there"));
    }

    fn sent(connection: &mut Gathered<Script>) -> Vec<Vec<u8>> {
        std::mem::take(&mut connection.inner.sent)
    }

    #[test]
    fn a_head_leaves_with_its_body() {
        let mut connection = connection();
        for _ in 0..2 {
            write(&mut connection, b"head ").expect("held");
            assert!(sent(&mut connection).is_empty());
            write(&mut connection, b"body").expect("sent");
            write(&mut connection, b" and more").expect("sent");
            assert_eq!(sent(&mut connection), [&b"head body"[..], b" and more"]);
            read(&mut connection);
            assert!(sent(&mut connection).is_empty());
        }
    }

    #[test]
    fn a_head_without_a_body_leaves_before_the_answer_is_waited_for() {
        let mut connection = connection();
        write(&mut connection, b"head").expect("held");
        read(&mut connection);
        assert_eq!(sent(&mut connection), [b"head"]);
        let long = vec![b'h'; HELD + 1];
        write(&mut connection, &long).expect("sent");
        assert_eq!(sent(&mut connection), [long]);
    }

    #[test]
    fn a_body_that_fills_the_buffer_follows_its_head() {
        let mut connection = connection();
        let body = vec![b'b'; BUFFER - 3];
        write(&mut connection, b"head").expect("held");
        write(&mut connection, &body).expect("sent");
        assert_eq!(sent(&mut connection), [&b"head"[..], &body]);
        read(&mut connection);
        let body = &body[1..];
        write(&mut connection, b"head").expect("held");
        write(&mut connection, body).expect("sent");
        assert_eq!(sent(&mut connection), [[&b"head"[..], body].concat()]);
    }

    #[test]
    fn what_was_held_when_sending_failed_has_not_been_sent() {
        let mut connection = connection();
        connection.inner.refuses = true;
        write(&mut connection, b"head").expect("held");
        assert!(write(&mut connection, b"body").is_err());
        assert!(!connection.has_sent.load(Ordering::Relaxed));
        connection.inner.refuses = false;
        write(&mut connection, b"more").expect("sent");
        assert!(connection.has_sent.load(Ordering::Relaxed));
    }

    #[test]
    fn a_connection_is_looked_at_once_between_two_exchanges() {
        let mut connection = connection();
        read(&mut connection);
        assert!(connection.is_open() && connection.inner.asked_if_open == 0);
        assert!(connection.is_open() && connection.inner.asked_if_open == 1);
        assert!(connection.is_open() && connection.inner.asked_if_open == 2);
    }
}
