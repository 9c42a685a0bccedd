//! The requests of the skills extension: listing, getting, reading, directories, errors, both eras.

use std::collections::BTreeSet;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::schema::{CacheHint, CacheScope, ProtocolVersion, Resource};
use mcplink::server::skills::{PublishedSkill, SkillOptions};
use mcplink::server::{
    GuardedRequest, HandlerError, List, Primitive, Server, ServerBuilder, TaskOptions,
};
use mcplink::skills::Digest;
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::skilltree::{builder, front_matter, listed, made, options, pages, read, skill_md, uris};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const EXTENSION: &str = "io.modelcontextprotocol/skills";
const METHODS: [&str; 3] = ["skills/list", "skills/get", "resources/directory/read"];

fn refunds() -> PublishedSkill {
    made("acme/billing/refunds")
        .file("examples/email.md", "Dear customer,\r\nGrüße\r\n")
        .file("examples/deep/er/x.py", "print(1)\n")
        .file("assets/logo.png", [0x89, b'P', b'N', b'G', 0, 0xff])
        .file("assets/empty", "")
}

fn server() -> Server {
    builder()
        .skill(refunds())
        .skill(made("git-workflow"))
        .skill(made("ops/status").dynamic_file("now.txt", |_, _| "now"))
        .skill(made("ops/rare").unlisted())
        .build()
        .unwrap()
}

fn both_eras(server: &Server, mut check: impl FnMut(&mut Raw)) {
    for revision in [LEGACY, MODERN] {
        check(&mut Raw::open(server, revision));
    }
}

#[test]
fn a_server_has_the_methods_of_skills_and_of_tasks_in_either_order() {
    let tasks = TaskOptions::default;
    for builder in [
        builder().tasks(tasks()).skill(refunds()),
        builder().skill(refunds()).tasks(tasks()),
    ] {
        let server = builder.build().unwrap();
        let mut client = Raw::open(&server, LEGACY);
        let page = client.result("skills/list", json!({}));
        assert_eq!(page["skills"].as_array().unwrap().len(), 1);
        let unknown = json!({ "taskId": "nobody" });
        assert_eq!(client.code("tasks/get", unknown), -32602);
    }
}

// E-SKILL-S-01, E-SKILL-S-02, E-SKILL-S-03, E-SKILL-S-04, E-SKILL-S-06, E-SKILL-S-07
#[test]
fn the_extension_is_declared_with_its_settings_and_with_resources() {
    let check = |server: ServerBuilder, settings: Value, directories: bool| {
        let server = server.build().unwrap();
        for &revision in ProtocolVersion::ALL {
            let mut client = Raw::open(&server, revision);
            let capabilities = client.capabilities().clone();
            assert_eq!(capabilities["extensions"][EXTENSION], settings);
            assert!(capabilities["resources"].is_object(), "{capabilities}");
            let page = client.result("skills/list", json!({}));
            assert_eq!(page["skills"], json!([]));
            let unknown = json!({ "uri": "skill://a/SKILL.md" });
            assert_eq!(client.code("skills/get", unknown), -32602);
            let read = client.code("resources/directory/read", json!({ "uri": "skill://a" }));
            assert_eq!(read, if directories { -32602 } else { -32601 });
        }
    };
    let empty = Server::builder("skills", "1");
    check(
        empty.skill_options(SkillOptions::default()),
        json!({ "directoryRead": true }),
        true,
    );
    let empty = Server::builder("skills", "1");
    check(
        empty.declare_capability(List::Skills),
        json!({ "directoryRead": true }),
        true,
    );
    let without = options().directory_read(false);
    let empty = Server::builder("skills", "1").skill_options(without);
    check(empty, json!({}), false);
}

