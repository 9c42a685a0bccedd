//! Paths of folders: no URI leads out of the folder.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcplink::server::Folder;

/// The folder, and its place among other files.
static TREE: LazyLock<(Folder, PathBuf)> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("mcplink-fuzz-{}", std::process::id()));
    let root = place.join("root");
    fs::create_dir_all(root.join("a/b")).expect("a folder for the test");
    for file in ["a/b/c", "a/d", "e.txt", "f g", "../secret"] {
        fs::write(root.join(file), "text").expect("a file for the test");
    }
    for (link, to) in [("out", "../secret"), ("up", ".."), ("in", "a/b")] {
        // The files of an earlier process with this number may be there.
        let _ = std::os::unix::fs::symlink(to, root.join(link));
    }
    let root = fs::canonicalize(root).expect("the folder is there");
    (Folder::new(&root).expect("the folder is there"), root)
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (folder, root) = &*TREE;
    for uri in [text.to_owned(), format!("{}{text}", folder.uri())] {
        if let Ok(path) = folder.path(&uri) {
            assert!(
                path.starts_with(root) && path.is_file(),
                "{}",
                path.display()
            );
            assert_eq!(fs::canonicalize(&path).expect("it is there"), path);
        }
    }
});
