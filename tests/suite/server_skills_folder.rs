//! Skills of a folder: what is found, what is skipped, and hostile folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use mcplink::ErrorKind;
use mcplink::protocol::LogLevel;
use mcplink::schema::ProtocolVersion;
use mcplink::server::Server;
use mcplink::server::skills::{SkillFolder, SkippedSkill};
use mcplink::skills::{Digest, SkillLimits};
use serde_json::{Value, json};

use crate::raw::Raw;
#[cfg(unix)]
use crate::skilltree::read;
use crate::skilltree::{Tree, builder, front_matter, listed, made, options, skill_md, uris};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The URIs of the listed skills.
fn published(server: &Server) -> Vec<String> {
    let skills = listed(&mut Raw::open(server, MODERN));
    uris(&skills).into_iter().map(str::to_owned).collect()
}

/// The only skipped entry.
fn skipped(server: &Server) -> SkippedSkill {
    let mut skipped = server.skipped_skills();
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    skipped.remove(0)
}

// E-SKILL-S-13, E-SKILL-S-19, E-SKILL-S-12
#[test]
fn each_folder_with_a_skill_file_is_a_skill() {
    let tree = Tree::new();
    tree.skill("a").skill("b/c").skill("d/e/f/g/h");
    tree.file("notes/README.md", "no skill")
        .file("README.md", "");
    let server = tree.server();
    let expected = ["a", "b/c", "d/e/f/g/h"].map(|it| format!("skill://{it}/SKILL.md"));
    assert_eq!(published(&server), expected);
    assert!(server.skipped_skills().is_empty());
    let based = builder().skills(tree.folder().base_uri("github://o/r"));
    let expected = expected.map(|uri| uri.replace("skill://", "github://o/r/"));
    assert_eq!(published(&based.build().unwrap()), expected);
    let single = builder().skills(SkillFolder::new(tree.path("b/c")));
    assert_eq!(published(&single.build().unwrap()), ["skill://c/SKILL.md"]);
    let unlisted = builder().skills(tree.folder().unlisted()).build().unwrap();
    assert_eq!(published(&unlisted), Vec::<String>::new());
    let got = json!({ "uri": "skill://b/c/SKILL.md" });
    Raw::open(&unlisted, MODERN).result("skills/get", got);
}

/// The files below a folder, but those whose names begin with a dot.
fn walk(folder: &Path, prefix: &str, into: &mut BTreeSet<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        if name.starts_with('.') {
        } else if entry.path().is_dir() {
            walk(&entry.path(), &format!("{path}/"), into);
        } else {
            into.insert((path, fs::read(entry.path()).unwrap()));
        }
    }
}

// E-SKILL-S-11, E-SKILL-S-33, E-SKILL-S-35, E-SKILL-S-36
#[test]
fn the_manifest_has_all_files_but_hidden_ones() {
    let tree = Tree::new();
    tree.skill("a");
    for number in 0..30 {
        let depth = ["", "x/", "x/y/", "x/y/z w/"][number % 4];
        tree.file(
            &format!("a/{depth}{number}"),
            vec![number as u8; number * 10],
        );
    }
    tree.file("a/.git/config", "secret")
        .file("a/.DS_Store", "secret");
    tree.file("a/x/.env", "secret")
        .file(".hidden/SKILL.md", "---");
    let server = tree.server();
    assert!(server.skipped_skills().is_empty());
    let mut client = Raw::open(&server, MODERN);
    let skill = listed(&mut client).remove(0);
    let manifest = skill["resources"].as_array().unwrap();
    let mut on_disk = BTreeSet::new();
    walk(&tree.path("a"), "", &mut on_disk);
    assert_eq!((on_disk.len(), manifest.len()), (31, 31));
    let on_disk: BTreeSet<(String, String, String)> = on_disk
        .into_iter()
        .map(|(path, bytes)| {
            let uri = format!("skill://a/{}", path.replace(' ', "%20"));
            let digest = Digest::of(&bytes).to_string();
            (uri, digest, bytes.len().to_string())
        })
        .collect();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let listed: BTreeSet<(String, String, String)> = manifest
        .iter()
        .map(|it| {
            (
                text(&it["uri"]),
                text(&it["digest"]),
                it["size"].to_string(),
            )
        })
        .collect();
    assert_eq!(listed, on_disk);
}