// E-SKILL-S-05
#[test]
fn a_server_without_skills_has_none_of_the_methods() {
    let server = Server::builder("plain", "1")
        .resource(Resource::new("skill://a/SKILL.md", "a"), |_, _| "plain")
        .build()
        .unwrap();
    both_eras(&server, |client| {
        assert_eq!(client.capabilities().get("extensions"), None);
        for method in METHODS {
            let code = client.code(method, json!({ "uri": "skill://a/SKILL.md" }));
            assert_eq!(code, -32601, "{method}");
        }
        assert_eq!(read(client, "skill://a/SKILL.md"), b"plain");
    });
    assert!(server.skipped_skills().is_empty());
    assert!(server.reload_skills().unwrap().is_empty());
    assert!(!server.remove_skill("skill://a/SKILL.md"));
    let error = server.publish_skill(made("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
}

// E-SKILL-S-65
#[test]
fn a_method_of_the_extension_can_not_be_handled_by_the_host() {
    for method in METHODS {
        let server = builder().method(method, |_, responder| drop(responder));
        let error = server.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(method), "{error}");
    }
    let twice = builder().extension(EXTENSION, serde_json::Map::new());
    assert_eq!(twice.build().unwrap_err().kind(), ErrorKind::Invalid);
}

// E-SKILL-S-32, E-SKILL-S-33, E-SKILL-S-34, E-SKILL-S-35, E-SKILL-S-36, E-SKILL-S-29, E-SKILL-S-27, E-SKILL-S-11, E-SKILL-S-12
#[test]
fn an_entry_lists_every_file_with_the_digest_of_what_is_read() {
    both_eras(&server(), |client| {
        let skills = listed(client);
        assert_eq!(
            uris(&skills),
            [
                "skill://acme/billing/refunds/SKILL.md",
                "skill://git-workflow/SKILL.md",
                "skill://ops/status/SKILL.md"
            ]
        );
        for skill in &skills {
            let uri = skill["uri"].as_str().unwrap();
            let name = skill["frontmatter"]["name"].as_str().unwrap();
            assert!(uri.ends_with(&format!("/{name}/SKILL.md")), "{uri}");
        }
        let manifest = skills[0]["resources"].as_array().unwrap();
        let mut files = uris(manifest);
        files.sort_unstable();
        let expected = [
            "SKILL.md",
            "assets/empty",
            "assets/logo.png",
            "examples/deep/er/x.py",
            "examples/email.md",
        ];
        let base = "skill://acme/billing/refunds";
        assert_eq!(files, expected.map(|path| format!("{base}/{path}")));
        for file in manifest {
            let bytes = read(client, file["uri"].as_str().unwrap());
            assert_eq!(file["digest"], Digest::of(&bytes).to_string());
            assert_eq!(file["size"], bytes.len());
        }
    });
}

// E-SKILL-S-52, E-SKILL-S-20, E-SKILL-S-25, AMB-96
#[test]
fn text_is_sent_as_text_only_if_that_brings_back_the_bytes() {
    let files: [(&str, &[u8], &str, &str); 9] = [
        ("bom.md", b"\xef\xbb\xbfx\n", "text", "text/markdown"),
        ("crlf.json", b"{}\r\n\r", "text", "application/json"),
        ("nul.txt", b"a\0b", "blob", "text/plain"),
        ("latin1.txt", b"Gr\xfc\xdfe", "blob", "text/plain"),
        ("nfc.md", "\u{e9}".as_bytes(), "text", "text/markdown"),
        ("nfd.md", "e\u{301}".as_bytes(), "text", "text/markdown"),
        ("empty", b"", "text", "text/plain"),
        ("odd name & more", b"x", "text", "text/plain"),
        ("\u{fc}ber.bin", b"\xff", "blob", "application/octet-stream"),
    ];
    let text = format!("\u{feff}{}\0\r\n", skill_md("a", "d"));
    let mut skill = PublishedSkill::new("a").file("SKILL.md", text.clone());
    for (path, bytes, ..) in files {
        skill = skill.file(path, bytes);
    }
    let server = builder().skill(skill).build().unwrap();
    both_eras(&server, |client| {
        let skill = &listed(client)[0];
        let manifest = skill["resources"].as_array().unwrap();
        let contents_of = |client: &mut Raw, uri: &str| {
            let read = client.result("resources/read", json!({ "uri": uri }));
            read["contents"][0].clone()
        };
        for ((path, bytes, member, mime_type), file) in files.iter().zip(&manifest[1..]) {
            let contents = contents_of(client, file["uri"].as_str().unwrap());
            assert!(contents.get(*member).is_some(), "{path}: {contents}");
            assert_eq!(contents["mimeType"], *mime_type, "{path}");
            assert_eq!(file["digest"], Digest::of(bytes).to_string(), "{path}");
            assert_eq!(read(client, file["uri"].as_str().unwrap()), *bytes);
        }
        assert_eq!(manifest[8]["uri"], "skill://a/odd%20name%20%26%20more");
        // Other spellings of the URI reach the same file.
        assert_eq!(read(client, "SKILL://%61/odd%20name%20&%20more"), b"x");
        let contents = contents_of(client, "skill://a/SKILL.md");
        assert_eq!(contents["text"], text);
        assert_eq!(contents["mimeType"], "text/markdown");
    });
}

// E-SKILL-S-20, E-SKILL-S-21, E-SKILL-S-22, E-SKILL-S-23, E-SKILL-S-24
#[test]
fn the_list_of_resources_has_the_skill_files_with_their_metadata() {
    let meta = json!({ "io.modelcontextprotocol.skills/team": "billing" });
    let meta = meta.as_object().unwrap().clone();
    let server = builder().skill(refunds().meta(meta.clone()));
    let server = server.skill(made("ops/rare").unlisted()).build().unwrap();
    both_eras(&server, |client| {
        let (resources, _) = pages(client, "resources/list", "resources", &json!({}));
        assert_eq!(
            resources,
            [json!({
                "uri": "skill://acme/billing/refunds/SKILL.md",
                "name": "refunds",
                "description": "An example.",
                "mimeType": "text/markdown",
                "size": skill_md("refunds", "An example.").len(),
                "_meta": meta,
            })]
        );
    });
}

// E-SKILL-S-41, E-SKILL-S-44, E-SKILL-S-46, E-SKILL-S-49, E-SKILL-S-54, E-SKILL-S-62, E-SKILL-S-66, AMB-92, AMB-93
#[test]
fn results_have_the_members_of_their_era() {
    let hint = CacheHint::new(Duration::from_secs(60), CacheScope::Public);
    let server = builder()
        .cache_list(List::Skills, hint)
        .page_size(1.try_into().unwrap())
        .skill(made("a"))
        .skill(made("b"))
        .build()
        .unwrap();
    let calls = [
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://a/SKILL.md" })),
        ("resources/directory/read", json!({ "uri": "skill://a" })),
    ];
    for (method, params) in calls {
        let mut modern = Raw::open(&server, MODERN);
        let result = modern.result(method, params.clone());
        assert_eq!(result["resultType"], "complete", "{method}");
        assert_eq!(result["ttlMs"], 60_000, "{method}");
        assert_eq!(result["cacheScope"], "public", "{method}");
        if let Some(cursor) = result.get("nextCursor") {
            let second = modern.result(method, json!({ "cursor": cursor }));
            assert_eq!(second["ttlMs"], 60_000, "{method}");
            assert_eq!(second["cacheScope"], "public", "{method}");
            assert_eq!(second["resultType"], "complete", "{method}");
        }
        let mut legacy = Raw::open(&server, LEGACY);
        let result = legacy.result(method, params);
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert_eq!(result.get(member), None, "{method} {member}");
        }
    }
    // Without a hint, nothing is cached.
    let server = self::server();
    let result = Raw::open(&server, MODERN).result("skills/list", json!({}));
    assert_eq!(
        (&result["ttlMs"], &result["cacheScope"]),
        (&json!(0), &json!("private"))
    );
}

