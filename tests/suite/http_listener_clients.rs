//! The HTTP listener and many clients, or ones that leave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use mcplink::transport::http::{HttpListener, ResponseHead, ResponseWriter};

use crate::common::{LONG, Witness, wait_until};
use crate::listening::{Client, limits, listen_to_all, listen_with, say, service};

/// How soon it is noticed that a client has gone: connections are looked after in turns.
const SOON: Duration = Duration::from_secs(1);

/// Registers for the end of a client.
fn watch(response: &mut dyn ResponseWriter) -> mpsc::Receiver<()> {
    let (gone, told) = mpsc::channel();
    response.on_gone(Box::new(move || _ = gone.send(())));
    told
}

fn reset(client: Client) {
    // What was not read makes the system reset the connection.
    drop(client);
}

#[test]
fn a_client_that_goes_is_noticed_while_the_response_is_kept() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    for (begins, at_once) in [(false, true), (false, false), (true, true), (true, false)] {
        let mut client = Client::to(&listener);
        client.expect_service();
        client.get("/keep");
        let mut response = kept.recv_timeout(LONG).unwrap();
        let told = watch(&mut *response);
        if begins {
            response
                .begin(&ResponseHead::new(200), b"something")
                .unwrap();
        }
        if !at_once {
            assert!(told.recv_timeout(Duration::from_millis(300)).is_err());
        }
        let witness = Witness::start();
        reset(client);
        told.recv_timeout(LONG).unwrap();
        witness.expect_within(SOON);
        // Too late: it is told at once.
        assert!(watch(&mut *response).try_recv().is_ok());
        drop(response);
    }
    wait_until("all are gone", || listener.stats().connections == 0);
}

#[test]
fn a_client_that_goes_is_noticed_while_the_service_is_busy() {
    let (tell, told) = mpsc::channel();
    let listener = listen_with(
        limits(|_| {}),
        service(move |_, mut response| {
            let watched = watch(&mut *response);
            tell.send(Ok(())).unwrap();
            // Where a handler would look whether it is cancelled.
            tell.send(watched.recv_timeout(LONG)).unwrap();
        }),
    );
    let mut client = Client::to(&listener);
    client.get("/");
    assert_eq!(told.recv_timeout(LONG), Ok(Ok(())));
    let witness = Witness::start();
    drop(client);
    assert_eq!(told.recv_timeout(LONG), Ok(Ok(())));
    witness.expect_within(SOON);
}

#[test]
fn a_client_that_sent_its_next_request_and_goes_is_noticed() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    for reset in [false, true] {
        let mut client = Client::to(&listener);
        client.get("/keep");
        let mut response = kept.recv_timeout(LONG).unwrap();
        let told = watch(&mut *response);
        client.get("/next");
        // It lives: sending is no leaving.
        assert!(told.recv_timeout(Duration::from_millis(300)).is_err());
        let witness = Witness::start();
        if reset {
            response.begin(&ResponseHead::new(200), b"unread").unwrap();
            wait_until("it has come", || client.stream.peek(&mut [0]).is_ok());
        }
        drop(client);
        told.recv_timeout(LONG).unwrap();
        witness.expect_within(SOON);
    }
}

/// What a client has sent before it ends its side is served, a request behind the one in
/// flight as well.
#[test]
fn a_client_that_stops_sending_gets_the_responses_to_all_that_it_sent() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let told = watch(&mut *response);
    client.get("/next");
    client.end_own_side();
    assert!(told.recv_timeout(Duration::from_millis(300)).is_err());
    response.respond(&ResponseHead::new(200), b"late").unwrap();
    assert_eq!(client.receive().body, "late");
    assert_eq!(client.receive().body, "GET /next here ");
    client.expect_end();
}

/// An end of the client's side says that it sends nothing more, not that it has gone. That shows
/// when something is sent: an interim response, which clients ignore, or what is written on a quiet
/// stream.
#[test]
fn a_client_that_only_stops_sending_gets_its_response() {
    let (listener, gate, kept) = listen_to_all(limits(|_| {}));
    let mut quick = Client::to(&listener);
    quick.get("/quick");
    quick.end_own_side();
    assert_eq!(quick.receive().body, "GET /quick here ");
    quick.expect_end();
    let mut blocked = Client::to(&listener);
    blocked.get("/block");
    blocked.end_own_side();
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let told = watch(&mut *response);
    client.end_own_side();
    let mut reading = Client::to(&listener);
    reading.get("/keep");
    let mut stream = kept.recv_timeout(LONG).unwrap();
    let lost = watch(&mut *stream);
    let mut head = ResponseHead::new(200);
    head.while_quiet = Some((LONG, b": quiet\n"));
    stream.begin(&head, b"first").unwrap();
    reading.end_own_side();
    // In time for a short request there is nothing before the response.
    assert!(told.recv_timeout(Duration::from_millis(300)).is_err());
    let mut short = Client::to(&listener);
    short.get("/keep");
    let mut other = kept.recv_timeout(LONG).unwrap();
    short.end_own_side();
    assert!(
        watch(&mut *other)
            .recv_timeout(Duration::from_millis(300))
            .is_err()
    );
    other.respond(&ResponseHead::new(200), b"soon").unwrap();
    assert_eq!(short.receive().body, "soon");
    short.expect_end();
    // Both are asked whether they are still there, and are.
    assert_eq!(client.head().status, 100);
    assert_eq!(reading.head().status, 200);
    assert_eq!([reading.chunk(), reading.chunk()], ["first", ": quiet\n"]);
    assert!(told.try_recv().is_err() && lost.try_recv().is_err());
    response.respond(&ResponseHead::new(200), b"late").unwrap();
    assert_eq!(client.receive().body, "late");
    client.expect_end();
    assert!(stream.write(b"last", None).unwrap());
    stream.finish().unwrap();
    assert_eq!([reading.chunk(), reading.chunk()], ["last", ""]);
    reading.expect_end();
    assert_eq!(blocked.head().status, 100);
    gate.open();
    assert_eq!(blocked.receive().body, "GET /block here ");
    blocked.expect_end();
    wait_until("all are gone", || listener.stats().connections == 0);
}

