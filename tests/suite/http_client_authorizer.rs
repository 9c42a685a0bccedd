//! Whoever gives requests their credentials: what it is told, and what its word counts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::transport::http::{
    Authorizer, AuthorizerDecision, CredentialWait, Credentials, MAX_ATTEMPTS, OutgoingRequest,
    ResponseFields,
};
use mcplink::{Error, ErrorKind, Result};

use crate::stub::{Out, Seen, Stub, asker, call, call_with, text};

type Hook = dyn Fn(u32, &CredentialWait) -> Result<AuthorizerDecision> + Send + Sync;

/// Counts up when the server refuses, and writes down what it is told.
#[derive(Clone)]
struct Counting {
    number: Arc<Mutex<u64>>,
    told: Arc<Mutex<Vec<String>>>,
    refused: Arc<Hook>,
}

impl Counting {
    fn with(
        refused: impl Fn(u32, &CredentialWait) -> Result<AuthorizerDecision> + Send + Sync + 'static,
    ) -> Self {
        Self {
            number: Arc::default(),
            told: Arc::default(),
            refused: Arc::new(refused),
        }
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

impl Authorizer for Counting {
    fn authorize(&self, request: &OutgoingRequest<'_>, _: &CredentialWait) -> Result<Credentials> {
        let number = *self.number.lock().unwrap();
        assert_eq!(request.url, request.server);
        let last = if request.is_last { " last" } else { "" };
        let line = format!("{} {}{last}", request.method, request.attempt);
        self.told.lock().unwrap().push(line);
        Ok(Credentials::bearer(&format!("number-{number}"))?.marked(number))
    }

    fn refused(
        &self,
        request: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        waiting: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        let mut number = self.number.lock().unwrap();
        assert_eq!(response.mark(), *number);
        *number += 1;
        let asks: Vec<&str> = response.values("www-authenticate").collect();
        let line = format!("refused {} {asks:?}", response.status());
        self.told.lock().unwrap().push(line);
        (self.refused)(request.attempt, waiting)
    }

    fn accepted(&self, _: &OutgoingRequest<'_>, response: &ResponseFields<'_>) {
        let line = format!("accepted {}", response.status());
        self.told.lock().unwrap().push(line);
    }
}

/// Takes the token with this number, in calls.
fn server(wanted: u64) -> Stub {
    Stub::modern(move |seen: &Seen, out: &mut Out| {
        let wanted = format!("Bearer number-{wanted}");
        if seen.header("authorization") == Some(&*wanted) {
            return out.result(seen, text("done"));
        }
        let fields = [
            ("www-authenticate", "Odd a=b"),
            ("www-authenticate", "Bearer"),
        ];
        out.respond("401 Unauthorized", &fields, "");
    })
}

#[test]
fn a_request_is_sent_again_with_what_the_authorizer_then_gives() {
    let stub = server(2);
    let counting = Counting::with(|_, _| Ok(AuthorizerDecision::Again));
    let client = asker()
        .connect(stub.http().authorizer(counting.clone()))
        .unwrap();
    assert_eq!(counting.told(), ["POST 0", "accepted 200"]);
    assert_eq!(call(&client, "x").unwrap(), "done");
    let refused = "refused 401 [\"Odd a=b\", \"Bearer\"]";
    assert_eq!(
        counting.told(),
        [
            "POST 0",
            refused,
            "POST 1",
            refused,
            "POST 2",
            "accepted 200"
        ]
    );
}

#[test]
fn it_ends_whatever_the_authorizer_says() {
    let stub = server(1000);
    let counting = Counting::with(|_, _| Ok(AuthorizerDecision::Again));
    let client = asker().connect(stub.http().authorizer(counting)).unwrap();
    let error = call(&client, "x").unwrap_err();
    assert_eq!(
        (error.kind(), error.http_status()),
        (ErrorKind::Auth, Some(401))
    );
    assert!(error.to_string().contains("Bearer"), "{error}");
    let sent = stub.seen_asking("tools/call").len();
    assert_eq!(sent, MAX_ATTEMPTS as usize);
}

#[test]
fn the_authorizers_error_is_the_calls() {
    let stub = server(1000);
    let counting = Counting::with(|_, _| Err(Error::new(ErrorKind::State, "the vault is shut")));
    let client = asker().connect(stub.http().authorizer(counting)).unwrap();
    let error = call(&client, "x").unwrap_err();
    assert_eq!(
        (error.kind(), error.http_status()),
        (ErrorKind::State, Some(401))
    );
    assert!(error.to_string().contains("the vault is shut"), "{error}");
    assert!(error.was_sent());
}

#[test]
fn an_authorizer_that_waits_is_told_when_nobody_does() {
    let stub = server(1000);
    let counting = Counting::with(|_, waiting| {
        let (over, is_over) = std::sync::mpsc::channel();
        let _guard = waiting.on_over(move || over.send(()).unwrap());
        assert!(waiting.deadline().is_some());
        is_over.recv_timeout(crate::common::LONG).unwrap();
        assert!(waiting.is_over());
        Ok(AuthorizerDecision::Again)
    });
    let client = asker().connect(stub.http().authorizer(counting)).unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(200));
    let error = call_with(&client, "x", options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(stub.seen_asking("tools/call").len(), 1);
}

#[test]
fn a_field_beside_an_authorizer_is_a_contradiction() {
    let stub = server(0);
    let http = stub.http().header("Authorization", "Basic x").bearer("y");
    let error = asker().connect(http).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("contradicts"), "{error}");
    for (name, value) in [("a b", "x"), ("x", "secr3t\n")] {
        let error = Credentials::none().field(name, value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.to_string().contains("secr3t"), "{error}");
    }
    let shown = format!("{:?}", Credentials::bearer("secr3t").unwrap());
    assert!(
        shown.contains("authorization") && !shown.contains("secr3t"),
        "{shown}"
    );
}
