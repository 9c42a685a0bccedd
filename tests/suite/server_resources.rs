//! Resources and templates, read by clients of every revision.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcplink::schema::*;
use mcplink::server::{
    Cached, Context, HandlerError, Json, List, ResourceCall, ResourceRead, Server,
};
use mcplink::{ErrorKind, RpcError};
use serde_json::json;

use crate::common::LONG;
use crate::raw::Raw;

fn server() -> Server {
    let bytes: Vec<u8> = (0..=255).collect();
    Server::builder("library", "1")
        .resource(
            Resource::new("lib:///text", "text")
                .title("Text")
                .mime_type("text/plain"),
            |_: &ResourceRead, _: &Context| "all of it",
        )
        .resource(
            Resource::new("lib:///bytes", "bytes"),
            move |_: &ResourceRead, _: &Context| bytes.clone(),
        )
        .resource(
            Resource::new("lib:///empty", "empty"),
            |_: &ResourceRead, _: &Context| Vec::<ResourceContents>::new(),
        )
        .resource(
            Resource::new("lib:///two", "two"),
            |_: &ResourceRead, _: &Context| {
                vec![
                    ResourceContents::text("lib:///two/1", "one"),
                    ResourceContents::blob("lib:///two/2", b"two"),
                ]
            },
        )
        .resource(
            Resource::new("lib:///kept", "kept"),
            |_: &ResourceRead, _: &Context| {
                let hint = CacheHint::new(Duration::from_secs(5), CacheScope::Public);
                Cached("kept", hint)
            },
        )
        .resource(
            Resource::new("lib:///broken", "broken"),
            |_: &ResourceRead, _: &Context| {
                let read = std::fs::read_to_string("/does/not/exist/secret");
                read.map_err(HandlerError::from)
            },
        )
        .resource(
            Resource::new("lib:///refused", "refused"),
            |_: &ResourceRead, _: &Context| -> Result<String, _> {
                Err(RpcError::invalid_params("not today"))?
            },
        )
        .resource(
            Resource::new("lib:///panic", "panic"),
            |_: &ResourceRead, _: &Context| -> String { panic!("on purpose") },
        )
        .resource(
            Resource::new("lib:///books/0", "exact"),
            |_: &ResourceRead, _: &Context| "exact",
        )
        .template(
            ResourceTemplate::new("lib:///books/{id}", "book").mime_type("text/x-book"),
            |read: &ResourceRead, _: &Context| {
                let id = read.variable("id")?;
                (id != "404").then(|| format!("book {id}"))
            },
        )
        .template(
            ResourceTemplate::new("lib:///{+rest}", "rest"),
            |read: &ResourceRead, _: &Context| read.variable("rest").map(str::to_owned),
        )
        .build()
        .unwrap()
}

// M-RES-S-01, M-RES-S-16, M-CACHE-S-01, L-RES-S-01
#[test]
fn resources_and_templates_are_listed_in_every_revision() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        assert!(client.capabilities()["resources"].is_object());
        let list = client.result("resources/list", json!({}));
        assert_eq!(list["resources"][0]["uri"], "lib:///text");
        assert_eq!(list["resources"].as_array().unwrap().len(), 9);
        assert_eq!(
            list["resources"][0].get("title").is_some(),
            revision >= ProtocolVersion::V2025_06_18
        );
        let templates = client.result("resources/templates/list", json!({}));
        assert_eq!(
            templates["resourceTemplates"][0]["uriTemplate"],
            "lib:///books/{id}"
        );
        for result in [list, templates] {
            let hint = (result.get("ttlMs"), result.get("cacheScope"));
            let expected = (json!(0), json!("private"));
            let expected = revision.is_modern().then_some((&expected.0, &expected.1));
            assert_eq!(
                hint,
                expected.map_or((None, None), |(ttl, scope)| (Some(ttl), Some(scope)))
            );
        }
    }
}

// M-RES-S-13, M-RES-S-19, M-RES-S-10, L-RES-S-09
#[test]
fn contents_come_as_text_or_bytes_none_or_several() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        let mut read =
            |uri: &str| client.result("resources/read", json!({ "uri": uri }))["contents"].clone();
        assert_eq!(
            read("lib:///text"),
            json!([{ "uri": "lib:///text", "mimeType": "text/plain", "text": "all of it" }])
        );
        let blob: Vec<ResourceContents> = serde_json::from_value(read("lib:///bytes")).unwrap();
        let ResourceContents::Blob(blob) = &blob[0] else {
            panic!("{blob:?}")
        };
        assert_eq!(blob.bytes().unwrap(), (0..=255).collect::<Vec<u8>>());
        assert_eq!(read("lib:///empty"), json!([]));
        assert_eq!(read("lib:///two").as_array().unwrap().len(), 2);
    }
}

