//! Skills that come, go and change while clients are connected, and files of the largest size.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mcplink::ErrorKind;
use mcplink::client::Client;
use mcplink::schema::{ProtocolVersion, ResourceContents};
use mcplink::server::Server;
use mcplink::skills::Digest;
use mcplink::transport::{Limits, Transport, memory};
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::skilltree::{Tree, builder, listed, made, read, skill_md, uris};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// A legacy client that has subscribed to these files.
fn subscriber(server: &Server, uris: &[&str]) -> Raw {
    let mut client = Raw::open(server, LEGACY);
    for uri in uris {
        client.result("resources/subscribe", json!({ "uri": uri }));
    }
    client
}

/// The next notifications, as the method and the URI.
fn told(client: &mut Raw, count: usize) -> BTreeSet<String> {
    let told = (0..count).map(|_| {
        let message = client.next();
        let method = message["method"].as_str().unwrap().to_owned();
        let uri = message["params"]["uri"].as_str().unwrap_or_default();
        format!("{method} {uri}").trim().to_owned()
    });
    told.collect()
}

const LIST_CHANGED: &str = "notifications/resources/list_changed";

fn updated(uri: &str) -> String {
    format!("notifications/resources/updated {uri}")
}

// E-SKILL-S-67, AMB-99
#[test]
fn a_reload_tells_clients_of_each_kind_of_change() {
    let tree = Tree::new();
    tree.skill("a").file("a/x", "1").file("a/y", "1").skill("b");
    let server = tree.server();
    let x = "skill://a/x";
    let mut client = subscriber(&server, &[x, "skill://b/SKILL.md"]);
    assert!(server.reload_skills().unwrap().is_empty());
    client.expect_silence();

    tree.file("a/x", "2");
    let changes = server.reload_skills().unwrap();
    assert_eq!(changes.changed, ["skill://a/SKILL.md"]);
    assert!(changes.added.is_empty() && changes.removed.is_empty());
    let expected = BTreeSet::from([LIST_CHANGED.to_owned(), updated(x)]);
    assert_eq!(told(&mut client, 2), expected);

    // Nobody has subscribed to this file.
    tree.file("a/y", "2");
    assert_eq!(server.reload_skills().unwrap().changed.len(), 1);
    assert_eq!(
        told(&mut client, 1),
        BTreeSet::from([LIST_CHANGED.to_owned()])
    );

    let text = skill_md("b", "Another description.");
    tree.file("b/SKILL.md", &text);
    assert_eq!(
        server.reload_skills().unwrap().changed,
        ["skill://b/SKILL.md"]
    );
    let expected = BTreeSet::from([LIST_CHANGED.to_owned(), updated("skill://b/SKILL.md")]);
    assert_eq!(told(&mut client, 2), expected);
    let resources = client.result("resources/list", json!({}))["resources"].clone();
    let described = resources.as_array().unwrap().iter();
    let described = described.filter(|it| it["description"] == "Another description.");
    assert_eq!(described.count(), 1, "{resources}");

    tree.skill("c");
    assert_eq!(
        server.reload_skills().unwrap().added,
        ["skill://c/SKILL.md"]
    );
    assert_eq!(
        told(&mut client, 1),
        BTreeSet::from([LIST_CHANGED.to_owned()])
    );

    fs::remove_dir_all(tree.path("a")).unwrap();
    assert_eq!(
        server.reload_skills().unwrap().removed,
        ["skill://a/SKILL.md"]
    );
    let expected = BTreeSet::from([LIST_CHANGED.to_owned(), updated(x)]);
    assert_eq!(told(&mut client, 2), expected);
    assert_eq!(client.code("resources/read", json!({ "uri": x })), -32002);
    assert_eq!(
        client.code("skills/get", json!({ "uri": "skill://a/SKILL.md" })),
        -32602
    );
    let resources = client.result("resources/list", json!({}))["resources"].clone();
    let mut found = uris(resources.as_array().unwrap());
    found.sort_unstable();
    assert_eq!(found, ["skill://b/SKILL.md", "skill://c/SKILL.md"]);

    // A skill that breaks a rule now is no longer published.
    tree.file("b/SKILL.md", "# B\n");
    assert_eq!(
        server.reload_skills().unwrap().removed,
        ["skill://b/SKILL.md"]
    );
    assert_eq!(server.skipped_skills().len(), 1);
    tree.file("b/SKILL.md", &text);
    assert_eq!(
        server.reload_skills().unwrap().added,
        ["skill://b/SKILL.md"]
    );
    assert!(server.skipped_skills().is_empty());

    // Without the folder, everything stays as it is.
    fs::rename(tree.path("b"), tree.path("gone")).unwrap();
    fs::remove_dir_all(tree.path("")).unwrap();
    assert_eq!(server.reload_skills().unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(listed(&mut client).len(), 2);
}

// E-SKILL-S-37
#[test]
fn a_change_in_a_nested_skill_changes_both() {
    let tree = Tree::new();
    tree.skill("out").skill("out/in").file("out/in/x", "1");
    let server = tree.server();
    let mut client = Raw::open(&server, MODERN);
    let before = listed(&mut client);
    tree.file("out/in/x", "2");
    let changes = server.reload_skills().unwrap();
    assert_eq!(
        changes.changed,
        ["skill://out/SKILL.md", "skill://out/in/SKILL.md"]
    );
    let after = listed(&mut client);
    assert_eq!(uris(&after), uris(&before));
    assert!(after[0] != before[0] && after[1] != before[1]);
    // A link in the nested skill makes both unpublishable.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("x", tree.path("out/in/link")).unwrap();
        assert_eq!(server.reload_skills().unwrap().removed.len(), 2);
        fs::remove_file(tree.path("out/in/link")).unwrap();
    }
    // A nested skill that breaks a rule is a part of the outer one all the same.
    tree.file("out/in/SKILL.md", "# In\n");
    server.reload_skills().unwrap();
    let skills = listed(&mut client);
    assert_eq!(uris(&skills), ["skill://out/SKILL.md"]);
    assert_eq!(skills[0]["resources"].as_array().unwrap().len(), 3);
    assert_eq!(read(&mut client, "skill://out/in/SKILL.md"), b"# In\n");
}

