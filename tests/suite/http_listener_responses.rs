//! The HTTP listener writes responses: whole ones, and bodies in pieces that outlive the call.

use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::transport::http::{ResponseHead, ResponseWriter};

use crate::common::{LONG, Witness, wait_until, within};
use crate::listening::{Client, limits, listen_to_all, listen_with, say, service};

fn events() -> ResponseHead {
    ResponseHead::new(200).header("Content-Type", "text/event-stream")
}

#[test]
fn a_body_may_come_in_pieces_from_any_thread() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    response.begin(&events(), b"one").unwrap();
    let head = client.head();
    assert_eq!(
        head.fields,
        [
            "Content-Type: text/event-stream",
            "Transfer-Encoding: chunked"
        ]
    );
    assert_eq!(client.chunk(), "one");
    assert!(response.write(b"two", None).unwrap());
    assert_eq!(client.chunk(), "two");
    assert!(response.write(b"", None).unwrap());
    wait_until("it counts", || listener.stats().streams == 1);
    std::thread::spawn(move || {
        assert!(response.write(b"three", None).unwrap());
        response.finish().unwrap();
        let refused = response.finish().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::State);
    });
    assert_eq!(client.chunk(), "three");
    assert_eq!(client.chunk(), "");
    // The connection is used again.
    client.expect_service();
    assert_eq!(listener.stats().accepted, 1);
}

#[test]
fn without_chunks_the_end_of_the_connection_is_the_end_of_the_body() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.send("GET /keep HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let mut response = kept.recv_timeout(LONG).unwrap();
    response.begin(&events(), b"one").unwrap();
    assert_eq!(
        client.head().fields,
        ["Content-Type: text/event-stream", "Connection: close"]
    );
    response.write(b", two", None).unwrap();
    response.finish().unwrap();
    assert_eq!(client.rest(), "one, two");
}

#[test]
fn some_responses_have_no_body() {
    let listener = listen_with(
        limits(|_| {}),
        service(|request, mut response| {
            let status = request.target[1..].parse().unwrap();
            let body: &[u8] = if status == 202 { b"" } else { b"body" };
            response.respond(&ResponseHead::new(status), body).unwrap();
        }),
    );
    let mut client = Client::to(&listener);
    client.send("HEAD /200 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.head().fields, ["Content-Length: 4"]);
    for (target, fields) in [
        ("/204", &[][..]),
        ("/304", &[]),
        ("/202", &["Content-Length: 0"]),
    ] {
        client.get(target);
        assert_eq!(client.head().fields, fields);
    }
    client.get("/599");
    assert_eq!(client.receive().body, "body");
}

#[test]
fn a_body_in_pieces_is_left_out_too_where_there_is_none() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.send("HEAD /keep HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut response = kept.recv_timeout(LONG).unwrap();
    response.begin(&events(), b"one").unwrap();
    assert!(response.write(b"two", None).unwrap());
    response.finish().unwrap();
    assert!(client.head().has("Transfer-Encoding: chunked"));
    client.expect_service();
}

#[test]
fn what_can_not_be_sent_is_refused_and_can_be_mended() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let split = ResponseHead::new(200).header("A", "b\r\nC: d");
    for bad in [split, ResponseHead::new(100), ResponseHead::new(1000)] {
        assert_eq!(
            response.respond(&bad, b"").unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert_eq!(
            response.begin(&bad, b"").unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    assert_eq!(
        response.write(b"x", None).unwrap_err().kind(),
        ErrorKind::State
    );
    assert_eq!(response.finish().unwrap_err().kind(), ErrorKind::State);
    response.respond(&ResponseHead::new(200), b"fine").unwrap();
    let again = response
        .respond(&ResponseHead::new(200), b"fine")
        .unwrap_err();
    assert_eq!(again.kind(), ErrorKind::State);
    assert_eq!(client.receive().body, "fine");
    drop(response);
    client.expect_service();
}

#[test]
fn a_response_that_is_dropped_breaks_the_connection_off() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    for begins in [false, true] {
        let mut client = Client::to(&listener);
        client.get("/keep");
        let mut response = kept.recv_timeout(LONG).unwrap();
        if begins {
            response.begin(&events(), b"one").unwrap();
            client.head();
            assert_eq!(client.chunk(), "one");
        }
        drop(response);
        client.expect_end();
    }
    // A reset, not an end: otherwise the body would seem to be whole.
    let mut client = Client::to(&listener);
    client.send("GET /keep HTTP/1.0\r\n\r\n");
    let mut response = kept.recv_timeout(LONG).unwrap();
    response.begin(&events(), b"one").unwrap();
    client.head();
    assert_eq!(client.exactly(3), "one");
    drop(response);
    let read = std::io::Read::read(&mut client.stream, &mut [0]);
    assert_eq!(
        read.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionReset
    );
}

#[test]
fn a_panic_breaks_off_one_connection_only() {
    let (listener, _gate, _kept) = listen_to_all(limits(|limits| limits.max_workers = 1));
    let mut other = Client::to(&listener);
    other.expect_service();
    for _ in 0..3 {
        let mut client = Client::to(&listener);
        client.get("/panic");
        client.expect_end();
    }
    other.expect_service();
    Client::to(&listener).expect_service();
}

#[test]
fn silence_is_filled_as_asked() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let mut head = events();
    head.while_quiet = Some((Duration::from_millis(50), b":\n\n"));
    response.begin(&head, b"").unwrap();
    client.head();
    for _ in 0..3 {
        assert_eq!(client.chunk(), ":\n\n");
    }
    response.write(b"data", None).unwrap();
    while client.chunk() != "data" {}
    response.finish().unwrap();
    while !client.chunk().is_empty() {}
    client.expect_service();
    client.expect_silence();
}

/// Fills the connection until nothing more is taken; returns how much was.
fn fill(response: &mut dyn ResponseWriter) -> usize {
    let piece = vec![b'x'; 64 << 10];
    let mut taken = 0;
    loop {
        // For a while the system takes a little more now and then.
        let time = Duration::from_millis(50);
        let witness = Witness::start();
        let written = response.write(&piece, Some(Instant::now() + time));
        witness.expect_within(time);
        match written {
            Ok(true) => taken += piece.len(),
            Ok(false) => unreachable!("there is a deadline"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Timeout);
                assert!(!response.write(&piece, None).unwrap());
                return taken;
            }
        }
    }
}

