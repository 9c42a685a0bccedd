//! The cache of skill files on disk.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use mcplink::ErrorKind;
#[cfg(unix)]
use mcplink::SkillFault;
use mcplink::client::Client;
use mcplink_skills::{LoadedSkill, RemoteSkill, SkillCache, SkillId};
use serde_json::json;

use crate::skills;
use crate::skillserver::{MODERN, SkillServer};

const A: &str = "skill://a/SKILL.md";
const X: &str = "skill://a/x";

/// A folder of this test, which is removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcplink-skills-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        // The folder for temporary files may have a link in its path.
        Self(fs::canonicalize(path).unwrap())
    }

    fn cache(&self) -> SkillCache {
        SkillCache::new(self.0.join("cache")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for child in fs::read_dir(folder).unwrap() {
        let path = child.unwrap().path();
        match fs::symlink_metadata(&path).unwrap().is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// A server with the skill `a`, which has the file `x`.
fn server() -> (Client, SkillServer) {
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    let files: [(&str, &[u8]); 1] = [("x", b"content")];
    server.set(|tables| tables.publish("skill://a", &files));
    (client, server)
}

/// Loads the skill and reads `x`.
fn read(client: &Client, label: &str, cache: &SkillCache) -> (LoadedSkill, Vec<u8>) {
    let loaded = skills(client, label).cache(cache).load_uri(A).unwrap();
    let content = loaded.read("x").unwrap();
    assert!(
        content.cache_error().is_none(),
        "{:?}",
        content.cache_error()
    );
    assert_eq!(content.skill(), &SkillId::new(label, A).unwrap());
    (loaded, content.bytes().to_owned())
}

fn path_in(cache: &SkillCache, skill: &RemoteSkill, uri: &str) -> PathBuf {
    let digest = skill.entry().file(uri).unwrap().digest.to_string();
    cache
        .path_of(skill.id())
        .join(digest.replace("sha256:", ""))
}

// E-SKILL-C-44, E-SKILL-C-45, E-SKILL-C-58, E-SKILL-C-79
#[cfg(unix)] // Links, and modes of files.
#[test]
fn files_are_kept_as_they_are_read() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, server) = server();
    let host = skills(&client, "s").cache(&cache);
    let loaded = host.load_uri(A).unwrap();
    let own = path_in(&cache, loaded.skill(), A);
    let x = path_in(&cache, loaded.skill(), X);
    assert!(own.is_file() && !x.exists());
    assert!(!loaded.read("x").unwrap().is_cached());
    server.asked();
    let again = loaded.read("x").unwrap();
    assert!(again.is_cached() && again.is_verified());
    assert_eq!(again.bytes(), b"content");
    assert!(server.asked().is_empty());
    for file in files(&folder.0) {
        let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.display());
        assert!(!file.ends_with("SKILL.md"));
    }
    // After a restart the origin is still known, without the server.
    client.close();
    let reopened = folder.cache();
    let id = loaded.id();
    assert_eq!(reopened.skills().unwrap(), std::slice::from_ref(id));
    let listed = loaded.skill().entry().file(X).unwrap();
    let content = reopened.read(id, listed).unwrap().unwrap();
    assert_eq!((content.skill(), content.bytes()), (id, &b"content"[..]));
    assert!(content.tagged().unwrap().contains("server=\"s\""));
    let other = SkillId::new("t", A).unwrap();
    assert!(reopened.read(&other, listed).unwrap().is_none());
}

// E-SKILL-C-45
#[test]
fn a_new_digest_is_fetched() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, server) = server();
    read(&client, "s", &cache);
    let newer: [(&str, &[u8]); 1] = [("x", b"changed")];
    server.set(|tables| tables.publish("skill://a", &newer));
    server.asked();
    assert_eq!(read(&client, "s", &cache).1, b"changed");
    assert_eq!(server.asked().last().unwrap(), "resources/read skill://a/x");
}

