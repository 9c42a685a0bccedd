//! Servers that take access tokens: who is let in, what others are told, and what scopes are needed for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use mcplink::ErrorKind;
use mcplink::schema::{GetPromptResult, Prompt, ProtocolVersion, Resource, ResourceTemplate, Tool};
use mcplink::server::http::{Denied, Grant, HttpOptions, ResourceServer};
use mcplink::server::{
    Context, GuardedRequest, HandlerError, Primitive, Principal, Server, ServerBuilder,
};
use mcplink::transport::http::HttpRequest;
use serde_json::{Value, json};

use crate::web::{Answer, Web, field};

const RESOURCE: &str = "https://files.example/mcp";
const ISSUER: &str = "https://login.example";
const METADATA: &str = "https://files.example/.well-known/oauth-protected-resource/mcp";
const LEGACY: [ProtocolVersion; 3] = [
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

fn an_hour_ago() -> SystemTime {
    SystemTime::now() - Duration::from_secs(3600)
}

/// `name_scope_scope`: a token for this server, with these scopes. Others begin with what is wrong with them.
fn verify(token: &str) -> Result<Grant, Denied> {
    let mut parts = token.split('_');
    let mut name = parts.next().unwrap_or_default();
    let (mut audience, mut expiry) = (vec![RESOURCE.to_owned()], in_an_hour());
    match name {
        "unknown" => return Err(Denied::invalid_token("nobody knows it")),
        "quoting" => return Err(Denied::invalid_token("a \"quoted\" \\ reason\r\nEvil: 1 ü")),
        "down" => return Err(Denied::unavailable("introspection failed: secret detail")),
        "foreign" => audience = vec!["https://other.example/mcp".to_owned()],
        "parent" => audience = vec!["https://files.example".to_owned()],
        "nobody" => audience = Vec::new(),
        "many" => audience = vec!["api://x".to_owned(), "HTTPS://Files.Example/mcp".to_owned()],
        "named" => audience = vec!["api://files".to_owned()],
        "expired" => expiry = an_hour_ago(),
        _ => {}
    }
    if let Some(real) = name.strip_prefix("late-") {
        (name, expiry) = (real, SystemTime::now() - Duration::from_secs(30));
    }
    let principal = Principal::new(name).scopes(parts).expires_at(expiry);
    Ok(Grant::new(principal, audience))
}

fn resource_server() -> ResourceServer {
    ResourceServer::new(RESOURCE, [ISSUER], verify).unwrap()
}

fn options(server: ResourceServer) -> HttpOptions {
    HttpOptions::new().authorization(server)
}

/// Counts what its handlers do.
fn files(ran: &Arc<AtomicUsize>) -> ServerBuilder {
    let runs = || {
        let ran = Arc::clone(ran);
        move || ran.fetch_add(1, Ordering::SeqCst)
    };
    let (who, write, run_time, prompt, resource, row) =
        (runs(), runs(), runs(), runs(), runs(), runs());
    Server::builder("files", "1")
        .tool_with(Tool::new("who"), move |_: Value, context: &Context| {
            who();
            let identity = context.identity().expect("somebody");
            let scopes: Vec<&str> = identity.granted().unwrap().iter().map(|s| &**s).collect();
            format!("{} may {}", identity.name(), scopes.join(" "))
        })
        .tool_with(Tool::new("write"), move |_: Value, _: &Context| {
            write();
            "written"
        })
        .tool_with(Tool::new("any"), move |args: Value, context: &Context| {
            if args["say"] == true {
                context.progress(1.0, None, None);
            }
            context.require_scopes(&["files:any"])?;
            run_time();
            Ok::<_, HandlerError>("did it")
        })
        .prompt(Prompt::new("p"), move |_: Value, _: &Context| {
            prompt();
            GetPromptResult::default()
        })
        .resource(Resource::new("file:///secret", "secret"), move |_, _| {
            resource();
            Ok::<_, HandlerError>("text")
        })
        .template(ResourceTemplate::new("row:///{id}", "row"), move |_, _| {
            row();
            Ok::<_, HandlerError>("text")
        })
        .require_scopes(Primitive::Tool("write"), ["files:write files:admin"])
        .require_scopes(Primitive::Prompt("p"), ["prompts"])
        .require_scopes(Primitive::Resource("file:///secret"), ["secrets"])
        .require_scopes(Primitive::ResourceTemplate("row:///{id}"), ["rows"])
}

fn web(server: ResourceServer) -> Web {
    Web::with(&files(&Arc::default()).build().unwrap(), options(server))
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn call(web: &Web, token: &str, name: &str) -> Answer {
    let authorization = bearer(token);
    let fields = [("Authorization", &*authorization)];
    web.modern_as("tools/call", json!({ "name": name }), json!({}), &fields)
}

fn challenge(answer: &Answer) -> (u16, String) {
    let head = answer.head();
    let challenge = field(&head, "WWW-Authenticate").unwrap_or_default();
    (head.status, challenge.to_owned())
}

// M-AUTH-S-12, M-AUTH-S-37, M-AUTH-S-38, M-AUTH-S-39, M-AUTH-S-40, M-AUTH-S-42, M-AUTH-S-43, M-AUTH-S-49, M-ASD-S-04, M-ASEC-S-27, M-ASEC-S-28,
// M-ASEC-S-29, M-AUTH-C-36, L-AUTH-S-10, L-AUTH-S-11, L-AUTH-S-14, L-AUTH-S-48, L-AUTH-S-49, L-AUTH-S-50, L-AUTH-S-51, L-AUTH-S-53, L-AUTH-S-54,
// L-AUTH-S-55, L-AUTH-S-79, L-AUTH-S-80, L-AUTH-S-81, L-AUTH3-S-07
#[test]
fn only_good_tokens_for_this_server_are_let_in() {
    let ran = Arc::default();
    let server = files(&ran).build().unwrap();
    let web = Web::with(
        &server,
        options(resource_server().required_scopes(["base"])),
    );
    let usual = format!(r#"scope="base", resource_metadata="{METADATA}""#);
    let invalid =
        |why: &str| format!(r#"Bearer error="invalid_token", error_description="{why}", {usual}"#);
    let for_another = invalid("it was not issued for this server");
    let malformed = |why: &str| {
        format!(r#"Bearer error="invalid_request", error_description="{why}", {usual}"#)
    };
    let no_token = malformed("what follows Bearer in the Authorization field is no token");
    let table = [
        ("", 401, format!("Bearer {usual}")),
        ("Basic YTpi", 401, format!("Bearer {usual}")),
        ("DPoP ada_base", 401, format!("Bearer {usual}")),
        ("Bearer", 400, no_token.clone()),
        ("Bearer a b", 400, no_token.clone()),
        ("Bearer a,b", 400, no_token.clone()),
        ("Bearer ===", 400, no_token),
        ("Bearer unknown", 401, invalid("nobody knows it")),
        ("Bearer quoting", 401, invalid("a quoted  reasonEvil: 1 ")),
        ("Bearer expired_base", 401, invalid("it has expired")),
        ("Bearer foreign_base", 401, for_another.clone()),
        ("Bearer parent_base", 401, for_another.clone()),
        ("Bearer nobody_base", 401, for_another.clone()),
        ("Bearer named_base", 401, for_another),
        (
            "Bearer ada_other",
            403,
            format!(r#"Bearer error="insufficient_scope", {usual}"#),
        ),
        ("Bearer down", 503, String::new()),
    ];
    for (authorization, status, expected) in table {
        let fields = [("Authorization", authorization)];
        // All that can be sent goes the same way (M-SEC-S-13).
        let modern = web.modern_as("tools/call", json!({"name": "who"}), json!({}), &fields);
        let old = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
        let mut answers = vec![
            modern,
            web.post(&fields, &old),
            web.post(&fields, &json!([])),
        ];
        for method in ["GET", "DELETE", "PUT"] {
            answers.push(web.send(method, "/mcp?access_token=ada_base", &fields, ""));
        }
        for answer in answers {
            let told = (status, expected.clone());
            assert_eq!(challenge(&answer), told, "{authorization}");
            let body = answer.body();
            assert!(
                !body.contains("may") && !body.contains("secret detail"),
                "{body}"
            );
        }
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0, "no handler was entered");
    for token in ["ada_base", "many_base", "late-ada_base"] {
        let said = call(&web, token, "who").result();
        assert!(
            said["content"][0]["text"]
                .as_str()
                .unwrap()
                .ends_with(" may base")
        );
    }
    let fields = [("Authorization", "bEaReR ada_base")];
    let answer = web.modern_as("tools/list", json!({}), json!({}), &fields);
    assert_eq!(answer.status(), 200, "the scheme is written in any case");
}

#[test]
fn more_than_one_set_of_credentials_is_malformed() {
    use mcplink::transport::http::{ResponseHead, ResponseWriter, Service};
    #[derive(Debug)]
    struct Status(std::sync::mpsc::Sender<u16>);
    impl ResponseWriter for Status {
        fn respond(&mut self, head: &ResponseHead, _: &[u8]) -> mcplink::Result<()> {
            self.0.send(head.status).unwrap();
            Ok(())
        }
        fn begin(&mut self, head: &ResponseHead, _: &[u8]) -> mcplink::Result<()> {
            self.respond(head, b"")
        }
        fn write(&mut self, _: &[u8], _: Option<std::time::Instant>) -> mcplink::Result<bool> {
            Ok(true)
        }
        fn finish(&mut self) -> mcplink::Result<()> {
            Ok(())
        }
        fn on_gone(&mut self, _: Box<dyn FnOnce() + Send>) {}
    }
    let web = web(resource_server());
    // Twice the same is one, and what comes next is looked at: the media type.
    for (second, expected) in [(&b"Bearer bob"[..], 400), (b"Bearer ada", 415)] {
        let (told, status) = std::sync::mpsc::channel();
        let fields: [(&str, &[u8]); 3] = [
            ("Host", b"localhost"),
            ("Authorization", b"Bearer ada"),
            ("authorization", second),
        ];
        let request = HttpRequest::new("POST", "/mcp").headers(&fields);
        assert!(
            !format!("{request:?}").contains("ada"),
            "credentials are not shown"
        );
        web.service.serve(request, Box::new(Status(told)));
        assert_eq!(status.recv().unwrap(), expected);
    }
}

// M-AUTH-S-06, M-ASD-S-01, M-ASD-S-04, M-AUTH-S-48, L-AUTH-S-06, L-AUTH-S-10
#[test]
fn metadata_is_there_for_everybody() {
    let server = resource_server()
        .required_scopes(["files:read"])
        .scopes_supported(["files:read offline_access", "files:write"])
        .name("Files")
        .documentation("https://files.example/docs");
    let options = options(server).path("/inside");
    let web = Web::with(&files(&Arc::default()).build().unwrap(), options);
    let well_known = "/.well-known/oauth-protected-resource";
    for place in [
        well_known.to_owned(),
        format!("{well_known}/mcp"),
        format!("{well_known}/inside?x=y"),
    ] {
        // Pages of any site may read it.
        let fields = [
            ("Origin", "https://inspector.example"),
            ("Content-Type", ""),
        ];
        let answer = web.send("GET", &place, &fields, "");
        let head = answer.head();
        assert_eq!(head.status, 200, "{place}");
        assert_eq!(field(&head, "Access-Control-Allow-Origin"), Some("*"));
        let expected = json!({
            "resource": RESOURCE,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["files:read", "files:write"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Files",
            "resource_documentation": "https://files.example/docs",
        });
        assert_eq!(answer.message(), expected);
        let asks = [
            ("Origin", "https://inspector.example"),
            ("Access-Control-Request-Headers", "mcp-protocol-version"),
        ];
        let head = web.send("OPTIONS", &place, &asks, "").head();
        assert_eq!(head.status, 204);
        assert_eq!(field(&head, "Access-Control-Allow-Methods"), Some("GET"));
        assert_eq!(
            field(&head, "Access-Control-Allow-Headers"),
            Some("mcp-protocol-version")
        );
        assert_eq!(web.send("POST", &place, &[], "{}").status(), 405);
    }
    let elsewhere = format!("{well_known}/other");
    assert_eq!(web.send("GET", &elsewhere, &[], "").status(), 404);
}

#[test]
fn metadata_can_be_where_a_proxy_brings_requests() {
    let place = "https://files.example/mcp/metadata";
    let web = web(resource_server().metadata_at(place).unwrap());
    let fields = [("Authorization", "")];
    let answer = web.modern_as("tools/list", json!({}), json!({}), &fields);
    let told = format!(r#"Bearer resource_metadata="{place}""#);
    assert_eq!(challenge(&answer), (401, told));
    let answer = web.send("GET", "/mcp/metadata", &[], "");
    assert_eq!(answer.message()["resource"], RESOURCE);
}

// M-ASD-S-01, L-AUTH-S-06, M-ASEC-B-06, M-AUTH-B-30, M-AUTH-B-31, L-AUTH-B-41, L-AUTH-B-42
#[test]
fn a_server_without_safe_addresses_is_refused() {
    let made = |resource: &str, issuers: &[&str]| {
        ResourceServer::new(resource, issuers.iter().copied(), verify).map(drop)
    };
    for resource in [
        "https://h",
        "HTTPS://H/mcp",
        "http://localhost:8080/mcp",
        "http://[::1]/",
    ] {
        made(resource, &[ISSUER]).expect(resource);
    }
    for (resource, issuers) in [
        ("http://h/mcp", &[ISSUER][..]),
        ("h/mcp", &[ISSUER]),
        ("https://h/mcp#x", &[ISSUER]),
        ("https://h/mcp?x", &[ISSUER]),
        ("https://a@h/mcp", &[ISSUER]),
        (RESOURCE, &[]),
        (RESOURCE, &["http://login.example"]),
        (RESOURCE, &[ISSUER, "login"]),
    ] {
        let error = made(resource, issuers).expect_err(resource);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    let server = ResourceServer::new("HTTPS://Files.Example/", [ISSUER], verify).unwrap();
    let web = web(server);
    let answer = web.send("GET", "/.well-known/oauth-protected-resource", &[], "");
    assert_eq!(answer.message()["resource"], "https://files.example");
}

#[test]
fn another_name_in_the_audience_can_be_taken() {
    let web = web(resource_server().audience("api://files"));
    assert_eq!(call(&web, "named", "who").status(), 200);
    assert_eq!(call(&web, "foreign", "who").status(), 401);
}

// M-AUTH-S-50, M-AUTH-S-51, M-AUTH-S-52, L-AUTH-S-56, L-AUTH-S-57
#[test]
fn what_lacks_scopes_is_told_all_that_it_needs() {
    let ran = Arc::default();
    let server = files(&ran).build().unwrap();
    let web = Web::with(
        &server,
        options(resource_server().required_scopes(["base"])),
    );
    let lacking = |scopes: &str| {
        let challenge = format!(
            r#"Bearer error="insufficient_scope", scope="{scopes}", resource_metadata="{METADATA}""#
        );
        (403, challenge)
    };
    let both = lacking("base files:admin files:write");
    for token in ["ada_base", "ada_base_files:write"] {
        let answer = call(&web, token, "write");
        assert_eq!(challenge(&answer), both, "{token}");
        let error = &answer.message()["error"];
        assert_eq!(error["code"], -32600, "{error}");
        let text = error["message"].as_str().unwrap();
        assert!(text.contains("files:admin files:write"), "{text}");
    }
    let authorization = bearer("ada_base");
    let fields = [("Authorization", &*authorization)];
    for (method, params, scopes) in [
        ("prompts/get", json!({"name": "p"}), "base prompts"),
        (
            "resources/read",
            json!({"uri": "file:///secret"}),
            "base secrets",
        ),
        ("resources/read", json!({"uri": "row:///1"}), "base rows"),
    ] {
        let answer = web.modern_as(method, params, json!({}), &fields);
        assert_eq!(challenge(&answer), lacking(scopes), "{method}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 0, "no handler was entered");
    let enough = "ada_base_files:write_files:admin";
    assert_eq!(
        call(&web, enough, "write").result()["content"][0]["text"],
        "written"
    );
    // What could be had stands on lists.
    let list = web
        .modern_as("tools/list", json!({}), json!({}), &fields)
        .result();
    assert_eq!(list["tools"].as_array().unwrap().len(), 3);
    // What a handler finds out goes the same way, and a result is a result.
    let answer = call(&web, "ada_base", "any");
    assert_eq!(challenge(&answer), lacking("base files:any"));
    assert_eq!(call(&web, "ada_base_files:any", "any").status(), 200);
    // Of what has begun the head has gone: the error is all that can be said.
    let said = json!({
        "name": "any", "arguments": {"say": true}, "_meta": {"progressToken": 1},
    });
    let answer = web.modern_as("tools/call", said, json!({}), &fields);
    assert_eq!(answer.status(), 200);
    let messages = answer.messages();
    assert_eq!(
        messages.last().unwrap()["error"]["code"],
        -32600,
        "{messages:?}"
    );
}

// L-AUTH-S-55, L-AUTH-S-56, L-SESS-S-16, M-SEC-S-14, M-SEC-S-16
#[test]
fn legacy_sessions_are_bound_to_who_opened_them_and_tell_of_scopes() {
    for revision in LEGACY {
        let web = web(resource_server());
        let session = web.session_with(revision, json!({}), &[("Authorization", "Bearer ada_x")]);
        let answer = session.request("tools/call", json!({"name": "write"}));
        let told = format!(
            r#"Bearer error="insufficient_scope", scope="files:admin files:write", resource_metadata="{METADATA}""#
        );
        assert_eq!(challenge(&answer), (403, told), "{revision:?}");
        // The same user's next token may be another one; others' are not good here.
        let write =
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "write"}});
        let with = |token: &str| {
            let authorization = bearer(token);
            let mut fields = session.fields();
            fields.push(("Authorization", &authorization));
            web.post(&fields, &write)
        };
        assert_eq!(
            with("ada_files:write_files:admin").result()["content"][0]["text"],
            "written"
        );
        assert_eq!(with("bob_files:write_files:admin").status(), 404);
        assert_eq!(with("unknown").status(), 401);
        let mut fields = session.fields();
        fields.push(("Authorization", ""));
        assert_eq!(
            web.post(&fields, &write).status(),
            401,
            "each request needs its token"
        );
    }
}

// L-BATCH: one answer for many requests has one status.
#[test]
fn members_of_a_batch_are_refused_in_it() {
    let web = web(resource_server());
    let session = web.session_with(
        ProtocolVersion::V2025_03_26,
        json!({}),
        &[("Authorization", "Bearer ada")],
    );
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write"}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
    ]);
    let answer = session.post(&batch);
    assert_eq!(answer.status(), 200);
    let answers = answer.message();
    let refused = answers
        .as_array()
        .unwrap()
        .iter()
        .find(|answer| answer["id"] == 1);
    assert_eq!(refused.unwrap()["error"]["code"], -32600, "{answers}");
}

// M-AUTH-S-60
#[test]
fn broad_scopes_imply_narrow_ones() {
    let server = resource_server()
        .required_scopes(["base"])
        .implies("root", ["files:admin"])
        .implies("files:admin", ["files:write base"]);
    let web = web(server);
    assert_eq!(call(&web, "ada_root", "write").status(), 200);
    assert_eq!(call(&web, "ada_files:admin", "write").status(), 200);
    assert_eq!(
        call(&web, "ada_base_files:write", "write").status(),
        403,
        "not the other way"
    );
}

#[test]
fn guards_can_decide_by_arguments_what_scopes_are_needed() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("rm"), |_: Value, _: &Context| "gone")
        .guard(|access: &GuardedRequest<'_>| match access.primitive() {
            Some(Primitive::Tool("rm")) if access.params().contains("all") => {
                access.require_scopes(&["rm:all"])
            }
            _ => Ok(()),
        })
        .build()
        .unwrap();
    let web = Web::with(&server, options(resource_server()));
    let rm = |token: &str, what: &str| {
        let authorization = bearer(token);
        let params = json!({"name": "rm", "arguments": {"what": what}});
        web.modern_as(
            "tools/call",
            params,
            json!({}),
            &[("Authorization", &authorization)],
        )
    };
    assert_eq!(rm("ada_x", "one").status(), 200);
    let answer = rm("ada_x", "all");
    assert!(challenge(&answer).1.contains(r#"scope="rm:all""#));
    assert_eq!(rm("ada_rm:all", "all").status(), 200);
}

#[test]
fn fixed_tokens_let_their_principals_in_and_nobody_else() {
    use mcplink::server::http::StaticTokens;
    let server = Server::builder("s", "1")
        .tool("who", "Names the principal", |_: (), context: &Context| {
            context.principal().unwrap_or_default().to_owned()
        })
        .build()
        .unwrap();
    let tokens = StaticTokens::new()
        .token("s3cret", "ada")
        .token("other", Principal::new("bob"))
        // As from an unset variable.
        .token("", "everybody")
        .token(" ", "everybody");
    assert_eq!(format!("{tokens:?}"), "StaticTokens { count: 2 }");
    let web = Web::with(
        &server,
        HttpOptions::new().authenticate(move |request| tokens.check(request)),
    );
    let with = |fields: &[(&str, &str)]| {
        web.modern_as("tools/call", json!({"name": "who"}), json!({}), fields)
    };
    for (field, name) in [
        ("Bearer s3cret", "ada"),
        ("bearer  s3cret", "ada"),
        ("Bearer other", "bob"),
    ] {
        let answer = with(&[("Authorization", field)]);
        assert_eq!(answer.status(), 200, "{field}");
        assert_eq!(answer.result()["content"][0]["text"], name);
    }
    let refused = |fields: &[(&str, &str)]| challenge(&with(fields));
    let unknown =
        r#"Bearer error="invalid_token", error_description="it is not a token of this server""#;
    for field in ["Bearer s3cre", "Bearer s3cret2", "Bearer S3CRET", "Bearer "] {
        let (status, challenge) = refused(&[("Authorization", field)]);
        assert_eq!(status, 401, "{field}");
        assert!(challenge == unknown || challenge == "Bearer", "{challenge}");
    }
    let bare = (401, "Bearer".to_owned());
    assert_eq!(refused(&[]), bare);
    assert_eq!(refused(&[("Authorization", "Basic s3cret")]), bare);
    assert_eq!(refused(&[("Authorization", "Bearers3cret")]), bare);
    let twice: [(&str, &[u8]); 2] = [
        ("Authorization", b"Bearer s3cret"),
        ("authorization", b"Bearer other"),
    ];
    let request = HttpRequest::new("POST", "/mcp").headers(&twice);
    assert!(
        StaticTokens::new()
            .token("s3cret", "ada")
            .check(&request)
            .is_err()
    );
}

/// A check of the host's own has the same path, without metadata to point to; where nobody is checked, nobody has scopes.
#[test]
fn scopes_count_however_a_request_is_checked() {
    let server = files(&Arc::default()).build().unwrap();
    let checked = HttpOptions::new().authenticate(|request| match request.value("X-Key") {
        Some(b"writer") => {
            let principal = Principal::new("w").scopes(["files:write", "files:admin"]);
            Ok(principal.expires_at(in_an_hour()))
        }
        Some(b"plain") => Ok(Principal::new("p")),
        Some(b"late") => Err(Denied::invalid_token("it is late")),
        Some(_) => Err(Denied::insufficient_scope(["b", "a"])),
        None => Err(Denied::unauthorized("Key")),
    });
    let with_key = Web::with(&server, checked);
    let with = |key: &str| {
        let fields = [("X-Key", key)];
        with_key.modern_as("tools/call", json!({"name": "write"}), json!({}), &fields)
    };
    assert_eq!(with("writer").status(), 200);
    let needed = r#"Bearer error="insufficient_scope", scope="files:admin files:write""#;
    assert_eq!(challenge(&with("plain")), (403, needed.to_owned()));
    let late = r#"Bearer error="invalid_token", error_description="it is late""#;
    assert_eq!(challenge(&with("late")), (401, late.to_owned()));
    let general = r#"Bearer error="insufficient_scope", scope="a b""#;
    assert_eq!(challenge(&with("other")), (403, general.to_owned()));
    assert_eq!(challenge(&with("")), (401, "Key".to_owned()));
    let open = Web::new(&server);
    let answer = open.modern("tools/call", json!({"name": "write"}));
    assert_eq!(challenge(&answer), (403, needed.to_owned()));
}

// M-AUTH-B-02, L-AUTH-B-02
#[test]
fn off_http_scopes_count_only_where_they_are_known() {
    use crate::common::Script;
    use mcplink::transport::memory;
    let server = files(&Arc::default()).build().unwrap();
    let call = |principal: Option<Principal>| {
        let (here, there) = memory::pair();
        let _connection = match principal {
            Some(principal) => server.open_for(principal, there).unwrap(),
            None => server.open(there).unwrap(),
        };
        let mut client = Script::open(here);
        client.request_with(
            1,
            "tools/call",
            &json!({
                "name": "write",
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            }),
        );
        client.receive()
    };
    for open in [None, Some(Principal::new("ada"))] {
        assert!(call(open)["error"].is_null());
    }
    let none: [&str; 0] = [];
    let refused = call(Some(Principal::new("ada").scopes(none)));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let admitted = call(Some(
        Principal::new("ada").scopes(["files:write files:admin"]),
    ));
    assert!(admitted["error"].is_null(), "{admitted}");
}

#[test]
fn scopes_of_what_is_not_there_are_a_mistake() {
    for primitive in [
        Primitive::Tool("wriet"),
        Primitive::Prompt("q"),
        Primitive::Resource("file:///secrets"),
        Primitive::ResourceTemplate("row:///{number}"),
    ] {
        let built = files(&Arc::default())
            .require_scopes(primitive, ["x"])
            .build();
        assert_eq!(
            built.map(drop).unwrap_err().kind(),
            ErrorKind::Invalid,
            "{primitive:?}"
        );
    }
}

// M-AUTH-S-49: for what is added to a server that is there already.
#[test]
fn scopes_can_be_required_of_what_a_server_has_by_then() {
    let server = Server::builder("s", "1").build().unwrap();
    let needs = |of: Primitive<'_>| server.require_scopes(of, ["deep secrets"]);
    let mistaken = needs(Primitive::Tool("later")).unwrap_err();
    assert_eq!(mistaken.kind(), ErrorKind::Invalid, "{mistaken}");
    server
        .add_tool(Tool::new("later"), |_: Value, _: &Context| "done")
        .unwrap();
    let row = ResourceTemplate::new("row:///{id}", "row");
    server
        .add_template(row, |_: &_, _: &Context| Ok::<_, HandlerError>("text"))
        .unwrap();
    let web = Web::with(&server, options(resource_server()));
    assert_eq!(call(&web, "ada_base", "later").head().status, 200);
    needs(Primitive::Tool("later")).unwrap();
    needs(Primitive::ResourceTemplate("row:///{id}")).unwrap();
    let (status, challenge) = challenge(&call(&web, "ada_deep", "later"));
    assert_eq!(status, 403);
    assert!(challenge.contains("scope=\"deep secrets\""), "{challenge}");
    let read = web.modern_as(
        "resources/read",
        json!({ "uri": "row:///7" }),
        json!({}),
        &[("Authorization", "Bearer ada_deep")],
    );
    assert_eq!(read.head().status, 403);
    assert_eq!(call(&web, "ada_deep_secrets", "later").head().status, 200);
    assert!(server.remove_tool("later"));
    server
        .add_tool(Tool::new("later"), |_: Value, _: &Context| "done")
        .unwrap();
    assert_eq!(call(&web, "ada_deep", "later").head().status, 403);
}

// M-MRTR-S-11, M-SEC-S-14, M-SEC-S-16: what a call knows is good for its user, whichever token is shown.
#[test]
fn sealed_states_are_bound_to_the_user() {
    use mcplink::schema::{ElicitRequestParams, ElicitSchema};
    let ask = |_: Value, context: &Context| -> Result<String, HandlerError> {
        let form = ElicitRequestParams::form("Sure?", ElicitSchema::default().to_schema()?);
        Ok(format!("{:?}", context.elicit("sure", form)?.action))
    };
    let server = Server::builder("s", "1").tool_with(Tool::new("ask"), ask);
    let web = Web::with(&server.build().unwrap(), options(resource_server()));
    let call = |token: &str, params: Value| {
        let authorization = bearer(token);
        let forms = json!({"elicitation": {}});
        web.modern_as(
            "tools/call",
            params,
            forms,
            &[("Authorization", &authorization)],
        )
    };
    let asked = call("ada_x", json!({"name": "ask"})).result();
    let retry = json!({
        "name": "ask", "requestState": asked["requestState"],
        "inputResponses": {"sure": {"action": "decline"}},
    });
    assert_eq!(call("bob_x", retry.clone()).error_code(), -32602);
    assert_eq!(
        call("ada_y", retry).result()["content"][0]["text"],
        "Decline"
    );
}

/// A principal whose time is up when the second thing is told.
#[test]
fn streams_tell_nothing_after_the_authorization_has_expired() {
    let clocks = [(in_an_hour(), true), (an_hour_ago(), false)];
    for (expiry, goes_on) in clocks {
        let server = Server::builder("s", "1")
            .tool_with(Tool::new("t"), |_: Value, _: &Context| "x")
            .build()
            .unwrap();
        // The check of a host's own may let in whom it likes: here somebody whose time is up.
        let options =
            HttpOptions::new().authenticate(move |_| Ok(Principal::new("ada").expires_at(expiry)));
        let web = Web::with(&server, options);
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        let stream = web.modern("subscriptions/listen", wanted);
        let begun = stream.event().unwrap().message();
        assert_eq!(begun["method"], "notifications/subscriptions/acknowledged");
        let session = web.session(ProtocolVersion::V2025_11_25);
        let standing = session.get(None);
        assert_eq!(standing.status(), 200);
        server.remove_tool("t");
        if goes_on {
            let told = stream.event().unwrap().message();
            assert_eq!(told["method"], "notifications/tools/list_changed");
            let told = standing.event().unwrap().message();
            assert_eq!(told["method"], "notifications/tools/list_changed");
        } else {
            let rest = stream.messages();
            assert!(
                rest.iter().all(|message| message.get("method").is_none()),
                "{rest:?}"
            );
            assert!(
                standing.is_broken_off(),
                "it comes back for the rest, with a good token"
            );
        }
    }
}

// M-ASEC-B-03, M-ELIC-S-25
#[test]
fn tokens_are_told_to_nobody() {
    let log = Arc::new(Mutex::new(String::new()));
    let lines = Arc::clone(&log);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("show"), |_: Value, context: &Context| {
            format!("{context:?} {:?}", context.identity())
        })
        .on_log(move |record| lines.lock().unwrap().push_str(&format!("{record}\n")))
        .build()
        .unwrap();
    let web = Web::with(
        &server,
        options(resource_server().required_scopes(["sesame"])),
    );
    let good = call(&web, "ada_sesame_s3cr3t", "show").result().to_string();
    assert!(
        good.contains("ada") && !good.contains("ada_sesame"),
        "{good}"
    );
    let mut told = format!("{:?}", web.service);
    for token in [
        "unknown_s3cr3t",
        "foreign_s3cr3t",
        "expired_s3cr3t",
        "down_s3cr3t",
        "ada_s3cr3t",
    ] {
        let answer = call(&web, token, "show");
        told += &format!("{:?} {}", answer.head(), answer.body());
    }
    told += &log.lock().unwrap();
    assert!(!told.contains("s3cr3t"), "{told}");
    assert!(told.contains("an access token was refused: it was not issued for this server"));
    assert!(
        told.contains("introspection failed"),
        "the host learns why nobody is let in: {told}"
    );
}

// M-SEC-S-20
/// Over sockets, with a client of ours.
#[cfg(feature = "http-client")]
#[test]
fn a_client_with_a_token_is_served_over_sockets() {
    use mcplink::client::Client;
    use mcplink::transport::http::Http;
    let server = files(&Arc::default()).build().unwrap();
    let listening = server.listen_http("0", options(resource_server())).unwrap();
    let connect = |token: &str| {
        let http = Http::new(&listening.url()).unwrap().bearer(token);
        Client::builder("c", "1").connect(http)
    };
    let client = connect("ada_x").unwrap();
    let said = client.call_tool("who", &json!({})).unwrap();
    assert_eq!(said.content[0].as_text(), Some("ada may x"));
    let refused = client.call_tool("write", &json!({})).unwrap_err();
    assert!(refused.to_string().contains("files:write"), "{refused}");
    assert_eq!(
        connect("unknown").map(drop).unwrap_err().kind(),
        ErrorKind::Auth
    );
    listening.close();
}

// L-AUTH3-S-03, L-AUTH3-S-05
/// A server of 2025-03-26 is its own authorization server, at its own endpoints or the usual ones: the host serves them beside this library.
#[cfg(feature = "auth")]
#[test]
fn an_authorization_server_can_stand_beside_the_server() {
    use mcplink::auth::{CallbackUserAgent, Login, OAuth, Secret};
    use mcplink::client::Client;
    use mcplink::transport::http::{Http, HttpLimits, HttpListener, ResponseHead, Service as _};

    use crate::authworld::{REDIRECT, follow};

    for (has_metadata, at) in [(true, "/login"), (false, "")] {
        let options =
            HttpOptions::new().authenticate(|request| match request.value("Authorization") {
                Some(b"Bearer ada-1") => Ok(Principal::new("ada").scopes(["x"])),
                _ => Err(Denied::unauthorized("Bearer")),
            });
        let served = files(&Arc::default())
            .build()
            .unwrap()
            .http_service(options);
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        let service = crate::listening::service(move |request, mut response| {
            let own = format!("http://{}", request.local.unwrap());
            let (path, query) = request
                .target
                .split_once('?')
                .unwrap_or((request.target, ""));
            let (head, text) = match path.strip_prefix(at).unwrap_or(path) {
                "/.well-known/oauth-authorization-server" if has_metadata => {
                    let metadata = json!({
                        "issuer": own, "authorization_endpoint": format!("{own}{at}/authorize"),
                        "token_endpoint": format!("{own}{at}/token"),
                        "registration_endpoint": format!("{own}{at}/register"),
                        "code_challenge_methods_supported": ["S256"],
                    });
                    (ResponseHead::new(200), metadata)
                }
                "/register" => (ResponseHead::new(201), json!({ "client_id": "c" })),
                "/authorize" => {
                    let state = query.split('&').find(|pair| pair.starts_with("state="));
                    let target = format!("{REDIRECT}?code=1&{}", state.unwrap_or_default());
                    (ResponseHead::new(302).header("location", target), json!({}))
                }
                "/token" => {
                    let token = json!({ "access_token": "ada-1", "token_type": "Bearer" });
                    (ResponseHead::new(200), token)
                }
                _ => return served.serve(request, response),
            };
            seen.lock().unwrap().push(path.to_owned());
            // The client may have given up.
            _ = response.respond(&head, text.to_string().as_bytes());
        });
        let listener = HttpListener::bind("127.0.0.1:0", service, HttpLimits::default()).unwrap();
        let visitor = CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
            Ok(Secret::new(follow(login.url())))
        });
        let oauth = OAuth::login(visitor).build().unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let client = Client::connect(Http::new(&url).unwrap().authorizer(oauth)).unwrap();
        let said = client.call_tool("who", &json!({})).unwrap();
        assert_eq!(said.content[0].as_text(), Some("ada may x"));
        let asked = asked.lock().unwrap();
        let steps = ["register", "authorize", "token"].map(|step| format!("{at}/{step}"));
        assert!(asked.ends_with(&steps), "{asked:?}");
    }
}
