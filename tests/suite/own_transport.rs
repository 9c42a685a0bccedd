//! A transport that an application writes itself: a whole conversation over it, in every revision.

use std::collections::VecDeque;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use mcplink::client::Client;
use mcplink::protocol::{Connection, Peer, RequestOptions};
use mcplink::schema::{
    ElicitRequestParams, ElicitResult, ElicitSchema, ProtocolVersion, SubscriptionFilter, Tool,
};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Transport, TransportParts,
};
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::at_once;

const PATIENCE: Duration = Duration::from_secs(10);

/// Messages through channels of the standard library; an empty one says goodbye.
#[derive(Debug)]
struct Channel {
    incoming: mpsc::Receiver<Vec<u8>>,
    outgoing: mpsc::Sender<Vec<u8>>,
    /// To this end, so that closing wakes its own receiver.
    own: mpsc::Sender<Vec<u8>>,
}

fn pair() -> (Channel, Channel) {
    let (to_first, first) = mpsc::channel();
    let (to_second, second) = mpsc::channel();
    (
        Channel {
            incoming: first,
            outgoing: to_second.clone(),
            own: to_first.clone(),
        },
        Channel {
            incoming: second,
            outgoing: to_first,
            own: to_second,
        },
    )
}

impl Transport for Channel {
    fn open(self: Box<Self>, _: &Limits) -> Result<TransportParts> {
        let control = Ends {
            peer: self.outgoing.clone(),
            own: self.own.clone(),
        };
        let receiver = Incoming(self.incoming);
        Ok(TransportParts::new(
            Box::new(receiver),
            Box::new(Outgoing(self.outgoing)),
            Arc::new(control),
        ))
    }
}

#[derive(Debug)]
struct Incoming(mpsc::Receiver<Vec<u8>>);