#[test]
fn exact_addresses_go_before_templates_and_templates_in_order() {
    let mut client = Raw::open(&server(), ProtocolVersion::LATEST);
    for (uri, text) in [
        ("lib:///books/0", "exact"),
        ("lib:///books/1", "book 1"),
        ("lib:///books/a%20b", "book a b"),
        ("lib:///books/1/2", "books/1/2"),
    ] {
        let contents =
            client.result("resources/read", json!({ "uri": uri }))["contents"][0].clone();
        assert_eq!(contents["text"], text);
        assert_eq!(contents["uri"], uri);
    }
}

#[test]
fn a_template_that_was_taken_away_is_neither_listed_nor_read() {
    let server = server();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let mut seen = || {
        let list = client.result("resources/templates/list", json!({}));
        let read = client.result("resources/read", json!({ "uri": "lib:///books/1" }));
        let templates = list["resourceTemplates"].as_array().unwrap().len();
        (templates, read["contents"][0]["text"].clone())
    };
    let (before, text) = seen();
    assert_eq!(text, "book 1");
    assert!(server.remove_template("lib:///books/{id}"));
    assert!(!server.remove_template("lib:///books/{id}"));
    // The next one fits too.
    assert_eq!(seen(), (before - 1, json!("books/1")));
}

// M-ERR-S-06, M-RES-S-08, M-RES-S-10, L-RES-S-06
#[test]
fn a_missing_resource_is_told_in_the_way_of_the_revision() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for uri in ["other:x", "lib:///books/404"] {
            let error = client.error("resources/read", json!({ "uri": uri }));
            let code = if revision.is_modern() { -32602 } else { -32002 };
            assert_eq!(error["code"], code, "{revision}");
            assert_eq!(error["data"], json!({ "uri": uri }));
        }
    }
}

// M-RES-S-09, M-RES-S-11, L-RES-S-06, L-RES-S-07
#[test]
fn failures_are_internal_and_keep_their_secrets() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for uri in ["lib:///broken", "lib:///panic"] {
            let error = client.error("resources/read", json!({ "uri": uri }));
            assert_eq!(
                (&error["code"], &error["message"]),
                (&json!(-32603), &json!("internal error"))
            );
        }
        let error = client.error("resources/read", json!({ "uri": "lib:///refused" }));
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!("not today"))
        );
        for params in [
            json!({ "uri": "my scheme://x" }),
            json!({ "uri": "text" }),
            json!({}),
            json!({ "uri": 1 }),
        ] {
            assert_eq!(client.code("resources/read", params), -32602);
        }
    }
}