// E-SKILL-C-77, E-SKILL-C-32
#[cfg(unix)] // Links, and modes of files.
#[test]
fn a_file_that_was_changed_on_disk_is_not_used() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, server) = server();
    let (loaded, _) = read(&client, "s", &cache);
    let path = path_in(&cache, loaded.skill(), X);
    let secret = folder.0.join("secret");
    fs::write(&secret, b"content").unwrap();
    let tampers: [&dyn Fn(); 6] = [
        &|| fs::write(&path, b"CONTENT").unwrap(),
        &|| fs::write(&path, b"content and more").unwrap(),
        &|| fs::write(&path, b"").unwrap(),
        &|| {
            fs::remove_file(&path).unwrap();
            symlink(&secret, &path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            symlink("/dev/zero", &path).unwrap();
        },
        &|| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            fs::write(path.join("y"), b"").unwrap();
        },
    ];
    for (number, tamper) in tampers.iter().enumerate() {
        tamper();
        server.asked();
        let content = loaded.read("x").unwrap();
        assert!(!content.is_cached(), "{number}");
        assert_eq!(content.bytes(), b"content");
        assert_eq!(server.asked(), ["resources/read skill://a/x"], "{number}");
        assert!(loaded.read("x").unwrap().is_cached(), "{number}");
    }
    assert_eq!(fs::read(&secret).unwrap(), b"content");
    // If the server is no help, there is an error and no content.
    fs::write(&path, b"CONTENT").unwrap();
    server.set(|tables| tables.put(X, b"CONTENT"));
    let error = loaded.read("x").unwrap_err();
    assert_eq!(error.skill_fault(), Some(SkillFault::Digest), "{error}");
    assert!(!path.exists());
}

// E-SKILL-C-77
#[cfg(unix)] // Links, and modes of files.
#[test]
fn a_folder_that_is_a_link_or_open_to_others_is_not_used() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, _server) = server();
    let (loaded, _) = read(&client, "s", &cache);
    let kept = cache.path_of(loaded.id());
    let elsewhere = folder.0.join("elsewhere");
    fs::rename(&kept, &elsewhere).unwrap();
    symlink(&elsewhere, &kept).unwrap();
    let before = files(&elsewhere);
    let content = loaded.read("x").unwrap();
    assert!(!content.is_cached());
    let error = content.cache_error().unwrap();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("link"), "{error}");
    assert_eq!(files(&elsewhere), before);
    // Forgetting removes the link, not its target.
    cache.forget("s").unwrap();
    assert_eq!(files(&elsewhere), before);

    let (loaded, _) = read(&client, "s", &cache);
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(cache.path_of(loaded.id()), open).unwrap();
    let content = loaded.read("x").unwrap();
    assert!(!content.is_cached());
    let error = content.cache_error().unwrap();
    assert!(error.to_string().contains("777"), "{error}");
}

// E-SKILL-C-10, E-SKILL-C-09
#[test]
fn each_pair_of_label_and_uri_has_its_own_folder() {
    let folder = Folder::new();
    let cache = folder.cache();
    let long = "x".repeat(300);
    let labels = [
        "s", "S", "a/b", "..", "../..", "a:b", "", "ä", "a\nb", &long,
    ];
    let mut uris = vec![
        A.to_owned(),
        "skill://A/SKILL.md".to_owned(),
        format!("skill://{long}/SKILL.md"),
    ];
    uris.push("file:///a/SKILL.md".to_owned());
    let mut seen = Vec::new();
    for label in labels {
        for uri in &uris {
            let id = SkillId::new(label, uri).unwrap();
            let path = cache.path_of(&id);
            assert!(
                path.starts_with(folder.0.join("cache")),
                "{}",
                path.display()
            );
            assert_eq!(path.components().count(), folder.0.components().count() + 3);
            seen.push(path.to_str().unwrap().to_lowercase());
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), labels.len() * uris.len());

    let (client, _server) = server();
    for label in labels {
        let (loaded, _) = read(&client, label, &cache);
        let id = loaded.id();
        assert_eq!(&cache.origin_of(&cache.path_of(id)).unwrap(), id);
        let file = path_in(&cache, loaded.skill(), X);
        assert_eq!(&cache.origin_of(&file).unwrap(), id);
    }
    assert_eq!(cache.skills().unwrap().len(), labels.len());
    for nowhere in [
        folder.0.clone(),
        folder.0.join("cache"),
        folder.0.join("cache/x/y"),
    ] {
        assert!(cache.origin_of(&nowhere).is_err(), "{}", nowhere.display());
    }
    // An origin that names another server is not believed.
    let (one, other) = (SkillId::new("s", A).unwrap(), SkillId::new("S", A).unwrap());
    let origin = cache.path_of(&one).join("origin.json");
    fs::copy(cache.path_of(&other).join("origin.json"), &origin).unwrap();
    let error = cache.origin_of(&cache.path_of(&one)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

// E-SKILL-C-80
#[test]
fn a_server_is_forgotten_and_no_other() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, _server) = server();
    let (one, _) = read(&client, "one", &cache);
    let (two, _) = read(&client, "two", &cache);
    cache.forget("one").unwrap();
    cache.forget("one").unwrap();
    assert!(!cache.path_of(one.id()).exists());
    assert_eq!(cache.skills().unwrap(), [two.id().clone()]);
    assert!(two.read("x").unwrap().is_cached());
    assert!(!one.read("x").unwrap().is_cached());
    cache.forget_skill(two.id()).unwrap();
    assert!(!cache.path_of(two.id()).exists());
}

