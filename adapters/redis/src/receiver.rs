//! Receives the events of the other processes from the stream.
//!
//! **Invariant:** `position` is the id of an entry that the receiver has seen, and everything
//! before it was delivered or covered by a `None`. Redis removes the oldest entries first. So while
//! the entry at `position` is still in the stream, no later entry was removed. If it is gone, or if
//! another run of Redis answers, entries may be lost: the receiver adds an entry as its new
//! position, and then delivers `None`.

use std::sync::mpsc::{self, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcplink::server::Deliver;
use mcplink::{Error, ErrorKind, Result};
use redis::streams::{StreamRangeReply, StreamReadReply};
use redis::{Connection, InfoDict, RedisResult};

use crate::error::failed;
use crate::event_bus::{EVENT, LOST, ORIGIN, Stream};
use crate::millis;
use crate::random::Backoff;

/// The longest time that Redis waits for entries before it answers without any.
const LONGEST_BLOCK: Duration = Duration::from_millis(250);

/// The receiving side of a bus, which runs on a thread of its own.
pub(crate) struct Receiver {
    stream: Stream,
    deliver: Deliver,
    connection: Option<Connection>,
    /// The id of the last entry that was seen, and the run of Redis in which it was seen.
    position: String,
    run: Option<String>,
    /// Whether entries are lost when the next position is taken. They are not at the first one.
    has_begun: bool,
    /// Disconnected when the subscription is dropped.
    stop: mpsc::Receiver<()>,
}

/// A subscription. Dropping the value ends the thread of the receiver.
struct Subscription {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stop = None;
        // The last owner of a server may be the thread itself, while it delivers an event.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            _ = thread.join();
        }
    }
}

impl Receiver {
    /// Takes the first position in the stream and starts the thread. If Redis can't be reached, the
    /// thread connects later, and then delivers `None`.
    pub(crate) fn start(stream: Stream, deliver: Deliver) -> Result<Box<dyn Send + Sync>> {
        let (send, stop) = mpsc::channel();
        let mut receiver = Self {
            stream,
            deliver,
            connection: None,
            position: String::new(),
            run: None,
            has_begun: false,
            stop,
        };
        _ = receiver.connect();
        receiver.has_begun = true;
        let thread = thread::Builder::new()
            .name("mcplink-redis-receive".to_owned())
            .spawn(move || receiver.run())
            .map_err(|error| Error::new(ErrorKind::Spawn, error.to_string()))?;
        Ok(Box::new(Subscription {
            stop: Some(send),
            thread: Some(thread),
        }))
    }

    fn run(mut self) {
        let mut backoff = Backoff::new();
        while self.stop.try_recv() == Err(TryRecvError::Empty) {
            let is_good = match self.connection.take() {
                Some(connection) => {
                    let read = self.read(connection);
                    if read.is_ok() {
                        backoff = Backoff::new();
                    }
                    read.is_ok()
                }
                None => self.connect().is_ok(),
            };
            if !is_good {
                // Ends early when the subscription is dropped.
                _ = self.stop.recv_timeout(backoff.pause());
            }
        }
    }

    /// Opens a connection. Keeps the position if the same run of Redis answers as before.
    fn connect(&mut self) -> Result<()> {
        let mut connection = self.stream.redis.own_connection()?;
        let began = self.began(&mut connection);
        began.map_err(|error| failed(&error))?;
        self.connection = Some(connection);
        Ok(())
    }

    fn began(&mut self, connection: &mut Connection) -> RedisResult<()> {
        let wait = Some(self.stream.redis.wait());
        connection.set_read_timeout(wait)?;
        connection.set_write_timeout(wait)?;
        let info: InfoDict = redis::cmd("INFO").arg("server").query(connection)?;
        let run = info.get::<String>("run_id");
        if run.is_none() || run != self.run {
            self.begin(connection)?;
            self.run = run;
        }
        Ok(())
    }

    /// Takes a new position, since entries after the old one may be lost.
    fn begin(&mut self, connection: &mut Connection) -> RedisResult<()> {
        let mut pipe = redis::pipe();
        self.stream.add(&mut pipe, None);
        (self.position,) = pipe.query(connection)?;
        if self.has_begun {
            (self.deliver)(None);
        }
        Ok(())
    }

    /// Waits for entries and delivers them. Waits at most for half of the timeout, so that the
    /// thread can end within the timeout.
    fn read(&mut self, mut connection: Connection) -> RedisResult<()> {
        let (key, position) = (&self.stream.key, &self.position);
        let block = millis((self.stream.redis.wait() / 2).min(LONGEST_BLOCK));
        let mut pipe = redis::pipe();
        pipe.cmd("XREAD")
            .arg(("BLOCK", block, "STREAMS", key, position))
            .cmd("XRANGE")
            .arg((key, position, position));
        let (read, old): (Option<StreamReadReply>, StreamRangeReply) =
            pipe.query(&mut connection)?;
        let streams = read.map(|read| read.keys).unwrap_or_default();
        for entry in streams.into_iter().flat_map(|stream| stream.ids) {
            if entry.get::<String>(ORIGIN).as_ref() != Some(&self.stream.origin) {
                if let Some(event) = entry.get::<String>(EVENT) {
                    (self.deliver)(Some(&event));
                } else if entry.contains_key(LOST) {
                    (self.deliver)(None);
                }
            }
            self.position = entry.id;
        }
        if old.ids.is_empty() {
            // If this fails, the position is not kept when the thread connects again.
            let run = self.run.take();
            self.begin(&mut connection)?;
            self.run = run;
        }
        self.connection = Some(connection);
        Ok(())
    }
}
