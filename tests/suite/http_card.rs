//! The server card, seen through real sockets.

use std::sync::{Arc, Mutex};

use mcplink::ErrorKind;
use mcplink::schema::{Icon, Implementation};
use mcplink::server::http::{
    CardFormat, CardInput, CardRemote, Denied, HttpOptions, HttpPage, HttpServer, ServerCard,
};
use mcplink::server::{Server, ServerBuilder};
use serde_json::{Value, json};

use crate::http_pages::{Response, ask};
use crate::http_server::Socket;
use crate::web::{Web, initialize};

const TYPE: &str = "application/mcp-server-card+json";

fn card() -> ServerCard {
    ServerCard::new("com.example/weather", "Weather of today and tomorrow")
        .remote(CardRemote::new("https://weather.example.com/mcp"))
}

fn builder() -> ServerBuilder {
    let mut info = Implementation::new("weather", "1.2.3");
    info.title = Some("The Weather".to_owned());
    info.website_url = Some("https://weather.example.com".to_owned());
    info.icons = Some(vec![Icon::new("https://weather.example.com/icon.png")]);
    Server::builder("weather", "1.2.3").info(info)
}

fn listen(options: HttpOptions) -> HttpServer {
    let server = builder().build().unwrap();
    server.listen_http("0", options).unwrap()
}

fn get(server: &HttpServer, path: &str, fields: &[&str]) -> Response {
    ask(server.local_addr().unwrap(), &format!("GET {path}"), fields)
}

fn json_of(response: &Response) -> Value {
    serde_json::from_str(&response.body).unwrap()
}

// E-CARD-S-01, E-CARD-S-03
#[test]
fn a_card_is_behind_the_endpoint_if_it_is_switched_on() {
    for (endpoint, place) in [
        ("/", "/server-card"),
        ("/mcp", "/mcp/server-card"),
        ("/a/b/", "/a/b/server-card"),
    ] {
        let server = listen(HttpOptions::new().path(endpoint));
        assert_eq!(get(&server, place, &[]).status, 404);
        let options = HttpOptions::new().path(endpoint);
        let server = listen(options.unstable_server_card(card()));
        for accept in [TYPE, "*/*", "application/json", "text/html"] {
            let card = get(&server, place, &[&format!("Accept: {accept}")]);
            assert_eq!(card.status, 200, "{endpoint} {accept}");
            assert_eq!(card.field("Content-Type"), Some(TYPE));
        }
        assert_eq!(
            json_of(&get(&server, place, &[]))["name"],
            "com.example/weather"
        );
    }
}

// E-CARD-S-04, E-CARD-S-05, E-CARD-S-21, AMB-75
#[test]
fn pages_of_every_site_may_read_the_card_and_nothing_else() {
    let options = HttpOptions::new()
        .authenticate(|_| Err(Denied::unauthorized("Bearer")))
        .unstable_server_card(card());
    let server = listen(options);
    let origin = "Origin: https://elsewhere.example";
    let tag = get(&server, "/mcp/server-card", &[]);
    let tag = format!("If-None-Match: {}", tag.field("ETag").unwrap());
    for (method, fields, status) in [
        ("GET", vec![origin], 200),
        ("HEAD", vec![origin], 200),
        ("GET", vec![origin, &tag], 304),
        (
            "OPTIONS",
            vec![origin, "Access-Control-Request-Method: GET"],
            204,
        ),
        ("POST", vec![origin, "Content-Length: 0"], 405),
        ("PUT", vec![origin, "Content-Length: 0"], 405),
        ("DELETE", vec![origin], 405),
    ] {
        let request = format!("{method} /mcp/server-card");
        let answer = ask(server.local_addr().unwrap(), &request, &fields);
        assert_eq!(answer.status, status, "{method}");
        for (name, value) in [
            ("Access-Control-Allow-Origin", "*"),
            ("Access-Control-Allow-Methods", "GET"),
            (
                "Access-Control-Allow-Headers",
                "Content-Type, If-None-Match",
            ),
            ("Access-Control-Expose-Headers", "ETag"),
        ] {
            assert_eq!(answer.field(name), Some(value), "{method} {name}");
        }
        let allow = (status == 405).then_some("GET, HEAD, OPTIONS");
        assert_eq!(answer.field("Allow"), allow, "{method}");
        assert_eq!(
            answer.body.is_empty(),
            status != 405 && method != "GET" || status == 304
        );
    }
    // The endpoint is guarded as before, and a rebound name does not reach the card.
    assert_eq!(get(&server, "/mcp", &[origin]).status, 403);
    assert_eq!(get(&server, "/mcp", &[]).status, 401);
    assert_eq!(
        get(&server, "/mcp/server-card", &["Host: evil.example"]).status,
        403
    );
}

