//! The action `record`: sits between a host and a server that it starts, and writes each message to
//! a file. Also the pump, with which two transports speak to each other.
//!
//! **Threads.** `pump`, started by [`pump`]: it passes the messages of the first side on. The
//! second side is read on the calling thread. [`pump`] joins the thread.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::transport::trace::Recorder;
use mcplink::transport::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Stderr, Stdio, Transport,
    TransportParts,
};
use mcplink::{Error, ErrorKind};

use crate::args::{Options, RecordRequest};
use crate::failure::{Failure, LOST};
use crate::interrupt;
use crate::print::note;
use crate::reach::{self, Reached};

/// How long a message may wait for its reader. Both sides decide about timeouts themselves.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// Runs the server, and passes messages on until one side closes.
pub(crate) fn run(request: &RecordRequest, options: &Options) -> Result<(), Failure> {
    let Reached::Child(child) = reach::reach(&options.place)? else {
        let text = "record takes a server that is started: for others use 'mcplink proxy --record'";
        return Err(Failure::usage(text.to_owned()));
    };
    // The host chose the environment and the place of standard error: for the server.
    let child = child.inherit_env().stderr(Stderr::Inherit);
    let path = request.file.display();
    let file =
        File::create(&request.file).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let recorder = Recorder::new(file);
    let limits = limits();
    let server = open(recorder.tap(child), &limits)
        .map_err(|error| Failure::of_connecting(&error, None, true))?;
    let host = open(Stdio::new(), &limits)?;
    let ended = pump(host, server, || {});
    recorder
        .finish()
        .map_err(|error| Failure::new(LOST, format!("{path} is incomplete: {error}")))?;
    ended.server.map_err(Failure::from)
}

/// Limits for messages of any length, since both sides have limits of their own.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_message_bytes = 1 << 30;
    limits.max_queued_bytes = 1 << 30;
    limits
}

pub(crate) fn open(
    transport: impl Transport + 'static,
    limits: &Limits,
) -> mcplink::Result<TransportParts> {
    Box::new(transport).open(limits)
}

/// How the two sides of a pump have ended. An orderly end is no error.
pub(crate) struct Ended {
    pub(crate) host: mcplink::Result<()>,
    pub(crate) server: mcplink::Result<()>,
}

/// Passes the messages of each side to the other one. Blocks until one side has closed or a signal
/// arrives, and the rest of the server's messages have passed. `on_end` runs when the host's side
/// has ended, before the server's side is closed.
pub(crate) fn pump(
    host: TransportParts,
    server: TransportParts,
    on_end: impl FnOnce() + Send + 'static,
) -> Ended {
    let (mut from_host, mut to_host) = (host.receiver, host.sender);
    let (mut from_server, mut to_server) = (server.receiver, server.sender);
    let (host, server) = (host.control, server.control);
    let controls: [Arc<dyn Control>; 2] = [Arc::clone(&host), Arc::clone(&server)];
    let _interrupted = interrupt::token().on_trigger(move || {
        controls.iter().for_each(|control| control.close());
    });
    let ends_server = Arc::clone(&server);
    let thread = thread::Builder::new().name("pump".to_owned());
    let passing = thread.spawn(move || {
        let ended = pass_on(&mut *from_host, &mut *to_server);
        on_end();
        // The server sees the end of its input, and may still answer.
        ends_server.close();
        ended
    });
    let passing = match passing {
        Ok(passing) => passing,
        Err(error) => {
            server.close();
            let error = Error::new(ErrorKind::Io, format!("no thread: {error}"));
            return Ended {
                host: Err(error),
                server: Ok(()),
            };
        }
    };
    let ended = pass_on(&mut *from_server, &mut *to_host);
    host.close();
    server.close();
    // The thread does not panic.
    let host = passing.join().unwrap_or(Ok(()));
    Ended {
        host,
        server: ended,
    }
}

/// Passes messages on until one of the two ends.
fn pass_on(from: &mut dyn Receiver, to: &mut dyn Sender) -> mcplink::Result<()> {
    let orderly = |error: Error| match error.kind() {
        ErrorKind::Closed => Ok(()),
        _ => Err(error),
    };
    loop {
        match from.receive(None) {
            Ok(Received::Message(message)) => {
                let mut queue = VecDeque::from([SessionMessage::new(message.text)]);
                if let Err(error) = to.send(&mut queue, Instant::now() + PATIENCE) {
                    return orderly(error);
                }
            }
            Ok(Received::TooLong(long)) => {
                note(&format!(
                    "mcplink: a message of {} bytes is too long",
                    long.bytes
                ));
            }
            Ok(_) => {}
            Err(error) => return orderly(error),
        }
    }
}
