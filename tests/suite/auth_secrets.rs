//! Nothing that is secret is shown anywhere.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use mcplink::auth::{
    Browser, CallbackUserAgent, ClientDocument, FileStore, IdentityProvider, Login, MemoryStore,
    OAuth, RegisteredClient, Secret, SigningKey, SubjectToken,
};
use serde_json::json;

use crate::authworld::{REDIRECT, World, follow, refuse};
use crate::stub::call;

/// All that was shown to anybody.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<String>>>);

/// What the crates below us write to a host's log.
static LOGGED: LazyLock<Shown> = LazyLock::new(Shown::default);

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        LOGGED.text(format!("{}: {}", record.target(), record.args()));
    }

    fn flush(&self) {}
}

impl Shown {
    /// Writes down what goes to the host's log, of all tests that run meanwhile.
    fn take_logs(&self) {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Debug);
    }

    fn text(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    fn debug(&self, value: &impl Debug) {
        self.text(format!("{value:?} {value:#?}"));
    }

    fn error(&self, error: &mcplink::Error) {
        self.text(error.to_string());
        self.debug(error);
        self.text(error.http_challenge().unwrap_or_default());
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            self.text(inner.to_string());
            self.debug(&inner);
            source = inner.source();
        }
    }

    fn is_free_of(&self, secrets: &[String]) {
        let shown = self.0.lock().unwrap();
        assert!(shown.len() > 10, "the test sees nothing");
        for text in shown.iter() {
            for secret in secrets.iter().filter(|secret| secret.len() > 5) {
                assert!(!text.contains(secret), "'{secret}' in: {text}");
            }
        }
    }
}

// M-AUTH-C-44, M-ASEC-B-03, L-AUTH-B-63, E-CC-C-10, E-EMA-B-17, E-EMA-B-18, E-EMA-B-20, E-EMA-B-21, E-EMA-C-27, E-EMA-C-28, E-EMA-B-13
#[test]
fn no_error_log_line_or_debug_output_has_a_secret_in_it() {
    let shown = Shown::default();
    shown.take_logs();
    let world = World::start();
    // The authorization server repeats what it was told, which is the worst it can do.
    let echo = |world: &World, status: u16| {
        world.set(|rules| {
            rules.on_token = Some(Arc::new(move |form, out| {
                let said: Vec<String> = form.values().cloned().collect();
                for part in said.chunks(1) {
                    let body = json!({ "error": "invalid_grant", "error_description": part[0] });
                    if status == 400 && part[0].contains("s3cret") {
                        refuse(out, "invalid_grant", &part[0]);
                        return true;
                    }
                    if status == 200 && part[0].contains("s3cret") {
                        out.respond(
                            "200 OK",
                            &[("content-type", "application/json")],
                            &body.to_string(),
                        );
                        return true;
                    }
                }
                refuse(out, &said.join(" "), &said.join(" "));
                true
            }));
        });
    };
    let lines = shown.clone();
    let known = RegisteredClient::new(world.issuer(), "known").secret("s3cret-of-the-client");
    shown.debug(&known);
    let builder = world
        .login()
        .registered(known.clone())
        .on_log(move |line| lines.text(line));
    shown.debug(&builder);
    let oauth = builder.build().unwrap();
    shown.debug(&oauth);
    let http = world.mcp.http().authorizer(oauth.clone());
    shown.debug(&http);
    drop(http);
    for status in [400, 200] {
        echo(&world, status);
        shown.error(&world.connect_to(&oauth).unwrap_err());
    }
    world.set(|rules| rules.on_token = None);
    let client = world.connect_to(&oauth).unwrap();
    shown.debug(&client);
    call(&client, "x").unwrap();
    shown.debug(&oauth);
    world.revoke_all();
    echo(&world, 400);
    shown.error(&call(&client, "x").unwrap_err());
    // The person's part.
    let seen = shown.clone();
    let visitor = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
        seen.debug(login);
        let answer = follow(login.url());
        let secret = Secret::new(answer);
        seen.debug(&secret);
        Ok(Secret::new(secret.reveal().replace("state=", "state=x")))
    });
    shown.debug(&visitor);
    shown.error(&world.connect(OAuth::login(visitor)).unwrap_err());
    // Machines and organisations.
    let key = include_str!("../data/keys/p256.pem");
    let signing = SigningKey::from_pem(&Secret::new(key)).unwrap();
    shown.debug(&signing);
    let machine = RegisteredClient::new(world.issuer(), "m").key(signing);
    shown.debug(&machine);
    shown.error(
        &world
            .connect(OAuth::client_credentials(machine))
            .unwrap_err(),
    );
    let subject = || Ok(SubjectToken::Saml2(Secret::new("s3cret-of-the-user")));
    shown.debug(&subject());
    let endpoint = format!("{}/exchange", world.issuer());
    let provider = IdentityProvider::new(endpoint, known.clone(), subject);
    shown.debug(&provider);
    shown.error(
        &world
            .connect(OAuth::enterprise(provider, known))
            .unwrap_err(),
    );
    let workload = OAuth::workload(None, |_| Ok(Secret::new("s3cret.of-the.workload")));
    shown.error(&world.connect(workload).unwrap_err());
    shown.debug(&MemoryStore::new());
    shown.debug(&Browser::new());
    let folder = std::env::temp_dir().join(format!("mcplink-shown-{}", std::process::id()));
    shown.debug(&FileStore::new(&folder).unwrap());
    std::fs::remove_dir(&folder).unwrap();
    let document = ClientDocument::new("https://a.example/x", "A", ["http://127.0.0.1/"]).unwrap();
    shown.debug(&document);
    let record = world.record();
    let mut secrets = vec!["s3cret".to_owned()];
    for form in &record.tokens {
        for name in [
            "code",
            "code_verifier",
            "client_secret",
            "client_assertion",
            "assertion",
            "subject_token",
            "refresh_token",
        ] {
            secrets.extend(form.get(name).cloned());
        }
    }
    for asked in &record.authorizations {
        secrets.extend([asked["state"].clone(), asked["code_challenge"].clone()]);
    }
    secrets.extend(key.lines().skip(1).map(str::to_owned));
    assert!(secrets.len() > 10);
    shown.is_free_of(&secrets);
    log::set_max_level(log::LevelFilter::Off);
    LOGGED.is_free_of(&secrets);
}
