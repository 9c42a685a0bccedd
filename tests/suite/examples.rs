//! The programs of `examples`, started as their users start them.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use mcplink::ErrorKind;
use mcplink::client::{CallOptions, CancelToken, Client};
use mcplink::schema::ProtocolVersion;
use mcplink::transport::Stream;
use mcplink::transport::http::Http;
use serde_json::json;

use crate::authworld::{World, follow, get};
use crate::common::{LONG, example, within};

/// A running example. It is killed at the end of the test.
struct Program {
    process: Child,
    /// The lines of its standard output and its standard error.
    lines: Receiver<String>,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        pass_lines(process.stdout.take().unwrap(), sender.clone());
        pass_lines(process.stderr.take().unwrap(), sender);
        Self { process, lines }
    }

    /// The next line that begins with this text.
    fn line(&self, begin: &str) -> String {
        let mut others = Vec::new();
        loop {
            match self.lines.recv_timeout(LONG) {
                Ok(line) if line.starts_with(begin) => return line,
                Ok(line) => others.push(line),
                Err(error) => panic!("no line begins with '{begin}': {error}: {others:?}"),
            }
        }
    }

    /// Waits for the end, and returns whether it is one without an error.
    fn succeeds(mut self) -> bool {
        // The streams end with the process.
        let end = loop {
            if let Err(end) = self.lines.recv_timeout(LONG) {
                break end;
            }
        };
        assert_eq!(end, RecvTimeoutError::Disconnected, "it does not end");
        self.process.wait().unwrap().success()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn pass_lines(stream: impl Read + Send + 'static, sender: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
}

fn said(client: &Client, tool: &str) -> mcplink::Result<String> {
    let result = client.call_tool(tool, &json!({}))?;
    Ok(result.content[0].as_text().unwrap_or_default().to_owned())
}

/// The key of the reader and of the writer.
const KEYS: [&str; 2] = ["5d8f4e0a6b1c", "c1b6a0e4f8d5"];

#[test]
fn each_api_key_opens_what_its_scopes_allow() {
    let mut command = Command::new(example("api_keys"));
    command.arg("0").env("READER_KEY", KEYS[0]);
    let program = Program::start(command.env("WRITER_KEY", KEYS[1]));
    let url = program.line("http://127.0.0.1:");
    let connect = |key: &str| Client::connect(Http::new(&url)?.bearer(key));
    let [reader, writer] = KEYS.map(|key| connect(key).unwrap());
    let line = json!({ "text": "milk" });
    let refused = reader.call_tool("write", &line).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Auth, "{refused}");
    assert!(refused.to_string().contains("notes:write"), "{refused}");
    writer.call_tool("write", &line).unwrap();
    assert_eq!(said(&reader, "read").unwrap(), "writer: milk");
    let stranger = connect("a guess").and_then(|client| said(&client, "read"));
    assert_eq!(stranger.unwrap_err().kind(), ErrorKind::Auth);
}

#[test]
fn a_missing_api_key_is_an_error_that_names_its_variable() {
    let mut command = Command::new(example("api_keys"));
    let command = command.env_remove("READER_KEY").env("WRITER_KEY", KEYS[1]);
    let program = Program::start(command);
    let error = program.line("Error:");
    assert!(error.contains("READER_KEY"), "{error}");
    assert!(!program.succeeds());
}

#[test]
fn own_web_servers_serve_every_revision_beside_their_pages() {
    let program = Program::start(Command::new(example("own_web_server")).arg("0"));
    let url = program.line("http://127.0.0.1:");
    let place = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let mut page = std::net::TcpStream::connect(place).unwrap();
    page.set_read_timeout(Some(LONG)).unwrap();
    page.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    page.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("\r\n\r\nhello\n"), "{text}");
    for revision in [ProtocolVersion::LATEST_LEGACY, ProtocolVersion::LATEST] {
        let client = Client::builder("test", "1.0").revisions(&[revision]);
        let client = client.connect(Http::new(&url).unwrap()).unwrap();
        assert_eq!(said(&client, "hello").unwrap(), "hello");
        let cancel = CancelToken::new();
        let mut numbers = Vec::new();
        let options = CallOptions::new()
            .cancel_with(&cancel)
            .on_progress(|progress| {
                numbers.push(progress.progress);
                if numbers.len() == 3 {
                    cancel.cancel();
                }
            });
        let error = client.call_tool_with("count", &json!({}), options);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(numbers[..3], [1.0, 2.0, 3.0]);
        program.line("cancelled");
    }
}

