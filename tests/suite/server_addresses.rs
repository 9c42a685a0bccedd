//! Addresses of resources that clients spell in other ways than the server does.

use std::sync::{Arc, Mutex};

use mcplink::schema::{ProtocolVersion, Resource, ResourceTemplate};
use mcplink::server::{Context, GuardedRequest, HandlerError, Primitive, ResourceRead, Server};
use serde_json::{Value, json};

use crate::common::{LONG, within};
use crate::raw::Raw;

const ALL: [&[&str]; 3] = [
    &[
        "https://example.com",
        "https://example.com/",
        "HTTPS://Example.com:443/.",
        "https://ex%61mple.com",
    ],
    &[
        "docs://café/menu",
        "docs://caf%C3%A9/menu",
        "DOCS://caf%c3%a9/%6Denu",
    ],
    &["file:///a/~b", "file:///a/%7Eb", "file:///x/../a/./~b"],
];

fn server(seen: &Arc<Mutex<Vec<String>>>) -> Server {
    let guarded = Arc::clone(seen);
    let mut server = Server::builder("addresses", "1")
        .resource_updates(true)
        .guard(
            move |access: &GuardedRequest<'_>| -> Result<(), HandlerError> {
                if let Some(Primitive::Resource(uri)) = access.primitive() {
                    guarded.lock().unwrap().push(uri.to_owned());
                }
                Ok(())
            },
        )
        .template(
            ResourceTemplate::new("room://caf%C3%A9/{day}", "room"),
            |read: &ResourceRead, _: &Context| read.variable("day").unwrap_or("").to_owned(),
        );
    for spellings in ALL {
        let resource = Resource::new(spellings[0], "r");
        server = server.resource(resource, |read: &ResourceRead, _: &Context| {
            read.uri().to_owned()
        });
    }
    server.build().unwrap()
}

// RFC 3986, section 6.2; M-RES-S-07, L-RES-S-05
#[test]
fn a_resource_is_read_by_every_spelling_of_its_address() {
    within(LONG, || {
        for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
            let seen = Arc::default();
            let server = server(&seen);
            let mut raw = Raw::open(&server, revision);
            for spellings in ALL {
                for uri in spellings {
                    let result = raw.result("resources/read", json!({ "uri": uri }));
                    assert_eq!(result["contents"][0]["text"], *uri);
                    // Guards see the resource as it was added.
                    assert_eq!(seen.lock().unwrap().pop().unwrap(), spellings[0]);
                }
            }
            for uri in [
                "room://caf%C3%A9/mon",
                "room://café/mon",
                "ROOM://café/%6Don",
            ] {
                let result = raw.result("resources/read", json!({ "uri": uri }));
                assert_eq!(result["contents"][0]["text"], "mon", "{uri}");
            }
            for uri in ["https://example.com/a", "docs://cafe/menu", "file:///a//~b"] {
                raw.error("resources/read", json!({ "uri": uri }));
            }
        }
    });
}

#[test]
fn an_exact_address_goes_before_another_spelling() {
    within(LONG, || {
        let server = Server::builder("addresses", "1")
            .resource(
                Resource::new("a://B", "one"),
                |_: &ResourceRead, _: &Context| "one",
            )
            .resource(
                Resource::new("a://b", "two"),
                |_: &ResourceRead, _: &Context| "two",
            )
            .build()
            .unwrap();
        let mut raw = Raw::open(&server, ProtocolVersion::LATEST);
        for (uri, text) in [("a://B", "one"), ("a://b", "two"), ("A://b", "one")] {
            let result = raw.result("resources/read", json!({ "uri": uri }));
            assert_eq!(result["contents"][0]["text"], text, "{uri}");
        }
        assert!(server.remove_resource("a://B"));
        let result = raw.result("resources/read", json!({ "uri": "A://b" }));
        assert_eq!(result["contents"][0]["text"], "two");
    });
}

