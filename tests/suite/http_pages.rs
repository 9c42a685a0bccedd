//! Pages beside the endpoint, seen through real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::schema::Tool;
use mcplink::server::http::{Denied, HttpOptions, HttpPage, HttpServer, ResourceServer};
use mcplink::server::{Context, Server};
use mcplink::transport::http::{HttpLimits, HttpListener};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::http_server::Socket;
use crate::web::Web;

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// Sends a request on a connection of its own. The fields replace `Host`, if they have one.
pub(crate) fn ask(address: SocketAddr, request: &str, fields: &[&str]) -> Response {
    let mut text = format!("{request} HTTP/1.1\r\nConnection: close\r\n");
    if !fields.iter().any(|field| field.starts_with("Host: ")) {
        text += &format!("Host: {address}\r\n");
    }
    for field in fields {
        text += &format!("{field}\r\n");
    }
    text += "\r\n";
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    Response {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

const TEXT: &str = "User-agent: *\nDisallow: /\n";

/// A server whose endpoint refuses everybody, with a health page and a page.
fn guarded() -> HttpServer {
    let options = HttpOptions::new()
        .authenticate(|_| Err(Denied::unauthorized("Bearer")))
        .health("healthz")
        .page(
            "/robots.txt",
            HttpPage::new("text/plain", TEXT).cache_control("public, max-age=60"),
        )
        .page("/", HttpPage::new("text/html", "<p>Hello"));
    let server = Server::builder("s", "1").build().unwrap();
    server.listen_http("0", options).unwrap()
}

#[test]
fn a_page_is_there_for_everybody_with_its_tag() {
    let server = guarded();
    let ask = |request: &str, fields: &[&str]| ask(server.local_addr().unwrap(), request, fields);
    assert_eq!(ask("GET /mcp", &[]).status, 401);
    let page = ask("GET /robots.txt", &["Origin: https://evil.example"]);
    assert_eq!((page.status, &*page.body), (200, TEXT));
    assert_eq!(page.field("Content-Type"), Some("text/plain"));
    assert_eq!(page.field("Cache-Control"), Some("public, max-age=60"));
    assert_eq!(page.field("X-Content-Type-Options"), Some("nosniff"));
    // A page of another site may load it, but not read it.
    assert_eq!(page.field("Access-Control-Allow-Origin"), None);
    let tag = page.field("ETag").expect("a tag");
    assert_eq!(HttpPage::new("text/plain", TEXT).etag(), tag);
    let head = ask("HEAD /robots.txt?v=1", &[]);
    assert_eq!((head.status, &*head.body), (200, ""));
    let length = TEXT.len().to_string();
    assert_eq!(head.field("Content-Length"), Some(&*length));
    assert_eq!(head.field("ETag"), Some(tag));
    let known = format!("If-None-Match: \"x\", W/{tag}");
    for method in ["GET", "HEAD"] {
        let same = ask(&format!("{method} /robots.txt"), &[&known]);
        assert_eq!((same.status, &*same.body), (304, ""), "{method}");
        assert_eq!(same.field("ETag"), Some(tag));
        assert_eq!(same.field("Cache-Control"), Some("public, max-age=60"));
        assert_eq!(same.field("Content-Type"), None);
    }
    let other = ask("GET /robots.txt", &["If-None-Match: \"x\""]);
    assert_eq!((other.status, &*other.body), (200, TEXT));
    let index = ask("GET /", &[]);
    assert_eq!((index.status, &*index.body), (200, "<p>Hello"));
    assert_eq!(index.field("Cache-Control"), Some("no-cache"));
}

#[test]
fn a_page_refuses_other_methods_and_hosts() {
    let server = guarded();
    let address = server.local_addr().unwrap();
    for path in ["/robots.txt", "/healthz"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let request = format!("{method} {path}");
            let refused = ask(address, &request, &["Content-Length: 0"]);
            assert_eq!(refused.status, 405, "{request}");
            assert_eq!(refused.field("Allow"), Some("GET, HEAD"), "{request}");
        }
        let rebound = ask(address, &format!("GET {path}"), &["Host: evil.example"]);
        assert_eq!(rebound.status, 403, "{path}");
        assert!(!rebound.body.contains("ok\n") && !rebound.body.contains(TEXT));
    }
    // Other paths are not there, however they are written.
    for path in [
        "/robots.txt/x",
        "/robots.tx",
        "/%72obots.txt",
        "/../robots.txt",
    ] {
        assert_eq!(
            ask(address, &format!("GET {path}"), &[]).status,
            404,
            "{path}"
        );
    }
    let long = format!("GET /robots.txt/{}", "x".repeat(20_000));
    assert_eq!(ask(address, &long, &[]).status, 404);
    let too_long = format!("GET /robots.txt?{}", "x".repeat(40_000));
    assert_eq!(ask(address, &too_long, &[]).status, 414);
}

#[test]
fn the_health_page_tells_who_still_serves() {
    let (server, address) = {
        let server = guarded();
        let address = server.local_addr().unwrap();
        (server, address)
    };
    for method in ["GET", "HEAD"] {
        let healthy = ask(address, &format!("{method} /healthz"), &[]);
        assert_eq!(healthy.status, 200);
        assert_eq!(healthy.field("Cache-Control"), Some("no-store"));
        assert_eq!(healthy.field("Content-Length"), Some("3"));
    }
    assert_eq!(ask(address, "GET /healthz", &[]).body, "ok\n");
    // Nothing else has changed, so calls are still served.
    server.drain(Duration::ZERO);
    let leaving = ask(address, "GET /healthz", &[]);
    assert_eq!((leaving.status, &*leaving.body), (503, "closing\n"));
    assert_eq!(ask(address, "GET /robots.txt", &[]).status, 200);
    assert_eq!(ask(address, "GET /mcp", &[]).status, 401);
}

#[test]
fn a_closed_service_is_not_healthy() {
    let server = Server::builder("s", "1").build().unwrap();
    let options = HttpOptions::new()
        .health("/healthz")
        .page("/a", HttpPage::new("text/plain", "a"));
    let service = server.http_service(options);
    let listener = HttpListener::bind(
        "127.0.0.1:0",
        Arc::new(service.clone()),
        HttpLimits::default(),
    );
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    assert_eq!(ask(address, "GET /healthz", &[]).status, 200);
    service.close();
    let closed = ask(address, "GET /healthz", &[]);
    assert_eq!((closed.status, &*closed.body), (503, "closing\n"));
    let closed = ask(address, "GET /a", &[]);
    assert_eq!(
        (closed.status, closed.field("Retry-After")),
        (503, Some("1"))
    );
}

#[test]
fn a_probe_is_answered_while_all_handlers_are_busy() {
    let (go, may_go) = mpsc::channel::<()>();
    let (entered, has_entered) = mpsc::channel();
    let may_go = Mutex::new(may_go);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("slow"), move |_: Value, _: &Context| {
            entered.send(()).unwrap();
            may_go.lock().unwrap().recv_timeout(LONG).unwrap();
            "done"
        })
        .build()
        .unwrap();
    let mut limits = HttpLimits::default();
    (limits.max_workers, limits.reserve_percent) = (1, 0);
    let options = HttpOptions::new().health("/healthz").limits(limits);
    let server = server.listen_http("0", options).unwrap();
    let mut caller = Socket::open(&server);
    caller.modern("tools/call", json!({"name": "slow"}));
    has_entered.recv_timeout(LONG).unwrap();
    assert_eq!(
        ask(server.local_addr().unwrap(), "GET /healthz", &[]).status,
        200
    );
    go.send(()).unwrap();
    assert_eq!(caller.message().1["result"]["content"][0]["text"], "done");
}

