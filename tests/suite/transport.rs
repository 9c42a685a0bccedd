//! The transports, each with real peers: processes, sockets, pipes.

#[cfg(unix)]
mod child;
#[cfg(unix)]
mod ending;
#[cfg(unix)]
mod guest;
mod memory;
#[cfg(any(target_os = "linux", windows))]
mod own_child;
#[cfg(unix)]
mod stdio;
mod stream;

use std::collections::VecDeque;
#[cfg(unix)]
use std::path::Path;
use std::time::{Duration, Instant};

use mcplink::transport::{Limits, Received, SessionMessage, Transport, TransportParts};
use mcplink::{Error, Result};

/// Bounds every wait that is expected to be short.
const LONG: Duration = Duration::from_secs(20);

fn open(transport: impl Transport) -> TransportParts {
    try_open(transport).unwrap()
}

fn try_open(transport: impl Transport) -> Result<TransportParts> {
    Box::new(transport).open(&Limits::default())
}

fn send(halves: &mut TransportParts, text: &str) -> Result<()> {
    send_within(halves, text, LONG)
}

fn send_within(halves: &mut TransportParts, text: &str, time: Duration) -> Result<()> {
    let mut queue = VecDeque::from([SessionMessage::new(text.into())]);
    halves.sender.send(&mut queue, Instant::now() + time)
}

fn receive(halves: &mut TransportParts) -> String {
    match halves.receiver.receive(Some(LONG)).unwrap() {
        Received::Message(message) => String::from_utf8(message.text).unwrap(),
        other => panic!("expected a message: {other:?}"),
    }
}

/// Receives until the connection is over, and tells why.
fn receive_end(halves: &mut TransportParts) -> Error {
    loop {
        match halves.receiver.receive(Some(LONG)) {
            Ok(Received::Nothing) => panic!("the connection goes on"),
            Ok(_) => {}
            Err(error) => return error,
        }
    }
}

/// Asks again and again, because nothing tells; fails when it takes too long.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process has left no trace, not even one to be reaped.
#[cfg(unix)]
fn is_reaped(pid: &str) -> bool {
    !Path::new("/proc").join(pid).exists()
}

/// Whether a process runs no more. One that is none of our children may wait for its new parent to reap it.
#[cfg(unix)]
fn has_ended(pid: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z')),
        Err(_) => true,
    }
}
