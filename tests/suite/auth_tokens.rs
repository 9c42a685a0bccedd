//! Tokens that expire, are renewed and kept, and calls that wait for them.

#[cfg(unix)]
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::{Duration, Instant, SystemTime};

use mcplink::auth::{
    CallbackUserAgent, FileStore, Login, MemoryStore, OAuth, OAuthBuilder, Secret, Store,
};
use mcplink::client::CallOptions;
use mcplink::protocol::CancelToken;
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::authworld::{REDIRECT, World, follow, refuse};
use crate::common::{LONG, Witness};
use crate::stub::{call, call_with};

/// A folder of one test's own, removed at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("mcplink-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub(crate) fn store(&self) -> FileStore {
        FileStore::new(self.0.clone()).unwrap()
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|own| own == ending))
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn grants(world: &World) -> Vec<String> {
    let tokens = world.record().tokens;
    tokens
        .iter()
        .map(|form| form["grant_type"].clone())
        .collect()
}

// M-AUTH-C-26, M-ASEC-X-05
#[test]
fn tokens_are_renewed_before_they_expire_and_the_refresh_token_with_them() {
    let world = World::with(|rules| rules.token = json!({ "expires_in": 0 }));
    let client = world.connect(world.login()).unwrap();
    for _ in 0..3 {
        call(&client, "x").unwrap();
    }
    let tokens = world.record().tokens;
    let refreshes = tokens.iter().skip(1);
    let mut used = Vec::new();
    for form in refreshes {
        assert_eq!(form["grant_type"], "refresh_token");
        assert_eq!(form["resource"], world.mcp.url());
        used.push(form["refresh_token"].clone());
    }
    // The authorization server takes each once.
    assert_eq!(used.len(), 4, "one before each request but the first");
    assert_eq!(world.record().authorizations.len(), 1);
}

#[test]
fn a_refresh_token_that_is_not_replaced_stays_good() {
    let world = World::start();
    let state = Arc::clone(&world.state);
    world.set(|rules| {
        rules.token = json!({ "refresh_token": "st4ys" });
        rules.on_token = Some(Arc::new(move |form, out| {
            if form["grant_type"] != "refresh_token" {
                return false;
            }
            assert_eq!(form["refresh_token"], "st4ys");
            _ = &state;
            state.give(out, &std::collections::BTreeSet::new());
            true
        }));
    });
    let client = world.connect(world.login()).unwrap();
    world.set(|rules| rules.token = json!({ "refresh_token": null }));
    for _ in 0..3 {
        world.revoke_tokens();
        call(&client, "x").unwrap();
    }
    let refresh = "refresh_token";
    assert_eq!(
        grants(&world),
        ["authorization_code", refresh, refresh, refresh]
    );
}

// M-AUTH-C-47
#[test]
fn without_a_refresh_token_the_person_is_asked_again() {
    for refuses in [false, true] {
        let world = World::with(|rules| {
            if !refuses {
                rules.token = json!({ "refresh_token": null });
            }
        });
        let client = world.connect(world.login()).unwrap();
        world.revoke_all();
        call(&client, "x").unwrap();
        assert_eq!(world.record().authorizations.len(), 2);
        let expected: &[&str] = match refuses {
            true => &["authorization_code", "refresh_token", "authorization_code"],
            false => &["authorization_code", "authorization_code"],
        };
        assert_eq!(grants(&world), expected);
    }
}

#[test]
fn calls_of_many_threads_share_one_renewal() {
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    world.revoke_tokens();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(call(&client, "x").unwrap(), "done");
            });
        }
    });
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    // And one login.
    world.revoke_all();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(call(&client, "x").unwrap(), "done");
            });
        }
    });
    assert_eq!(world.record().authorizations.len(), 2);
}

/// A person who logs in when the test says so; the other end is told when one is asked.
pub(crate) fn slow_person() -> (CallbackUserAgent, mpsc::Receiver<mpsc::Sender<()>>) {
    let (asked, is_asked) = mpsc::channel();
    let visitor = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
        let (go, going) = mpsc::channel::<()>();
        asked.send(go.clone()).unwrap();
        let _woken = login.waiting().on_over(move || _ = go.send(()));
        going.recv_timeout(LONG).unwrap();
        if login.waiting().is_over() {
            return Err(Error::new(ErrorKind::State, "the window was closed"));
        }
        Ok(Secret::new(follow(login.url())))
    });
    (visitor, is_asked)
}

