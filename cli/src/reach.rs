//! Connecting: the transport to the server, and the settings of the client.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::{Client, ClientBuilder, ConnectionEvent, Restart};
use mcplink::protocol::{LogLevel, LogRecord};
use mcplink::schema::{LoggingMessageNotificationParams, read_json};
use mcplink::transport::http::Http;
use mcplink::transport::{Child, Direction, Stderr, Tap, Tapped, Transport};
use mcplink::{Error, ErrorKind};

use crate::args::{Action, Options, Place, When};
use crate::failure::Failure;
use crate::{ask, configs, interrupt, login, print};

/// How long the first call waits until a legacy server has asked for the roots. Servers that serve
/// files ask after the opening, and refuse calls before they know the roots.
const ROOTS_WAIT: Duration = Duration::from_secs(1);

/// Connects to the server for an action.
pub(crate) fn connect(options: &Options, action: &Action) -> Result<Client, Failure> {
    let server = transport(&options.place)?;
    let mut builder = builder(options);
    if matches!(action, Action::Listen { .. }) {
        builder = builder
            .restart(Restart::new())
            .on_connection_event(show_connection_event);
    }
    let (asked, was_asked) = mpsc::channel();
    if !options.roots.is_empty() {
        let roots = options.roots.clone();
        builder = builder.on_list_roots(move |_| {
            // The receiver is gone if the server asks again.
            _ = asked.send(());
            Ok(roots.clone())
        });
    }
    let transport = if options.trace {
        let start = Instant::now();
        Box::new(Tap::new(server, move |message| {
            show_traced("", start, message)
        }))
    } else {
        server
    };
    let client = builder
        .connect(transport)
        .map_err(|error| failed(&error, options))?;
    if !options.roots.is_empty() && client.revision().is_legacy() {
        let until = Instant::now() + ROOTS_WAIT;
        _ = was_asked.recv_timeout(ROOTS_WAIT);
        // The answer leaves before the first call.
        while client.stats().requests_in_flight > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(client)
}

/// Shows that a connection was lost, restored or given up.
fn show_connection_event(event: ConnectionEvent) {
    match event {
        ConnectionEvent::Restored { .. } => print::note("mcplink: the server is back"),
        ConnectionEvent::GivenUp { error, .. } => {
            print::note(&format!("mcplink: the server is given up: {error}"));
        }
        lost => print::note(&format!("mcplink: {lost}")),
    }
}

/// Returns the builder of a client for a person at the command line.
pub(crate) fn builder(options: &Options) -> ClientBuilder {
    let builder = Client::builder("mcplink", env!("CARGO_PKG_VERSION"))
        .revisions(&options.revisions())
        // A user of the command line sees the server's answer, so an undeclared capability may be
        // tried.
        .assume_capabilities(true)
        .tasks()
        .cancel_connecting_with(&interrupt::token())
        .on_log(show_warning)
        .on_log_message(show_log_message);
    let builder = ask::let_ask(builder, &options.roots);
    match options.timeout {
        // The probe of the era takes at most half of the time, so that a silent server can be tried
        // in both eras.
        Some(timeout) => builder
            .connect_timeout(timeout)
            .probe_timeout((timeout / 2).min(Duration::from_secs(5))),
        None => builder,
    }
}

fn failed(error: &Error, options: &Options) -> Failure {
    let place = &options.place;
    if error.kind() == ErrorKind::Auth && !place.login && !interrupt::has_come() {
        print::note("mcplink: the server wants to know who asks: --login logs in");
    }
    Failure::of_connecting(error, options.timeout, shows_stderr(place))
}

/// How the server is reached.
pub(crate) enum Reached {
    Child(Child),
    Url(String, Vec<(String, String)>),
}

/// Returns the server to start, or the URL to connect to with its header fields.
pub(crate) fn reach(place: &Place) -> Result<Reached, Failure> {
    let usage = |error: Error| Failure::usage(error.to_string());
    let (url, mut fields) = match (&place.server, &place.url) {
        (Some(name), _) => {
            let server = configs::find(name, place)?;
            if server.url().is_none() {
                let child = server.child().map_err(usage)?;
                return Ok(Reached::Child(with_child_options(child, place)));
            }
            server.expanded_url().map_err(usage)?
        }
        (None, Some(url)) => (url.clone(), Vec::new()),
        (None, None) => {
            let command = place.command.split_first();
            let (program, arguments) = command.ok_or_else(no_server)?;
            let child = Child::new(program).args(arguments);
            return Ok(Reached::Child(with_child_options(child, place)));
        }
    };
    fields.extend(headers(&place.headers)?);
    Ok(Reached::Url(url, fields))
}

/// Returns the transport to the server.
pub(crate) fn transport(place: &Place) -> Result<Box<dyn Transport>, Failure> {
    Ok(match reach(place)? {
        Reached::Child(child) => Box::new(child),
        Reached::Url(url, fields) => Box::new(http(&url, &fields, place)?),
    })
}

fn no_server() -> Failure {
    Failure::usage(
        "the server is missing: its command stands behind --, its address behind --url, or its \
         name in a configuration file behind --server"
            .to_owned(),
    )
}

fn http(url: &str, fields: &[(String, String)], place: &Place) -> Result<Http, Failure> {
    let http = Http::new(url).map_err(|error| Failure::usage(error.to_string()))?;
    let mut http = http.proxy_from_environment();
    for (name, value) in fields {
        http = http.header(name, value);
    }
    let authorities = place.authorities.as_deref();
    let authorities = authorities.map(read_authorities).transpose()?;
    if let Some(pem) = &authorities {
        http = http.root_certificates(pem);
    }
    Ok(match place.login {
        true => http.authorizer(login::authorizer(place, authorities.as_deref())?),
        false => http,
    })
}

fn with_child_options(child: Child, place: &Place) -> Child {
    let mut child = child;
    if place.inherits_env {
        child = child.inherit_env();
    }
    for (name, value) in &place.env {
        child = match value {
            Some(value) => child.env(name, value),
            None => child.pass_env(name),
        };
    }
    if let Some(folder) = &place.cwd {
        child = child.current_dir(folder);
    }
    if shows_stderr(place) {
        child = child.stderr(Stderr::lines(|line| {
            print::note(&format!("[server] {line}"));
        }));
    }
    child
}

/// Whether the standard error of the server is shown while the server runs.
fn shows_stderr(place: &Place) -> bool {
    let is_child = place.url.is_none();
    is_child
        && match place.stderr {
            When::Always => true,
            When::Never => false,
            When::Auto => io::stderr().is_terminal(),
        }
}

/// Returns the header fields of the command line, and those in files.
pub(crate) fn headers(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let field = |text: &str| {
        let (name, value) = text.split_once(':')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let mut fields = Vec::new();
    for text in given {
        let Some(file) = text.strip_prefix('@') else {
            let wrong = || Failure::usage("--header takes NAME:VALUE or @FILE".to_owned());
            fields.push(field(text).ok_or_else(wrong)?);
            continue;
        };
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("--header @{file}: {error}")))?;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || {
                let text = format!("--header @{file}: line {number} is not NAME:VALUE");
                Failure::usage(text)
            };
            fields.push(field(line).ok_or_else(wrong)?);
        }
    }
    Ok(fields)
}