// E-SKILL-C-78
#[cfg(unix)] // Links, and modes of files.
#[test]
fn the_cache_is_apart_from_skills_and_private() {
    let folder = Folder::new();
    let refused = |path: &Path| {
        let error = SkillCache::new(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    };
    fs::create_dir(folder.0.join("skill")).unwrap();
    fs::write(folder.0.join("skill/SKILL.md"), "").unwrap();
    refused(&folder.0.join("skill/cache"));
    refused(&folder.0);
    let open = folder.0.join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&open);
    let file = folder.0.join("file");
    fs::write(&file, "").unwrap();
    refused(&file);
    let error = SkillCache::new(file.join("below")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

#[test]
fn a_cache_that_can_not_be_written_harms_no_read() {
    let folder = Folder::new();
    let cache = folder.cache();
    let (client, server) = server();
    // No folder can be made where a file is.
    let id = SkillId::new("s", A).unwrap();
    fs::write(cache.path_of(&id).parent().unwrap(), "").unwrap();
    let loaded = skills(&client, "s").cache(&cache).load_uri(A).unwrap();
    let content = loaded.read("x").unwrap();
    assert_eq!(content.bytes(), b"content");
    let error = content.cache_error().unwrap();
    assert!(error.to_string().contains("skill cache"), "{error}");
    // Nor where the folder has gone.
    fs::remove_dir_all(folder.0.join("cache")).unwrap();
    let content = loaded.read("x").unwrap();
    let error = content.cache_error().unwrap();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.os_code().is_some(), "{error}");
    assert!(server.asked().len() >= 3);
}

#[test]
fn the_oldest_files_give_way() {
    let folder = Folder::new();
    let cache = folder.cache().max_bytes(5000);
    let (client, server) = SkillServer::connect(MODERN, json!({}));
    let contents: Vec<Vec<u8>> = (0..10).map(|n| vec![n; 1000]).collect();
    let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let large = vec![0; 6000];
    let mut files: Vec<(&str, &[u8])> = Vec::new();
    files.extend(
        names
            .iter()
            .zip(&contents)
            .map(|(name, bytes)| (&**name, &**bytes)),
    );
    files.push(("large", &large));
    server.set(|tables| tables.publish("skill://a", &files));
    let loaded = skills(&client, "s").cache(&cache).load_uri(A).unwrap();
    let held = |cache: &SkillCache| {
        let held = self::files(&cache.path_of(loaded.id()));
        let held = held.iter().filter(|path| !path.ends_with("origin.json"));
        held.map(|path| fs::metadata(path).unwrap().len())
            .sum::<u64>()
    };
    for name in &names {
        loaded.read(name).unwrap();
        assert!(held(&cache) <= 5000, "{}", held(&cache));
    }
    assert!(held(&cache) >= 4000);
    assert!(loaded.read("9").unwrap().is_cached());
    assert!(!loaded.read("0").unwrap().is_cached());
    // A file beyond the limit is read, and not kept.
    for _ in 0..2 {
        let content = loaded.read("large").unwrap();
        assert!(!content.is_cached() && content.cache_error().is_none());
    }
    // Leftovers of killed processes are removed when they are old.
    let partial = cache.path_of(loaded.id()).join("ab.1.2.new");
    fs::write(&partial, "x").unwrap();
    drop(folder.cache());
    assert!(partial.exists());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::open(&partial).unwrap().set_modified(old).unwrap();
    drop(folder.cache());
    assert!(!partial.exists());
}