#[test]
fn while_a_person_is_asked_the_time_of_calls_does_not_run() {
    let world = World::start();
    let visitor = CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
        // Longer than any of the calls would wait.
        assert!(
            login
                .waiting()
                .pause(Instant::now() + Duration::from_millis(2500))
        );
        Ok(Secret::new(follow(login.url())))
    });
    let oauth = OAuth::login(visitor).build().unwrap();
    let builder = crate::stub::asker().connect_timeout(Duration::from_millis(1500));
    let client = builder.connect(world.mcp.http().authorizer(oauth)).unwrap();
    world.revoke_all();
    let options = CallOptions::new().timeout(Duration::from_millis(1500));
    assert_eq!(call_with(&client, "x", options).unwrap(), "done");
}

#[test]
fn who_cancels_no_longer_waits_and_others_still_do() {
    let world = World::start();
    let (visitor, is_asked) = slow_person();
    let oauth = OAuth::login(visitor).build().unwrap();
    let client = std::thread::scope(|scope| {
        let connecting = scope.spawn(|| world.connect_to(&oauth));
        is_asked.recv_timeout(LONG).unwrap().send(()).unwrap();
        connecting.join().unwrap().unwrap()
    });
    world.revoke_all();
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        // This one starts the login, and waits for it all the time.
        let other = scope.spawn(|| call(&client, "x"));
        let go = is_asked.recv_timeout(LONG).unwrap();
        let one = scope.spawn(|| {
            let options = CallOptions::new().cancel_with(&token);
            call_with(&client, "x", options)
        });
        crate::common::wait_until("both are refused", || {
            world.mcp.seen_asking("tools/call").len() == 2
        });
        token.cancel();
        let error = one.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        go.send(()).unwrap();
        assert_eq!(other.join().unwrap().unwrap(), "done");
    });
}

#[test]
fn a_login_that_nobody_waits_for_is_told_to_end() {
    let world = World::start();
    let (visitor, is_asked) = slow_person();
    let client = {
        let (first, going) = (world.connect(world.login()).unwrap(), world.login());
        drop((first, going));
        let oauth = OAuth::login(visitor).build().unwrap();
        let store = oauth.clone();
        let connecting = std::thread::scope(|scope| {
            let connecting = scope.spawn(|| world.connect_to(&store));
            is_asked.recv_timeout(LONG).unwrap().send(()).unwrap();
            connecting.join().unwrap()
        });
        connecting.unwrap()
    };
    world.revoke_all();
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| call(&client, "x"));
        let _go = is_asked.recv_timeout(LONG).unwrap();
        client.close();
        let error = calling.join().unwrap().unwrap_err();
        let kinds = [ErrorKind::Closed, ErrorKind::Cancelled];
        assert!(kinds.contains(&error.kind()), "{error:?}");
    });
}

#[test]
fn a_host_that_does_not_end_a_login_stops_no_other() {
    let folder = Folder::new("never-ending");
    one_login_does_not_end(|login| login);
    // Where other processes wait for a login, too.
    one_login_does_not_end(|login| login.store(folder.store()));
}

fn one_login_does_not_end(set: impl Fn(OAuthBuilder) -> OAuthBuilder) {
    let world = World::start();
    let (stuck, is_stuck) = mpsc::channel();
    let (end, ending) = mpsc::channel::<()>();
    let ending = Mutex::new(ending);
    let number = AtomicUsize::new(0);
    let visitor = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
        if number.fetch_add(1, Ordering::SeqCst) == 1 {
            stuck.send(()).unwrap();
            ending.lock().unwrap().recv_timeout(LONG).unwrap();
        }
        Ok(Secret::new(follow(login.url())))
    });
    let client = world.connect(set(OAuth::login(visitor))).unwrap();
    world.revoke_all();
    let token = CancelToken::new();
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let options = CallOptions::new().cancel_with(&token);
            call_with(&client, "x", options)
        });
        is_stuck.recv_timeout(LONG).unwrap();
        token.cancel();
        let error = calling.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    });
    let options = CallOptions::new().timeout(LONG / 3);
    assert_eq!(call_with(&client, "x", options).unwrap(), "done");
    // What it comes to in the end is for nobody.
    end.send(()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
}