// E-SKILL-S-08, E-SKILL-S-09, E-SKILL-S-10, E-SKILL-S-14, E-SKILL-S-15
#[test]
fn a_bad_skill_is_skipped_with_its_reason_and_the_others_stay() {
    let with = |member: &str, value: Value| {
        let mut members = front_matter("x", "An example.");
        members.insert(member.to_owned(), value);
        format!("---\n{}\n---\n", Value::Object(members))
    };
    let long = "d".repeat(1025);
    for (folder, text, part) in [
        ("x", "# X\n".to_owned(), "---"),
        ("x", "---\n{}\n".to_owned(), "---"),
        ("x", "---\n{}\n---\n".to_owned(), "name"),
        ("x", "---\n[1]\n---\n".to_owned(), ""),
        ("x", "---\nnot json\n---\n".to_owned(), ""),
        ("x", skill_md("y", "d"), "\"y\""),
        ("x", skill_md("x", ""), "description"),
        ("x", skill_md("x", &long), "1025"),
        ("X", skill_md("X", "d"), "a-z"),
        ("a_b", skill_md("a_b", "d"), "a-z"),
        ("ü", skill_md("ü", "d"), "a-z"),
        ("x-", skill_md("x-", "d"), "hyphen"),
        ("x", with("license", json!(1)), "license"),
        ("x", with("compatibility", json!("")), "compatibility"),
        (
            "x",
            with("compatibility", json!("x".repeat(501))),
            "compatibility",
        ),
        ("x", with("allowed-tools", json!(["a"])), "allowed-tools"),
        ("x", with("metadata", json!("x")), "metadata"),
        (
            "x",
            with("metadata", json!({ "version": 1.0 })),
            "metadata.version",
        ),
    ] {
        let tree = Tree::new();
        tree.file(&format!("{folder}/SKILL.md"), &text)
            .skill("good");
        let server = tree.server();
        assert_eq!(published(&server), ["skill://good/SKILL.md"], "{text}");
        let skipped = skipped(&server);
        assert!(skipped.path.ends_with(folder), "{skipped:?}");
        assert_eq!(skipped.reason.kind(), ErrorKind::Invalid, "{text}");
        assert!(skipped.reason.to_string().contains(part), "{skipped:?}");
        let unknown = json!({ "uri": format!("skill://{folder}/SKILL.md") });
        let code = Raw::open(&server, MODERN).code("skills/get", unknown);
        assert_eq!(code, -32602);
    }
    let tree = Tree::new();
    tree.file("x/SKILL.md", [b'-', b'-', b'-', b'\n', 0xff])
        .skill("good");
    assert!(skipped(&tree.server()).reason.to_string().contains("UTF-8"));
    let tree = Tree::new();
    tree.file("x/skill.md", skill_md("x", "d"))
        .file("y/README.md", "");
    let server = tree.server();
    assert_eq!(published(&server), Vec::<String>::new());
    assert!(server.skipped_skills().is_empty());
}

#[test]
fn skipped_skills_and_doubtful_names_are_logged() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let records = Arc::clone(&log);
    let tree = Tree::new();
    tree.file("bad/SKILL.md", "x")
        .skill("one/same")
        .skill("two/same");
    let mut members = front_matter("reserved", "d");
    members.insert(
        "metadata".to_owned(),
        json!({ "io.modelcontextprotocol/x": "1" }),
    );
    let reserved = format!("---\n{}\n---\n", Value::Object(members));
    tree.file("reserved/SKILL.md", reserved);
    let meta = json!({ "team": "billing" }).as_object().unwrap().clone();
    let server = tree
        .builder()
        .skill(made("meta").meta(meta))
        .on_log(move |record| {
            assert_eq!((record.level, record.target), (LogLevel::Warning, "server"));
            records.lock().unwrap().push(record.text.to_owned());
        })
        .build()
        .unwrap();
    // E-SKILL-S-24, E-SKILL-S-30, E-SKILL-S-31
    let log = log.lock().unwrap();
    let has = |parts: &[&str]| {
        log.iter()
            .any(|it| parts.iter().all(|part| it.contains(part)))
    };
    assert!(has(&["bad", "not published"]), "{log:?}");
    assert!(has(&["one/same", "two/same"]), "{log:?}");
    assert!(has(&["reserved", "io.modelcontextprotocol/x"]), "{log:?}");
    assert!(has(&["meta", "'team'"]), "{log:?}");
    assert_eq!(log.len(), 5, "{log:?}");
    assert_eq!(published(&server).len(), 4);
}

