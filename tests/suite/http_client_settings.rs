//! What a host sets on its way to a server over HTTP, and what is kept to itself.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use mcplink::client::Client;
use mcplink::transport::Transport;
use mcplink::transport::http::Http;
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::common::LONG;
use crate::proxied::{carry, socks_proxy};
use crate::stub::{Stub, asker, call, text};

#[test]
fn urls_are_checked() {
    for (url, text) in [
        ("", "can't be read"),
        ("/mcp", "http://"),
        ("ftp://host/x", "http://"),
        ("http://user:secret@host/mcp", "credentials"),
        ("http://host/mcp#part", "fragment"),
        ("http:///mcp", "can't be read"),
    ] {
        let error = Http::new(url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
        let said = error.to_string();
        assert!(
            said.contains(text) && !said.contains("secret"),
            "{url}: {said}"
        );
    }
    let http = Http::new("http://Host.example:8080/a/b?token=secret").unwrap();
    let address = http.address().unwrap();
    assert!(
        address.starts_with("http://host.example:8080/a/b?"),
        "{address}"
    );
    assert!(!address.contains("secret") && !format!("{http:?}").contains("secret"));
    let plain = Http::new("http://Host.example:8080/a/b").unwrap();
    assert_eq!(
        plain.address().as_deref(),
        Some("http://host.example:8080/a/b")
    );
    #[cfg(feature = "tls")]
    Http::new("https://host.example/mcp").unwrap();
}

#[test]
fn header_fields_and_tokens_are_sent_with_every_request() {
    let stub = Stub::legacy("2025-11-25", |seen, out| match &*seen.method {
        "POST" => out.result(seen, text("done")),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let number = AtomicUsize::new(0);
    let http = stub
        .http()
        .header("X-Tenant", "blue")
        .bearer_with(move || Ok(format!("token-{}", number.fetch_add(1, Ordering::SeqCst))));
    let client = asker().connect(http).unwrap();
    call(&client, "x").unwrap();
    client.close();
    let seen = stub.seen();
    assert_eq!(seen.len(), 6);
    for (number, seen) in seen.iter().enumerate() {
        assert_eq!(seen.header("x-tenant"), Some("blue"));
        let token = format!("Bearer token-{number}");
        assert_eq!(seen.header("authorization"), Some(&*token));
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
    }
}

#[test]
fn what_can_not_be_sent_is_refused() {
    let stub = Stub::modern(|seen, out| out.result(seen, text("done")));
    let refused = |http: Http, text: &str| {
        let error = asker().connect(http).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        let said = error.to_string();
        assert!(said.contains(text) && !said.contains("secret"), "{said}");
    };
    refused(stub.http().header("a b", "secret"), "a b");
    refused(stub.http().header("x", "secret\r\ny: z"), "'x'");
    refused(
        stub.http().header("Mcp-Session-Id", "secret"),
        "Mcp-Session-Id",
    );
    refused(stub.http().bearer("secret\n"), "token");
    refused(stub.http().proxy("http://user:secret@["), "proxy");
    let failing = stub
        .http()
        .bearer_with(|| Err(Error::new(ErrorKind::State, "no login")));
    let error = asker().connect(failing).unwrap_err();
    assert!(
        error.kind() == ErrorKind::State && !error.was_sent(),
        "{error}"
    );
    assert!(stub.seen().is_empty());
}

#[test]
fn secrets_are_shown_nowhere() {
    let stub = Stub::modern(|seen, out| {
        let all = format!("{:?}", seen.headers);
        match seen.body()["params"]["name"].as_str() {
            Some("401") => out.respond(
                "401 Unauthorized",
                &[("www-authenticate", "Bearer error=\"x\", y=\"t0k3n-value\"")],
                &all,
            ),
            Some("302") => out.respond(
                "302 Found",
                &[("location", "http://other.example/t0k3n-value")],
                "",
            ),
            _ => out.respond("500 Internal Server Error", &[], &all),
        }
    });
    let http = stub
        .http()
        .header("X-Key", "k3y-value")
        .bearer("t0k3n-value");
    let shown = format!("{http:?}");
    let client = asker().connect(http).unwrap();
    let mut shown = vec![shown, format!("{client:?}")];
    for tool in ["401", "302", "500"] {
        let error = call(&client, tool).unwrap_err();
        shown.extend([error.to_string(), format!("{error:?}")]);
        shown.extend(error.http_challenge().map(str::to_owned));
    }
    for shown in shown {
        assert!(
            !shown.contains("k3y-value") && !shown.contains("t0k3n-value"),
            "{shown}"
        );
    }
}

#[test]
fn redirects_elsewhere_are_named_and_not_followed() {
    let other = Stub::modern(|seen, out| out.result(seen, text("done")));
    let targets: [fn(&str, &str) -> String; 4] = [
        |_, other| format!("http://{other}/mcp"),
        |_, other| format!("//{other}/mcp"),
        |own, _| format!("https://{own}/mcp"),
        |own, _| format!("http://user:word@{own}/mcp"),
    ];
    for make in targets {
        let address = other.address().to_string();
        let stub = Stub::start(move |seen, out| {
            let target = make(seen.header("host").unwrap(), &address);
            out.respond("307 Temporary Redirect", &[("location", &*target)], "");
        });
        let target = make(&stub.address().to_string(), &other.address().to_string());
        for follows in [true, false] {
            let http = stub.http().follow_redirects(follows).bearer("x");
            let error = asker().connect(http).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Http);
            assert_eq!(error.http_status(), Some(307));
            let said = error.to_string();
            assert!(
                said.contains(&target) && said.contains("not sent"),
                "{said}"
            );
        }
    }
    assert!(other.seen().is_empty());
}

#[test]
fn redirects_to_the_same_origin_are_followed() {
    let stub = Stub::legacy("2025-11-25", |seen, out| match &*seen.target {
        _ if seen.method == "GET" => out.respond("405 Method Not Allowed", &[], ""),
        "/mcp" => out.respond(
            "308 Permanent Redirect",
            &[("location", "/a/there?next=http://x/")],
            "moved",
        ),
        "/a/there?next=http://x/" => {
            out.respond(
                "307 Temporary Redirect",
                &[("location", "../b/./here?x=1#part")],
                "",
            );
        }
        "/b/here?x=1" => out.result(seen, text("done")),
        other => panic!("{other}"),
    });
    let http = stub.http().header("x-tenant", "blue").bearer("t0k3n");
    let client = asker().connect(http).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let steps = stub.seen_asking("tools/call");
    assert_eq!(steps.len(), 3);
    for step in &steps {
        assert_eq!((&*step.method, &step.text), ("POST", &steps[0].text));
        assert_eq!(step.header("authorization"), Some("Bearer t0k3n"));
        assert_eq!(step.header("x-tenant"), Some("blue"));
        assert_eq!(step.header("mcp-session-id"), Some("session-1"));
        assert_eq!(step.connection, steps[0].connection);
    }
    // Not when the host does not want it, and not without end.
    let http = stub.http().follow_redirects(false);
    let error = call(&asker().connect(http).unwrap(), "x").unwrap_err();
    assert_eq!(error.http_status(), Some(308));
    let stub = Stub::start(|_, out| {
        out.respond("307 Temporary Redirect", &[("location", "/mcp")], "");
    });
    let error = stub.connect_as(asker()).unwrap_err();
    assert!(
        error.to_string().contains("redirects without end"),
        "{error}"
    );
    assert_eq!(stub.seen().len() % 6, 0, "bounded");
    // What would change the method.
    for status in ["301 Moved Permanently", "302 Found", "303 See Other"] {
        let stub = Stub::start(move |_, out| out.respond(status, &[("location", "/b")], ""));
        let error = stub.connect_as(asker()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Http, "{error}");
        assert!(stub.seen().iter().all(|seen| seen.target == "/mcp"));
    }
}

// Must not happen: connecting, probing, closing and token requests have no deadline.
#[test]
fn connecting_has_a_deadline() {
    // A socket whose queue is full takes no connection, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let timeout = Duration::from_millis(300);
    let http = Http::new(&url).unwrap().connect_timeout(timeout);
    let error = asker().connect_timeout(timeout).connect(http).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    drop(listener);
}

#[test]
fn a_proxy_is_used_when_it_is_set() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        line
    });
    let http = Http::new("http://unknown.invalid/mcp")
        .unwrap()
        .proxy(&proxy);
    asker().connect(http).unwrap_err();
    let asked = asked.join().unwrap();
    assert!(
        asked.starts_with("CONNECT unknown.invalid:80 ")
            || asked.contains("http://unknown.invalid/mcp"),
        "{asked}"
    );
}