// E-SKILL-S-48, E-SKILL-S-50, E-SKILL-S-42, E-SKILL-S-38
#[test]
fn every_skill_can_be_got_as_the_list_has_it() {
    both_eras(&server(), |client| {
        for skill in listed(client) {
            let got = client.result("skills/get", json!({ "uri": skill["uri"] }));
            assert_eq!(got["skill"].to_string(), skill.to_string());
            assert_eq!(got.get("nextCursor"), None);
        }
        let got = client.result(
            "skills/get",
            json!({ "uri": "skill://ops/status/SKILL.md" }),
        );
        assert_eq!(got["skill"]["resources"], "dynamic");
        assert_eq!(read(client, "skill://ops/status/now.txt"), b"now");
        // It is on no list, and is served nevertheless.
        let got = client.result("skills/get", json!({ "uri": "skill://ops/rare/SKILL.md" }));
        assert_eq!(got["skill"]["frontmatter"]["name"], "rare");
    });
}

// E-SKILL-S-47, E-SKILL-S-55, E-SKILL-S-63, E-SKILL-S-64
#[test]
fn unknown_uris_are_invalid_params_that_name_the_uri() {
    let server = builder()
        .skill(refunds())
        .resource(Resource::new("plain:x", "x"), |_, _| "x")
        .build()
        .unwrap();
    let base = "skill://acme/billing/refunds";
    both_eras(&server, |client| {
        let no_skill = [
            "skill://unknown/SKILL.md".to_owned(),
            format!("{base}/examples/email.md"),
            base.to_owned(),
            format!("{base}/"),
            format!("{base}/../refunds/SKILL.md"),
            format!("{base}/SKILL.md?x"),
            "plain:x".to_owned(),
            "no uri".to_owned(),
            String::new(),
        ];
        let no_directory = [
            "skill://unknown".to_owned(),
            "skill://".to_owned(),
            "skill:".to_owned(),
            format!("{base}/SKILL.md"),
            format!("{base}/"),
            format!("{base}/examples/.."),
            "plain:x".to_owned(),
            String::new(),
        ];
        let unknown = no_skill.iter().map(|uri| ("skills/get", uri));
        let unknown = unknown.chain(no_directory.iter().map(|uri| (METHODS[2], uri)));
        for (method, uri) in unknown {
            let error = client.error(method, json!({ "uri": uri }));
            assert_eq!(error["code"], -32602, "{method} {uri}");
            let text = error["message"].as_str().unwrap();
            assert!(text.contains(uri.as_str()), "{method}: {text}");
            assert_eq!(error["data"]["uri"], **uri);
        }
        for method in ["skills/get", "resources/directory/read"] {
            for params in [json!({}), json!({ "uri": 7 }), json!({ "uri": null })] {
                assert_eq!(client.code(method, params), -32602, "{method}");
            }
        }
        for path in ["missing", "examples", "examples/missing", "SKILL.md/x"] {
            let uri = format!("{base}/{path}");
            let code = client.code("resources/read", json!({ "uri": uri }));
            let expected = if client.revision == LEGACY {
                -32002
            } else {
                -32602
            };
            assert_eq!(code, expected, "{path}");
        }
    });
}