#[test]
fn nobody_is_told_of_clients_that_go_after_the_response() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    client.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let told = watch(&mut *response);
    response.respond(&ResponseHead::new(200), b"").unwrap();
    // The callback is dropped with the end of the response, not with the writer.
    assert_eq!(
        told.recv_timeout(LONG),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
    client.receive();
    drop(client);
    wait_until("it is gone", || listener.stats().connections == 0);
    drop(response);
}

#[test]
fn as_many_handlers_as_allowed_run_at_once() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| {
        limits.max_workers = 8;
        limits.max_waiting = 2;
    }));
    let ask = |target| {
        let mut client = Client::to(&listener);
        client.get(target);
        client
    };
    let mut blocked: Vec<Client> = (0..7).map(|_| ask("/block")).collect();
    gate.wait_for(7);
    // One place is left, and enough for many quick ones.
    for _ in 0..20 {
        Client::to(&listener).expect_service();
    }
    blocked.push(ask("/block"));
    gate.wait_for(8);
    let mut waiting = vec![ask("/wait")];
    wait_until("one waits", || listener.stats().waiting == 1);
    waiting.push(ask("/wait"));
    wait_until("two wait", || listener.stats().waiting == 2);
    let mut refused = ask("/refused");
    let response = refused.receive();
    assert_eq!(response.status, 503);
    assert!(response.has("Retry-After: 1"), "{response:?}");
    refused.expect_end();
    let stats = listener.stats();
    assert_eq!((stats.in_hand, stats.workers, stats.refused), (8, 8, 1));
    gate.open();
    for client in blocked.iter_mut().chain(&mut waiting) {
        assert_eq!(client.receive().status, 200);
    }
}

#[test]
fn sixty_four_handlers_that_take_a_while_take_it_together() {
    let all_there = Barrier::new(64);
    let listener = listen_with(
        limits(|_| {}),
        service(move |request, response| {
            all_there.wait();
            say(&request, response);
        }),
    );
    let mut clients: Vec<Client> = (0..64).map(|_| Client::to(&listener)).collect();
    for client in &mut clients {
        client.get("/");
    }
    for client in &mut clients {
        assert_eq!(client.receive().status, 200);
    }
}

/// They are no reason to take their connections away from a worker, but one worker must not serve them all while a processor is free.
#[test]
fn handlers_that_compute_for_a_moment_use_a_second_processor() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let (running, beside) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&beside);
    let listener = listen_with(
        limits(|_| {}),
        service(move |request, response| {
            if running.fetch_add(1, Ordering::SeqCst) > 0 {
                beside.fetch_add(1, Ordering::SeqCst);
            }
            let span = Duration::from_micros(if request.target == "/slow" { 300 } else { 0 });
            let until = Instant::now() + span;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            running.fetch_sub(1, Ordering::SeqCst);
            say(&request, response);
        }),
    );
    let mut clients: Vec<Client> = (0..16).map(|_| Client::to(&listener)).collect();
    let mut ask_all = |target| {
        clients.iter_mut().for_each(|client| client.get(target));
        for client in &mut clients {
            assert_eq!(client.receive().status, 200);
        }
    };
    // While they are quick, they come together at one worker.
    (0..200).for_each(|_| ask_all("/quick"));
    let patience = Instant::now() + LONG;
    loop {
        seen.store(0, Ordering::SeqCst);
        (0..10).for_each(|_| ask_all("/slow"));
        // Of 160 a quarter began beside another one.
        if seen.load(Ordering::SeqCst) >= 40 {
            return;
        }
        assert!(Instant::now() < patience, "they run one after the other");
    }
}

#[test]
fn connections_over_the_limit_are_told_so() {
    let (listener, _gate, kept) = listen_to_all(limits(|limits| limits.max_connections = 3));
    let mut clients: Vec<Client> = (0..3).map(|_| Client::to(&listener)).collect();
    let mut in_hand = Vec::new();
    for client in &mut clients {
        client.get("/keep");
        in_hand.push(kept.recv_timeout(LONG).unwrap());
    }
    for _ in 0..100 {
        let mut refused = Client::to(&listener);
        let response = refused.receive();
        assert_eq!(response.status, 503);
        assert!(response.has("Retry-After: 1") && response.has("Connection: close"));
        refused.expect_end();
    }
    for mut response in in_hand {
        response.respond(&ResponseHead::new(200), b"late").unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.receive().body, "late");
    }
    clients.iter_mut().for_each(Client::expect_service);
    drop(clients.pop());
    wait_until("there is a place again", || {
        listener.stats().connections < 3
    });
    Client::to(&listener).expect_service();
}

/// All of them at once, on few threads, by turns.
#[test]
fn more_busy_connections_than_threads_are_all_served() {
    let listener = listen_with(
        limits(|limits| limits.max_workers = 3),
        service(|request, response| say(&request, response)),
    );
    let serve = |listener: &HttpListener| {
        let mut clients: Vec<Client> = (0..20).map(|_| Client::to(listener)).collect();
        for _ in 0..50 {
            for client in &mut clients {
                client.get("/a");
                client.get("/b");
            }
            for client in &mut clients {
                assert_eq!(client.receive().body, "GET /a here ");
                assert_eq!(client.receive().body, "GET /b here ");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| serve(&listener));
        }
    });
    assert!(listener.stats().workers <= 3);
}