impl Receiver for Incoming {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        let received = match patience {
            Some(patience) => self.0.recv_timeout(patience),
            None => self.0.recv().map_err(RecvTimeoutError::from),
        };
        match received {
            Ok(text) if text.is_empty() => {
                Err(Error::new(ErrorKind::Closed, "the channel was closed"))
            }
            Ok(text) => Ok(Received::Message(SessionMessage::new(text))),
            Err(RecvTimeoutError::Timeout) => Ok(Received::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::new(ErrorKind::Closed, "the peer has gone"))
            }
        }
    }

    fn is_patient(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Outgoing(mpsc::Sender<Vec<u8>>);

impl Sender for Outgoing {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        while let Some(message) = queue.pop_front() {
            self.0
                .send(message.text)
                .map_err(|_| Error::new(ErrorKind::Closed, "the peer has gone"))?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Ends {
    peer: mpsc::Sender<Vec<u8>>,
    own: mpsc::Sender<Vec<u8>>,
}

impl Control for Ends {
    fn peer(&self) -> String {
        "the other end of a channel".to_owned()
    }

    fn close(&self) {
        // Who has gone needs no goodbye.
        drop(self.peer.send(Vec::new()));
        drop(self.own.send(Vec::new()));
    }
}

fn ask(_: Value, context: &Context) -> std::result::Result<String, HandlerError> {
    let answer = context.elicit(
        "name",
        ElicitRequestParams::form("name?", ElicitSchema::default().to_schema().unwrap()),
    )?;
    Ok(format!("{:?}", answer.action))
}

// M-TRAN-X-03, L-STDIO-X-07, M-BASE-B-01, M-TRAN-B-02
#[test]
fn a_call_a_question_and_a_subscription_complete_over_it() {
    for &revision in ProtocolVersion::ALL {
        let server = Server::builder("own", "1")
            .tool_with(Tool::new("plain"), |_: Value, _: &Context| "plain")
            .tool_with(Tool::new("ask"), ask)
            .build()
            .unwrap();
        let (here, there) = pair();
        let serving = server.open(there).unwrap();
        let client = Client::builder("own", "1")
            .revisions(&[revision])
            .on_elicit(|_, _| ElicitResult::decline())
            .connect(here)
            .unwrap();
        let call = |tool: &str| {
            let options = mcplink::client::CallOptions::new().timeout(PATIENCE);
            client.call_tool_with(tool, &json!({}), options).unwrap()
        };
        assert_eq!(
            call("plain").content[0].as_text(),
            Some("plain"),
            "{revision}"
        );
        if revision >= ProtocolVersion::V2025_06_18 {
            assert_eq!(
                call("ask").content[0].as_text(),
                Some("Decline"),
                "{revision}"
            );
        }
        let (tell, told) = mpsc::channel();
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let subscription = client
            .subscribe(filter, move |event| tell.send(event).unwrap())
            .unwrap();
        server
            .add_tool(Tool::new("new"), |_: Value, _: &Context| "new")
            .unwrap();
        let event = told.recv_timeout(PATIENCE).unwrap();
        assert_eq!(format!("{event:?}"), "ToolsChanged", "{revision}");
        drop(subscription);
        client.close();
        serving.close();
    }
}

/// A sender that looks at its connection while it is dropped.
#[derive(Debug)]
struct Curious {
    inner: Outgoing,
    looks_at: Arc<OnceLock<Peer>>,
    dropped: mpsc::Sender<usize>,
}

impl Sender for Curious {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        self.inner.send(queue, deadline)
    }
}

impl Drop for Curious {
    fn drop(&mut self) {
        let stats = self.looks_at.get().unwrap().stats();
        self.dropped.send(stats.queued_bytes).unwrap();
    }
}

#[derive(Debug)]
struct CuriousChannel(Channel, Arc<OnceLock<Peer>>, mpsc::Sender<usize>);

impl Transport for CuriousChannel {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let Self(channel, looks_at, dropped) = *self;
        let inner = Outgoing(channel.outgoing.clone());
        let mut halves = Box::new(channel).open(limits)?;
        halves.sender = Box::new(Curious {
            inner,
            looks_at,
            dropped,
        });
        Ok(halves)
    }
}

// No lock is held while code of the host runs.
#[test]
fn its_sender_may_look_at_the_connection_while_it_is_dropped() {
    for peer_leaves_first in [false, true] {
        let (here, there) = pair();
        let looks_at: Arc<OnceLock<Peer>> = Arc::default();
        let (tell, dropped) = mpsc::channel();
        let transport = CuriousChannel(here, Arc::clone(&looks_at), tell);
        let connection = Connection::client().open(transport).unwrap();
        let peer = looks_at.get_or_init(|| connection.peer());
        let there = (!peer_leaves_first).then_some(there);
        // With nobody there, writing fails.
        drop(peer.notify("tests/anything", &json!({})));
        at_once(move || connection.close());
        assert_eq!(dropped.recv_timeout(PATIENCE).unwrap(), 0);
        drop(there);
    }
}

/// A way out that closes its connection, and waits for the end of it, when it is told to close.
#[derive(Debug)]
struct Eager {
    inner: Ends,
    closes: Arc<OnceLock<Connection>>,
}

impl Control for Eager {
    fn peer(&self) -> String {
        self.inner.peer()
    }

    fn close(&self) {
        if let Some(connection) = self.closes.get() {
            connection.close();
            assert_eq!(connection.wait().kind(), ErrorKind::Closed);
        }
        self.inner.close();
    }
}

#[derive(Debug)]
struct EagerChannel(Channel, Arc<OnceLock<Connection>>);

impl Transport for EagerChannel {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let Self(channel, closes) = *self;
        let inner = Ends {
            peer: channel.outgoing.clone(),
            own: channel.own.clone(),
        };
        let mut halves = Box::new(channel).open(limits)?;
        halves.control = Arc::new(Eager { inner, closes });
        Ok(halves)
    }
}

#[test]
fn it_may_close_its_connection_while_that_closes_it() {
    let (here, _there) = pair();
    let closes: Arc<OnceLock<Connection>> = Arc::default();
    let connection = Connection::client()
        .open(EagerChannel(here, Arc::clone(&closes)))
        .unwrap();
    closes.set(connection.clone()).unwrap();
    at_once(move || connection.close());
}

/// A way out that leads nowhere, and tells when it is told to close.
#[derive(Debug)]
struct Broken(Channel, ErrorKind, mpsc::Sender<()>);

#[derive(Debug)]
struct Nowhere(ErrorKind);

#[derive(Debug)]
struct Told(Ends, mpsc::Sender<()>);

impl Sender for Nowhere {
    fn send(&mut self, _: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        Err(Error::new(self.0, "the way out is broken"))
    }
}

impl Control for Told {
    fn peer(&self) -> String {
        self.0.peer()
    }

    fn close(&self) {
        self.1.send(()).unwrap();
        self.0.close();
    }
}

impl Transport for Broken {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let Self(channel, kind, told) = *self;
        let inner = Ends {
            peer: channel.outgoing.clone(),
            own: channel.own.clone(),
        };
        let mut halves = Box::new(channel).open(limits)?;
        halves.sender = Box::new(Nowhere(kind));
        halves.control = Arc::new(Told(inner, told));
        Ok(halves)
    }
}