// E-SKILL-S-63
#[test]
fn a_failure_inside_is_an_internal_error() {
    let failing = made("a").dynamic_file("x", |_, _| -> Result<String, HandlerError> {
        Err(std::io::Error::other("disk"))?
    });
    let server = builder().skill(failing).build().unwrap();
    both_eras(&server, |client| {
        let error = client.error("resources/read", json!({ "uri": "skill://a/x" }));
        assert_eq!(error["code"], -32603);
        assert!(!error.to_string().contains("disk"), "{error}");
    });
}

// E-SKILL-S-43, E-SKILL-S-45, E-SKILL-S-19, E-SKILL-S-13
#[test]
fn skills_are_paged_whole_and_once_whatever_their_scheme() {
    let base = "github://owner/repo/skills";
    let server = builder()
        .skill(made("a"))
        .skill(made("b/c"))
        .skill(made("d").base_uri(base))
        .skill(made("e/f/g/h/i").base_uri(base))
        .skill(made("j"))
        .skill_options(options().page_size(2.try_into().unwrap()))
        .build()
        .unwrap();
    both_eras(&server, |client| {
        let (skills, sizes) = pages(client, "skills/list", "skills", &json!({}));
        assert_eq!(sizes, [2, 2, 1]);
        let expected = [
            "skill://a/SKILL.md",
            "skill://b/c/SKILL.md",
            "github://owner/repo/skills/d/SKILL.md",
            "github://owner/repo/skills/e/f/g/h/i/SKILL.md",
            "skill://j/SKILL.md",
        ];
        assert_eq!(uris(&skills), expected);
        assert_eq!(
            read(client, expected[3]),
            skill_md("i", "An example.").as_bytes()
        );
        for cursor in ["x", "AAAA", "7"] {
            let code = client.code("skills/list", json!({ "cursor": cursor }));
            assert_eq!(code, -32602, "{cursor}");
        }
    });
    // The catalogue changes between two pages: nothing is lost or shown twice.
    let mut client = Raw::open(&server, MODERN);
    let first = client.result("skills/list", json!({}));
    assert!(server.remove_skill("skill://a/SKILL.md"));
    server.publish_skill(made("k")).unwrap();
    let mut seen = uris(first["skills"].as_array().unwrap()).len();
    let mut cursor = first["nextCursor"].clone();
    while !cursor.is_null() {
        let page = client.result("skills/list", json!({ "cursor": cursor }));
        seen += page["skills"].as_array().unwrap().len();
        cursor = page["nextCursor"].clone();
    }
    assert_eq!(seen, 6);
}