// L-RES-S-09: a change of a resource is told to those who subscribed to it under another spelling.
#[test]
fn changes_are_told_however_the_address_was_spelled() {
    within(LONG, || {
        let server = server(&Arc::default());
        let mut raw = Raw::open(&server, ProtocolVersion::V2025_11_25);
        raw.check_messages(false);
        for (own, other) in [
            ("docs://café/menu", "docs://caf%C3%A9/menu"),
            ("https://example.com", "https://example.com/"),
        ] {
            for (subscribed, published) in [(own, other), (other, own), (own, own)] {
                raw.result("resources/subscribe", json!({ "uri": subscribed }));
                server.resource_updated(published);
                let told = raw.next();
                assert_eq!(told["method"], "notifications/resources/updated");
                assert_eq!(told["params"]["uri"], subscribed);
                raw.result("resources/unsubscribe", json!({ "uri": published }));
                server.resource_updated(own);
                raw.expect_silence();
            }
        }
    });
}

const SPELLINGS: [&str; 3] = [
    "docs://café/menu",
    "docs://caf%C3%A9/menu",
    "DOCS://caf%c3%a9/%6Denu",
];

// L-RES-S-09, M-SUB-S-05: each subscriber is told of a change in its own spelling of the URI, and another spelling that
// is published reaches all of them.
#[test]
fn each_subscriber_is_told_in_its_own_spelling() {
    within(LONG, || {
        let server = server(&Arc::default());
        let clients = SPELLINGS.iter().flat_map(|own| {
            [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST].map(|revision| {
                let mut raw = Raw::open(&server, revision);
                raw.check_messages(false);
                if revision.is_legacy() {
                    raw.result("resources/subscribe", json!({ "uri": own }));
                } else {
                    listen(&mut raw, &[own]);
                }
                (raw, *own)
            })
        });
        let mut clients: Vec<_> = clients.collect();
        for published in SPELLINGS.iter().chain(&["docs://caf%C3%A9/x/../men%75"]) {
            server.resource_updated(published);
            for (raw, own) in &mut clients {
                is_updated(&raw.next(), own);
            }
        }
        // Each is told once, also after the first ones have left.
        while clients.len() > 1 {
            drop(clients.remove(0));
            server.resource_updated(SPELLINGS[0]);
            for (raw, own) in &mut clients {
                is_updated(&raw.next(), own);
                raw.expect_silence();
            }
        }
    });
}

// L-RES-S-09, M-SUB-S-05
#[test]
fn a_client_with_two_spellings_is_told_in_both() {
    within(LONG, || {
        let server = server(&Arc::default());
        let mut legacy = Raw::open(&server, ProtocolVersion::V2025_11_25);
        let mut modern = Raw::open(&server, ProtocolVersion::LATEST);
        for own in &SPELLINGS[..2] {
            for _ in 0..2 {
                legacy.result("resources/subscribe", json!({ "uri": own }));
            }
        }
        listen(&mut modern, &SPELLINGS[..2]);
        for raw in [&mut legacy, &mut modern] {
            raw.check_messages(false);
        }
        server.resource_updated(SPELLINGS[2]);
        for raw in [&mut legacy, &mut modern] {
            let mut told = [raw.next(), raw.next()];
            told.sort_by_key(|message| message["params"]["uri"] != SPELLINGS[0]);
            for (message, own) in told.iter().zip(SPELLINGS) {
                is_updated(message, own);
            }
            raw.expect_silence();
        }
        // The spelling that is unsubscribed goes, and one that was not subscribed to takes all.
        legacy.result("resources/unsubscribe", json!({ "uri": SPELLINGS[0] }));
        server.resource_updated(SPELLINGS[0]);
        is_updated(&legacy.next(), SPELLINGS[1]);
        legacy.expect_silence();
        legacy.result("resources/subscribe", json!({ "uri": SPELLINGS[0] }));
        legacy.result("resources/unsubscribe", json!({ "uri": SPELLINGS[2] }));
        server.resource_updated(SPELLINGS[0]);
        legacy.expect_silence();
    });
}

fn listen(raw: &mut Raw, uris: &[&str]) {
    let params = json!({ "notifications": { "resourceSubscriptions": uris } });
    raw.request(json!("own"), "subscriptions/listen", params);
    let acknowledged = raw.next();
    let granted = &acknowledged["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*granted, json!(uris));
}

fn is_updated(told: &Value, uri: &str) {
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], uri);
}
