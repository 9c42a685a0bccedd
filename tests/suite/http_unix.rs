//! Servers that listen on Unix sockets, and clients that connect to them. `http_client_server` has
//! the calls that are equal over TCP.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use mcplink::client::{CallOptions, Client};
use mcplink::schema::Tool;
use mcplink::server::http::{HttpOptions, HttpServer, StaticTokens};
use mcplink::server::{Context, Server};
use mcplink::transport::http::Http;
use mcplink::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::LONG;

/// A folder of one test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("mcplink-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("own server.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn server() -> Server {
    let name = |_: Value, context: &Context| context.principal().unwrap_or_default().to_owned();
    let builder = Server::builder("s", "1").tool_with(Tool::new("name"), name);
    builder.build().unwrap()
}

fn listen_with(path: &Path, options: HttpOptions) -> Result<HttpServer> {
    server().listen_http(&format!("unix:{}", path.display()), options)
}

fn listen(path: &Path) -> Result<HttpServer> {
    listen_with(path, HttpOptions::new())
}

fn call(url: &str) -> Result<()> {
    let client = Client::connect(Http::new(url)?.connect_timeout(LONG))?;
    client.call_tool("name", &json!({})).map(drop)
}

/// Sends one request and returns the status of its response.
fn status(path: &Path, host: &str) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_socket_is_for_its_user_alone_and_goes_with_its_server() {
    let folder = Folder::new("own");
    let path = folder.socket();
    let http = listen(&path).unwrap();
    let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let encoded = path
        .to_str()
        .unwrap()
        .replace('/', "%2F")
        .replace(' ', "%20");
    assert_eq!(http.url(), format!("http+unix://{encoded}/mcp"));
    assert_eq!(http.local_addr(), None);
    call(&http.url()).unwrap();
    call(&http.url().replace("http+unix", "HTTP+Unix")).unwrap();
    http.close();
    assert!(!path.exists());
    let error = call(&http.url()).unwrap_err();
    assert_eq!(
        (error.kind(), error.was_sent()),
        (ErrorKind::Io, false),
        "{error}"
    );
    assert!(error.to_string().contains(&http.url()), "{error}");
}