#[test]
fn a_client_that_does_not_read_delays_nobody() {
    let (listener, _gate, kept) = listen_to_all(limits(|limits| limits.max_connections = 600));
    let mut clients: Vec<Client> = (0..500).map(|_| Client::to(&listener)).collect();
    let mut streams = Vec::new();
    for client in &mut clients {
        client.get("/keep");
        let mut response = kept.recv_timeout(LONG).unwrap();
        response.begin(&events(), b"").unwrap();
        client.head();
        streams.push(response);
    }
    let taken = fill(&mut *streams[250]);
    assert!(taken < 64 << 20, "{taken}");
    let (mut stalled, more) = within(LONG, move || {
        for stream in &mut streams {
            assert!(stream.write(b"event", None).unwrap());
        }
        let more = fill(&mut *streams[250]);
        (streams, more)
    });
    for (number, client) in clients.iter_mut().enumerate() {
        if number != 250 {
            assert_eq!(client.chunk(), "event");
        }
    }
    // Who reads again gets everything; a writer that waits goes on.
    let writing = std::thread::spawn(move || {
        let stream = &mut stalled[250];
        assert!(
            stream
                .write(&[b'y'; 300 << 10], Some(Instant::now() + LONG))
                .unwrap()
        );
        stream.finish().unwrap();
        stalled
    });
    let mut got = 0;
    loop {
        let chunk = clients[250].chunk();
        if chunk.is_empty() {
            break;
        }
        got += chunk.len();
    }
    assert_eq!(got, taken + "event".len() + more + (300 << 10));
    drop(writing.join().unwrap());
}

/// Pieces that follow each other go out together; that one waits for the next does not make the client one that doesn't read.
#[test]
fn what_is_held_back_for_a_moment_takes_no_room_from_others() {
    // More than goes out together in any case.
    let bound = 20 << 10;
    let (listener, _gate, kept) = listen_to_all(limits(|limits| limits.max_stream_bytes = bound));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    response.begin(&events(), b"first").unwrap();
    client.head();
    let pieces = vec!["x".repeat(bound * 3 / 4); 8];
    for piece in &pieces {
        assert!(response.write(piece.as_bytes(), None).unwrap());
    }
    response.finish().unwrap();
    assert_eq!(client.chunk(), "first");
    for piece in &pieces {
        assert_eq!(&client.chunk(), piece);
    }
}