#[test]
fn it_is_closed_when_nothing_can_be_sent_any_more() {
    for kind in [ErrorKind::Io, ErrorKind::Closed] {
        let (tell, told) = mpsc::channel();
        let (here, _there) = pair();
        let connection = Connection::client().open(Broken(here, kind, tell)).unwrap();
        let (peer, options) = (connection.peer(), RequestOptions::new());
        let call = peer.request("tests/anything", &json!({}), options);
        let error = call.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        told.recv_timeout(PATIENCE).unwrap();
        connection.close();
        told.try_recv().unwrap_err();
        // A server too.
        let (tell, told) = mpsc::channel();
        let (here, there) = pair();
        let server = Server::builder("own", "1").build().unwrap();
        let serving = server.open(Broken(here, kind, tell)).unwrap();
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        there.outgoing.send(ping.to_string().into_bytes()).unwrap();
        told.recv_timeout(PATIENCE).unwrap();
        serving.close();
        told.try_recv().unwrap_err();
    }
}

/// A channel whose first write waits until the test lets it go on, and that tells when it is read
/// and written.
#[derive(Debug)]
struct Held {
    channel: Channel,
    reads: mpsc::Sender<()>,
    writes: mpsc::Sender<()>,
    go_on: mpsc::Receiver<()>,
}

#[derive(Debug)]
struct HeldIncoming(Box<dyn Receiver>, mpsc::Sender<()>);

impl Receiver for HeldIncoming {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        _ = self.1.send(());
        self.0.receive(patience)
    }

    fn is_patient(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct HeldOutgoing {
    inner: Box<dyn Sender>,
    writes: mpsc::Sender<()>,
    go_on: Option<mpsc::Receiver<()>>,
}

impl Sender for HeldOutgoing {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        let sent = self.inner.send(queue, deadline);
        if let Some(go_on) = self.go_on.take() {
            _ = self.writes.send(());
            _ = go_on.recv_timeout(PATIENCE);
        }
        sent
    }
}

impl Transport for Held {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let mut halves = Box::new(self.channel).open(limits)?;
        halves.receiver = Box::new(HeldIncoming(halves.receiver, self.reads));
        halves.sender = Box::new(HeldOutgoing {
            inner: halves.sender,
            writes: self.writes,
            go_on: Some(self.go_on),
        });
        Ok(halves)
    }
}

// While a thread writes, another thread may read, and promise to write what is queued. The first
// thread then takes the reading role back, and the promise with it.
#[test]
fn progress_is_written_whoever_reads_after_a_write_that_took_long() {
    for _ in 0..20 {
        let (reads, read) = mpsc::channel();
        let (writes, write) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let (write, read, ends) = (Mutex::new(write), Mutex::new(read), Mutex::new(ends));
        let first = move |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            // The watchdog reads now, and writes the progress first.
            write.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        };
        let second = move |_: Value, context: &Context| {
            let read = read.lock().unwrap();
            while read.try_recv().is_ok() {}
            go_on.send(()).unwrap();
            // If the watchdog reads already, nobody else begins to.
            _ = read.recv_timeout(Duration::from_millis(50));
            context.progress(1.0, None, None);
            _ = ends.lock().unwrap().recv();
        };
        let server = Server::builder("own", "1")
            .tool_with(Tool::new("first"), first)
            .tool_with(Tool::new("second"), second)
            .build()
            .unwrap();
        let (here, there) = pair();
        let held = Held {
            channel: there,
            reads,
            writes,
            go_on: goes_on,
        };
        let serving = server.open(held).unwrap();
        for (id, tool) in [(1, "first"), (2, "second")] {
            let message = json!({
                "jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": tool, "arguments": {}, "_meta": {
                    "progressToken": id,
                    "io.modelcontextprotocol/protocolVersion": ProtocolVersion::LATEST.as_str(),
                    "io.modelcontextprotocol/clientCapabilities": {},
                }},
            });
            here.outgoing.send(message.to_string().into()).unwrap();
        }
        let is_of_second = |text: Vec<u8>| {
            let message: Value = serde_json::from_slice(&text).unwrap();
            message["params"]["progressToken"] == 2
        };
        while !is_of_second(here.incoming.recv_timeout(PATIENCE).unwrap()) {}
        drop(end);
        serving.close();
    }
}