#[test]
fn a_folder_that_can_not_be_read_is_an_error() {
    let tree = Tree::new();
    tree.file("file", "");
    for path in ["missing", "file"] {
        let server = builder().skills(SkillFolder::new(tree.path(path))).build();
        let error = server.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains(path), "{error}");
    }
    let bad = builder().skills(tree.skill("a").folder().base_uri("x y/"));
    let reason = skipped(&bad.build().unwrap()).reason;
    assert!(reason.to_string().contains("base_uri"), "{reason}");
    #[cfg(not(feature = "skills"))]
    {
        let plain = Server::builder("skills", "1").skills(tree.folder());
        let reason = skipped(&plain.build().unwrap()).reason;
        assert!(reason.to_string().contains("feature"), "{reason}");
    }
}

// E-SKILL-S-40
#[test]
fn a_skill_over_the_limits_is_skipped_unless_a_setting_allows_it() {
    let tree = Tree::new();
    tree.skill("at").skill("over").skill("large").skill("huge");
    for number in 0..512 {
        tree.file(&format!("over/{number}"), "");
        if number > 0 {
            tree.file(&format!("at/{number}"), "");
        }
    }
    let used = fs::metadata(tree.path("large/SKILL.md")).unwrap().len();
    let sparse = |path: &str, len: u64| {
        let file = fs::File::create(tree.path(path)).unwrap();
        file.set_len(len).unwrap();
    };
    sparse("large/x", (16 << 20) - used);
    sparse("huge/x", (16 << 20) - used + 3);
    let server = tree.server();
    let expected = ["at", "large"].map(|it| format!("skill://{it}/SKILL.md"));
    assert_eq!(published(&server), expected);
    let mut reasons = Vec::new();
    for skipped in server.skipped_skills() {
        assert_eq!(skipped.reason.kind(), ErrorKind::Limit);
        reasons.push(skipped.reason.to_string());
    }
    assert!(reasons[0].contains("max_bytes (16777216)"), "{reasons:?}");
    assert!(reasons[1].contains("513 files"), "{reasons:?}");
    let limits = SkillLimits::default().max_files(513).max_bytes(17 << 20);
    let raised = builder().skill_options(options().limits(limits));
    let raised = raised.skills(tree.folder()).build().unwrap();
    assert_eq!(published(&raised).len(), 4);
}