#[test]
fn a_deadline_holds_while_an_authorization_server_is_silent() {
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    world.revoke_all();
    world.set(|rules| rules.is_silent = true);
    let witness = Witness::start();
    let timeout = Duration::from_millis(300);
    let error = call_with(&client, "x", CallOptions::new().timeout(timeout)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    // Long before the authorization server is given up.
    witness.expect_within(timeout);
}

#[test]
fn a_token_endpoint_that_is_silent_is_given_up() {
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            out.expect_close();
            true
        }));
    });
    let builder = world.login().step_timeout(Duration::from_millis(1500));
    let error = world.connect(builder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(
        error.to_string().contains("the token did not come"),
        "{error}"
    );
}

#[test]
fn a_login_ends_at_its_timeout() {
    let world = World::start();
    let visitor = CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
        assert!(!login.waiting().pause(Instant::now() + LONG));
        Err(Error::new(ErrorKind::State, "the window was closed"))
    });
    let builder = OAuth::login(visitor).login_timeout(Duration::from_millis(1500));
    let error = world.connect(builder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("login_timeout"), "{error}");
}

// M-AUTH-C-44, M-ASEC-B-03, L-AUTH-B-63, E-EMA-B-31
#[cfg(unix)] // Modes and owners of files.
#[test]
fn tokens_are_kept_in_files_of_the_owner() {
    let world = World::start();
    let folder = Folder::new("kept");
    for _ in 0..2 {
        let client = world.connect(world.login().store(folder.store())).unwrap();
        call(&client, "x").unwrap();
    }
    assert_eq!(
        world.record().authorizations.len(),
        1,
        "the second finds the tokens"
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    let files = folder.files("json");
    assert_eq!(files.len(), 2, "tokens and a registration: {files:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600);
        assert!(!file.to_string_lossy().contains("127.0.0.1"));
    }
    assert!(folder.files("new").is_empty());
    // A restart with tokens that were revoked meanwhile goes on with the refresh token and the registration.
    world.revoke_tokens();
    let client = world.connect(world.login().store(folder.store())).unwrap();
    call(&client, "x").unwrap();
    let record = world.record();
    assert_eq!(
        (record.authorizations.len(), record.registrations.len()),
        (1, 1)
    );
    // Others could have read it.
    for file in &files {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let error = world
        .connect(world.login().store(folder.store()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("chmod 600"), "{error}");
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(
        FileStore::new(folder.0.clone()).unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

/// What the system tells of a folder: names of files that are put in it, and each time that it is
/// opened itself, as syncing does.
#[cfg(target_os = "linux")]
fn watched(folder: &Path, change: impl FnOnce()) -> Vec<String> {
    use std::ffi::CString;
    use std::io::Read as _;
    use std::os::fd::FromRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    let path = CString::new(folder.as_os_str().as_bytes()).unwrap();
    // That it is closed is told so that two events of the same kind are not told as one.
    let mask = libc::IN_MOVED_TO | libc::IN_DELETE | libc::IN_OPEN | libc::IN_CLOSE;
    // SAFETY: the descriptor is new and nobody else's, and the path ends in NUL.
    let mut watch = unsafe {
        let fd = libc::inotify_init1(libc::IN_CLOEXEC);
        assert!(fd >= 0 && libc::inotify_add_watch(fd, path.as_ptr(), mask) >= 0);
        std::fs::File::from_raw_fd(fd)
    };
    change();
    let mut bytes = vec![0; 64 << 10];
    let len = watch.read(&mut bytes).unwrap();
    let mut rest = &bytes[..len];
    let mut told = Vec::new();
    while rest.len() >= 16 {
        let number = |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().unwrap());
        let (mask, len) = (number(4), number(12) as usize);
        let name = String::from_utf8_lossy(&rest[16..16 + len]);
        let name = name.trim_end_matches('\0').to_owned();
        match mask & (libc::IN_MOVED_TO | libc::IN_DELETE | libc::IN_OPEN) {
            libc::IN_OPEN if name.is_empty() => told.push("folder".to_owned()),
            libc::IN_OPEN | 0 => {}
            _ => told.push(name.rsplit('.').next().unwrap().to_owned()),
        }
        rest = &rest[16 + len..];
    }
    told
}

// M-ASEC-B-03: what was kept or removed is so after the machine lost power, too.
#[test]
#[cfg(target_os = "linux")]
fn the_folder_is_synced_after_each_change() {
    let folder = Folder::new("synced");
    let store = folder.store();
    let told = watched(&folder.0, || {
        store.save("name", &Secret::new("content")).unwrap();
    });
    assert_eq!(told, ["json", "folder"]);
    // What was half written is looked for before.
    let told = watched(&folder.0, || store.remove("name").unwrap());
    assert_eq!(told, ["json", "folder", "folder"]);
}

/// Who has a folder, or a file in it, can put tokens of his own there.
#[cfg(unix)] // Modes and owners of files.
#[test]
fn what_belongs_to_another_user_is_not_used() {
    const NOBODY: Option<u32> = Some(65534);
    let folder = Folder::new("foreign");
    let store = folder.store();
    store.save("one", &Secret::new("kept")).unwrap();
    let [file] = &folder.files("json")[..] else {
        panic!("one file");
    };
    if chown(file, NOBODY, None).is_err() {
        // Only root can give files away.
        return;
    }
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.to_string().contains("another user (65534)"),
            "{error}"
        );
    };
    refused(store.load("one").unwrap_err());
    store.save("one", &Secret::new("mine")).unwrap();
    assert_eq!(store.load("one").unwrap().unwrap().reveal(), "mine");
    chown(&folder.0, NOBODY, None).unwrap();
    refused(FileStore::new(folder.0.clone()).unwrap_err());
    assert!(folder.files("new").is_empty());
}

/// A process was killed between writing and renaming.
#[test]
fn what_was_left_half_written_is_removed_and_in_nobodys_way() {
    let folder = Folder::new("leftovers");
    let store = folder.store();
    let left = |name: &str| {
        store.save(name, &Secret::new("kept")).unwrap();
        let files = folder.files("json");
        let known = folder.files("new");
        let stem = files.iter().find(|path| {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            !known
                .iter()
                .any(|new| new.to_string_lossy().contains(&stem))
        });
        let leftover = stem.unwrap().with_extension("abc.new");
        std::fs::write(&leftover, "left behind").unwrap();
        leftover
    };
    let (one, other) = (left("one"), left("other"));
    store.save("one", &Secret::new("next")).unwrap();
    let kept = store.load("one").unwrap().unwrap();
    assert_eq!(kept.reveal(), "next");
    // What is forgotten is so altogether.
    store.remove("one").unwrap();
    assert!(!one.exists() && other.exists());
    // One that is being written is left alone.
    let written = std::fs::File::open(&other).unwrap();
    written.lock().unwrap();
    store.remove("other").unwrap();
    // So is what is somebody else's.
    let foreign = other.with_file_name("settings.new");
    std::fs::write(&foreign, "not ours").unwrap();
    std::fs::create_dir(other.with_file_name("a folder.new")).unwrap();
    folder.store();
    assert!(foreign.exists());
    assert!(other.exists());
    drop(written);
    folder.store();
    assert!(!other.exists());
    assert!(store.load("one").unwrap().is_none() && store.load("other").unwrap().is_none());
}

#[test]
fn processes_that_begin_do_not_take_away_what_others_write() {
    let folder = Folder::new("sweeping");
    let store = folder.store();
    std::thread::scope(|scope| {
        let saver = scope.spawn(|| {
            for number in 0..200 {
                let content = Secret::new(number.to_string());
                store.save("tokens", &content).unwrap();
                let kept = store.load("tokens").unwrap().unwrap();
                assert_eq!(kept.reveal(), content.reveal());
            }
        });
        while !saver.is_finished() {
            folder.store();
        }
        saver.join().unwrap();
    });
    assert!(folder.files("new").is_empty());
}

#[test]
fn what_is_kept_and_can_not_be_read_is_as_good_as_none() {
    let world = World::start();
    let folder = Folder::new("broken");
    world.connect(world.login().store(folder.store())).unwrap();
    for file in folder.files("json") {
        std::fs::write(file, "{\"access\":").unwrap();
    }
    world.connect(world.login().store(folder.store())).unwrap();
    assert_eq!(world.record().authorizations.len(), 2);
}

#[test]
fn processes_that_share_a_store_take_turns() {
    let world = World::start();
    let folder = Folder::new("shared");
    let clients: Vec<_> = (0..4)
        .map(|_| world.connect(world.login().store(folder.store())).unwrap())
        .collect();
    assert_eq!(world.record().authorizations.len(), 1);
    world.revoke_tokens();
    let barrier = Barrier::new(clients.len());
    std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(call(client, "x").unwrap(), "done");
            });
        }
    });
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
}