#[test]
fn names_are_looked_up_and_all_addresses_tried() {
    let stub = Stub::modern(|seen, out| out.result(seen, text("done")));
    let url = format!("http://localhost:{}/mcp", stub.address().port());
    let client = Client::connect(Http::new(&url).unwrap()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
}

#[test]
fn a_connection_that_the_server_closes_is_not_used_again() {
    let stub = Stub::modern(|seen, out| {
        let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text("done") });
        out.json_with(&[("connection", "close")], &answer);
        out.cut();
    });
    let client = stub.connect();
    for _ in 0..20 {
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
}

#[test]
fn a_socks_proxy_is_used_when_it_is_set() {
    let stub = Stub::modern(|seen, out| out.result(seen, text("done")));
    let target = stub.address();
    for (scheme, host) in [
        ("socks4", "192.0.2.1"),
        ("socks4a", "unknown.invalid"),
        ("socks5", "192.0.2.1"),
        ("socks5h", "unknown.invalid"),
    ] {
        let (proxy, asked) = socks_proxy(scheme, move |_, _| target);
        let http = Http::new(&format!("http://{host}:7777/mcp")).unwrap();
        let client = Client::connect(http.proxy(&proxy)).unwrap();
        for _ in 0..3 {
            assert_eq!(call(&client, "x").unwrap(), "done");
        }
        let asked: Vec<_> = asked.try_iter().collect();
        assert_eq!(asked, [(host.to_owned(), 7777)], "one connection");
    }
}

#[test]
fn a_connection_that_closes_behind_a_proxy_is_not_used_again() {
    let stub = Stub::modern(|seen, out| {
        out.result(seen, text("done"));
        out.cut();
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let target = stub.address();
    let (ended, has_ended) = mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            client.set_read_timeout(Some(LONG)).unwrap();
            // All that stands before the empty line is for the proxy; the client sends no more until it is answered.
            let asked = BufReader::new(&client).lines().map(Result::unwrap);
            asked.take_while(|line| !line.is_empty()).for_each(drop);
            (&client).write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            carry(&client, target);
            _ = ended.send(());
        }
    });
    let http = Http::new(&format!("http://{target}/mcp")).unwrap();
    let client = Client::connect(http.proxy(&proxy)).unwrap();
    for _ in 0..5 {
        assert_eq!(call(&client, "x").unwrap(), "done");
        has_ended.recv_timeout(LONG).unwrap();
    }
}