#[test]
fn ten_thousand_files_are_counted_and_not_read() {
    let tree = Tree::new();
    tree.skill("many").skill("good");
    for number in 0..10_000 {
        // No file could be read.
        let path = tree.path(&format!("many/{number}"));
        let file = fs::File::create(path).unwrap();
        file.set_len(1 << 40).unwrap();
    }
    let server = tree.server();
    assert_eq!(published(&server), ["skill://good/SKILL.md"]);
    let reason = skipped(&server).reason;
    assert_eq!(reason.kind(), ErrorKind::Limit);
    assert!(reason.to_string().contains("10001 files"), "{reason}");
    let tree = Tree::new();
    tree.skill("good")
        .file(&format!("{}x", "d/".repeat(40)), "");
    let server = tree.server();
    assert_eq!(published(&server), ["skill://good/SKILL.md"]);
    assert_eq!(skipped(&server).reason.kind(), ErrorKind::Limit);
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_and_special_files_make_a_skill_unpublishable() {
        let check = |kind: &str, place: &str, make: &dyn Fn(&Path)| {
            let tree = Tree::new();
            tree.skill("bad").skill("good").file("secret", "outside");
            tree.file("bad/deep/er/file", "");
            make(&tree.path(place));
            let server = tree.server();
            assert_eq!(published(&server), ["skill://good/SKILL.md"], "{kind}");
            let skipped = skipped(&server);
            assert!(skipped.path.ends_with("bad"), "{skipped:?}");
            assert_eq!(skipped.reason.kind(), ErrorKind::Invalid);
            let mut client = Raw::open(&server, MODERN);
            for path in ["x", "deep/er/x", "SKILL.md"] {
                let uri = json!({ "uri": format!("skill://bad/{path}") });
                assert_eq!(client.code("resources/read", uri), -32602);
            }
        };
        let link = |to: &'static str| move |path: &Path| symlink(to, path).unwrap();
        check("link", "bad/x", &link("../secret"));
        check("link", "bad/x", &link("SKILL.md"));
        check("link", "bad/x", &link("nowhere"));
        check("link", "bad/x", &link("/"));
        check("link", "bad/x", &link("."));
        check("link", "bad/deep/er/x", &link("../../../.."));
        let fifo = |path: &Path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        };
        check("fifo", "bad/x", &fifo);
        let socket = |path: &Path| {
            // The path of a socket is short.
            let folder = path.parent().unwrap();
            let work = std::env::temp_dir().join(format!("mcplink-{}", std::process::id()));
            drop(std::os::unix::net::UnixListener::bind(&work).unwrap());
            let moved = std::process::Command::new("mv")
                .arg(&work)
                .arg(folder)
                .status();
            assert!(moved.unwrap().success());
        };
        check("socket", "bad/x", &socket);
        let odd = |path: &Path| {
            let name = OsStr::from_bytes(b"\xff\xfe");
            fs::write(path.with_file_name(name), "").unwrap();
        };
        check("odd", "bad/x", &odd);
        let control = |path: &Path| fs::write(path.with_file_name("a\nb"), "").unwrap();
        check("control", "bad/x", &control);
        let backslash = |path: &Path| fs::write(path.with_file_name("x\\y"), "").unwrap();
        check("backslash", "bad/x", &backslash);
    }

    #[test]
    fn a_link_beside_skills_is_reported_and_not_followed() {
        let tree = Tree::new();
        let outside = Tree::new();
        outside.skill("evil");
        tree.skill("good");
        symlink(outside.path("evil"), tree.path("evil")).unwrap();
        let server = tree.server();
        assert_eq!(published(&server), ["skill://good/SKILL.md"]);
        assert!(skipped(&server).reason.to_string().contains("link"));
        // The folder itself may be named through a link.
        symlink(tree.path(""), outside.path("alias")).unwrap();
        let server = builder().skills(SkillFolder::new(outside.path("alias")));
        assert_eq!(
            published(&server.build().unwrap()),
            ["skill://good/SKILL.md"]
        );
    }

    // E-SKILL-S-53
    #[test]
    fn a_file_that_was_replaced_by_a_link_or_pipe_is_not_read() {
        let tree = Tree::new();
        tree.skill("a")
            .file("a/x", "inside")
            .file("secret", "outside");
        tree.file("a/d/y", "inside");
        let server = tree.server();
        let mut client = Raw::open(&server, MODERN);
        assert_eq!(read(&mut client, "skill://a/x"), b"inside");
        fs::remove_file(tree.path("a/x")).unwrap();
        symlink("../secret", tree.path("a/x")).unwrap();
        let error = client.error("resources/read", json!({ "uri": "skill://a/x" }));
        assert_eq!(error["code"], -32603, "{error}");
        // The folder was scanned again.
        assert!(skipped(&server).reason.to_string().contains("link"));
        assert_eq!(
            client.code("resources/read", json!({ "uri": "skill://a/x" })),
            -32602
        );

        fs::remove_file(tree.path("a/x")).unwrap();
        tree.file("a/x", "inside");
        assert_eq!(
            server.reload_skills().unwrap().added,
            ["skill://a/SKILL.md"]
        );
        fs::remove_file(tree.path("a/x")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(tree.path("a/x"))
            .status();
        assert!(pipe.unwrap().success());
        let error = client.error("resources/read", json!({ "uri": "skill://a/x" }));
        assert_eq!(error["code"], -32603, "{error}");
    }
}