// M-CACHE-S-01, M-CACHE-S-19
#[test]
fn a_read_may_be_kept_if_its_handler_says_so() {
    let mut client = Raw::open(&server(), ProtocolVersion::LATEST);
    let mut hint = |uri: &str| {
        let result = client.result("resources/read", json!({ "uri": uri }));
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    assert_eq!(hint("lib:///kept"), (json!(5000), json!("public")));
    assert_eq!(hint("lib:///text"), (json!(0), json!("private")));
}

// M-RES-S-02, M-RES-S-03
#[test]
fn resources_come_and_go_while_serving() {
    let server = Server::builder("s", "1").build().unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    assert_eq!(client.code("resources/list", json!({})), -32601);
    assert_eq!(
        client.code("resources/read", json!({ "uri": "a:b" })),
        -32601
    );
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let adding = server.clone();
    server
        .add_resource(
            Resource::new("a:b", "b"),
            move |_: &ResourceRead, _: &Context| {
                // Registering from inside a handler works: no lock is held.
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let resource = Resource::new(format!("a:{number}"), "n");
                adding.add_resource(resource, |_: &ResourceRead, _: &Context| "n")?;
                Ok::<_, HandlerError>("b")
            },
        )
        .unwrap();
    client.result("resources/read", json!({ "uri": "a:b" }));
    client.result("resources/read", json!({ "uri": "a:0" }));
    assert!(server.remove_resource("a:b") && server.remove_resource("a:0"));
    assert!(!server.remove_resource("a:b"));
    // What was declared stays declared: the list is empty now, not unknown.
    assert_eq!(
        client.result("resources/list", json!({}))["resources"],
        json!([])
    );
    assert_eq!(
        client.code("resources/read", json!({ "uri": "a:b" })),
        -32602
    );
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn what_can_not_be_served_is_refused_at_the_start() {
    let text = |_: &ResourceRead, _: &Context| "";
    let build = |uri: &str| {
        Server::builder("s", "1")
            .resource(Resource::new(uri, "n"), text)
            .build()
    };
    for (uri, why) in [
        ("my scheme://x", "use scheme:rest (RFC 3986)"),
        ("x://a b", "write a space as %20 (RFC 3986)"),
        ("x://<a>", "write '<' as %3C (RFC 3986)"),
    ] {
        let text = format!("'{uri}' is not the address of a resource: {why}");
        assert_eq!(build(uri).unwrap_err().to_string(), text);
        let mut client = Raw::open(&build("a:b").unwrap(), ProtocolVersion::LATEST);
        let error = client.error("resources/read", json!({ "uri": uri }));
        assert_eq!(error["message"], format!("uri {text}"));
    }
    let pattern =
        Server::builder("s", "1").template(ResourceTemplate::new("x://a b/{c}", "n"), text);
    let error = pattern.build().unwrap_err().to_string();
    assert!(
        error.ends_with("write a space as %20 (RFC 3986)"),
        "{error}"
    );
    let twice = Server::builder("s", "1")
        .template(ResourceTemplate::new("a:{b}", "n"), text)
        .template(ResourceTemplate::new("a:{b}", "n"), text);
    assert!(twice.build().is_err());
}

// M-CACHE-S-18
#[test]
fn hints_of_a_list_are_the_same_on_all_pages() {
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:1", "n"),
            |_: &ResourceRead, _: &Context| "",
        )
        .resource(
            Resource::new("a:2", "n"),
            |_: &ResourceRead, _: &Context| "",
        )
        .page_size(1.try_into().unwrap())
        .cache_list(
            List::Resources,
            CacheHint::new(Duration::from_secs(1), CacheScope::Public),
        )
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let first = client.result("resources/list", json!({}));
    let second = client.result("resources/list", json!({ "cursor": first["nextCursor"] }));
    for page in [&first, &second] {
        assert_eq!(
            (&page["ttlMs"], &page["cacheScope"]),
            (&json!(1000), &json!("public"))
        );
    }
    assert!(second.get("nextCursor").is_none());
    assert_eq!(
        client.result("resources/templates/list", json!({}))["cacheScope"],
        "private"
    );
}

// M-CACHE-S-02
#[test]
fn a_read_that_asks_first_is_not_marked_as_kept() {
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:b", "b"),
            |_: &ResourceRead, context: &Context| -> Result<_, HandlerError> {
                let roots = context.list_roots("roots")?.roots.len();
                let hint = CacheHint::new(Duration::from_secs(5), CacheScope::Public);
                Ok(Cached(roots.to_string(), hint))
            },
        )
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
    });
    let params = json!({ "uri": "a:b", "_meta": meta });
    client
        .send(json!({ "jsonrpc": "2.0", "id": "r", "method": "resources/read", "params": params }));
    let asked = client.answer_to(&json!("r"), None);
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    assert!(result.get("ttlMs").is_none() && result.get("cacheScope").is_none());
}

// M-RES-B-18
#[test]
fn annotations_of_what_is_offered_are_checked() {
    let annotated = |annotations: Annotations| {
        let resource = Resource::new("a:b", "b").annotations(annotations.clone());
        let template = ResourceTemplate::new("a:{b}", "b").annotations(annotations);
        [
            Server::builder("s", "1").resource(resource, |_, _| "x"),
            Server::builder("s", "1").template(template, |_, _| "x"),
        ]
    };
    for server in annotated(Annotations::default().priority(0.5)) {
        assert!(server.build().is_ok());
    }
    for server in annotated(Annotations::default().priority(1.1)) {
        let error = server.build().unwrap_err();
        assert!(error.to_string().contains("priority 1.1"), "{error}");
    }
}

// M-ERR-S-06, M-RES-S-08, L-RES-S-06
#[test]
fn a_variable_that_does_not_parse_is_a_missing_resource() {
    let server = Server::builder("notes", "1")
        .template(
            ResourceTemplate::new("notes://{id}{?lines}", "note"),
            |read: &ResourceRead, _: &Context| {
                let id: u32 = read.get("id")?;
                let lines = match read.variable("lines") {
                    Some(_) => read.get("lines")?,
                    None => 100,
                };
                Ok(format!("{lines} lines of note {id}"))
            },
        )
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (uri, text) in [
            ("notes://7", "100 lines of note 7"),
            ("notes://%37?lines=5", "5 lines of note 7"),
        ] {
            let result = client.result("resources/read", json!({ "uri": uri }));
            assert_eq!(result["contents"][0]["text"], text);
        }
        for uri in ["notes://seven", "notes://-7", "notes://7?lines=few"] {
            let error = client.error("resources/read", json!({ "uri": uri }));
            let code = if revision.is_modern() { -32602 } else { -32002 };
            assert_eq!(error["code"], code, "{revision}: {uri}");
            assert_eq!(error["message"], "resource not found");
            assert_eq!(error["data"], json!({ "uri": uri }));
        }
    }
}