// E-EMA-C-29
#[test]
fn a_host_keeps_tokens_where_it_likes_and_forgets_them() {
    let world = World::start();
    let store = Arc::new(MemoryStore::new());
    let oauth = world.login().store(Arc::clone(&store)).build().unwrap();
    let client = world.connect_to(&oauth).unwrap();
    let name = format!("tokens {}", world.mcp.url());
    let kept = store.load(&name).unwrap().unwrap();
    assert!(
        kept.reveal().contains("access-s3cret"),
        "the token is in it"
    );
    oauth.forget(&world.mcp.url()).unwrap();
    assert!(store.load(&name).unwrap().is_none());
    call(&client, "x").unwrap();
    assert_eq!(world.record().authorizations.len(), 2);
}

// M-CACHE-C-13
#[test]
fn what_was_kept_for_one_login_is_not_given_to_the_next() {
    let world = World::start();
    world.set(|rules| rules.ttl = 3_600_000);
    let oauth = world.login().build().unwrap();
    let client = world.connect_to(&oauth).unwrap();
    let lists = || world.mcp.seen_asking("tools/list").len();
    client.list_tools().unwrap();
    client.list_tools().unwrap();
    assert_eq!(lists(), 1);
    // A renewal changes nothing about who it is.
    world.revoke_tokens();
    call(&client, "x").unwrap();
    client.list_tools().unwrap();
    assert_eq!(lists(), 1);
    oauth.forget(&world.mcp.url()).unwrap();
    client.list_tools().unwrap();
    assert_eq!(lists(), 3, "refused, and asked for again");
    client.list_tools().unwrap();
    assert_eq!(lists(), 4, "which was asked before it was known for whom");
    client.list_tools().unwrap();
    assert_eq!(lists(), 4);
}

