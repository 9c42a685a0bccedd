//! Operations at the same time that need different things of an authorization server, and what one of them costs the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use mcplink::auth::{Login, OAuth, Secret, Visitor};
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::authworld::{REDIRECT, World, follow};
use crate::common::wait_until;
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
    let oauth = OAuth::login(Visitor::new(REDIRECT, move |login: &Login<'_>| {
        if logins.fetch_add(1, Ordering::SeqCst) == 1 {
            wait_until("all are refused", || {
                own.mcp.seen_asking("tools/call").len() == TOOLS.len()
            });
        }
        Ok(Secret::new(follow(login.url())))
    }));
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
    let oauth = OAuth::login(Visitor::new(REDIRECT, move |login: &Login<'_>| {
        if asks_for(login, "admin") {
            wait_until("both are refused", || {
                own.mcp.seen_asking("tools/call").len() == 2
            });
            return Err(Error::new(ErrorKind::State, "the window was closed"));
        }
        Ok(Secret::new(follow(login.url())))
    }));
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
    let oauth = OAuth::login(Visitor::new(REDIRECT, move |login: &Login<'_>| {
        if logins.fetch_add(1, Ordering::SeqCst) == 2 {
            wait_until("all are refused", || {
                own.mcp.seen_asking("tools/call").len() == 2 + CALLS
            });
        }
        Ok(Secret::new(follow(login.url())))
    }));
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