#[test]
fn an_undeclared_variable_is_a_mistake_that_only_the_host_sees() {
    let (log, logged) = mpsc::channel();
    let get = |read: &ResourceRead, _: &Context| read.get::<String>("ib");
    let server = Server::builder("notes", "1")
        .template(ResourceTemplate::new("notes://{id}", "note"), get)
        .resource(Resource::new("note:first", "first"), get)
        .deferred_unlisted_resources(|call: ResourceCall| {
            let output = call.read().get::<String>("id");
            _ = call.respond(output);
        })
        .on_log(move |record| drop(log.send(record.text.to_owned())))
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    for (uri, why) in [
        ("notes://7", "its template declares no variable 'ib'"),
        (
            "note:first",
            "it belongs to no template, so it has no variable 'ib'",
        ),
        (
            "other:7",
            "it belongs to no template, so it has no variable 'id'",
        ),
    ] {
        let error = client.error("resources/read", json!({ "uri": uri }));
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32603), &json!("internal error"))
        );
        let text = logged.recv_timeout(LONG).unwrap();
        assert_eq!(text, format!("resource '{uri}' failed: {why}"));
    }
}

#[test]
fn a_template_expands_lists_and_objects() {
    #[derive(serde::Serialize)]
    struct Search {
        path: &'static str,
        tags: Vec<&'static str>,
        page: Option<u32>,
    }
    let template = ResourceTemplate::new("search:///{+path}{?tags*,page}", "search");
    let values = |page| Search {
        path: "a/b",
        tags: vec!["x y", "z"],
        page,
    };
    assert_eq!(
        template.expand(&values(Some(2))).unwrap(),
        "search:///a/b?tags=x%20y&tags=z&page=2"
    );
    assert_eq!(
        template.expand(&values(None)).unwrap(),
        "search:///a/b?tags=x%20y&tags=z"
    );
    assert_eq!(
        template.expand(&[("path", "a"), ("page", "1")]).unwrap(),
        "search:///a?page=1"
    );
    assert_eq!(template.expand(&()).unwrap(), "search:///");
    let by = ResourceTemplate::new("search:///{?by*}", "by");
    let values = json!({ "by": { "author": "Ada", "year": 1843 } });
    assert_eq!(
        by.expand(&values).unwrap(),
        "search:///?author=Ada&year=1843"
    );
    for (values, why) in [
        (json!({ "pages": 1 }), "it has no variable 'pages'"),
        (
            json!({ "path": [["a"]] }),
            "'path' has a list or an object in it",
        ),
        (
            json!("path"),
            "its values are an object, or a list of names and values",
        ),
    ] {
        let error = template.expand(&values).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().ends_with(why), "{error}");
    }
}

#[test]
fn a_structured_value_is_the_json_text_of_a_resource() {
    #[derive(serde::Serialize)]
    struct Measured {
        id: i32,
        ratio: f64,
        note: Option<&'static str>,
    }
    let (log, logged) = mpsc::channel();
    let ratio = |read: &ResourceRead, _: &Context| {
        let id: i32 = read.get("id")?;
        let ratio = 1.0 / f64::from(id);
        if id < 0 {
            return Err(HandlerError::not_found());
        }
        Ok(Json(Measured {
            id,
            ratio,
            note: None,
        }))
    };
    let typed = ResourceTemplate::new("typed:{id}", "typed").mime_type("application/x+json");
    let server = Server::builder("s", "1")
        .template(ResourceTemplate::new("ratio:{id}", "ratio"), ratio)
        .template(typed, ratio)
        .on_log(move |record| drop(log.send(record.text.to_owned())))
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (uri, mime_type) in [
            ("ratio:2", "application/json"),
            ("typed:2", "application/x+json"),
        ] {
            let result = client.result("resources/read", json!({ "uri": uri }));
            let contents = json!([{
                "uri": uri, "mimeType": mime_type, "text": "{\"id\":2,\"ratio\":0.5,\"note\":null}",
            }]);
            assert_eq!(result["contents"], contents);
        }
        let error = client.error("resources/read", json!({ "uri": "ratio:-1" }));
        assert_eq!(error["message"], "resource not found");
        let error = client.error("resources/read", json!({ "uri": "ratio:0" }));
        assert_eq!(error["message"], "internal error");
        let text =
            "resource 'ratio:0' failed: it has a number that JSON can't represent: /ratio is inf";
        assert_eq!(logged.recv_timeout(LONG).unwrap(), text);
    }
}