// E-SKILL-S-53, E-SKILL-S-67
#[test]
fn a_skill_made_in_code_is_replaced_as_a_whole() {
    let server = builder()
        .skill(made("a").file("x", "1").file("y", "1"))
        .build()
        .unwrap();
    let mut client = subscriber(&server, &["skill://a/x", "skill://a/y"]);
    server.publish_skill(made("a").file("x", "2")).unwrap();
    let expected = ["skill://a/x", "skill://a/y"].map(updated);
    let expected = BTreeSet::from_iter([LIST_CHANGED.to_owned()].into_iter().chain(expected));
    assert_eq!(told(&mut client, 3), expected);
    assert_eq!(read(&mut client, "skill://a/x"), b"2");
    assert_eq!(
        client.code("resources/read", json!({ "uri": "skill://a/y" })),
        -32002
    );
    let skill = listed(&mut client).remove(0);
    assert_eq!(
        skill["resources"][1]["digest"],
        Digest::of(b"2").to_string()
    );
    // What is refused changes nothing.
    assert!(server.publish_skill(made("a").file("../x", "")).is_err());
    assert_eq!(listed(&mut client), [skill]);
    server.publish_skill(made("b")).unwrap();
    assert!(server.remove_skill("SKILL://a/SKILL.md"));
    assert!(!server.remove_skill("skill://a/SKILL.md"));
    assert_eq!(uris(&listed(&mut client)), ["skill://b/SKILL.md"]);
}

#[test]
fn skills_of_folders_and_of_code_do_not_replace_each_other() {
    let tree = Tree::new();
    tree.skill("a");
    let server = tree.builder().skill(made("b")).build().unwrap();
    assert!(server.publish_skill(made("a")).is_err());
    assert!(!server.remove_skill("skill://a/SKILL.md"));
    tree.skill("b");
    assert!(server.reload_skills().unwrap().is_empty());
    let skipped = server.skipped_skills();
    assert!(skipped[0].path.ends_with("b"), "{skipped:?}");
    assert!(server.remove_skill("skill://b/SKILL.md"));
    assert_eq!(
        server.reload_skills().unwrap().added,
        ["skill://b/SKILL.md"]
    );
}

/// The number in the file, as the entry has it.
fn published_version(client: &mut Raw) -> Value {
    let got = client.result("skills/get", json!({ "uri": "skill://a/SKILL.md" }));
    let files = got["skill"]["resources"].as_array().unwrap();
    let file = files.iter().find(|it| it["uri"] == "skill://a/x").unwrap();
    file["digest"].clone()
}

