//! Header fields of the way: cookies, and encodings of bodies.

use mcplink::ErrorKind;
use serde_json::json;

use crate::stub::{Stub, asker, call, discovered, initialized, text};

const STICKY: &str = "AWSALB=abcdef0123; Expires=Fri, 31 Dec 9999 23:59:59 GMT; Path=/";

#[test]
fn cookies_are_kept_for_the_connection() {
    let stub = Stub::start(|seen, out| {
        let answer = |result| json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result });
        match (&*seen.method, &*seen.asks()) {
            (_, "server/discover") => out.respond("400 Bad Request", &[("set-cookie", STICKY)], ""),
            (_, "initialize") => out.json_with(
                &[
                    ("mcp-session-id", "s"),
                    ("set-cookie", "route=r1; HttpOnly"),
                    ("Set-Cookie", "safe=1; Secure"),
                    ("set-cookie", "other=1; Domain=example.com"),
                    ("set-cookie", "elsewhere=1; Path=/elsewhere"),
                ],
                &answer(initialized("2025-11-25")),
            ),
            (_, "tools/call") => out.json_with(
                &[
                    ("set-cookie", "route=; Max-Age=0"),
                    ("set-cookie", "next=n1"),
                ],
                &answer(text("done")),
            ),
            ("GET", _) => out.respond("405 Method Not Allowed", &[], ""),
            _ => out.accept(),
        }
    });
    let client = stub.connect();
    call(&client, "x").unwrap();
    client.notify("notifications/x", &json!({})).unwrap();
    client.close();
    let seen = stub.seen();
    let sticky = "AWSALB=abcdef0123";
    let both = format!("{sticky}; route=r1");
    let next = format!("{sticky}; next=n1");
    let shown: Vec<_> = seen.iter().map(|seen| seen.header("cookie")).collect();
    let expected = [
        None,
        Some(sticky),
        Some(&*both),
        Some(&*both),
        Some(&*both),
        Some(&*next),
        Some(&*next),
    ];
    assert_eq!(shown, expected);
    // Another connection begins without.
    let client = stub.connect();
    drop(client);
    assert_eq!(stub.seen()[seen.len()].header("cookie"), None);
}

#[test]
fn cookies_stay_with_the_origin_that_set_them() {
    let other = Stub::modern(|seen, out| out.result(seen, text("done")));
    let target = other.url();
    let stub = Stub::modern(move |seen, out| match &*seen.target {
        "/mcp" => out.respond(
            "307 Temporary Redirect",
            &[
                ("location", "/step"),
                ("set-cookie", "a=s3cret-value; Path=/"),
            ],
            "",
        ),
        _ => out.respond("307 Temporary Redirect", &[("location", &*target)], ""),
    });
    let client = stub.connect();
    let error = call(&client, "x").unwrap_err();
    assert_eq!(error.http_status(), Some(307));
    assert_eq!(stub.seen()[2].header("cookie"), Some("a=s3cret-value"));
    assert!(other.seen().is_empty());
}

#[test]
fn values_of_cookies_are_shown_nowhere() {
    let stub = Stub::start(|seen, out| match seen.header("cookie") {
        None => out.json_with(
            &[("set-cookie", "a=s3cret-value")],
            &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": discovered() }),
        ),
        Some(cookie) => out.respond("500 Internal Server Error", &[], cookie),
    });
    let client = stub.connect();
    let error = call(&client, "x").unwrap_err();
    for shown in [
        error.to_string(),
        format!("{error:?}"),
        format!("{client:?}"),
    ] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    assert_eq!(stub.seen()[1].header("cookie"), Some("a=s3cret-value"));
}

#[test]
fn an_encoding_that_is_not_understood_is_named() {
    let stub = Stub::modern(|seen, out| {
        let answer = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text("done") });
        let name = seen.body()["params"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        match &*name {
            "stream" => out.stream_with(&[("content-encoding", "br")]),
            "refusal" => out.respond(
                "502 Bad Gateway",
                &[("content-encoding", "gzip")],
                "\u{1f}\u{8b}",
            ),
            encoding => out.json_with(&[("content-encoding", encoding)], &answer),
        }
    });
    let client = stub.connect();
    for (tool, named) in [
        ("gzip", "'gzip'"),
        ("identity, zstd", "'identity, zstd'"),
        ("stream", "'br'"),
    ] {
        let error = call(&client, tool).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(error.was_sent());
        let said = error.to_string();
        assert!(
            said.contains("content encoding") && said.contains(named),
            "{said}"
        );
    }
    let error = call(&client, "refusal").unwrap_err();
    assert_eq!(error.http_status(), Some(502));
    assert!(
        error.to_string().contains("content encoding gzip"),
        "{error}"
    );
    for tool in ["identity", "Identity", "identity, identity"] {
        assert_eq!(call(&client, tool).unwrap(), "done");
    }
    assert!(
        stub.seen()
            .iter()
            .all(|seen| seen.header("accept-encoding") == Some("identity"))
    );
    // One of the host's own choice.
    let http = stub.http().header("Accept-Encoding", "identity;q=1, *;q=0");
    asker().connect(http).unwrap();
    let last = stub.seen().pop().unwrap();
    assert_eq!(last.header("accept-encoding"), Some("identity;q=1, *;q=0"));
}