// E-SKILL-S-53
#[test]
fn a_file_that_grew_without_end_is_not_read_whole() {
    let tree = Tree::new();
    tree.skill("a").file("a/x", "small");
    let server = tree.server();
    let mut client = Raw::open(&server, MODERN);
    let file = fs::OpenOptions::new().write(true).open(tree.path("a/x"));
    file.unwrap().set_len(1 << 40).unwrap();
    let error = client.error("resources/read", json!({ "uri": "skill://a/x" }));
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().contains("changed"));
    assert_eq!(error["data"]["uri"], "skill://a/x");
    assert_eq!(skipped(&server).reason.kind(), ErrorKind::Limit);
}

#[cfg(feature = "skills")]
mod yaml {
    use mcplink::server::skills::SkillOptions;

    use super::*;

    fn with_yaml(yaml: &str) -> (Tree, Server) {
        let tree = Tree::new();
        tree.file("a/SKILL.md", format!("---\n{yaml}\n---\n# A\n"));
        let options = SkillOptions::default();
        let server = Server::builder("skills", "1")
            .skill_options(options)
            .skills(tree.folder())
            .build()
            .unwrap();
        (tree, server)
    }

    // E-SKILL-S-28, AMB-97
    #[test]
    fn front_matter_is_published_as_its_author_wrote_it() {
        let (_tree, server) = with_yaml(
            "name: a\ndescription: >-\n  folded\n  text\nlicense: 'MIT'\nyes: yes\nnone: ~\n\
             number: 1.10\nlist: [1, two, {three: 3}]\nnested:\n  Größe: 大\n  date: 2026-07-28\n\
             time: 1:30\nhex: 0x1F\ntext: \"1\"\nmetadata:\n  version: '1.0'\n",
        );
        assert!(
            server.skipped_skills().is_empty(),
            "{:?}",
            server.skipped_skills()
        );
        let skill = listed(&mut Raw::open(&server, MODERN)).remove(0);
        let expected = json!({
            "name": "a", "description": "folded text", "license": "MIT", "yes": "yes",
            "none": null, "number": 1.1, "list": [1, "two", {"three": 3}],
            "nested": { "Größe": "大", "date": "2026-07-28" }, "time": "1:30", "hex": 31,
            "text": "1", "metadata": { "version": "1.0" },
        });
        assert_eq!(skill["frontmatter"], expected);
    }

    // AMB-97
    #[test]
    fn yaml_on_which_readers_differ_or_which_explodes_is_not_published() {
        let begin = "name: a\ndescription: d\n";
        let bomb: String = (1..30)
            .map(|n| format!("x{n}: &x{n} [*x{m}, *x{m}, *x{m}]\n", m = n - 1))
            .collect();
        for (yaml, kind) in [
            (format!("{begin}x0: &x0 [lol]\n{bomb}"), ErrorKind::Invalid),
            (format!("{begin}x: &x 1\n"), ErrorKind::Invalid),
            (format!("{begin}x: *x\n"), ErrorKind::Invalid),
            (format!("{begin}name: a\n"), ErrorKind::Invalid),
            (format!("{begin}x: {{a: 1, a: 2}}\n"), ErrorKind::Invalid),
            (format!("{begin}x: !!binary aGk=\n"), ErrorKind::Invalid),
            (format!("{begin}x: .inf\n"), ErrorKind::Invalid),
            (format!("{begin}1: x\n"), ErrorKind::Invalid),
            (format!("{begin}...\nb: 1\n"), ErrorKind::Invalid),
            (
                format!("{begin}x: {}{}\n", "[".repeat(200), "]".repeat(200)),
                ErrorKind::Invalid,
            ),
            (
                format!("{begin}x: {}\n", "[".repeat(100_000)),
                ErrorKind::Limit,
            ),
            (
                format!("{begin}x: {}\n", "y".repeat(70_000)),
                ErrorKind::Limit,
            ),
            (format!("{begin}x: [\n"), ErrorKind::Invalid),
            ("- a\n- b\n".to_owned(), ErrorKind::Invalid),
        ] {
            let (_tree, server) = with_yaml(&yaml);
            let skipped = skipped(&server);
            assert_eq!(skipped.reason.kind(), kind, "{yaml:.60}: {skipped:?}");
        }
    }
}
