//! The calls of the skills extension, as a client sends them. The crate `mcplink-skills` tests what
//! a host makes of the results.

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{SKILLS_EXTENSION, Skill};
use mcplink::transport::Limits;
use mcplink::{Error, ErrorCode, ErrorKind};
use serde_json::json;

use crate::rawserver::connect;
use crate::skillserver::{LEGACY, MODERN, SkillServer, declared, entry, file};

const A: &str = "skill://a/SKILL.md";

// E-SKILL-C-02, E-SKILL-C-03
#[test]
fn a_server_that_did_not_declare_skills_is_not_asked() {
    for revision in [LEGACY, MODERN] {
        for settings in [json!(null), json!(true), json!([]), json!("x"), json!(1)] {
            let (client, mut server) = connect(revision, &declared(&settings));
            for error in [
                client.list_skills().unwrap_err(),
                client.get_skill(A).unwrap_err(),
                client.read_resource_directory("skill://a").unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{settings}: {error}");
                assert!(!error.was_sent() && error.to_string().contains(SKILLS_EXTENSION));
            }
            server.has_heard_nothing(&client);
        }
        for settings in [json!({}), json!({ "x": 1, "directoryRead": 7 })] {
            let (client, server) = SkillServer::connect(revision, settings);
            server.set(|tables| tables.publish("skill://a", &[]));
            assert_eq!(client.list_skills().unwrap().len(), 1);
        }
    }
}

// E-SKILL-C-02
#[test]
fn skills_can_not_be_assumed() {
    let builder = Client::builder("test", "1").assume_capabilities(true);
    let (client, mut server) =
        crate::rawserver::connect_with(builder, MODERN, &json!({ "resources": {} }));
    assert_eq!(
        client.list_skills().unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    server.has_heard_nothing(&client);
}

// E-SKILL-C-01
#[test]
fn directories_are_read_only_if_the_server_reads_them() {
    for revision in [LEGACY, MODERN] {
        for settings in [
            json!({}),
            json!({ "directoryRead": false }),
            json!({ "directoryRead": "true" }),
            json!({ "directoryRead": 1 }),
            json!({ "directoryRead": null }),
        ] {
            let (client, mut server) = connect(revision, &declared(&settings));
            let error = client.read_resource_directory("skill://a").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{settings}: {error}");
            assert!(!error.was_sent() && error.to_string().contains("directoryRead"));
            server.has_heard_nothing(&client);
        }
        let (client, server) = SkillServer::connect(revision, json!({ "directoryRead": true }));
        let child = json!({ "uri": "skill://a/b", "name": "b", "mimeType": "inode/directory" });
        server.set(|tables| {
            tables
                .directories
                .insert("skill://a".to_owned(), vec![child])
        });
        let children = client.read_resource_directory("skill://a").unwrap();
        assert_eq!(children[0].name, "b");
        assert_eq!(server.asked(), ["resources/directory/read skill://a"]);
        let error = client.read_resource_directory("skill://x").unwrap_err();
        assert_eq!(error.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
    }
}

// AMB-94
#[test]
fn a_host_may_declare_skills() {
    let (here, there) = mcplink::transport::memory::pair();
    let builder = Client::builder("test", "1").skills().revisions(&[LEGACY]);
    let connecting = std::thread::spawn(move || builder.connect(here).unwrap());
    let mut server = crate::rawserver::RawServer::open(there);
    let opening = server.receive();
    let declared = &opening["params"]["capabilities"]["extensions"];
    assert_eq!(declared, &json!({ SKILLS_EXTENSION: {} }));
    let result = json!({
        "protocolVersion": LEGACY, "capabilities": {}, "serverInfo": { "name": "s", "version": "1" },
    });
    server.answer(&opening, result);
    connecting.join().unwrap();
}

// E-SKILL-C-24
#[test]
fn pages_are_followed_with_their_cursors() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    let page = |name: &str, next| {
        let directory = format!("skill://{name}");
        let own = file(&format!("{directory}/SKILL.md"), b"");
        (vec![entry(&directory, json!([own]))], next)
    };
    server.set(|tables| {
        tables.pages = vec![
            page("a", Some(" 1\u{1}/")),
            page("b", Some("")),
            page("c", Some("x")),
            page("d", Some("y")),
            page("e", None),
        ];
    });
    let listed = client.list_skills().unwrap();
    let names: Vec<&str> = listed.iter().filter_map(Skill::name).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    assert_eq!(server.asked().len(), 5);

    server.set(|tables| tables.pages = vec![page("a", Some("x")), page("b", Some("x"))]);
    assert_eq!(client.list_skills().unwrap().len(), 2);
    assert_eq!(server.asked(), ["skills/list", "skills/list x"]);
    server.set(|tables| tables.pages = vec![page("a", Some("x")), page("b", None)]);
    let mut pages = client.skill_pages(CallOptions::new());
    assert_eq!(pages.next().unwrap().unwrap().skills[0].uri, A);
    assert_eq!(server.asked(), ["skills/list"]);
}

// E-SKILL-C-27, E-SKILL-C-28
#[test]
fn an_entry_is_that_of_the_skill_that_was_asked_for() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    for bad in [
        "",
        "a",
        "skill://a",
        "skill://a/b.md",
        "skill://a/../SKILL.md",
        "SKILL.md",
    ] {
        let error = client.get_skill(bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}: {error}");
        assert!(!error.was_sent());
    }
    assert!(server.asked().is_empty());
    server.set(|tables| {
        let other = tables.publish("skill://b", &[]);
        tables.entries.insert(A.to_owned(), other);
    });
    let error = client.get_skill(A).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.to_string().contains("skill://b/SKILL.md"), "{error}");
    // Another spelling is the same skill.
    server.set(|tables| {
        let same = tables.publish("SKILL://%61", &[]);
        tables.entries.insert(A.to_owned(), same);
    });
    assert_eq!(client.get_skill(A).unwrap().uri, "SKILL://%61/SKILL.md");
}

