//! Which entries of skills a host takes, and which it declines.

use mcplink::client::Client;
use mcplink::schema::{SKILLS_EXTENSION, Skill};
use mcplink::skills::{SkillEntry, SkillLimits};
use mcplink::{ErrorCode, ErrorKind};
use mcplink_skills::RemoteSkill;
use serde_json::{Value, json};

use crate::skillserver::{LEGACY, MODERN, SkillServer, declared, entry, file};
use crate::{rawserver, skills};

const A: &str = "skill://a/SKILL.md";

// E-SKILL-C-02, E-SKILL-C-03
#[test]
fn a_server_that_did_not_declare_skills_is_not_asked() {
    for revision in [LEGACY, MODERN] {
        for settings in [json!(null), json!(true), json!([]), json!("x"), json!(1)] {
            let (client, mut server) = rawserver::connect(revision, &declared(&settings));
            let host = skills(&client, "s").allow_dynamic(true);
            let held = {
                let (other, there) = SkillServer::connect(revision, json!({}));
                there.set(|tables| tables.publish("skill://a", &[]));
                skills(&other, "s").get(A).unwrap()
            };
            for error in [
                host.list().unwrap_err(),
                host.load_uri(A).unwrap_err(),
                host.load(&held).unwrap_err(),
                host.preview(&held).unwrap_err(),
            ] {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{settings}: {error}");
                assert!(!error.was_sent() && error.to_string().contains(SKILLS_EXTENSION));
            }
            assert!(!host.is_supported());
            server.has_heard_nothing(&client);
        }
        for settings in [json!({}), json!({ "x": 1, "directoryRead": 7 })] {
            let (client, server) = SkillServer::connect(revision, settings);
            server.set(|tables| tables.publish("skill://a", &[]));
            let host = skills(&client, "s");
            assert!(host.is_supported());
            assert_eq!(host.list().unwrap().skills.len(), 1);
        }
    }
}

// E-SKILL-C-16, E-SKILL-C-25
#[test]
fn invalid_entries_are_apart_from_the_valid_ones() {
    let with = |resources: Value| entry("skill://b", resources);
    let own = file("skill://b/SKILL.md", b"");
    let mut without = with(json!([]));
    without.as_object_mut().unwrap().remove("resources");
    let mut renamed = with(json!([own]));
    renamed["frontmatter"]["name"] = json!("c");
    let hostile = [
        without,
        with(json!(null)),
        with(json!({})),
        with(json!("static")),
        with(json!("")),
        with(json!(["skill://b/SKILL.md"])),
        with(json!([])),
        with(json!([own, own])),
        with(json!([own, file("skill://b/../x", b"")])),
        with(json!([own, file("skill://b/%2e%2e/x", b"")])),
        with(json!([own, file("skill://b/..%2fx", b"")])),
        with(json!([own, file("/etc/passwd", b"")])),
        with(json!([own, file("file:///etc/passwd", b"")])),
        with(json!([own, file("skill://bc/x", b"")])),
        with(json!([own, file("https://evil.example/x", b"")])),
        with(json!([own, file("skill://b/x?y", b"")])),
        with(json!([own, { "uri": "skill://b/x", "digest": "sha256:00", "size": 1 }])),
        with(json!([own, { "uri": "skill://b/x", "digest": own["digest"], "size": -1 }])),
        with(json!([own, { "uri": "skill://b/x", "digest": own["digest"] }])),
        renamed,
    ];
    for revision in [LEGACY, MODERN] {
        for bad in &hostile {
            let (client, server) = SkillServer::connect(revision, json!({}));
            server.set(|tables| {
                tables.list(bad.clone());
                tables.publish("skill://a", &[]);
            });
            let host = skills(&client, "s");
            let listing = host.list().unwrap();
            assert_eq!(listing.skills.len(), 1, "{bad}");
            assert_eq!(listing.invalid.len(), 1, "{bad}");
            let invalid = &listing.invalid[0];
            assert_eq!(invalid.uri.as_deref(), Some("skill://b/SKILL.md"), "{bad}");
            assert_ne!(invalid.error.kind(), ErrorKind::Limit, "{bad}");
            // The good one needs no further question.
            host.load(&listing.skills[0]).unwrap();
            assert_eq!(
                server.asked(),
                ["skills/list", "resources/read skill://a/SKILL.md"]
            );
            // The bad one can't be had in another way either.
            let error = host.load_uri("skill://b/SKILL.md").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol, "{bad}: {error}");
            assert_eq!(server.asked(), ["skills/get skill://b/SKILL.md"]);
        }
    }
}

#[test]
fn an_entry_that_is_listed_twice_is_reported() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        let entry = tables.publish("skill://a", &[]);
        tables.list(entry);
        tables.publish("skill://b", &[]);
    });
    let host = skills(&client, "s");
    let listing = host.list().unwrap();
    assert_eq!((listing.skills.len(), listing.invalid.len()), (1, 2));
    assert!(listing.invalid[0].error.to_string().contains("twice"));
    assert!(listing.by_uri(A).is_none() && listing.by_uri("skill://%62/SKILL.md").is_some());
    assert!(host.get(A).is_ok());
}

#[test]
fn strict_clients_refuse_a_list_with_an_invalid_entry() {
    let builder = Client::builder("test", "1").strict(true);
    let (client, server) = SkillServer::connect_as(builder, MODERN, json!({}));
    server.set(|tables| {
        tables.publish("skill://a", &[]);
        tables.list(entry("skill://b", json!("static")));
    });
    assert_eq!(
        skills(&client, "s").list().unwrap_err().kind(),
        ErrorKind::Protocol
    );
}