#[test]
fn what_a_killed_server_left_is_replaced_and_nothing_else() {
    let folder = Folder::new("left");
    let path = folder.socket();
    drop(UnixListener::bind(&path).unwrap());
    let http = listen(&path).unwrap();
    call(&http.url()).unwrap();

    let error = listen(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    call(&http.url()).unwrap();

    let file = folder.0.join("file");
    fs::write(&file, "precious").unwrap();
    let link = folder.0.join("link");
    symlink(&path, &link).unwrap();
    for taken in [&file, &link, &folder.0] {
        let error = listen(taken).unwrap_err();
        assert!(error.to_string().contains("is no socket"), "{error}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    call(&http.url()).unwrap();
}

#[test]
fn of_many_servers_that_start_at_once_one_gets_the_socket() {
    let folder = Folder::new("race");
    let path = folder.socket();
    for _ in 0..20 {
        drop(UnixListener::bind(&path).unwrap());
        let start = Barrier::new(8);
        let started: Vec<Result<HttpServer>> = thread::scope(|scope| {
            let start = || {
                start.wait();
                listen(&path)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            let threads = threads.into_iter();
            threads.map(|thread| thread.join().unwrap()).collect()
        });
        let mut listening = started.iter().filter_map(|started| started.as_ref().ok());
        let http = listening.next().expect("one listens");
        assert!(listening.next().is_none());
        call(&http.url()).unwrap();
    }
}

#[test]
fn a_server_leaves_the_socket_of_its_successor() {
    let folder = Folder::new("successor");
    let path = folder.socket();
    let first = listen(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let second = listen(&path).unwrap();
    first.close();
    call(&second.url()).unwrap();
}

#[test]
fn a_unix_socket_that_listens_already_is_served() {
    let folder = Folder::new("passed");
    let path = folder.socket();
    let listener = UnixListener::bind(&path).unwrap();
    let listener = TcpListener::from(OwnedFd::from(listener));
    let http = server()
        .listen_http_on(listener, HttpOptions::new())
        .unwrap();
    call(&http.url()).unwrap();
    http.close();
    assert!(path.exists());
}

#[test]
fn a_relative_path_is_one_in_the_working_directory() {
    let folder = Folder::new("relative");
    let up: PathBuf = std::env::current_dir()
        .unwrap()
        .iter()
        .skip(1)
        .map(|_| "..")
        .collect();
    let path = up.join(folder.socket().strip_prefix("/").unwrap());
    assert!(path.is_relative());
    let http = listen(&path).unwrap();
    call(&http.url()).unwrap();
    http.close();
    assert!(!folder.socket().exists());
}

// Other systems have names that are text.
#[cfg(target_os = "linux")]
#[test]
fn the_path_of_a_socket_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = Folder::new("bytes");
    let path = folder.0.join(OsStr::from_bytes(b"\xff%2F?#"));
    let listener = TcpListener::from(OwnedFd::from(UnixListener::bind(path).unwrap()));
    let http = server()
        .listen_http_on(listener, HttpOptions::new())
        .unwrap();
    assert!(
        http.url().ends_with("%2F%FF%252F%3F%23/mcp"),
        "{}",
        http.url()
    );
    call(&http.url()).unwrap();
}

#[test]
fn a_path_that_no_socket_can_have_is_refused() {
    let folder = Folder::new("path");
    let long = folder.0.join("a".repeat(120));
    for path in [&long, Path::new(""), &folder.0.join("none/s.sock")] {
        let error = listen(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
    let error = listen(&long).unwrap_err().to_string();
    assert!(error.contains("bytes"), "{error}");
}

#[test]
fn a_url_names_a_socket_by_its_absolute_path() {
    for url in [
        "http+unix://",
        "http+unix:///mcp",
        "http+unix:///run/shop.sock",
        "http+unix://shop.sock/mcp",
        "http+unix://%2Frun%2Fshop.sock/mcp#part",
        "http+unix://me@%2Frun%2Fshop.sock/mcp",
        "http+unix://%2Frun%2/mcp",
        "http+unix://%2Frun/a b",
        "https+unix://%2Frun%2Fshop.sock/mcp",
    ] {
        let error = Http::new(url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    let longest = format!("http+unix://%2F{}/mcp", "a".repeat(200));
    for url in [&*longest, "http+unix://%2Frun%00/mcp"] {
        let error = call(url).unwrap_err();
        assert_eq!(
            (error.kind(), error.was_sent()),
            (ErrorKind::Io, false),
            "{error}"
        );
    }
}

#[test]
fn settings_that_lead_elsewhere_contradict_a_socket() {
    let folder = Folder::new("elsewhere");
    let http = listen(&folder.socket()).unwrap();
    let to = || Http::new(&http.url()).unwrap();
    let error = Client::connect(to().proxy("http://127.0.0.1:9")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    Client::connect(to().proxy_from_environment()).unwrap();
}

#[test]
fn a_token_is_checked_and_the_client_is_at_the_loopback_address() {
    let folder = Folder::new("token");
    let tokens = StaticTokens::new().token("secret", "ada");
    let options = HttpOptions::new().authenticate(move |request| {
        let remote = request.remote.map(|remote| remote.to_string());
        assert_eq!(
            (request.local, remote.as_deref()),
            (None, Some("127.0.0.1:0"))
        );
        tokens.check(request)
    });
    let http = listen_with(&folder.socket(), options).unwrap();
    let to = || Http::new(&http.url()).unwrap();
    let client = Client::connect(to().bearer("secret")).unwrap();
    let result = client.call_tool("name", &json!({})).unwrap();
    assert_eq!(result.content[0].as_text(), Some("ada"));
    let error = Client::connect(to().bearer("wrong")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
}

// A login would look for the authorization server at a port of this machine.
#[cfg(feature = "auth")]
#[test]
fn a_login_needs_another_url() {
    let folder = Folder::new("login");
    let http = listen(&folder.socket()).unwrap();
    let client = mcplink::auth::RegisteredClient::new("https://as.example", "m").secret("m");
    let login = mcplink::auth::OAuth::client_credentials(client)
        .build()
        .unwrap();
    let http = Http::new(&http.url()).unwrap().authorizer(login);
    let error = Client::connect(http).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert!(error.to_string().contains("Unix socket"), "{error}");
}

// M-HTTP-S-36: no web page reaches a Unix socket, so no name of a host is a lie.
#[test]
fn a_host_name_matters_only_if_names_are_listed() {
    let folder = Folder::new("host");
    let any = listen_with(&folder.socket(), HttpOptions::new().health("/healthz")).unwrap();
    for host in ["localhost", "shop", "evil.example"] {
        assert_eq!(status(&folder.socket(), host), "200", "{host}");
    }
    any.close();
    let options = HttpOptions::new()
        .health("/healthz")
        .allowed_hosts(["shop"]);
    let _listed = listen_with(&folder.socket(), options).unwrap();
    assert_eq!(status(&folder.socket(), "shop"), "200");
    assert_eq!(status(&folder.socket(), "evil.example"), "403");
}

#[test]
fn started_calls_and_deadlines_work_on_a_socket() {
    let folder = Folder::new("started");
    let (sender, begun) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            _ = sender.send(context.cancel_token().wait(LONG));
            "late"
        })
        .build()
        .unwrap();
    let address = format!("unix:{}", folder.socket().display());
    let http = server.listen_http(&address, HttpOptions::new()).unwrap();
    let client = Client::connect(Http::new(&http.url()).unwrap()).unwrap();
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let arguments = json!({ "number": number });
            (
                client
                    .start_tool("echo", &arguments, CallOptions::new())
                    .unwrap(),
                arguments,
            )
        })
        .collect();
    for (call, arguments) in calls {
        let result = call.wait().unwrap();
        assert_eq!(result.content[0].as_text(), Some(&*arguments.to_string()));
    }
    let options = CallOptions::new().timeout(Duration::from_millis(200));
    let error: Error = client
        .call_tool_with("wait", &json!({}), options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(
        begun.recv_timeout(LONG),
        Ok(true),
        "the handler is cancelled"
    );
}
