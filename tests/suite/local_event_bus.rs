//! Processes of one machine tell each other of changes over sockets in a folder.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::schema::ProtocolVersion;
use mcplink::server::{EventBus, List, LocalEventBus, Server};
use serde_json::json;

use crate::common::{LONG, helper, wait_until};
use crate::raw::Raw;

/// The variable that tells another process the folder of the bus.
const FOLDER: &str = "MCPLINK_TEST_BUS";

/// An empty folder, which is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        // Paths of sockets are short.
        let name = format!("mcplink-bus-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn bus(&self) -> LocalEventBus {
        LocalEventBus::new(&self.0).unwrap()
    }

    fn sockets(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

type Events = mpsc::Receiver<Option<String>>;

/// Begins to receive the events of a bus, until the returned value is dropped.
fn receive(bus: &LocalEventBus) -> (Box<dyn Send + Sync>, Events) {
    let (tell, told) = mpsc::channel();
    let deliver = move |event: Option<&str>| {
        // The test may have ended.
        _ = tell.send(event.map(str::to_owned));
    };
    (bus.subscribe(Box::new(deliver)).unwrap(), told)
}

fn next(events: &Events) -> Option<String> {
    events.recv_timeout(LONG).expect("an event")
}

#[test]
fn servers_in_a_folder_tell_each_other_of_changes() {
    let folder = Folder::new("servers");
    let build = || {
        let server = Server::builder("s", "1").event_bus(folder.bus());
        let server = server.declare_capability(List::Resources);
        server.resource_updates(true).build().unwrap()
    };
    let (here, there) = (build(), build());
    let mut clients = [&here, &there].map(|server| {
        let mut client = Raw::silent(server, ProtocolVersion::V2026_07_28);
        client.begin();
        let params = json!({"notifications": {"resourceSubscriptions": ["a:1"]}});
        client.request(json!("all"), "subscriptions/listen", params);
        client.next();
        client
    });
    for server in [&here, &there] {
        server.resource_updated("a:1");
        for client in &mut clients {
            assert_eq!(client.next()["params"]["uri"], "a:1");
        }
    }
    drop((clients, here, there));
    // A connection that ends may hold its server for a moment.
    wait_until("a bus leaves no socket", || folder.sockets() == 0);
}

/// Plays another process: publishes each line that it reads, and reports the events that it gets.
#[test]
#[ignore = "another test starts it"]
fn other_process() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let bus = LocalEventBus::new(folder).unwrap();
    let (_delivery, events) = receive(&bus);
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready").unwrap();
    for line in std::io::stdin().lines() {
        match line.unwrap().as_str() {
            "next" => writeln!(out, "got {:?}", next(&events)).unwrap(),
            // Without an end in order: the socket stays.
            "abort" => std::process::abort(),
            event => bus.publish(event).unwrap(),
        }
    }
}

#[test]
fn processes_tell_each_other_and_a_dead_one_disturbs_nobody() {
    let folder = Folder::new("processes");
    let bus = folder.bus();
    let (delivery, events) = receive(&bus);
    let mut other = helper("local_event_bus::other_process")
        .env(FOLDER, &folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut write = other.stdin.take().unwrap();
    let lines = BufReader::new(other.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(|line| line.ok());
    let mut line = |start: &str| lines.find(|line| line.starts_with(start)).expect("a line");
    line("ready");
    for number in 0..100 {
        let (ours, theirs) = (format!("ours {number}"), format!("theirs {number}"));
        bus.publish(&ours).unwrap();
        writeln!(write, "{theirs}\nnext").unwrap();
        assert_eq!(line("got"), format!("got {:?}", Some(ours)));
        assert_eq!(next(&events), Some(theirs));
    }
    writeln!(write, "abort").unwrap();
    assert!(!other.wait().unwrap().success());
    assert_eq!(folder.sockets(), 2);
    bus.publish("nobody is there").unwrap();
    assert_eq!(
        folder.sockets(),
        1,
        "the socket of the dead process is removed"
    );
    drop(delivery);
    assert!(events.try_recv().is_err(), "no event was lost");
}

// Must not happen: an event is lost, and nobody learns of it.
#[test]
fn a_process_that_is_behind_learns_that_events_were_lost() {
    let folder = Folder::new("behind");
    let (bus, slow) = (folder.bus(), folder.bus());
    let (_delivery, _events) = receive(&bus);
    // More than a queue can take.
    for number in 0..10_000 {
        bus.publish(&number.to_string()).unwrap();
    }
    let (_slow_delivery, events) = receive(&slow);
    let mut expected = 0;
    while let Some(event) = next(&events) {
        assert_eq!(event, expected.to_string());
        expected += 1;
    }
    assert!(expected > 0);
    // It is told without a further event, and from then on gets all.
    bus.publish("after").unwrap();
    let mut event = next(&events);
    while event.is_none() {
        event = next(&events);
    }
    assert_eq!(event.as_deref(), Some("after"));
}

#[test]
fn a_long_event_arrives_as_a_loss() {
    let folder = Folder::new("long");
    let (bus, other) = (folder.bus(), folder.bus());
    let (_delivery, events) = receive(&other);
    let long = "x".repeat(60_000);
    bus.publish(&long).unwrap();
    assert_eq!(next(&events), Some(long));
    bus.publish(&"x".repeat(1 << 20)).unwrap();
    assert_eq!(next(&events), None);
    bus.publish("short").unwrap();
    assert_eq!(next(&events).as_deref(), Some("short"));
}

#[test]
fn folders_that_others_may_write_to_are_refused() {
    let folder = Folder::new("open");
    drop(folder.bus());
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o770)).unwrap();
    let error = LocalEventBus::new(&folder.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let long = folder.0.join("x".repeat(100));
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
    let error = LocalEventBus::new(&long).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("too long"), "{error}");
    let error = LocalEventBus::new("/dev/null/x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

#[test]
fn the_end_of_a_delivery_waits_for_nothing() {
    let folder = Folder::new("end");
    for _ in 0..50 {
        let bus = folder.bus();
        let (delivery, events) = receive(&bus);
        drop(delivery);
        assert!(events.recv_timeout(Duration::ZERO).is_err());
    }
    assert_eq!(folder.sockets(), 0);
    // Somebody has removed the folder.
    let bus = folder.bus();
    let (delivery, _events) = receive(&bus);
    fs::remove_dir_all(&folder.0).unwrap();
    assert_eq!(bus.publish("a").unwrap_err().kind(), ErrorKind::Io);
    drop(delivery);
}