// E-SKILL-C-17, E-SKILL-C-19, E-SKILL-C-20
#[test]
fn a_skill_that_is_too_large_is_declined_before_it_is_read() {
    let large = |count: usize, size: u64| {
        let mut files = vec![file("skill://b/SKILL.md", b"")];
        files.extend((1..count).map(|n| file(&format!("skill://b/{n}"), b"")));
        files[0]["size"] = json!(size);
        entry("skill://b", json!(files))
    };
    for (entry, found, allowed) in [
        (large(513, 0), "513", "512"),
        (large(10_000, 0), "10000", "512"),
        (large(1, 1 << 30), "1073741824", "16777216"),
        (large(1, 16_777_217), "16777217", "16777216"),
    ] {
        let (client, server) = SkillServer::connect(MODERN, json!({}));
        server.set(|tables| tables.list(entry));
        let host = skills(&client, "s");
        let listing = host.list().unwrap();
        let error = &listing.invalid[0].error;
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Limit, "{text}");
        assert!(text.contains(found) && text.contains(allowed), "{text}");
        let error = host.load_uri("skill://b/SKILL.md").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert_eq!(
            server.asked(),
            ["skills/list", "skills/get skill://b/SKILL.md"]
        );

        let raised = SkillLimits::default().max_files(20_000).max_bytes(2 << 30);
        let listing = host.clone().limits(raised).list().unwrap();
        assert_eq!(listing.skills.len(), 1);
        // A smaller limit holds for entries that were taken with a larger one.
        let error = host.load(&listing.skills[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert_eq!(server.asked(), ["skills/list"]);
    }
}

// E-SKILL-C-22, E-SKILL-C-23, E-SKILL-C-05, E-SKILL-C-04
#[test]
fn a_skill_that_is_not_listed_is_loaded_by_its_uri() {
    let uri = "skill://localhost/a/SKILL.md";
    for revision in [LEGACY, MODERN] {
        let (client, server) = SkillServer::connect(revision, json!({}));
        server.set(|tables| {
            tables.publish("skill://localhost/a", &[]);
            tables.pages.clear();
        });
        let host = skills(&client, "s");
        assert!(host.list().unwrap().skills.is_empty());
        let loaded = host.load_uri(uri).unwrap();
        assert_eq!(loaded.skill().name(), "a");
        let read = format!("resources/read {uri}");
        assert_eq!(
            server.asked(),
            ["skills/list", &format!("skills/get {uri}"), &read]
        );
        // A resource with such a URI is no skill.
        server.set(|tables| tables.put("skill://b/SKILL.md", b"---\n{}\n---\n"));
        let error = host.load_uri("skill://b/SKILL.md").unwrap_err();
        assert_eq!(error.rpc().unwrap().code, ErrorCode::INVALID_PARAMS);
        assert_eq!(server.asked(), ["skills/get skill://b/SKILL.md"]);
    }
}

// E-SKILL-C-26, E-SKILL-C-35
#[test]
fn an_entry_is_refreshed_although_it_is_cached() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        tables.ttl_ms = 3_600_000;
        tables.publish("skill://a", &[]);
    });
    let host = skills(&client, "s");
    for _ in 0..2 {
        host.list().unwrap();
        host.get(A).unwrap();
    }
    let both = ["skills/list".to_owned(), format!("skills/get {A}")];
    assert_eq!(server.asked(), both);
    host.refresh(&host.get(A).unwrap()).unwrap();
    assert_eq!(server.asked(), [format!("skills/get {A}")]);
    // After a fault nothing is taken from the cache.
    let skill = host.get(A).unwrap();
    server.set(|tables| tables.put(A, b"forged"));
    assert!(host.load(&skill).unwrap_err().skill_fault().is_some());
    server.asked();
    host.list().unwrap();
    host.get(A).unwrap();
    assert_eq!(server.asked(), both);
}

// E-SKILL-C-11, E-SKILL-X-01
#[test]
fn unknown_members_are_kept_and_have_no_effect() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| {
        let mut entry = tables.publish("skill://a", &[]);
        entry["_meta"] = json!({ "com.example.gateway/from": "x" });
        entry["resources"][0]["etag"] = json!(7);
        entry["frontmatter"]["metadata"] = json!({ "io.modelcontextprotocol/later": [1] });
        tables.entries.insert(A.to_owned(), entry.clone());
        let text = format!("---\n{}\n---\n", entry["frontmatter"]);
        let mut line = tables.put(A, text.as_bytes());
        line["etag"] = json!(7);
        entry["resources"] = json!([line]);
        tables.entries.insert(A.to_owned(), entry);
    });
    let host = skills(&client, "s");
    let skill = host.get(A).unwrap();
    let sent = server.set(|tables| tables.entries[A].clone());
    assert_eq!(serde_json::to_value(skill.entry().skill()).unwrap(), sent);
    host.load(&skill).unwrap();
}

#[test]
fn an_entry_that_a_host_has_stored_is_used_again() {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    server.set(|tables| tables.publish("skill://a", &[]));
    let stored = serde_json::to_string(skills(&client, "s").get(A).unwrap().entry().skill());
    server.asked();
    let skill: Skill = serde_json::from_str(&stored.unwrap()).unwrap();
    let entry = SkillEntry::new(skill, &SkillLimits::default()).unwrap();
    skills(&client, "s")
        .load(&RemoteSkill::new("s", entry))
        .unwrap();
    assert_eq!(server.asked(), [format!("resources/read {A}")]);
}
