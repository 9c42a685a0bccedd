//! Operations at the same time that need different things of an authorization server, and what one of them costs the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use mcplink::auth::{Login, OAuth, Secret, Visitor};
use serde_json::json;

use crate::authworld::{REDIRECT, World, follow};
use crate::common::wait_until;
use crate::stub::call;

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