fn walk(client: &mut Raw, directory: &str, files: &mut BTreeSet<String>) {
    let params = json!({ "uri": directory });
    let (children, _) = pages(client, METHODS[2], "resources", &params);
    for child in children {
        let uri = child["uri"].as_str().unwrap().to_owned();
        assert!(!uri.ends_with('/'), "{uri}");
        assert_eq!(uri.rsplit_once('/').unwrap().0, directory);
        assert!(child["name"].is_string(), "{child}");
        match child["mimeType"] == "inode/directory" {
            true => walk(client, &uri, files),
            false => assert!(files.insert(uri), "{child}"),
        }
    }
}

// E-SKILL-S-56, E-SKILL-S-58, E-SKILL-S-59, E-SKILL-S-61
#[test]
fn a_walk_through_the_directories_finds_the_files_of_the_manifest() {
    for page_size in [1, 100] {
        let server = builder()
            .skill_options(options().page_size(page_size.try_into().unwrap()))
            .skill(refunds())
            .skill(made("acme/other"))
            .build()
            .unwrap();
        both_eras(&server, |client| {
            let skills = listed(client);
            let manifests = skills.iter().map(|it| it["resources"].as_array().unwrap());
            let expected: BTreeSet<String> = (manifests.flatten())
                .map(|it| it["uri"].as_str().unwrap().to_owned())
                .collect();
            let mut found = BTreeSet::new();
            walk(client, "skill://acme", &mut found);
            assert_eq!(found, expected);
            let (resources, _) = pages(client, "resources/list", "resources", &json!({}));
            assert!(resources.iter().all(|it| it["mimeType"] == "text/markdown"));
        });
    }
    let server = server();
    both_eras(&server, |client| {
        let root = json!({ "uri": "skill://acme/billing/refunds" });
        let (children, _) = pages(client, METHODS[2], "resources", &root);
        assert_eq!(
            children[1],
            json!({
                "uri": "skill://acme/billing/refunds/assets",
                "name": "assets",
                "mimeType": "inode/directory",
            })
        );
        assert_eq!(children[0]["description"], "An example.");
        // The files of a dynamic skill are there too.
        let (children, _) = pages(
            client,
            METHODS[2],
            "resources",
            &json!({ "uri": "skill://ops/status" }),
        );
        assert_eq!(uris(&children)[1], "skill://ops/status/now.txt");
    });
}

// E-SKILL-S-58
#[test]
fn a_cursor_belongs_to_one_directory() {
    let server = builder()
        .page_size(1.try_into().unwrap())
        .skill(refunds())
        .skill(made("acme/other").file("a", "").file("b", ""))
        .build()
        .unwrap();
    both_eras(&server, |client| {
        let first = client.result(METHODS[2], json!({ "uri": "skill://acme/billing/refunds" }));
        let cursor = first["nextCursor"].clone();
        let read = |uri: &str, cursor: &Value| json!({ "uri": uri, "cursor": cursor });
        let own = read("skill://acme/billing/refunds", &cursor);
        let second = client.result(METHODS[2], own);
        assert_ne!(second["resources"], first["resources"]);
        let skills = client.result("skills/list", json!({}))["nextCursor"].clone();
        for (uri, cursor) in [
            ("skill://acme/other", cursor.clone()),
            ("skill://acme", cursor),
            ("skill://acme/other", json!("x")),
            ("skill://acme/other", skills),
        ] {
            let code = client.code(METHODS[2], read(uri, &cursor));
            assert_eq!(code, -32602, "{uri} {cursor}");
        }
    });
}

// E-SKILL-S-18, E-SKILL-S-26, E-SKILL-S-37
#[test]
fn a_nested_skill_is_part_of_the_outer_one_and_a_skill_of_its_own() {
    let inner = || made("outer/inner").file("x", "1");
    let text = skill_md("inner", "An example.");
    let outer = || made("outer").file("inner/SKILL.md", text.clone());
    let server = builder()
        .skill(outer().file("inner/x", "1"))
        .skill(inner())
        .build()
        .unwrap();
    both_eras(&server, |client| {
        let skills = listed(client);
        assert_eq!(
            uris(&skills),
            ["skill://outer/SKILL.md", "skill://outer/inner/SKILL.md"]
        );
        let files = uris(skills[0]["resources"].as_array().unwrap());
        assert_eq!(files.len(), 3);
        assert!(files.contains(&"skill://outer/inner/x"));
        let members: Vec<&String> = skills[1].as_object().unwrap().keys().collect();
        assert_eq!(members, ["frontmatter", "resources", "uri"]);
    });
    // What is nested has to be a part, with the same content.
    for outer in [outer(), outer().file("inner/x", "2"), made("outer")] {
        for skills in [[outer.clone(), inner()], [inner(), outer]] {
            let [one, other] = skills;
            let error = builder().skill(one).skill(other).build().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("nested"), "{error}");
        }
    }
}