/// Takes nothing.
struct Full;

impl Store for Full {
    fn load(&self, _: &str) -> mcplink::Result<Option<Secret>> {
        Ok(None)
    }

    fn save(&self, _: &str, _: &Secret) -> mcplink::Result<()> {
        Err(Error::new(ErrorKind::Io, "there is no room"))
    }

    fn remove(&self, _: &str) -> mcplink::Result<()> {
        Ok(())
    }
}

#[test]
fn a_store_that_is_full_is_told_and_does_no_harm() {
    let world = World::start();
    let (told, lines) = mpsc::channel();
    let builder = world.login().store(Full).on_log(move |line| {
        told.send(line.to_owned()).unwrap();
    });
    let client = world.connect(builder).unwrap();
    call(&client, "x").unwrap();
    let lines: Vec<String> = lines.try_iter().collect();
    assert!(
        lines.iter().any(|line| line.contains("in memory only")),
        "{lines:?}"
    );
    assert!(
        lines.iter().all(|line| line.contains("there is no room")),
        "{lines:?}"
    );
}

#[test]
fn a_client_that_the_authorization_server_forgot_registers_again() {
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    world.revoke_tokens();
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |form, out| {
            let is_refresh = form["grant_type"] == "refresh_token";
            if is_refresh {
                count.fetch_add(1, Ordering::SeqCst);
                refuse(out, "invalid_client", "never heard of it");
            }
            is_refresh
        }));
    });
    call(&client, "x").unwrap();
    let record = world.record();
    assert_eq!(
        (record.registrations.len(), refused.load(Ordering::SeqCst)),
        (2, 1)
    );
    assert_ne!(
        record.authorizations[0]["client_id"],
        record.authorizations[1]["client_id"]
    );
}

#[test]
fn tokens_that_live_shortly_are_not_renewed_for_each_request() {
    let world = World::with(|rules| rules.token = json!({ "expires_in": 20 }));
    let client = world.connect(world.login()).unwrap();
    for _ in 0..3 {
        call(&client, "x").unwrap();
    }
    assert_eq!(grants(&world), ["authorization_code"]);
}

/// What it gives expires soon.
struct Expiring(MemoryStore);