#[test]
fn who_reads_nothing_for_long_is_broken_off() {
    let (listener, _gate, kept) = listen_to_all(limits(|limits| {
        limits.write_timeout = Duration::from_millis(200)
    }));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let (gone, told) = std::sync::mpsc::channel();
    response.on_gone(Box::new(move || gone.send(()).unwrap()));
    response.begin(&events(), b"").unwrap();
    fill(&mut *response);
    told.recv_timeout(LONG).unwrap();
    assert_eq!(
        response.write(b"x", None).unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(listener.stats().connections, 0);
}

/// Of many connections of one client that read nothing, some are broken off; a client that reads gets all. It has an
/// address of its own: a system that takes more bytes for a silent connection makes that one look like a reader.
#[cfg(any(target_os = "linux", windows))]
#[test]
fn what_nobody_reads_is_bounded_over_all_connections() {
    const LEN: usize = 12 << 20;
    let (bound, body) = (40 << 20, vec![b'x'; LEN]);
    let (served, told) = std::sync::mpsc::channel();
    let listener = listen_with(
        limits(|limits| limits.max_unsent_bytes = bound),
        service(move |request, mut response| {
            if request.target == "/large" {
                response.respond(&ResponseHead::new(200), &body).unwrap();
                served.send(()).unwrap();
            } else {
                say(&request, response);
            }
        }),
    );
    let mut silent = Vec::new();
    for _ in 0..16 {
        let mut client = Client::to(&listener);
        client.get("/large");
        told.recv_timeout(LONG).unwrap();
        let stats = listener.stats();
        assert!(stats.unsent <= bound, "{stats:?}");
        silent.push(client);
    }
    // The system takes some of each, so that more are there than the bound has room for by itself.
    let stats = listener.stats();
    assert!(stats.refused > 0 && stats.in_hand < 16, "{stats:?}");
    let mut reader = Client::from(2, listener.local_addr().unwrap());
    reader.get("/large");
    assert_eq!(reader.receive().body.len(), LEN);
    reader.expect_service();
    drop(silent);
    wait_until("all have gone", || listener.stats().unsent == 0);
}

// Must not happen: a client that reads nothing on very many connections has a slow one of another client broken off.
#[cfg(any(target_os = "linux", windows))]
#[test]
fn many_connections_that_read_nothing_cost_no_other_client_its_response() {
    const LEN: usize = 14 << 20;
    let (bound, body) = (48 << 20, vec![b'x'; LEN]);
    let (served, told) = std::sync::mpsc::channel();
    let listener = listen_with(
        limits(|limits| limits.max_unsent_bytes = bound),
        service(move |request, mut response| {
            let len = if request.target == "/large" {
                LEN
            } else {
                12 << 20
            };
            response
                .respond(&ResponseHead::new(200), &body[..len])
                .unwrap();
            served.send(()).unwrap();
        }),
    );
    let get = |last: u8, target: &str| {
        let mut client = Client::from(last, listener.local_addr().unwrap());
        client.get(target);
        told.recv_timeout(LONG).unwrap();
        client
    };
    // Its response is larger and older than each of the others.
    let mut slow = get(2, "/large");
    let greedy: Vec<_> = (0..30).map(|_| get(1, "/")).collect();
    let stats = listener.stats();
    assert!(stats.refused > 0 && stats.unsent <= bound, "{stats:?}");
    assert_eq!(slow.receive().body.len(), LEN);
    drop(greedy);
}

/// However much it is, no thread waits for a client that does not read it.
#[test]
fn a_whole_response_is_kept_for_a_slow_client() {
    let body = vec![b'x'; 20 << 20];
    let listener = listen_with(
        limits(|limits| limits.max_workers = 1),
        service(move |request, mut response| {
            let body = if request.target == "/large" {
                &body[..]
            } else {
                b""
            };
            response.respond(&ResponseHead::new(200), body).unwrap();
        }),
    );
    let mut slow: Vec<Client> = (0..5).map(|_| Client::to(&listener)).collect();
    for client in &mut slow {
        client.get("/large");
    }
    let mut other = Client::to(&listener);
    other.get("/");
    assert_eq!(other.receive().status, 200);
    for client in &mut slow {
        assert_eq!(client.receive().body.len(), 20 << 20);
        client.get("/");
        assert_eq!(client.receive().status, 200);
    }
}