// E-SKILL-S-09, E-SKILL-S-10, E-SKILL-S-14, E-SKILL-S-15, E-SKILL-S-29, E-SKILL-S-34, E-SKILL-S-28
#[test]
fn a_skill_made_in_code_that_breaks_a_rule_is_refused() {
    let bare = |path: &str, text: &str| PublishedSkill::new(path).file("SKILL.md", text);
    let long = "x".repeat(65);
    let named = |name: &str| bare(name, &skill_md(name, "d"));
    let given =
        |name: &str, description: &str| made("a").front_matter(front_matter(name, description));
    for (skill, part) in [
        (PublishedSkill::new("a"), "SKILL.md"),
        (
            PublishedSkill::new("a").file("b/SKILL.md", skill_md("b", "d")),
            "SKILL.md",
        ),
        (bare("a", "# A\n"), "---"),
        (bare("a", "---\n{}\n"), "---"),
        (bare("a", "---\n[]\n---\n"), "'a'"),
        (bare("a", "---\n{}\n---\n"), "name"),
        (bare("a", "---\n{\"name\": \"a\"}\n---\n"), "description"),
        (PublishedSkill::new("a").file("SKILL.md", [0xff]), "UTF-8"),
        (bare("a", &skill_md("b", "d")), "\"b\""),
        (made("a").file("../x", ""), "../x"),
        (made("a").file("/x", ""), "/x"),
        (made("a").file("x//y", ""), "x//y"),
        (made("a").file("", ""), "no path"),
        (made("a").file("./x", ""), "./x"),
        (made("a").file("x\\y", ""), "backslash"),
        (made("a").file("x\ny", ""), "control"),
        (made("a").file("SKILL.md", ""), "twice"),
        (made("a").file("x", "").file("x/y", ""), "directory"),
        (made("a").base_uri("no uri"), "base_uri"),
        (made("a").base_uri("skill://x/"), "base_uri"),
        (made("a").base_uri("skill://x?y"), "base_uri"),
        (made("../a"), "../a"),
        (named("A"), "a-z"),
        (named("a_b"), "a-z"),
        (named("é"), "a-z"),
        (named("-x"), "hyphen"),
        (named("x-"), "hyphen"),
        (named("a--b"), "hyphen"),
        (named(&long), "64"),
        (given("a", "another"), "description"),
        (given("b", "An example."), "name"),
        (
            PublishedSkill::new("a").dynamic_file("SKILL.md", |_, _| "x"),
            "front_matter",
        ),
    ] {
        let text = format!("{skill:?}");
        let error = builder().skill(skill.clone()).build().expect_err(&text);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
        let running = builder().build().unwrap();
        assert!(running.publish_skill(skill).is_err(), "{text}");
    }
    assert!(builder().skill(named(&long[1..])).build().is_ok());
    let twice = builder().skill(made("a")).skill(made("a")).build();
    assert!(twice.unwrap_err().to_string().contains("already"));
    let taken = builder().resource(Resource::new("skill://a/x", "x"), |_, _| "x");
    let taken = taken.skill(made("a").file("x", "")).build();
    assert!(taken.unwrap_err().to_string().contains("skill://a/x"));
    let server = builder().skill(made("a").file("x", "")).build().unwrap();
    let error = server.add_resource(Resource::new("skill://a/x", "x"), |_, _| "x");
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
}

// E-SKILL-S-16, E-SKILL-S-17
#[test]
fn odd_segments_of_a_path_are_percent_encoded() {
    let server = builder().skill(made("a b@c:d/x%2Fy/z")).build().unwrap();
    let mut client = Raw::open(&server, MODERN);
    let uri = "skill://a%20b%40c%3Ad/x%252Fy/z/SKILL.md";
    assert_eq!(uris(&listed(&mut client)), [uri]);
    let directory = client.result(METHODS[2], json!({ "uri": "skill://a%20b%40c%3Ad" }));
    assert_eq!(directory["resources"][0]["name"], "x%2Fy");
    assert!(!read(&mut client, uri).is_empty());
}

