//! The event bus.

use std::sync::mpsc::{self, Receiver, TryRecvError};

use mcplink::server::EventBus as _;
use mcplink_redis::{Redis, RedisEventBus};

use crate::server::{Admin, RedisServer};
use crate::{DEADLINE, NEVER, eventually, patient};

/// A bus with a subscription, and the events that it has delivered.
struct Process {
    bus: RedisEventBus,
    subscription: Option<Box<dyn Send + Sync>>,
    events: Receiver<Option<String>>,
}

impl Process {
    fn new(redis: &Redis) -> Self {
        let bus = RedisEventBus::new(redis);
        let (send, events) = mpsc::channel();
        let deliver = move |event: Option<&str>| _ = send.send(event.map(str::to_owned));
        let subscription = bus.subscribe(Box::new(deliver)).unwrap();
        Self {
            bus,
            subscription: Some(subscription),
            events,
        }
    }

    /// Returns the next event, or "lost".
    fn next(&self) -> String {
        let event = self.events.recv_timeout(DEADLINE).expect("an event");
        event.unwrap_or_else(|| "lost".to_owned())
    }

    /// Waits for "lost". What was delivered before is left out.
    fn wait_for_loss(&self) {
        while self.next() != "lost" {}
    }

    fn publish(&self, events: &[&str]) {
        for event in events {
            self.bus.publish(event).unwrap();
        }
    }
}

/// Waits until the stream has this number of entries with events.
fn wait_for_entries(admin: &mut Admin, events: usize) {
    eventually(|| {
        let all: redis::streams::StreamRangeReply = admin.run("XRANGE mcplink:events - +");
        let with = all.ids.iter().filter(|entry| entry.contains_key("event"));
        (with.count() == events).then_some(())
    });
}

#[test]
fn events_reach_all_buses_but_their_own() {
    let server = RedisServer::start();
    let redis = patient(&server.url());
    let all = [(); 3].map(|()| Process::new(&redis));
    let other = Process::new(&redis.clone().prefix("other:"));
    all[0].publish(&["a", "", "\u{0}\n\"ü"]);
    all[1].publish(&["b"]);
    for event in ["a", "", "\u{0}\n\"ü"] {
        assert_eq!(all[1].next(), event);
    }
    let mut events = [(); 4].map(|()| all[2].next());
    events.sort();
    assert_eq!(events, ["", "\u{0}\n\"ü", "a", "b"]);
    assert_eq!(all[0].next(), "b");
    let last = Process::new(&redis.prefix("other:"));
    last.publish(&["other"]);
    assert_eq!(other.next(), "other");
}

// Must not happen: a process publishes a change and ends, and nobody learns of the change.
#[test]
fn events_are_sent_before_the_bus_is_gone() {
    let server = RedisServer::start();
    let redis = patient(&server.url());
    let stays = Process::new(&redis);
    let bus = RedisEventBus::new(&redis);
    for event in 0..500 {
        bus.publish(&event.to_string()).unwrap();
    }
    drop(bus);
    for event in 0..500 {
        assert_eq!(stays.next(), event.to_string());
    }
}

#[test]
fn after_a_crash_of_redis_both_sides_go_on_and_events_count_as_lost() {
    let mut server = RedisServer::start();
    let redis = patient(&server.url());
    let (here, there) = (Process::new(&redis), Process::new(&redis));
    here.publish(&["a"]);
    assert_eq!(there.next(), "a");
    server.kill();
    // The event may be queued before the sender notices.
    eventually(|| here.bus.publish("gone").err());
    server.restart();
    here.wait_for_loss();
    there.wait_for_loss();
    eventually(|| here.bus.publish("b").ok());
    while there.next() != "b" {}
}

#[test]
fn a_first_connection_that_failed_is_followed_by_a_loss() {
    let mut server = RedisServer::stopped(&[]);
    let process = Process::new(&patient(&server.url()));
    server.restart();
    assert_eq!(process.next(), "lost");
    let other = Process::new(&patient(&server.url()));
    other.publish(&["a"]);
    assert_eq!(process.next(), "a");
}

