//! The HTTP listener ends, and leaves nothing behind.

#[cfg(target_os = "linux")]
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::transport::http::{HttpLimits, HttpListener, ResponseHead};

use crate::common::{LONG, at_once, run_alone, system, wait_until, within};
use crate::listening::{Client, limits, listen, listen_to_all, listen_with, say, service};

#[test]
fn requests_in_hand_may_end_while_it_drains() {
    let (listener, gate, kept) = listen_to_all(limits(|_| {}));
    let mut idle = Client::to(&listener);
    idle.expect_service();
    let mut half = Client::to(&listener);
    half.send("GET / HT");
    let mut blocked = Client::to(&listener);
    blocked.get("/block");
    gate.wait_for(1);
    let mut waiting = Client::to(&listener);
    waiting.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let listener = Arc::new(listener);
    let address = listener.local_addr().unwrap();
    let draining = Arc::clone(&listener);
    let drain = std::thread::spawn(move || draining.shutdown(LONG));
    idle.expect_end();
    half.expect_end();
    assert!(TcpStream::connect(address).is_err());
    assert!(!drain.is_finished());
    gate.open();
    let answer = blocked.receive();
    assert_eq!(answer.body, "GET /block here ");
    assert!(answer.has("Connection: close"));
    blocked.expect_end();
    assert!(!drain.is_finished());
    response.respond(&ResponseHead::new(200), b"kept").unwrap();
    assert_eq!(waiting.receive().body, "kept");
    within(LONG, || drain.join().unwrap());
    assert_eq!(listener.stats().connections, 0);
    assert_eq!(listener.stats().workers, 0);
}

#[test]
fn what_outlasts_the_drain_is_cut() {
    let (listener, gate, kept) = listen_to_all(limits(|_| {}));
    let mut waiting = Client::to(&listener);
    waiting.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    let (gone, told) = mpsc::channel();
    response.on_gone(Box::new(move || gone.send(()).unwrap()));
    let mut blocked = Client::to(&listener);
    blocked.get("/block");
    gate.wait_for(1);
    let drain = Duration::from_millis(100);
    let listener = within(Duration::from_secs(1) + drain, move || {
        listener.shutdown(drain);
        listener
    });
    told.recv_timeout(LONG).unwrap();
    waiting.expect_end();
    blocked.expect_end();
    let refused = response
        .respond(&ResponseHead::new(200), b"late")
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Closed);
    // Again, and from several threads, and at once now that its handler can leave.
    gate.open();
    wait_until("the handler has left", || listener.stats().workers == 0);
    at_once(move || {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| listener.close());
            }
        });
        drop(listener);
    });
}

#[test]
fn a_service_may_close_its_listener() {
    let (send, receive) = mpsc::channel::<Arc<HttpListener>>();
    let receive = std::sync::Mutex::new(receive);
    let (done, is_done) = mpsc::channel();
    let listener = Arc::new(listen_with(
        limits(|_| {}),
        service(move |request, response| {
            let listener = receive.lock().unwrap().recv_timeout(LONG).unwrap();
            say(&request, response);
            listener.shutdown(Duration::ZERO);
            drop(listener);
            done.send(()).unwrap();
        }),
    ));
    let mut client = Client::to(&listener);
    client.get("/");
    send.send(listener).unwrap();
    assert_eq!(client.receive().status, 200);
    is_done.recv_timeout(LONG).unwrap();
    client.expect_end();
}

#[test]
fn it_takes_a_socket_that_listens_already() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let service = service(|request, response| {
        assert_eq!(request.local.unwrap().ip().to_string(), "127.0.0.1");
        assert!(request.remote.is_some());
        say(&request, response);
    });
    let listener = HttpListener::on(socket, Arc::clone(&service), HttpLimits::default()).unwrap();
    assert_eq!(listener.local_addr().unwrap(), address);
    Client::to(&listener).expect_service();
    let taken = HttpListener::bind(address, service, HttpLimits::default()).unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::Io);
    assert!(taken.to_string().contains(&address.to_string()), "{taken}");
}

#[cfg(target_os = "linux")]
fn resident_kib() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let line = line.unwrap().trim_end_matches("kB").trim();
    line.parse().unwrap()
}

fn ours() -> usize {
    system::threads("mcplink-")
}

#[test]
#[cfg(target_os = "linux")]
fn idle_connections_and_streams_hold_no_thread_and_little_memory() {
    run_alone("http_listener_ends::idle_connections");
}

#[test]
#[ignore = "counts what its process has: run by the test above"]
#[cfg(target_os = "linux")]
fn idle_connections() {
    let (listener, _gate, kept) = listen_to_all(limits(|limits| limits.max_connections = 2000));
    wait_until("only the poller is there", || ours() == 1);
    let mut clients: Vec<Client> = (0..10).map(|_| Client::to(&listener)).collect();
    clients.iter_mut().for_each(Client::expect_service);
    wait_until("workers have left", || ours() == 1);
    let before = resident_kib();
    for _ in 0..1000 {
        let mut client = Client::to(&listener);
        client.expect_service();
        client.stream.set_read_timeout(None).unwrap();
        clients.push(client);
    }
    let mut streams = Vec::new();
    for client in &mut clients[..500] {
        client.get("/keep");
        let mut response = kept.recv_timeout(LONG).unwrap();
        response.begin(&ResponseHead::new(200), b"").unwrap();
        client.head();
        streams.push(response);
    }
    wait_until("workers have left", || ours() == 1);
    let each = (resident_kib() - before) * 1024 / 1500;
    // The clients' memory counts as well, and what the allocator keeps.
    assert!(each < 6 << 10, "{each} bytes each");
    let stats = listener.stats();
    assert_eq!(
        (stats.connections, stats.idle, stats.streams),
        (1010, 510, 500)
    );
    clients[800].expect_service();
    drop(streams);
}

