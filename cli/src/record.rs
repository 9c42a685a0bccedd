//! The action `record`: sits between a host and a server that it starts, and writes each message to
//! a file. Also the pump, with which two transports speak to each other.
//!
//! **Threads.** `pump`, started by [`pump`]: it passes the messages of the first side on. The
//! second side is read on the calling thread. [`pump`] joins the thread.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::transport::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Stderr, Stdio, Transport,
    TransportParts,
};
use mcplink::{Error, ErrorKind};
use mcplink_testing::trace::Recorder;

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
    let file = create(&request.file).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let recorder = Recorder::new(file);
    let limits = limits();
    let server = open(recorder.tap(child), &limits)
        .map_err(|error| Failure::of_connecting(&error, None, true))?;
    let host = open(Stdio::new(), &limits)?;
    let ended = pump(host, server, || {});
    recorder
        .finish()
        .map_err(|error| Failure::new(LOST, format!("{path} is incomplete: {error}")))?;
    if let Some(error) = ended.server_left
        && !interrupt::has_come()
    {
        return Err(Failure::new(
            LOST,
            format!("the server has ended: {error:#}"),
        ));
    }
    ended.server.map_err(Failure::from)
}

/// Creates the file of a trace. Only the user can read it, since it has every secret of the
/// conversation. An earlier trace is replaced, and that is noted.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|earlier| earlier.is_file() && earlier.len() > 0) {
        note(&format!("mcplink: {} is replaced", path.display()));
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path)?;
    // The mode above is that of a new file.
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
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
    /// The error with which the server closed its side, if it did so before the host.
    pub(crate) server_left: Option<Error>,
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
    let (ends_server, host_has_ended) = (Arc::clone(&server), Arc::new(AtomicBool::new(false)));
    let host_ends = Arc::clone(&host_has_ended);
    let thread = thread::Builder::new().name("pump".to_owned());
    let passing = thread.spawn(move || {
        let ended = pass_on(&mut *from_host, &mut *to_server);
        // A host that sends to a server that has ended has not ended itself.
        let is_of_server = matches!(&ended, Stopped::AtReceiver(_));
        host_ends.store(!is_of_server, Ordering::Release);
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
                server_left: None,
            };
        }
    };
    let ended = pass_on(&mut *from_server, &mut *to_host);
    let has_left = !host_has_ended.load(Ordering::Acquire);
    host.close();
    server.close();
    let server_left = match &ended {
        Stopped::AtSender(error) if has_left => Some(error.clone()),
        _ => None,
    };
    let server = ended.orderly();
    // The thread does not panic.
    let host = passing.join().map_or(Ok(()), Stopped::orderly);
    Ended {
        host,
        server,
        server_left,
    }
}

/// Why no more messages are passed on: an error of the side that sent them, or of the side that was
/// to receive them.
enum Stopped {
    AtSender(Error),
    AtReceiver(Error),
}

impl Stopped {
    fn orderly(self) -> mcplink::Result<()> {
        let (Self::AtSender(error) | Self::AtReceiver(error)) = self;
        match error.kind() {
            ErrorKind::Closed => Ok(()),
            _ => Err(error),
        }
    }
}

/// Passes messages on until one of the two ends.
fn pass_on(from: &mut dyn Receiver, to: &mut dyn Sender) -> Stopped {
    loop {
        match from.receive(None) {
            Ok(Received::Message(message)) => {
                let mut queue = VecDeque::from([SessionMessage::new(message.text)]);
                if let Err(error) = to.send(&mut queue, Instant::now() + PATIENCE) {
                    return Stopped::AtReceiver(error);
                }
            }
            Ok(Received::TooLong(long)) => {
                note(&format!(
                    "mcplink: a message of {} bytes is too long",
                    long.bytes
                ));
            }
            Ok(_) => {}
            Err(error) => return Stopped::AtSender(error),
        }
    }
}