pub(crate) fn read_authorities(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file)
        .map_err(|error| Failure::usage(format!("--cacert {}: {error}", file.display())))
}

/// Shows a message on standard error, behind a text that tells the connection.
pub(crate) fn show_traced(connection: &str, start: Instant, message: &Tapped<'_>) {
    let seconds = message.at.saturating_duration_since(start).as_secs_f64();
    let sign = match message.direction {
        Direction::Outgoing => '>',
        Direction::Incoming => '<',
    };
    let text = match message.too_long {
        Some(long) => format!("[too long: {} bytes]", long.bytes),
        None => message.text_lossy().replace('\n', " "),
    };
    print::note(&format!("{seconds:9.3} {connection}{sign} {text}"));
}

/// Shows a warning of the client, for example about list entries that violate the specification and
/// were dropped. Errors in the log are not shown, because the actions that fail report them.
/// Warnings about single messages are for `--trace`, which shows the messages.
fn show_warning(record: &LogRecord<'_>) {
    if record.target == "client" && record.level == LogLevel::Warning {
        print::note(&format!("mcplink: {record}"));
    }
}

fn show_log_message(message: &LoggingMessageNotificationParams) {
    let data = message.data.get();
    let text = read_json::<String>(data).unwrap_or_else(|_| data.to_owned());
    let logger = message.logger.as_deref().unwrap_or("server");
    print::note(&format!("[{}] {logger}: {text}", message.level));
}