// E-SKILL-S-40
#[test]
fn a_skill_made_in_code_obeys_the_limits() {
    let with_files = |count: usize| {
        let names = (1..count).map(|number| number.to_string());
        names.fold(made("a"), |skill, name| skill.file(name, ""))
    };
    assert!(builder().skill(with_files(512)).build().is_ok());
    let error = builder().skill(with_files(513)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("513 files"), "{error}");
    let dynamic = with_files(513).dynamic_file("now", |_, _| "now");
    let error = builder().skill(dynamic).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let raised = || options().limits(mcplink::skills::SkillLimits::default().max_files(513));
    assert!(
        builder()
            .skill(with_files(513))
            .skill_options(raised())
            .build()
            .is_ok()
    );
    let used = skill_md("a", "An example.").len();
    let full = |more: usize| made("a").file("x", vec![0; (16 << 20) - used + more]);
    assert!(builder().skill(full(0)).build().is_ok());
    let error = builder().skill(full(1)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("16777217"), "{error}");
}

fn no_entry(access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
    match access.primitive() {
        Some(Primitive::Resource(uri)) if uri.contains("secret") => Err(HandlerError::not_found()),
        _ => Ok(()),
    }
}

#[test]
fn a_guard_hides_skills_files_and_directories() {
    let server = builder()
        .guard(no_entry)
        .skill(made("open").file("x/secret.md", "s").file("x/y", ""))
        .skill(made("secret"))
        .build()
        .unwrap();
    both_eras(&server, |client| {
        assert_eq!(uris(&listed(client)), ["skill://open/SKILL.md"]);
        let hidden = client.error("skills/get", json!({ "uri": "skill://secret/SKILL.md" }));
        let unknown = client.error("skills/get", json!({ "uri": "skill://sekret/SKILL.md" }));
        let text = |error: &Value| error["message"].as_str().unwrap().to_owned();
        assert_eq!(text(&hidden).replace("secret", "sekret"), text(&unknown));
        assert_eq!(hidden["code"], unknown["code"]);
        // Another spelling does not get around the guard.
        let spelled = json!({ "uri": "skill://%73ecret/SKILL.md" });
        assert_eq!(client.code("skills/get", spelled.clone()), -32602);
        client.error("resources/read", spelled);
        let directory = client.result(METHODS[2], json!({ "uri": "skill://open/x" }));
        assert_eq!(
            uris(directory["resources"].as_array().unwrap()),
            ["skill://open/x/y"]
        );
        client.error(
            "resources/read",
            json!({ "uri": "skill://open/x/secret.md" }),
        );
        let code = client.code(METHODS[2], json!({ "uri": "skill://%73ecret" }));
        assert_eq!(code, -32602);
    });
    let mut client = Raw::open(&server, MODERN);
    let page = client.result("skills/list", json!({}));
    assert_eq!(page["cacheScope"], "private");
}

#[test]
fn scopes_can_be_required_for_the_files_of_skills() {
    let server = builder()
        .skill(made("a").file("x", "1"))
        .require_scopes(Primitive::Resource("skill://a/x"), ["files"])
        .build()
        .unwrap();
    let principal = mcplink::server::Principal::new("ann").scopes(["other"]);
    let mut client = Raw::silent_on(MODERN, |theirs| server.open_for(principal, theirs).unwrap());
    client.begin();
    for uri in ["skill://a/x", "skill://a/%78"] {
        client.error("resources/read", json!({ "uri": uri }));
    }
    assert!(!read(&mut client, "skill://a/SKILL.md").is_empty());
    let missing = builder().require_scopes(Primitive::Resource("skill://a/x"), ["files"]);
    assert!(missing.build().is_err());
}

// E-SKILL-S-51
#[test]
fn instructions_may_name_a_skill() {
    let text = "Load skill://acme/billing/refunds/SKILL.md before you refund.";
    let server = builder()
        .instructions(text)
        .skill(refunds())
        .build()
        .unwrap();
    both_eras(&server, |client| {
        assert_eq!(client.greeting["instructions"], text);
        assert!(!read(client, "skill://acme/billing/refunds/SKILL.md").is_empty());
    });
}