/// Answers the login in place of a browser: the example finds no program that opens pages.
#[test]
fn a_client_logs_in_over_the_loopback_address_and_keeps_its_tokens() {
    let world = World::start();
    let home = std::env::temp_dir().join(format!("mcplink-oauth-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let start = || {
        let mut command = Command::new(example("oauth_client"));
        let command = command.arg(world.mcp_url()).env("PATH", "/nowhere");
        Program::start(command.env("HOME", &home))
    };
    let program = start();
    let opened = program.line("open ");
    let redirect = follow(opened.trim_start_matches("open "));
    let rest = redirect.strip_prefix("http://").unwrap();
    let (place, target) = rest.split_once('/').unwrap();
    assert!(place.starts_with("127.0.0.1:"), "{redirect}");
    get(place, &format!("/{target}"));
    program.line("tool ");
    assert!(program.succeeds());
    let again = start();
    let first = again.lines.recv_timeout(LONG).unwrap();
    assert!(first.starts_with("tool "), "{first}");
    assert!(again.succeeds());
    std::fs::remove_dir_all(&home).unwrap();
}

fn interrupt(process: &Child) {
    let id = process.id().try_into().unwrap();
    // SAFETY: a signal to a process that this test has started and not waited for yet.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
}

/// Interrupts the server once a call runs, and returns the text of the result.
fn interrupted(client: &Client, process: &Child) -> mcplink::Result<String> {
    let mut is_interrupted = false;
    let options = CallOptions::new().on_progress(|_| {
        if !std::mem::replace(&mut is_interrupted, true) {
            interrupt(process);
        }
    });
    let result = client.call_tool_with("work", &json!({}), options)?;
    Ok(result.content[0].as_text().unwrap_or_default().to_owned())
}

#[test]
fn calls_over_stdio_finish_after_an_interrupt() {
    let mut command = Command::new(example("shutdown"));
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let (output, input) = (process.stdout.take(), process.stdin.take());
    let streams = Stream::fds(output.unwrap().into(), input.unwrap().into());
    let client = Client::connect(streams).unwrap();
    assert_eq!(interrupted(&client, &process).unwrap(), "finished");
    let status = within(LONG, move || process.wait().unwrap());
    assert!(status.success(), "{status}");
    client.close();
}

#[test]
fn calls_over_http_finish_after_an_interrupt() {
    let program = Program::start(Command::new(example("shutdown")).arg("0"));
    let url = program.line("http://127.0.0.1:");
    let client = Client::connect(Http::new(&url).unwrap()).unwrap();
    assert_eq!(interrupted(&client, &program.process).unwrap(), "finished");
    assert!(program.succeeds());
}

/// `cargo test` builds the example only when this feature is on.
#[cfg(feature = "log")]
#[test]
fn log_records_of_library_and_program_go_to_tracing() {
    use mcplink::transport::Child as Server;

    let server = Server::new(example("logging"));
    let stderr = server.stderr_tail();
    let client = Client::connect(server).unwrap();
    assert_eq!(said(&client, "now").unwrap(), "noon");
    client.read_resource("clock://alarm").unwrap_err();
    client.close();
    let printed = stderr.text();
    for wanted in [
        "INFO logging: somebody asks for the time",
        "ERROR mcplink::server: resource 'clock://alarm' failed: the alarm is broken",
    ] {
        assert!(printed.contains(wanted), "{printed}");
    }
}