#[test]
fn a_probe_may_use_an_address_where_names_are_listed() {
    let options = HttpOptions::new()
        .allowed_hosts(["mcp.example.com"])
        .health("/healthz")
        .page("/a", HttpPage::new("text/plain", "a"));
    let server = Server::builder("s", "1").build().unwrap();
    let server = server.listen_http("0", options).unwrap();
    for (host, health, page) in [
        ("mcp.example.com", 200, 200),
        ("10.0.0.7:8080", 200, 403),
        ("[fd00::7]:8080", 200, 403),
        ("evil.example", 403, 403),
        ("10.0.0.7.evil.example", 403, 403),
    ] {
        let field = format!("Host: {host}");
        let status = |path| ask(server.local_addr().unwrap(), path, &[&field]).status;
        assert_eq!(status("GET /healthz"), health, "{host}");
        assert_eq!(status("GET /a"), page, "{host}");
    }
}

fn page() -> HttpPage {
    HttpPage::new("text/plain", "page")
}

#[test]
fn a_page_can_not_take_a_path_of_the_protocol() {
    let tokens = || {
        let issuer = ["https://auth.example"];
        let verify = |_: &str| Err(Denied::unauthorized("Bearer"));
        let server = ResourceServer::new("https://mcp.example/mcp", issuer, verify);
        HttpOptions::new().authorization(server.unwrap())
    };
    let new = HttpOptions::new;
    let bad = [
        (new().page("/mcp", page()), "endpoint"),
        // The order of the settings has no influence.
        (new().page("/a/", page()).path("/a"), "endpoint"),
        (new().health("/mcp/"), "endpoint"),
        (
            new().old_paths("/sse", "/post").page("/post", page()),
            "2024-11-05",
        ),
        (
            tokens().page("/.well-known/oauth-protected-resource", page()),
            "metadata",
        ),
        (
            tokens().health("/.well-known/oauth-protected-resource/mcp"),
            "metadata",
        ),
        (new().page("/a", page()).page("/a/", page()), "twice"),
        (new().health("/a").page("/a", page()), "twice"),
        (new().page("/a?b", page()), "no path"),
        (new().page("/a b", page()), "no path"),
        (new().page("/é", page()), "no path"),
        (
            new().page("/a", HttpPage::new("text/plain\r\nX: y", "")),
            "Content-Type",
        ),
        (new().page("/a", HttpPage::new("", "")), "Content-Type"),
        (
            new().page("/a", page().cache_control("a\nb")),
            "Cache-Control",
        ),
    ];
    let server = Server::builder("s", "1").build().unwrap();
    for (options, said) in bad {
        let error = options.check().expect_err(said);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(said), "{error}");
        let error = server.listen_http("0", options).expect_err(said);
        assert!(error.to_string().contains(said), "{error}");
    }
    // A host with a check of its own may publish metadata of its own.
    let own = new().page("/.well-known/oauth-protected-resource", page());
    assert!(own.check().is_ok());
    // In a host's web server nothing is checked, so the protocol comes first.
    let options = new().page("/mcp", page()).health("/mcp");
    let web = Web::with(&server, options);
    let answer = web.modern("server/discover", json!({}));
    assert!(answer.message()["result"].is_object());
}
