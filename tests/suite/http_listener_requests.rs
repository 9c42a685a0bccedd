//! The HTTP listener reads requests: what it understands, what it refuses, and what they may cost.

use std::time::{Duration, Instant};

use mcplink::transport::http::{HttpListener, ResponseHead};

use crate::common::{LONG, Random};
use crate::listening::{Client, limits, listen, listen_to_all, listen_with, say, service};

#[test]
fn a_connection_is_used_again() {
    let listener = listen();
    let mut client = Client::to(&listener);
    for _ in 0..100 {
        client.expect_service();
    }
    client.send("POST /a?b HTTP/1.1\r\nhOST: x:1\r\nContent-Length: 3\r\n\r\nabc");
    let response = client.receive();
    assert_eq!(response.body, "POST /a?b x:1 abc");
    assert_eq!(response.fields, ["Content-Length: 17"]);
    assert_eq!(listener.stats().accepted, 1);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (listener, gate, kept) = listen_to_all(limits(|_| {}));
    let mut client = Client::to(&listener);
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send(get("/1") + &get("/keep") + &get("/3") + &get("/block") + &get("/5") + "GET /6");
    assert_eq!(client.receive().body, "GET /1 x ");
    let mut response = kept.recv_timeout(LONG).unwrap();
    client.expect_silence();
    response.respond(&ResponseHead::new(200), b"kept").unwrap();
    assert_eq!(client.receive().body, "kept");
    assert_eq!(client.receive().body, "GET /3 x ");
    gate.wait_for(1);
    client.expect_silence();
    gate.open();
    assert_eq!(client.receive().body, "GET /block x ");
    assert_eq!(client.receive().body, "GET /5 x ");
    client.send(" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /never");
    assert_eq!(client.receive().body, "GET /6 x ");
    client.expect_end();
}

#[test]
fn a_request_may_come_in_any_pieces() {
    let listener = listen();
    let plain = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789";
    let chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n\
        4;a=b\r\n0123\r\n06\r\n456789\r\n0\r\nTrailer: x\r\n\r\n";
    for text in [plain, chunked] {
        let mut client = Client::to(&listener);
        for byte in text.as_bytes() {
            client.send([*byte]);
        }
        assert_eq!(client.receive().body, "POST / x 0123456789");
        for cut in [1, 20, 50, text.len() - 1] {
            client.send(&text[..cut]);
            // Longer than a worker waits: the rest finds another one.
            std::thread::sleep(Duration::from_millis(20));
            client.send(&text[cut..]);
            assert_eq!(client.receive().body, "POST / x 0123456789");
        }
    }
}

#[test]
fn a_large_body_arrives_whole() {
    let listener = listen_with(
        limits(|_| {}),
        service(|request, mut response| {
            response
                .respond(&ResponseHead::new(200), &request.body)
                .unwrap()
        }),
    );
    let mut random = Random::new(7);
    let body: String = (0..3_000_000)
        .map(|_| char::from(b'a' + random.below(26) as u8))
        .collect();
    let mut client = Client::to(&listener);
    for _ in 0..2 {
        let mut sender = client.stream.try_clone().unwrap();
        let text = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let sending =
            std::thread::spawn(move || std::io::Write::write_all(&mut sender, text.as_bytes()));
        assert!(client.receive().body == body);
        sending.join().unwrap().unwrap();
    }
}

#[test]
fn http_1_0_is_served() {
    let listener = listen();
    let mut client = Client::to(&listener);
    client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n");
    let response = client.receive();
    assert_eq!(response.body, "GET /a  ");
    assert!(response.has("Connection: keep-alive"));
    client.send("GET /a HTTP/1.0\r\n\r\n");
    assert!(client.receive().has("Connection: close"));
    client.expect_end();
}

#[test]
fn who_asks_is_told_to_go_on_with_the_body() {
    let listener = listen();
    let mut client = Client::to(&listener);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
    client.send(head);
    assert_eq!(client.receive().status, 100);
    client.send("abc");
    assert_eq!(client.receive().body, "POST / x abc");
    // Who does not wait is not told.
    client.send(head.to_owned() + "abc");
    assert_eq!(client.receive().body, "POST / x abc");
}

