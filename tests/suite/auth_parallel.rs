//! Operations at the same time that need different things of an authorization server, and what one of them costs the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::SystemTime;

use mcplink::auth::{CallbackUserAgent, Login, MemoryStore, OAuth, Secret, Store};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::authworld::{REDIRECT, World, follow};
use crate::common::{LONG, wait_until};
use crate::stub::call;

fn asks_for(login: &Login<'_>, scope: &str) -> bool {
    login.scopes().any(|own| own == scope)
}

// M-AUTH-C-58
#[test]
fn operations_get_their_scopes_however_many_others_need_some() {
    const TOOLS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let world = Arc::new(World::with(|rules| {
        let needs = TOOLS.map(|tool| (tool.to_owned(), tool.to_owned()));
        rules.needs = needs.into();
    }));
    let (own, logins) = (Arc::clone(&world), AtomicUsize::new(0));
    let oauth = OAuth::login(CallbackUserAgent::new(
        REDIRECT,
        move |login: &Login<'_>| {
            if logins.fetch_add(1, Ordering::SeqCst) == 1 {
                wait_until("all are refused", || {
                    own.mcp.seen_asking("tools/call").len() >= TOOLS.len()
                });
            }
            Ok(Secret::new(follow(login.url())))
        },
    ));
    let client = world.connect(oauth).unwrap();
    std::thread::scope(|scope| {
        let calls = TOOLS.map(|tool| scope.spawn(|| call(&client, tool)));
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    let logins = world.record().authorizations.len();
    assert!(logins <= 1 + TOOLS.len(), "{logins} logins");
    // Each was sent again once it could succeed, and not before.
    let sent = world.mcp.seen_asking("tools/call").len();
    assert_eq!(sent, 2 * TOOLS.len());
}

#[test]
fn scopes_that_another_operation_is_refused_are_not_held_against_this_one() {
    let world = Arc::new(World::with(|rules| {
        rules.needs.insert("write".to_owned(), "write".to_owned());
        rules.needs.insert("admin".to_owned(), "admin".to_owned());
    }));
    let own = Arc::clone(&world);
    let oauth = OAuth::login(CallbackUserAgent::new(
        REDIRECT,
        move |login: &Login<'_>| {
            if asks_for(login, "admin") {
                // The other one may have been sent again by then.
                wait_until("both are refused", || {
                    own.mcp.seen_asking("tools/call").len() >= 2
                });
                return Err(Error::new(ErrorKind::State, "the window was closed"));
            }
            Ok(Secret::new(follow(login.url())))
        },
    ));
    let client = world.connect(oauth).unwrap();
    std::thread::scope(|scope| {
        let admin = scope.spawn(|| call(&client, "admin"));
        wait_until("it is refused", || {
            world.mcp.seen_asking("tools/call").len() == 1
        });
        let write = scope.spawn(|| call(&client, "write"));
        let error = admin.join().unwrap().unwrap_err();
        assert!(error.to_string().contains("window was closed"), "{error}");
        assert_eq!(write.join().unwrap().unwrap(), "done");
    });
}

#[test]
fn calls_whose_token_is_refused_count_as_one_login() {
    const CALLS: usize = 8;
    let world = Arc::new(World::start());
    let (own, logins) = (Arc::clone(&world), AtomicUsize::new(0));
    let oauth = OAuth::login(CallbackUserAgent::new(
        REDIRECT,
        move |login: &Login<'_>| {
            if logins.fetch_add(1, Ordering::SeqCst) == 2 {
                wait_until("all are refused", || {
                    own.mcp.seen_asking("tools/call").len() >= 2 + CALLS
                });
            }
            Ok(Secret::new(follow(login.url())))
        },
    ));
    let client = world.connect(oauth).unwrap();
    world.revoke_all();
    world.set(|rules| {
        rules.on_token = Some(Arc::new(|form, out| {
            let is_login = form["grant_type"] == "authorization_code";
            if is_login {
                out.json(&json!({ "access_token": "nobody-knows-it", "token_type": "bearer" }));
            }
            is_login
        }));
    });
    let error = call(&client, "x").unwrap_err();
    assert!(error.to_string().contains("just now"), "{error}");
    world.set(|rules| rules.on_token = None);
    let barrier = Barrier::new(CALLS);
    std::thread::scope(|scope| {
        let calls = [(); CALLS].map(|()| {
            scope.spawn(|| {
                barrier.wait();
                call(&client, "x")
            })
        });
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    assert_eq!(world.record().authorizations.len(), 3);
}

#[test]
fn one_operation_asks_a_person_once_though_it_sends_several_requests() {
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            out.json(&json!({ "access_token": "nobody-knows-it", "token_type": "bearer" }));
            true
        }));
    });
    let error = world.connect(world.login()).unwrap_err();
    assert!(error.to_string().contains("just now"), "{error}");
    assert_eq!(world.record().authorizations.len(), 1);
}

/// What is kept, with other members.
fn change_kept(store: &MemoryStore, world: &World, changes: Value) {
    let name = format!("tokens {}", world.mcp.url());
    let kept = store.load(&name).unwrap().unwrap();
    let mut kept: Value = serde_json::from_str(kept.reveal()).unwrap();
    for (member, value) in changes.as_object().unwrap() {
        kept[member] = value.clone();
    }
    store.save(&name, &Secret::new(kept.to_string())).unwrap();
}

fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs()
}

#[test]
fn tokens_that_are_still_good_wait_for_no_login_of_others() {
    let world = World::with(|rules| {
        rules.needs.insert("write".to_owned(), "write".to_owned());
    });
    let store = Arc::new(MemoryStore::new());
    let builder = world.login().store(Arc::clone(&store));
    world.connect(builder).unwrap();
    // As in the next process, whose tokens are to be renewed in a moment.
    let due = seconds() + 2;
    let changes = json!({ "renews_at": due, "expires_at": due + 600 });
    change_kept(&store, &world, changes);
    let (asked, is_asked) = mpsc::channel();
    let oauth = OAuth::login(CallbackUserAgent::new(
        REDIRECT,
        move |login: &Login<'_>| {
            let (go, going) = mpsc::channel();
            asked.send(go).unwrap();
            going.recv_timeout(3 * LONG).unwrap();
            Ok(Secret::new(follow(login.url())))
        },
    ));
    let client = world.connect(oauth.store(Arc::clone(&store))).unwrap();
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| call(&client, "write"));
        let go: mpsc::Sender<()> = is_asked.recv_timeout(LONG).unwrap();
        scope.spawn(|| {
            wait_until("the tokens are due", || seconds() > due);
            done.send(call(&client, "x")).unwrap();
        });
        let came = is_done.recv_timeout(LONG);
        go.send(()).unwrap();
        assert_eq!(came.unwrap().unwrap(), "done");
        assert_eq!(write.join().unwrap().unwrap(), "done");
    });
}
