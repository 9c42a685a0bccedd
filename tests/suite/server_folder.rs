//! Files of a folder as resources.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mcplink::ErrorKind;
use mcplink::schema::ProtocolVersion;
use mcplink::server::{Folder, Server};
use serde_json::json;

use crate::raw::Raw;

/// A folder of the test's own, beside which stands what must not be read.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = format!("folder test-{}-{number}", std::process::id());
        let tree = Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(place));
        fs::create_dir_all(tree.0.join("open/deep")).unwrap();
        fs::create_dir_all(tree.0.join("open but not")).unwrap();
        fs::write(tree.0.join("secret"), "outside").unwrap();
        fs::write(tree.0.join("open but not/x"), "outside").unwrap();
        fs::write(tree.0.join("open/text"), "Grüße").unwrap();
        fs::write(tree.0.join("open/deep/b ytes"), [0, 159, 146, 150]).unwrap();
        fs::write(tree.0.join("open/big"), vec![b'x'; 1001]).unwrap();
        let link =
            |to: &str, from: &str| std::os::unix::fs::symlink(to, tree.0.join(from)).unwrap();
        link("../secret", "open/way out");
        link("..", "open/up");
        link("text", "open/alias");
        link("nowhere", "open/dangling");
        tree
    }

    fn folder(&self) -> Folder {
        Folder::new(self.0.join("open")).unwrap().max_bytes(1000)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

// M-RES-S-15
#[test]
fn nothing_but_files_of_the_folder_is_read() {
    let tree = Tree::new();
    let folder = tree.folder();
    let uri = folder.uri();
    assert!(uri.ends_with("/open/") && !uri.contains(' '), "{uri}");
    let template = folder.template("file");
    let server = Server::builder("files", "1")
        .template(template, move |read, _| folder.read(read))
        .build()
        .unwrap();
    for revision in [ProtocolVersion::V2024_11_05, ProtocolVersion::LATEST] {
        let mut client = Raw::open(&server, revision);
        for (path, member, expected) in [
            ("text", "text", "Grüße"),
            ("alias", "text", "Grüße"),
            ("deep/b%20ytes", "blob", "AJ+Slg=="),
        ] {
            let asked = format!("{uri}{path}");
            let read = client.result("resources/read", json!({ "uri": asked }));
            assert_eq!(
                read["contents"],
                json!([{ "uri": asked, member: expected }])
            );
        }
        let not_found = client.error("resources/read", json!({ "uri": format!("{uri}missing") }));
        for path in [
            "../secret",
            "deep/../../secret",
            "%2e%2e/secret",
            "%2E%2E%2Fsecret",
            "..%2fsecret",
            "..%5csecret",
            "deep/%2e%2e/%2e%2e/secret",
            "way%20out",
            "up/secret",
            "../open%20but%20not/x",
            "dangling",
            "deep",
            "deep/",
            "text/",
            "text%00",
            "",
        ] {
            let asked = format!("{uri}{path}");
            let refused = client.error("resources/read", json!({ "uri": asked }));
            assert_eq!(refused["code"], not_found["code"], "{path}: {refused}");
            assert_eq!(refused["message"], not_found["message"], "{path}");
        }
        let big = client.error("resources/read", json!({ "uri": format!("{uri}big") }));
        assert_eq!(big, json!({ "code": -32603, "message": "internal error" }));
    }
}

#[test]
fn a_folder_has_to_be_there() {
    let tree = Tree::new();
    let missing = Folder::new(tree.0.join("nowhere")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    let file = Folder::new(tree.0.join("secret")).unwrap_err();
    assert_eq!(file.kind(), ErrorKind::Invalid);
    let path = tree.folder().path(&format!("{}text", tree.folder().uri()));
    assert!(path.unwrap().ends_with("open/text"));
    let all = Folder::new("/").unwrap();
    assert_eq!(all.uri(), "file:///");
}

/// Calls `swap` again and again on another thread while `read` runs.
fn swapping(swap: impl Fn() + Sync, read: impl FnOnce()) {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                swap();
            }
        });
        let _over = Over(&is_over);
        read();
    });
}

// Must not happen: a file or folder that is replaced by a link while it is read gives what stands
// outside of the folder.
// M-RES-S-15
#[test]
fn what_is_swapped_for_a_link_while_it_is_read_gives_nothing_of_outside() {
    let tree = Tree::new();
    let folder = tree.folder();
    let uri = folder.uri();
    fs::write(tree.0.join("open/deep/x"), "inside").unwrap();
    let template = folder.template("file");
    let server = Server::builder("files", "1")
        .template(template, move |read, _| folder.read(read))
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    let mut read = |path: &str| {
        let mut found = 0;
        for _ in 0..1000 {
            let params = json!({ "uri": format!("{uri}{path}") });
            let answer = client.answer("resources/read", params).to_string();
            assert!(!answer.contains("outside"), "{answer}");
            found += u32::from(answer.contains("inside"));
        }
        assert!(found > 0, "{path}: the true file is read now and then");
    };
    let at = |name: &str| tree.0.join("open").join(name);
    let rename = |from: &str, to: &str| fs::rename(at(from), at(to)).unwrap();
    // A file and a link to a file.
    fs::write(at("file"), "inside").unwrap();
    std::os::unix::fs::symlink("../secret", at("link")).unwrap();
    let swap = || {
        rename("file", "parked");
        rename("link", "file");
        rename("file", "link");
        rename("parked", "file");
    };
    swapping(swap, || read("file"));
    // A folder and a link to a folder.
    std::os::unix::fs::symlink("../open but not", at("link to folder")).unwrap();
    let swap = || {
        rename("deep", "parked");
        rename("link to folder", "deep");
        rename("deep", "link to folder");
        rename("parked", "deep");
    };
    swapping(swap, || read("deep/x"));
}