// E-SKILL-S-53
#[test]
fn entry_and_bytes_belong_together_although_the_file_changes() {
    const CHANGES: usize = 1000;
    let tree = Tree::new();
    let work = Tree::new();
    let content = |version: usize| format!("version {version}");
    tree.skill("a").file("a/x", content(0));
    let server = tree.server();
    let digests: Vec<Value> = (0..=CHANGES)
        .map(|version| json!(Digest::of(content(version).as_bytes()).to_string()))
        .collect();
    let version = |digest: &Value| digests.iter().position(|it| it == digest).unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = [LEGACY, MODERN].map(|revision| {
            let (server, over, version) = (&server, &over, &version);
            scope.spawn(move || {
                let mut client = Raw::open(server, revision);
                client.check_messages(false);
                let mut reads = 0;
                while !over.load(Ordering::SeqCst) {
                    let before = version(&published_version(&mut client));
                    let id = json!(format!("read {reads}"));
                    client.request(
                        id.clone(),
                        "resources/read",
                        json!({ "uri": "skill://a/x" }),
                    );
                    let answer = client.answer_to(&id, None);
                    let after = version(&published_version(&mut client));
                    reads += 1;
                    let Some(text) = answer["result"]["contents"][0]["text"].as_str() else {
                        assert_eq!(answer["error"]["code"], -32603, "{answer}");
                        continue;
                    };
                    let found = version(&json!(Digest::of(text.as_bytes()).to_string()));
                    assert!(
                        (before..=after).contains(&found),
                        "{before} {found} {after}"
                    );
                }
                reads
            })
        });
        for number in 1..=CHANGES {
            work.file("x", content(number));
            fs::rename(work.path("x"), tree.path("a/x")).unwrap();
            if number % 2 == 0 {
                server.reload_skills().unwrap();
            }
        }
        over.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    server.reload_skills().unwrap();
    let mut client = Raw::open(&server, MODERN);
    assert_eq!(version(&published_version(&mut client)), CHANGES);
    // The file changes between the entry and the read: the read fails, and then both are new.
    tree.file("a/x", content(3));
    assert_eq!(version(&published_version(&mut client)), CHANGES);
    assert_eq!(
        client.code("resources/read", json!({ "uri": "skill://a/x" })),
        -32603
    );
    assert_eq!(version(&published_version(&mut client)), 3);
    assert_eq!(read(&mut client, "skill://a/x"), content(3).as_bytes());
}

/// A folder with one binary file and one text file that fill a skill each.
fn large() -> Tree {
    let tree = Tree::new();
    tree.skill("bytes").skill("texts");
    let size = (16 << 20) - fs::metadata(tree.path("bytes/SKILL.md")).unwrap().len();
    let bytes: Vec<u8> = (0..size).map(|n| (n % 255) as u8 ^ 0xa5).collect();
    tree.file("bytes/x", bytes);
    // Each line feed takes two bytes as JSON.
    let text: String = "\n".repeat(size as usize);
    tree.file("texts/x", text);
    tree
}

/// Reads the largest files, with a client that takes such messages.
fn read_large(tree: &Tree, revision: ProtocolVersion, transport: impl Transport + 'static) {
    let mut limits = Limits::default();
    limits.max_message_bytes = 40 << 20;
    let client = Client::builder("large", "1")
        .revisions(&[revision])
        .limits(limits);
    let client = client.connect(transport).unwrap();
    for (uri, path) in [
        ("skill://bytes/x", "bytes/x"),
        ("skill://texts/x", "texts/x"),
    ] {
        let result = client.read_resource(uri).unwrap();
        let bytes = match &result.contents[0] {
            ResourceContents::Text(contents) => contents.text.clone().into_bytes(),
            ResourceContents::Blob(contents) => contents.bytes().unwrap(),
            other => panic!("{other:?}"),
        };
        assert!(bytes == fs::read(tree.path(path)).unwrap(), "{uri}");
    }
}

// E-SKILL-S-35
#[test]
fn a_file_of_16_mib_is_sent_although_messages_of_clients_have_to_be_shorter() {
    let tree = large();
    let server = tree.server();
    assert!(server.skipped_skills().is_empty());
    for revision in [LEGACY, MODERN] {
        let (ours, theirs) = memory::pair();
        let connection = server.open(theirs).unwrap();
        read_large(&tree, revision, ours);
        drop(connection);
        let mut client = Raw::open(&server, revision);
        let long = "x".repeat(17 << 20);
        assert!(client.code("skills/get", json!({ "uri": long })) < 0);
        client.settle();
    }
}

// E-SKILL-S-35
#[cfg(all(feature = "http-server", feature = "http-client"))]
#[test]
fn a_file_of_16_mib_is_sent_over_http() {
    use mcplink::server::http::HttpOptions;
    use mcplink::transport::http::Http;

    let tree = large();
    let server = tree.server();
    let listening = server
        .listen_http("127.0.0.1:0", HttpOptions::new())
        .unwrap();
    for revision in [LEGACY, MODERN] {
        read_large(&tree, revision, Http::new(&listening.url()).unwrap());
    }
}
