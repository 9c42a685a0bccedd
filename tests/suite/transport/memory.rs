use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::transport::{Limits, Received, SessionMessage, Transport, memory};

use super::{open, receive, receive_end, send, send_within};

#[test]
fn messages_cross_in_order_both_ways() {
    let (first, second) = memory::pair();
    let (mut first, mut second) = (open(first), open(second));
    for text in ["1", "2", "3"] {
        send(&mut first, text).unwrap();
    }
    assert!(second.receiver.has_message());
    assert_eq!([(); 3].map(|()| receive(&mut second)), ["1", "2", "3"]);
    send(&mut second, "back").unwrap();
    assert_eq!(receive(&mut first), "back");
}

#[test]
fn patience_ends_a_wait_for_nothing() {
    let (first, _second) = memory::pair();
    let mut first = open(first);
    let start = Instant::now();
    let received = first.receiver.receive(Some(Duration::from_millis(30)));
    assert!(matches!(received, Ok(Received::Nothing)));
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[test]
fn closing_either_end_wakes_both() {
    for closes_first in [true, false] {
        let (first, second) = memory::pair();
        let (mut first, mut second) = (open(first), open(second));
        let control = if closes_first { &first } else { &second }.control.clone();
        let waiting = thread::spawn(move || first.receiver.receive(None).unwrap_err().to_string());
        control.close();
        let says = waiting.join().unwrap();
        assert_eq!(says.contains("by this side"), closes_first, "{says}");
        assert_eq!(receive_end(&mut second).kind(), ErrorKind::Closed);
        assert_eq!(
            send(&mut second, "x").unwrap_err().kind(),
            ErrorKind::Closed
        );
    }
}

#[test]
fn what_was_sent_before_the_end_is_received() {
    let (first, second) = memory::pair();
    let (mut first, mut second) = (open(first), open(second));
    send(&mut first, "last words").unwrap();
    drop(first);
    assert_eq!(receive(&mut second), "last words");
    assert_eq!(receive_end(&mut second).kind(), ErrorKind::Closed);
}

#[test]
fn an_end_that_was_never_opened_is_gone_when_dropped() {
    let (first, second) = memory::pair();
    drop(second);
    assert_eq!(receive_end(&mut open(first)).kind(), ErrorKind::Closed);
}

#[test]
fn a_peer_that_does_not_read_is_sent_a_bounded_amount() {
    let (first, _second) = memory::pair();
    let mut first = open(first);
    send(&mut first, &"x".repeat(16 << 20)).unwrap();
    let refused = send_within(&mut first, "y", Duration::from_millis(20)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Timeout);
}

#[test]
fn too_long_a_message_is_dropped_with_its_id() {
    let (first, second) = memory::pair();
    let mut limits = Limits::default();
    limits.max_message_bytes = 100;
    let (mut first, mut second) = (open(first), Box::new(second).open(&limits).unwrap());
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"{}"}}"#,
        "m".repeat(100)
    );
    let mut queue: VecDeque<_> = [long.as_str(), "next"]
        .map(|text| SessionMessage::new(text.into()))
        .into();
    first.sender.send(&mut queue, Instant::now()).unwrap();
    let Ok(Received::TooLong(dropped)) = second.receiver.receive(None) else {
        panic!("it is too long");
    };
    assert_eq!((dropped.bytes, dropped.id), (long.len(), Some(7.into())));
    assert_eq!(receive(&mut second), "next");
}