#[test]
#[cfg(any(target_os = "linux", windows))]
fn neither_threads_nor_descriptors_are_left() {
    run_alone("http_listener_ends::comes_and_goes");
}

#[test]
#[ignore = "counts what its process has: run by the test above"]
fn comes_and_goes() {
    let mut before = None;
    for round in 0..10 {
        let (listener, gate, kept) = listen_to_all(limits(|_| {}));
        let mut clients: Vec<Client> = (0..20).map(|_| Client::to(&listener)).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            match number % 5 {
                0 => client.send("GET / HTTP/1.1"),
                1 => client.expect_service(),
                2 => client.get("/keep"),
                3 => client.get("/block"),
                _ => client.send("garbage\n"),
            }
        }
        gate.wait_for(4);
        let response = kept.recv_timeout(LONG).unwrap();
        gate.open();
        if round % 2 == 0 {
            drop(clients);
            listener.close();
        } else {
            listener.shutdown(Duration::from_millis(20));
            drop(clients);
        }
        drop((response, kept, listener));
        wait_until("all have ended", || ours() == 0);
        // The first round opens what the system keeps for the whole process. wine also keeps a handle
        // for each of its locks that two threads wanted at once.
        let of_system = if cfg!(windows) { 4 } else { 0 };
        let before = *before.get_or_insert_with(|| system::open_descriptors() + of_system);
        wait_until("all are closed", || system::open_descriptors() <= before);
    }
}

#[test]
#[cfg(any(target_os = "linux", windows))]
fn connections_that_come_and_go_leave_nothing_while_it_runs() {
    run_alone("http_listener_ends::abandoned");
}

#[test]
#[ignore = "counts what its process has: run by the test above"]
fn abandoned() {
    let (listener, gate, kept) = listen_to_all(limits(|_| {}));
    gate.open();
    Client::to(&listener).expect_service();
    wait_until("it is gone", || listener.stats().connections == 0);
    // On Windows a thread has a handle, which its listener keeps until it starts another thread.
    let threads = if cfg!(windows) {
        HttpLimits::default().max_workers
    } else {
        0
    };
    let before = system::open_descriptors() + threads;
    for number in 0..500 {
        let mut client = Client::to(&listener);
        match number % 6 {
            0 => {}
            1 => client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"),
            2 => client.send("\0"),
            3 => client.get("/block"),
            4 => {
                client.get("/keep");
                drop(kept.recv_timeout(LONG).unwrap());
            }
            _ => client.expect_service(),
        }
    }
    wait_until("all are gone", || listener.stats().connections == 0);
    wait_until("all are closed", || system::open_descriptors() <= before);
    wait_until("workers have left", || ours() == 1);
}

#[test]
#[cfg(any(target_os = "linux", windows))]
fn nothing_to_do_costs_no_time() {
    run_alone("http_listener_ends::idle_time");
}

#[test]
#[ignore = "measures the time of its process: run by the test above"]
fn idle_time() {
    let (listener, _gate, kept) = listen_to_all(limits(|_| {}));
    let mut idle = Client::to(&listener);
    idle.expect_service();
    // A client with more to say while its request is in flight must not keep the poller awake.
    let mut pipelining = Client::to(&listener);
    pipelining.get("/keep");
    let mut response = kept.recv_timeout(LONG).unwrap();
    pipelining.get("/next");
    let mut half = Client::to(&listener);
    half.get("/keep");
    let other = kept.recv_timeout(LONG).unwrap();
    half.end_own_side();
    let started = Instant::now();
    let before = system::processor_time();
    std::thread::sleep(Duration::from_secs(1));
    let spent = system::processor_time() - before;
    let bound = Duration::from_millis(50);
    assert!(spent <= bound, "{spent:?} in {:?}", started.elapsed());
    response.respond(&ResponseHead::new(200), b"").unwrap();
    assert_eq!(pipelining.receive().status, 200);
    assert_eq!(pipelining.receive().body, "GET /next here ");
    drop(other);
}

#[test]
fn dropping_closes() {
    let listener = listen();
    let mut client = Client::to(&listener);
    client.expect_service();
    at_once(move || drop(listener));
    client.expect_end();
}

#[test]
fn what_the_service_holds_is_let_go_of_when_it_has_closed() {
    for round in 0..300 {
        let service = service(|request, response| say(&request, response));
        let listener = listen_with(limits(|_| {}), Arc::clone(&service));
        let mut clients: Vec<Client> = (0..3).map(|_| Client::to(&listener)).collect();
        clients.iter_mut().for_each(Client::expect_service);
        drop(listener);
        assert_eq!(Arc::strong_count(&service), 1, "round {round}");
    }
}