// E-SKILL-C-26, AMB-99
#[test]
fn entries_are_cached_as_long_as_the_server_allows() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        tables.ttl_ms = 3_600_000;
        tables.publish("skill://a", &[]);
    });
    for _ in 0..2 {
        client.list_skills().unwrap();
        client.get_skill(A).unwrap();
    }
    let both = ["skills/list".to_owned(), format!("skills/get {A}")];
    assert_eq!(server.asked(), both);
    let options = CallOptions::new().bypass_cache();
    client.get_skill_with(A, options).unwrap();
    assert_eq!(server.asked(), [format!("skills/get {A}")]);
    // Skills may have changed when the resources have.
    server.set(|tables| {
        tables.notifications = vec!["notifications/resources/list_changed"];
    });
    client.list_resources().unwrap();
    client.list_skills().unwrap();
    client.get_skill(A).unwrap();
    assert_eq!(server.asked()[1..], both);
}

// E-SKILL-C-34
#[test]
fn a_checked_read_is_cached_only_if_it_is_accepted() {
    let uri = "skill://a/x";
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        tables.ttl_ms = 3_600_000;
        tables.put(uri, b"one");
    });
    let read = |wanted: &str| {
        client.read_resource_checked(uri, CallOptions::new(), |result| {
            match result.contents[0].as_text() {
                Some(text) if text == wanted => Ok(text.len()),
                other => Err(Error::new(ErrorKind::Protocol, format!("{other:?}"))),
            }
        })
    };
    let request = format!("resources/read {uri}");
    // A refused response is not cached.
    for _ in 0..2 {
        assert!(read("two").unwrap_err().to_string().contains("one"));
        assert_eq!(server.asked(), [&*request]);
    }
    assert_eq!(read("one").unwrap(), 3);
    assert_eq!(server.asked(), [&*request]);
    assert_eq!(read("one").unwrap(), 3);
    assert!(server.asked().is_empty());
    // A response from the cache that is refused is requested once more.
    server.set(|tables| tables.put(uri, b"two"));
    assert_eq!(read("two").unwrap(), 3);
    assert_eq!(server.asked(), [&*request]);
    assert_eq!(read("two").unwrap(), 3);
    assert!(server.asked().is_empty());
}

// E-SKILL-C-18
#[test]
fn longer_messages_are_accepted_while_the_limit_is_raised() {
    let uri = "skill://a/large";
    let mut limits = Limits::default();
    limits.max_message_bytes = 1 << 20;
    let builder = Client::builder("test", "1").limits(limits);
    let (client, server) = SkillServer::connect_as(builder, MODERN, json!({}));
    server.set(|tables| tables.put(uri, "x".repeat(2 << 20).as_bytes()));
    let read = || client.read_resource(uri).map(|_| ());
    assert_eq!(read().unwrap_err().kind(), ErrorKind::Limit);
    let raised = client.raise_max_message_bytes(3 << 20);
    read().unwrap();
    drop(raised);
    // A shorter length is no raise, and the old limit holds.
    let _no_raise = client.raise_max_message_bytes(1);
    let error = read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("max_message_bytes"), "{error}");
    // The sum of two guards is more than a number can hold.
    let half = client.raise_max_message_bytes((1 << 20) + (usize::MAX / 2 + 1));
    let other_half = client.raise_max_message_bytes((1 << 20) + (usize::MAX / 2 + 1));
    read().unwrap();
    drop(half);
    let _no_limit = client.raise_max_message_bytes(usize::MAX);
    read().unwrap();
    drop(other_half);
    read().unwrap();
}

#[test]
fn entries_that_can_not_be_read_are_listed_beside_the_others() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        tables.publish("skill://a", &[]);
        tables.list(entry("skill://b", json!("static")));
    });
    let pages = client.skill_pages(CallOptions::new());
    let (listed, misfits) = pages.read_all().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(misfits[0].name.as_deref(), Some("skill://b/SKILL.md"));
}