#[test]
fn absolute_targets_and_asterisks_are_understood() {
    let listener = listen();
    let mut client = Client::to(&listener);
    for (target, seen) in [
        ("http://there:80/a?b", "GET /a?b there:80 "),
        ("HTTP://there", "GET / there "),
        ("/http://there", "GET /http://there here "),
    ] {
        client.get(target);
        assert_eq!(client.receive().body, seen);
    }
    client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.receive().body, "OPTIONS * x ");
    for count in [1, 2, 8] {
        let empty = "\r\n".repeat(count);
        client.send(empty + "GET /after-empty-lines HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(client.receive().body, "GET /after-empty-lines x ");
    }
    // Not without end.
    client.send("\r\n".repeat(9));
    assert_eq!(client.receive().status, 400);
    client.expect_end();
}

/// A response to HEAD has no body, also if the listener refuses the request (RFC 9110, section
/// 9.3.2).
#[test]
fn a_refused_head_has_no_body() {
    let listener = listen();
    for (method, has_body) in [("HEAD", false), ("GET", true)] {
        let mut stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let request = format!("{method} / HTTP/1.1\r\n\r\n");
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(!body.is_empty(), has_body, "{method}: {text}");
    }
}

/// What two servers could understand differently, or what is none of our business. Nothing behind it is taken for a request.
#[test]
fn what_can_be_misunderstood_is_refused() {
    let listener = listen();
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let table: &[(u16, &str)] = &[
        (
            400,
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (
            400,
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        ),
        (400, "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        (400, "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
        (400, "Content-Length: 3, 3\r\n\r\nabc"),
        (400, "Content-Length: +3\r\n\r\nabc"),
        (400, "Content-Length: -3\r\n\r\nabc"),
        (400, "Content-Length: 0x3\r\n\r\nabc"),
        (400, "Content-Length: 3 \x0b\r\n\r\nabc"),
        (400, "Content-Length: \r\n\r\n"),
        (400, "Content-Length: 3.0\r\n\r\nabc"),
        (400, "Content-Length: 99999999999999999999999\r\n\r\nabc"),
        (413, "Content-Length: 9999999999999999999\r\n\r\nabc"),
        (413, "Content-Length: 16777217\r\n\r\nabc"),
        (400, "Transfer-Encoding: identity\r\n\r\n"),
        (400, "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
        (400, "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        (
            400,
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        ),
        (400, "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
        (400, "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        (400, "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        (400, "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
        (501, "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        (400, "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        (400, "Content-Length : 3\r\n\r\nabc"),
        (400, "Content-Length\t: 3\r\n\r\nabc"),
        (400, " Content-Length: 3\r\n\r\nabc"),
        (400, "A: b\r\n Content-Length: 3\r\n\r\nabc"),
        (400, "A: b\r\n\tfolded\r\n\r\n"),
        (400, "A: b\rContent-Length: 3\r\n\r\nabc"),
        (400, "A: b\nContent-Length: 3\r\n\r\nabc"),
        (400, "A: b\r\n\nGET /smuggled"),
        (400, "A: b\0c\r\n\r\n"),
        (400, "A\0: b\r\n\r\n"),
        (400, "A b: c\r\n\r\n"),
        (400, ": c\r\n\r\n"),
        (400, "no colon\r\n\r\n"),
        (400, "Host: other\r\n\r\n"),
        (400, "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n"),
        (
            400,
            "Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n",
        ),
        (400, "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"),
        (400, "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n"),
        (
            400,
            "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\nx\r\n",
        ),
        (
            413,
            "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nx\r\n",
        ),
        (
            400,
            "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
        ),
        (
            400,
            "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\n\r\n",
        ),
        (417, "Expect: something else\r\n\r\n"),
    ];
    for (status, fields) in table {
        check_refused(
            &listener,
            *status,
            &format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}{smuggled}"),
        );
    }
    let heads: &[(u16, &str)] = &[
        (400, "GET / HTTP/1.1\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        (400, "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
        (400, "GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET http:///x HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET ftp://b/x HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET x HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET * HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "CONNECT b:80 HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET  / HTTP/1.1\r\nHost: b\r\n\r\n"),
        (505, "GET / x HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET\t/ HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "G\x01T / HTTP/1.1\r\nHost: b\r\n\r\n"),
        (400, "GET /\r\n\r\n"),
        (
            400,
            "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        (505, "GET / HTTP/2.0\r\nHost: b\r\n\r\n"),
        (505, "GET / HTTP/1.2\r\nHost: b\r\n\r\n"),
        (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ];
    for (status, head) in heads {
        check_refused(&listener, *status, &format!("{head}{smuggled}"));
    }
    check_refused(&listener, 400, "\x16\x03\x01\x02\0\x01\0\x01\n");
    assert_eq!(
        listener.stats().refused,
        (table.len() + heads.len() + 1) as u64
    );
}

fn check_refused(listener: &HttpListener, status: u16, text: &str) {
    let mut client = Client::to(listener);
    client.send(text);
    let response = client.receive();
    assert_eq!(response.status, status, "{text:?}: {response:?}");
    assert!(response.has("Connection: close"), "{response:?}");
    assert!(!response.body.is_empty());
    client.expect_end();
}

#[test]
fn heads_and_bodies_are_bounded() {
    let listener = listen_with(
        limits(|limits| {
            limits.max_head_bytes = 1000;
            limits.max_fields = 5;
            limits.max_body_bytes = 100;
        }),
        service(|request, response| say(&request, response)),
    );
    let long = "x".repeat(2000);
    check_refused(
        &listener,
        414,
        &format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"),
    );
    check_refused(&listener, 414, &long);
    check_refused(
        &listener,
        431,
        &format!("GET / HTTP/1.1\r\nHost: x\r\nA: {long}\r\n\r\n"),
    );
    check_refused(
        &listener,
        431,
        &format!("GET / HTTP/1.1\r\nHost: x\r\nA: {long}"),
    );
    check_refused(
        &listener,
        431,
        &format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(5)),
    );
    check_refused(
        &listener,
        413,
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n",
    );
    let chunk = format!("64\r\n{}\r\n", "x".repeat(100));
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_refused(&listener, 413, &format!("{head}{chunk}1\r\n"));
    let mut client = Client::to(&listener);
    client.send(format!("{head}{chunk}0\r\n\r\n"));
    assert_eq!(client.receive().body.len(), "POST / x ".len() + 100);
    client.send(format!(
        "GET / HTTP/1.1\r\nHost: x\r\n{}\r\n",
        "A: b\r\n".repeat(4)
    ));
    assert_eq!(client.receive().status, 200);
    // A refused client may go on sending for a while and still reads why.
    let mut client = Client::to(&listener);
    client.send(format!(
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n{}",
        "x".repeat(300_000)
    ));
    assert_eq!(client.receive().status, 413);
}

/// Proxies add many.
#[test]
fn many_header_fields_and_long_ones_are_taken() {
    let listener = listen();
    let mut client = Client::to(&listener);
    let usual: String = (0..10).map(|n| format!("Usual-{n}: x\r\n")).collect();
    let more: String = (0..58).map(|n| format!("X-Proxy-{n}: x\r\n")).collect();
    let long = format!("Authorization: Bearer {}\r\n", "x".repeat(24 << 10));
    for fields in [usual.clone() + &more, usual + &long] {
        client.send(format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n"));
        assert_eq!(client.receive().status, 200);
    }
}

/// Some clients send an empty line behind a body. A connection with nothing else on it is idle.
#[test]
fn an_empty_line_behind_a_body_begins_no_request() {
    let listener = listen_with(
        limits(|limits| limits.head_timeout = Duration::from_millis(200)),
        service(|request, response| say(&request, response)),
    );
    let mut client = Client::to(&listener);
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc\r\n";
    client.send(post);
    assert_eq!(client.receive().body, "POST / x abc");
    // A head that takes so long is ended on another one.
    let mut slow = Client::to(&listener);
    slow.send("\r\nG");
    assert_eq!(slow.receive().status, 408);
    client.send(post);
    assert_eq!(client.receive().body, "POST / x abc");
    client.send(post.to_owned() + post);
    (0..2).for_each(|_| assert_eq!(client.receive().body, "POST / x abc"));
}

/// They are ignored, but what another server could take for framing is refused (RFC 9110, section
/// 6.5).
#[test]
fn trailers_are_checked() {
    let listener = listen();
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n";
    let mut client = Client::to(&listener);
    for fine in [
        "",
        "Digest: x\r\nTrailer: y\r\n",
        "Mcp-Session-Id: z\r\nE:\r\n",
    ] {
        client.send(format!("{head}{fine}\r\n"));
        assert_eq!(client.receive().body, "POST / x abc");
    }
    for bad in [
        "no colon",
        "A : b",
        ": b",
        "A: b\0",
        "A: b\r\n folded",
        "A B: c",
        "Content-Length: 3",
        "transfer-encoding: chunked",
        "HOST: y",
    ] {
        check_refused(&listener, 400, &format!("{head}{bad}\r\n\r\n"));
    }
    let many = "A: b\r\n".repeat(5000);
    check_refused(&listener, 400, &format!("{head}{many}\r\n"));
}

#[test]
fn slow_heads_and_bodies_are_ended() {
    let listener = listen_with(
        limits(|limits| {
            limits.head_timeout = Duration::from_millis(200);
            limits.body_timeout = Duration::from_millis(200);
            limits.min_body_rate = 1000;
            limits.max_workers = 2;
        }),
        service(|request, response| say(&request, response)),
    );
    let started = Instant::now();
    let mut slow: Vec<Client> = (0..20).map(|_| Client::to(&listener)).collect();
    let body = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10000\r\n\r\n";
    for (number, client) in slow.iter_mut().enumerate() {
        client.send(if number % 2 == 0 {
            "GET / HTTP/1.1\r\nHo"
        } else {
            body
        });
    }
    // They hold no thread.
    Client::to(&listener).expect_service();
    for client in &mut slow {
        let response = client.receive();
        assert_eq!(response.status, 408, "{response:?}");
        client.expect_end();
    }
    assert!(started.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_body_that_is_fast_enough_may_take_its_time() {
    let listener = listen_with(
        limits(|limits| {
            limits.body_timeout = Duration::from_secs(2);
            limits.min_body_rate = 300;
        }),
        service(|request, response| say(&request, response)),
    );
    let started = Instant::now();
    let mut client = Client::to(&listener);
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    for _ in 0..5 {
        client.send("x".repeat(200));
        std::thread::sleep(Duration::from_millis(600));
    }
    assert_eq!(client.receive().status, 200);
    assert!(started.elapsed() >= Duration::from_secs(3));
}

/// However fast it came before: what it earned would last for hours.
#[test]
fn a_body_that_stalls_or_dwindles_is_ended() {
    let listener = listen_with(
        limits(|limits| {
            limits.body_timeout = Duration::from_millis(200);
            limits.min_body_rate = 100;
        }),
        service(|request, response| say(&request, response)),
    );
    let most = "x".repeat(1 << 20);
    let known = format!("Content-Length: {}\r\n\r\n{most}", most.len() + 10_000);
    let chunked = format!("Transfer-Encoding: chunked\r\n\r\n100000\r\n{most}\r\n2000\r\n");
    for body in [known, chunked] {
        let mut stalling = Client::to(&listener);
        stalling.send(format!("POST / HTTP/1.1\r\nHost: x\r\n{body}"));
        assert_eq!(stalling.receive().status, 408);
        stalling.expect_end();
        let mut dwindling = Client::to(&listener);
        dwindling.send(format!("POST / HTTP/1.1\r\nHost: x\r\n{body}"));
        let mut stream = dwindling.stream.try_clone().unwrap();
        let dwindle = std::thread::spawn(move || {
            while std::io::Write::write_all(&mut stream, b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        assert_eq!(dwindling.receive().status, 408);
        drop(dwindling);
        dwindle.join().unwrap();
    }
}

/// Promise 6: with all connections there may be, each with a large body of which a byte is missing, it would be many gigabytes.
#[test]
fn unfinished_bodies_are_bounded_together() {
    let listener = listen_with(
        limits(|limits| {
            limits.max_workers = 2;
            limits.max_body_bytes = 1 << 20;
        }),
        service(|request, response| say(&request, response)),
    );
    let begin = || {
        let mut client = Client::to(&listener);
        let head = format!(
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
            1 << 20
        );
        // A server that refuses may not read on.
        _ = std::io::Write::write_all(&mut client.stream, head.as_bytes());
        _ = std::io::Write::write_all(&mut client.stream, "x".repeat((1 << 20) - 1).as_bytes());
        client
    };
    let mut unfinished: Vec<Client> = (0..10).map(|_| begin()).collect();
    wait_until(|| listener.stats().refused >= 8, &listener);
    // Small ones are served all the time.
    Client::to(&listener).expect_service();
    for client in &mut unfinished {
        _ = std::io::Write::write_all(&mut client.stream, b"x");
    }
    let mut refused = 0;
    for client in &mut unfinished {
        let response = client.receive();
        if response.status != 200 {
            assert_eq!(response.status, 503);
            assert!(
                response.body.contains("too many large requests"),
                "{response:?}"
            );
            client.expect_end();
            refused += 1;
        }
    }
    assert!((8..=10).contains(&refused), "{refused}");
    drop(unfinished);
    // All is given back, also of those that were refused or went away.
    for _ in 0..5 {
        let mut both = [begin(), begin()];
        both[0].send("x");
        assert_eq!(both[0].receive().status, 200);
        let [_, gone] = both;
        drop(gone);
        wait_until(|| listener.stats().connections <= 1, &listener);
    }
}

/// It is not the client's fault that nobody had time to read what it had sent.
#[test]
fn a_request_that_came_in_time_is_served_however_long_it_waits() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| {
        limits.head_timeout = Duration::from_secs(1);
        limits.body_timeout = Duration::from_secs(1);
        limits.max_workers = 1;
    }));
    let mut clients = [
        "GET / HTTP/1.1\r\nHo",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nst: ",
    ]
    .map(|begin| {
        let mut client = Client::to(&listener);
        client.send(begin);
        client
    });
    let mut blocking = Client::to(&listener);
    blocking.get("/block");
    gate.wait_for(1);
    for client in &mut clients {
        client.send("st: x\r\n\r\n");
    }
    wait_until(|| listener.stats().waiting == clients.len(), &listener);
    let since = Instant::now();
    wait_until(|| since.elapsed() > Duration::from_secs(2), &listener);
    gate.open();
    for client in &mut clients {
        assert_eq!(client.receive().status, 200);
    }
}

/// It was looked at already while it waited, and so was what stands behind it.
#[test]
fn a_request_in_pieces_is_whole_when_its_turn_comes() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| limits.max_workers = 1));
    let mut blocking = Client::to(&listener);
    blocking.get("/block");
    gate.wait_for(1);
    let mut clients = [
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "Content-Length: 5\r\n\r\nabcde",
    ]
    .map(|rest| {
        let mut client = Client::to(&listener);
        client.send(format!(
            "POST /one HTTP/1.1\r\nHost: x\r\n{rest}GET /other HTTP/1.1\r\nHost: x\r\n\r\n"
        ));
        client
    });
    // A large one is not read to its end meanwhile.
    let text = "x".repeat(1 << 20);
    let mut large = Client::to(&listener);
    large.send("POST /large HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1048576\r\n\r\n");
    assert_eq!(large.head().status, 100);
    let mut stream = large.stream.try_clone().unwrap();
    let sent = text.clone();
    let sending =
        std::thread::spawn(move || std::io::Write::write_all(&mut stream, sent.as_bytes()));
    wait_until(|| listener.stats().waiting == clients.len() + 1, &listener);
    gate.open();
    sending.join().unwrap().unwrap();
    assert_eq!(large.receive().body, format!("POST /large x {text}"));
    for client in &mut clients {
        assert_eq!(client.receive().body, "POST /one x abcde");
        assert_eq!(client.receive().body, "GET /other x ");
    }
}

fn wait_until(mut condition: impl FnMut() -> bool, listener: &HttpListener) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "{:?}", listener.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A byte at a time, quicker than a worker lets go: neither the worker nor the time is the client's.
#[test]
fn a_trickle_holds_nobody_up() {
    let listener = listen_with(
        limits(|limits| {
            limits.head_timeout = Duration::from_millis(300);
            limits.max_workers = 1;
        }),
        service(|request, response| say(&request, response)),
    );
    let mut trickling = Client::to(&listener);
    let mut stream = trickling.stream.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        let mut text = b"GET / HTTP/1.1\r\nA: "
            .iter()
            .chain(std::iter::repeat(&b'x'));
        while std::io::Write::write_all(&mut stream, &[*text.next().unwrap()]).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    for _ in 0..10 {
        Client::to(&listener).expect_service();
    }
    assert_eq!(trickling.receive().status, 408);
    drop(trickling);
    trickle.join().unwrap();
}

#[test]
fn connections_that_could_not_be_used_again_are_closed_in_order() {
    for span in [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_millis(9),
    ] {
        let listener = listen_with(
            limits(|limits| limits.keep_alive = span),
            service(|request, response| say(&request, response)),
        );
        let mut client = Client::to(&listener);
        client.get("/once");
        let answer = client.receive();
        assert_eq!(answer.status, 200);
        let closes = String::from("Connection: close");
        assert!(answer.fields.contains(&closes), "{:?}", answer.fields);
        client.expect_end();
    }
}

#[test]
fn idle_connections_are_closed_after_a_while() {
    let listener = listen_with(
        limits(|limits| limits.keep_alive = Duration::from_secs(1)),
        service(|request, response| say(&request, response)),
    );
    let mut used = Client::to(&listener);
    let mut unused = Client::to(&listener);
    used.expect_service();
    used.expect_service();
    used.expect_end();
    unused.expect_end();
}

/// Clients that all ask again and again, so that their connections come together at a few workers.
fn crowd(listener: &HttpListener, count: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| Client::to(listener)).collect();
    for _ in 0..20 {
        ask_all(&mut clients);
    }
    clients
}

fn ask_all(clients: &mut [Client]) {
    clients.iter_mut().for_each(|client| client.get("/fine"));
    for client in clients {
        assert_eq!(client.receive().body, "GET /fine here ");
    }
}

#[test]
fn a_slow_request_holds_up_no_other_one_of_its_worker() {
    for _ in 0..5 {
        let (listener, gate, _kept) = listen_to_all(limits(|_| {}));
        let mut clients = crowd(&listener, 50);
        let (last, slow) = clients.split_last_mut().unwrap();
        slow.iter_mut().for_each(|client| client.get("/block"));
        // Each of them has a worker of its own in the end.
        gate.wait_for(slow.len());
        last.expect_service();
        last.expect_service();
        gate.open();
        for client in slow {
            assert_eq!(client.receive().body, "GET /block here ");
        }
        ask_all(&mut clients);
        assert_eq!(listener.stats().accepted, 50);
    }
}

#[test]
fn who_says_nothing_is_closed_beside_others_that_do() {
    let listener = listen_with(
        limits(|limits| limits.keep_alive = Duration::from_millis(100)),
        service(|request, response| say(&request, response)),
    );
    let mut clients = crowd(&listener, 10);
    let mut silent = clients.split_off(5);
    let deadline = Instant::now() + LONG;
    while listener.stats().connections > clients.len() {
        assert!(Instant::now() < deadline, "{:?}", listener.stats());
        ask_all(&mut clients);
    }
    silent.iter_mut().for_each(Client::expect_end);
}

#[test]
fn who_goes_away_between_requests_is_noticed_beside_others() {
    let listener = listen();
    let mut clients = crowd(&listener, 40);
    clients.truncate(20);
    let deadline = Instant::now() + LONG;
    while listener.stats().connections > clients.len() {
        assert!(Instant::now() < deadline, "{:?}", listener.stats());
        ask_all(&mut clients);
    }
    listener.close();
    clients.iter_mut().for_each(Client::expect_end);
}

#[test]
fn garbage_harms_nobody() {
    let listener = listen();
    let seeds = [
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "GET http://x/y?z HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n",
    ];
    let mut random = Random::new(4711);
    for round in 0..crate::common::rounds("MCPLINK_FUZZ_REQUESTS", 300) {
        let mut bytes = seeds[random.below(seeds.len())]
            .as_bytes()
            .repeat(1 + random.below(3));
        for _ in 0..random.below(6) {
            let at = random.below(bytes.len().max(1));
            if bytes.is_empty() {
                break;
            }
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"\r\n: ;,0\0"[random.below(8)]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let mut client = Client::to(&listener);
        // It may be refused, and the connection reset, before all is sent.
        _ = std::io::Write::write_all(&mut client.stream, &bytes);
        client
            .stream
            .shutdown(std::net::Shutdown::Write)
            .unwrap_or_default();
        if round % 2 == 0 {
            let mut answer = Vec::new();
            _ = std::io::Read::read_to_end(&mut client.stream, &mut answer);
            assert!(
                answer.is_empty() || answer.starts_with(b"HTTP/1.1 "),
                "{}",
                answer.escape_ascii()
            );
        }
    }
    Client::to(&listener).expect_service();
}