// E-CARD-S-06, E-CARD-S-07, E-CARD-S-08, E-CARD-S-22
#[test]
fn a_card_is_cached_by_its_tag() {
    let first = listen(HttpOptions::new().unstable_server_card(card()));
    let replica = listen(HttpOptions::new().unstable_server_card(card()));
    let place = "/mcp/server-card";
    let answer = get(&first, place, &[]);
    assert_eq!(answer.field("Cache-Control"), Some("public, max-age=3600"));
    let tag = answer.field("ETag").unwrap();
    let other = get(&replica, place, &[]);
    assert_eq!(
        (other.field("ETag"), &other.body),
        (Some(tag), &answer.body)
    );
    for (known, status) in [
        (tag.to_owned(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"x\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"x\"".to_owned(), 200),
    ] {
        let answer = get(&first, place, &[&format!("If-None-Match: {known}")]);
        assert_eq!(answer.status, status, "{known}");
        assert_eq!(answer.body.is_empty(), status == 304, "{known}");
    }
    let changed = card()
        .cache_control("no-cache")
        .repository("https://git.example/w", "git");
    let changed = listen(HttpOptions::new().unstable_server_card(changed));
    let answer = get(&changed, place, &[]);
    assert_eq!(answer.field("Cache-Control"), Some("no-cache"));
    assert_ne!(answer.field("ETag"), Some(tag));
}

// E-CARD-S-13, E-CARD-S-14, E-CARD-S-15, E-CARD-S-16
#[test]
fn a_card_agrees_with_what_clients_see() {
    let options = HttpOptions::new().unstable_server_card(card());
    let server = listen(options);
    let shown = json_of(&get(&server, "/mcp/server-card", &[]));
    let mut keys: Vec<&String> = shown.as_object().unwrap().keys().collect();
    keys.sort();
    let expected = [
        "$schema",
        "description",
        "icons",
        "name",
        "remotes",
        "title",
        "version",
        "websiteUrl",
    ];
    assert_eq!(keys, expected);
    let schema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
    assert_eq!(shown["$schema"], schema);
    let mut socket = Socket::open(&server);
    socket.modern("server/discover", json!({}));
    let discovered = socket.message().1["result"].clone();
    let remote = &shown["remotes"][0];
    assert_eq!(remote["type"], "streamable-http");
    assert_eq!(remote["url"], "https://weather.example.com/mcp");
    for revision in discovered["supportedVersions"].as_array().unwrap() {
        let supported = remote["supportedProtocolVersions"].as_array().unwrap();
        assert!(supported.contains(revision), "{revision}");
    }
    let hello = initialize(2, mcplink::schema::ProtocolVersion::V2025_11_25, json!({}));
    socket.send("POST", &[], &hello.to_string());
    let opened = socket.message().1["result"]["serverInfo"].clone();
    for member in ["version", "title", "websiteUrl", "icons"] {
        assert_eq!(shown[member], opened[member], "{member}");
    }
    // Another version of the server is another version in the card.
    let next = Server::builder("weather", "2.0.0").build().unwrap();
    let next = next.listen_http("0", HttpOptions::new().unstable_server_card(card()));
    let shown = json_of(&get(&next.unwrap(), "/mcp/server-card", &[]));
    assert_eq!(
        (&shown["version"], &shown["title"]),
        (&json!("2.0.0"), &Value::Null)
    );
}

/// Returns the error of a server that is to serve a card.
fn refused(version: &str, card: ServerCard) -> String {
    let server = Server::builder("weather", version).build().unwrap();
    let options = HttpOptions::new().unstable_server_card(card);
    let error = server
        .listen_http("0", options.clone())
        .expect_err("a bad card");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A host's own web server serves no card then.
    let web = Web::with(&server, options);
    assert_eq!(
        web.send("GET", "/mcp/server-card", &[], "").head().status,
        404
    );
    error.to_string()
}

// E-CARD-S-15, E-CARD-S-18, E-CARD-S-20
#[test]
fn members_that_break_a_rule_are_refused_by_name() {
    let long = "x".repeat(101);
    for name in [
        "",
        "weather",
        "/weather",
        "com.example/",
        "com example/x",
        "a/b/c",
        "a_b/c",
    ] {
        let error = refused("1.0.0", ServerCard::new(name, "d"));
        assert!(error.contains("name"), "{name}: {error}");
    }
    let name = format!("com.example/{}", "x".repeat(189));
    assert!(refused("1.0.0", ServerCard::new(name, "d")).contains("name"));
    for description in ["", &long] {
        let error = refused("1.0.0", ServerCard::new("a/b", description));
        assert!(error.contains("description"), "{error}");
    }
    for version in [
        "^1.2.3",
        "~1",
        ">=1",
        "1.x",
        "1.*",
        "*",
        "1.0 - 2.0",
        "1 || 2",
    ] {
        let error = refused(version, card());
        assert!(error.contains("is a range"), "{version}: {error}");
    }
    let version = "1".repeat(256);
    assert!(refused(&version, card()).contains("version"));
    let meta = json!({ "/x": 1 }).as_object().unwrap().clone();
    assert!(refused("1.0.0", card().meta(meta)).contains("/x"));
    for url in [
        "ftp://h/mcp",
        "mcp",
        "https://",
        "https://a b",
        "https://{a-b}/",
        "https://a}/",
    ] {
        let error = refused("1.0.0", card().remote(CardRemote::new(url)));
        assert!(error.contains("remote"), "{url}: {error}");
    }
    let error = refused(
        "1.0.0",
        card().remote(CardRemote::new("https://{tenant}.example")),
    );
    assert!(error.contains("'tenant'"), "{error}");
    let remote = CardRemote::new("https://h/mcp").header("a b", CardInput::new());
    assert!(refused("1.0.0", card().remote(remote)).contains("header"));
    let error = refused("1.0.0", card().repository("no url", "git"));
    assert!(error.contains("repository.url"), "{error}");
    assert!(refused("1.0.0", card().cache_control("a\r\nb")).contains("Cache-Control"));
}

// E-CARD-S-11
#[test]
fn a_card_has_no_secrets() {
    let secret = || CardInput::new().secret().required();
    for input in [secret().value("k3y"), secret().default_value("k3y")] {
        let remote = CardRemote::new("https://h/mcp").header("X-Key", input.clone());
        let error = refused("1.0.0", card().remote(remote));
        assert!(
            error.contains("secret") && !error.contains("k3y"),
            "{error}"
        );
        let remote = CardRemote::new("https://{key}.h/mcp").variable("key", input);
        assert!(refused("1.0.0", card().remote(remote)).contains("secret"));
    }
    for url in ["https://u:p@h/mcp", "https://u@h/mcp"] {
        let error = refused("1.0.0", card().remote(CardRemote::new(url)));
        assert!(error.contains("credentials"), "{error}");
    }
    // A described secret is there, without a value; no setting of the server is.
    let remote = CardRemote::new("https://h/mcp").header("X-Key", secret().description("Key"));
    let options = HttpOptions::new()
        .allowed_hosts(["localhost", "127.0.0.1", "internal.example"])
        .allowed_origins(["https://intranet.example"])
        .page("/internal-page", HttpPage::new("text/plain", ""))
        .unstable_server_card(ServerCard::new("a/b", "d").remote(remote));
    let server = listen(options);
    let answer = get(&server, "/mcp/server-card", &[]);
    let expected =
        json!([{ "name": "X-Key", "description": "Key", "isRequired": true, "isSecret": true }]);
    assert_eq!(json_of(&answer)["remotes"][0]["headers"], expected);
    assert!(!answer.body.contains("int"), "{}", answer.body);
}

// E-CARD-S-19
#[test]
fn a_preset_value_fits_its_format_and_choices() {
    let number = || CardInput::new().format(CardFormat::Number);
    let boolean = || CardInput::new().format(CardFormat::Boolean);
    let choice = || CardInput::new().choices(["eu", "us"]);
    for (input, fits) in [
        (number().default_value("1.5"), true),
        (number().default_value("much"), false),
        (number().value("NaN"), false),
        (boolean().default_value("true"), true),
        (boolean().value("yes"), false),
        (choice().default_value("eu"), true),
        (choice().default_value("asia"), false),
        (choice().value("asia"), false),
    ] {
        let shown = format!("{input:?}");
        let remote = CardRemote::new("https://{v}.example/mcp").variable("v", input);
        let options = HttpOptions::new().unstable_server_card(card().remote(remote));
        let server = builder().build().unwrap();
        assert_eq!(server.listen_http("0", options).is_ok(), fits, "{shown}");
    }
}

// E-CARD-S-09, E-CARD-S-10, E-CARD-S-17
#[test]
fn what_is_allowed_and_unwise_is_logged() {
    for (version, url, warning) in [
        ("1.0.0", "https://weather.example.com/mcp", None),
        ("1.0.0-rc.1+5", "http://127.0.0.1:8080/mcp", None),
        (
            "1.0.0",
            "http://weather.example.com/mcp",
            Some("without TLS"),
        ),
        (
            "2025.1",
            "https://weather.example.com/mcp",
            Some("semantic version"),
        ),
    ] {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&lines);
        let server = Server::builder("weather", version)
            .on_log(move |record| log.lock().unwrap().push(record.to_string()))
            .build()
            .unwrap();
        let card = ServerCard::new("a/b", "d").remote(CardRemote::new(url));
        let options = HttpOptions::new().unstable_server_card(card);
        let listening = server.listen_http("0", options).unwrap();
        assert_eq!(get(&listening, "/mcp/server-card", &[]).status, 200);
        let lines = lines.lock().unwrap();
        let about: Vec<&String> = lines.iter().filter(|line| line.contains("card")).collect();
        match warning {
            Some(text) => assert!(about.len() == 1 && about[0].contains(text), "{about:?}"),
            None => assert_eq!(about, [""; 0]),
        }
    }
}

// AMB-77
#[test]
fn no_other_path_may_be_that_of_the_card() {
    let page = || HttpPage::new("text/plain", "");
    let options = || HttpOptions::new().unstable_server_card(card());
    for options in [
        options().page("/mcp/server-card", page()),
        options().health("/mcp/server-card/"),
        options().old_paths("/sse", "/mcp/server-card"),
        options().path("/a").page("/a/server-card", page()),
    ] {
        let error = options.check().unwrap_err();
        assert!(error.to_string().contains("server-card"), "{error}");
    }
    assert!(
        options()
            .path("/a")
            .page("/mcp/server-card", page())
            .check()
            .is_ok()
    );
}