impl Store for Expiring {
    fn load(&self, name: &str) -> mcplink::Result<Option<Secret>> {
        let kept = self.0.load(name)?;
        let mut tokens: Value = match &kept {
            Some(kept) if name.starts_with("tokens") => {
                serde_json::from_str(kept.reveal()).unwrap()
            }
            _ => return Ok(kept),
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        tokens["expires_at"] = (now.unwrap().as_secs() + 20).into();
        // As versions wrote it that did not know it.
        tokens.as_object_mut().unwrap().remove("renews_at");
        Ok(Some(Secret::new(tokens.to_string())))
    }

    fn save(&self, name: &str, content: &Secret) -> mcplink::Result<()> {
        self.0.save(name, content)
    }

    fn remove(&self, name: &str) -> mcplink::Result<()> {
        self.0.remove(name)
    }
}

#[test]
fn an_authorization_server_that_is_down_is_left_alone_while_tokens_are_good() {
    let world = World::start();
    let store = Arc::new(Expiring(MemoryStore::new()));
    world
        .connect(world.login().store(Arc::clone(&store)))
        .unwrap();
    world.set(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            out.respond("503 Service Unavailable", &[], "");
            true
        }));
    });
    // As in the next process.
    let client = world.connect(world.login().store(Arc::clone(&store)));
    let client = client.unwrap();
    for _ in 0..3 {
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    // When the tokens are good no more nobody is asked to log in for that, and the next time it goes on.
    world.revoke_tokens();
    for _ in 0..2 {
        let error = call(&client, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        assert!(error.to_string().contains("503"), "{error}");
    }
    world.set(|rules| rules.on_token = None);
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().authorizations.len(), 1);
}

#[test]
fn an_authorization_server_that_has_no_time_costs_no_login_whatever_it_calls_that() {
    for (status, code) in [
        ("503 Service Unavailable", "temporarily_unavailable"),
        ("429 Too Many Requests", "too_many_requests"),
        ("500 Internal Server Error", "server_error"),
    ] {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        world.revoke_tokens();
        world.set(|rules| {
            rules.on_token = Some(Arc::new(move |_, out| {
                let body = json!({ "error": code }).to_string();
                out.respond(status, &[("content-type", "application/json")], &body);
                true
            }));
        });
        let error = call(&client, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        assert!(error.to_string().contains(code), "{error}");
        world.set(|rules| rules.on_token = None);
        assert_eq!(call(&client, "x").unwrap(), "done");
        assert_eq!(world.record().authorizations.len(), 1, "{code}");
    }
    // What it says of the tokens counts, whatever status it has for that.
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    world.revoke_tokens();
    world.set(|rules| {
        rules.on_token = Some(Arc::new(|form, out| {
            let is_refresh = form["grant_type"] == "refresh_token";
            if is_refresh {
                let body = json!({ "error": "invalid_grant" }).to_string();
                out.respond("500 Internal Server Error", &[], &body);
            }
            is_refresh
        }));
    });
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().authorizations.len(), 2);
}

// M-AUTH-C-41
#[test]
fn tokens_that_are_forgotten_do_not_come_back_with_a_renewal() {
    let world = World::start();
    let store = Arc::new(MemoryStore::new());
    let oauth = world.login().store(Arc::clone(&store)).build().unwrap();
    let client = world.connect_to(&oauth).unwrap();
    world.revoke_tokens();
    let (own, url) = (oauth.clone(), world.mcp.url());
    let state = Arc::clone(&world.state);
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |form, out| {
            let is_refresh = form["grant_type"] == "refresh_token";
            if is_refresh {
                own.forget(&url).unwrap();
                state.give(out, &std::collections::BTreeSet::new());
            }
            is_refresh
        }));
    });
    // It has to be authorized anew.
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().authorizations.len(), 2);
    let kept = store.load(&format!("tokens {}", world.mcp.url())).unwrap();
    let kept: Value = serde_json::from_str(kept.unwrap().reveal()).unwrap();
    let used = world.mcp.seen_asking("tools/call");
    let used = used.last().unwrap().header("authorization").unwrap();
    assert_eq!(
        used.strip_prefix("Bearer "),
        kept["access"].as_str(),
        "the tokens of the login are kept"
    );
}

#[test]
fn a_token_that_can_not_be_sent_is_not_kept() {
    for bad in ["", "two\nlines", "with blanks", "ungültig"] {
        let world = World::with(|rules| rules.token = json!({ "access_token": bad }));
        let store = Arc::new(MemoryStore::new());
        let oauth = world.login().store(Arc::clone(&store)).build().unwrap();
        let error = world.connect_to(&oauth).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        let said = error.to_string();
        assert!(said.contains("a token that can't be sent"), "{said}");
        assert!(bad.is_empty() || !said.contains(bad), "{said}");
        let name = format!("tokens {}", world.mcp.url());
        assert!(store.load(&name).unwrap().is_none());
        // The next login is none the worse for it.
        world.set(|rules| rules.token = json!({}));
        let client = world.connect_to(&oauth).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
}