// Must not happen: a Redis that hangs holds the thread that makes a change; what it did not take is
// forgotten.
#[test]
fn publishing_never_waits_and_a_full_queue_is_told_to_the_others() {
    let server = RedisServer::start();
    let redis = Redis::new(&server.url()).unwrap().timeout(NEVER);
    let (here, there) = (Process::new(&redis), Process::new(&redis));
    server.signal("STOP");
    let mut refused = 0;
    for event in 0..25_000 {
        refused += usize::from(here.bus.publish(&event.to_string()).is_err());
    }
    assert!(refused > 0, "the queue has no bound");
    server.signal("CONT");
    there.wait_for_loss();
}

/// A process that is away while it delivers the event "gate".
struct Away {
    process: Process,
    open: mpsc::Sender<()>,
}

impl Away {
    fn new(redis: &Redis, by: &Process) -> Self {
        let (send, events) = mpsc::channel();
        let (open, gate) = mpsc::channel();
        let gate = std::sync::Mutex::new(gate);
        let deliver = move |event: Option<&str>| {
            _ = send.send(event.map(str::to_owned));
            if event == Some("gate") {
                _ = gate.lock().unwrap().recv_timeout(DEADLINE);
            }
        };
        let bus = RedisEventBus::new(redis);
        let subscription = Some(bus.subscribe(Box::new(deliver)).unwrap());
        let process = Process {
            bus,
            subscription,
            events,
        };
        by.publish(&["gate"]);
        assert_eq!(process.next(), "gate");
        Self { process, open }
    }
}

#[test]
fn what_a_lost_connection_missed_is_read_later() {
    let server = RedisServer::start();
    let mut admin = server.admin();
    let redis = patient(&server.url());
    let by = Process::new(&redis);
    let away = Away::new(&redis, &by);
    by.publish(&["a", "b"]);
    wait_for_entries(&mut admin, 3);
    let _: usize = admin.run("CLIENT KILL TYPE normal SKIPME yes");
    away.open.send(()).unwrap();
    eventually(|| by.bus.publish("c").ok());
    for event in ["a", "b", "c"] {
        assert_eq!(away.process.next(), event, "no loss, and nothing twice");
    }
}

#[test]
fn a_stream_that_was_trimmed_meanwhile_is_a_loss() {
    for is_connected in [true, false] {
        let server = RedisServer::start();
        let mut admin = server.admin();
        let redis = patient(&server.url());
        let by = Process::new(&redis);
        let away = Away::new(&redis, &by);
        by.publish(&["a", "b", "c"]);
        wait_for_entries(&mut admin, 4);
        let _: usize = admin.run("XTRIM mcplink:events MAXLEN 1");
        if !is_connected {
            let _: usize = admin.run("CLIENT KILL TYPE normal SKIPME yes");
        }
        away.open.send(()).unwrap();
        assert_eq!(away.process.next(), "c");
        assert_eq!(away.process.next(), "lost");
        eventually(|| by.bus.publish("d").ok());
        assert_eq!(away.process.next(), "d");
    }
}

#[test]
fn a_removed_stream_is_a_loss_even_if_no_event_follows() {
    let server = RedisServer::start();
    let redis = Redis::new(&server.url()).unwrap();
    let process = Process::new(&redis);
    let _: () = server.admin().run("FLUSHALL");
    process.wait_for_loss();
}

/// Checks that the thread of a subscription has ended once its value is dropped.
fn ends(mut process: Process) {
    process.subscription = None;
    while process.events.try_recv().is_ok() {}
    let rest = process.events.try_recv();
    assert_eq!(rest, Err(TryRecvError::Disconnected));
}

#[test]
fn a_dropped_subscription_has_ended_whatever_redis_does() {
    let mut server = RedisServer::start();
    let redis = Redis::new(&server.url()).unwrap();
    let [idle, silent, gone] = [(); 3].map(|()| Process::new(&redis));
    ends(idle);
    server.signal("STOP");
    ends(silent);
    server.kill();
    ends(gone);
    ends(Process::new(&redis));
}
