//! A command line for servers: `mcplink [OPTION ...] ACTION ... -- SERVER COMMAND ...`, or `--url URL`
//! instead of the command.
//!
//! Try `mcplink tools -- target/debug/examples/hello_server`, or `mcplink --help`.

#![forbid(unsafe_code)]

mod actions;
mod args;
mod ask;
mod failure;
mod form;
mod input;
mod interrupt;
mod login;
mod print;
mod shell;
mod values;
mod wanted;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::Client;
use mcplink::schema::LoggingMessageNotificationParams;
use mcplink::transport::http::Http;
use mcplink::transport::{Child, Direction, Tap, Tapped, Transport};

use crate::actions::Session;
use crate::args::{Action, Asked, Options};
use crate::failure::Failure;

fn main() -> ExitCode {
    interrupt::watch();
    let words = std::env::args_os().skip(1);
    let done = match args::read(words) {
        Ok(Asked::Help) => print::out(args::HELP).map_err(Failure::from),
        Ok(Asked::Version) => {
            print::out(&format!("mcplink {}\n", env!("CARGO_PKG_VERSION"))).map_err(Failure::from)
        }
        Ok(Asked::Run(options, action)) => run(&options, action),
        Err(text) => Err(Failure::usage(text)),
    };
    let done = match interrupt::has_come() {
        true => Err(Failure::interrupted()),
        false => done,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report("mcplink --help");
            ExitCode::from(failure.code)
        }
    }
}

fn run(options: &Options, action: Action) -> Result<(), Failure> {
    let client = connect(options)?;
    let mut session = Session::new(client, options.clone());
    let done = match action {
        Action::Shell => shell::run(&mut session),
        action => session.run(action),
    };
    session.close();
    done
}

fn connect(options: &Options) -> Result<Client, Failure> {
    let server = server(options)?;
    let builder = Client::builder("mcplink", env!("CARGO_PKG_VERSION"))
        .revisions(&options.revisions)
        // A user of the command line sees the server's answer, so an undeclared capability may be
        // tried.
        .assume_capabilities(true)
        .cancel_connecting_with(&interrupt::token())
        .on_log_message(show_log_message);
    let mut builder = ask::let_ask(builder, &options.roots);
    if let Some(timeout) = options.timeout {
        // The probe of the era takes at most half of the time, so that a silent server can be tried
        // in both eras.
        builder = builder
            .connect_timeout(timeout)
            .probe_timeout((timeout / 2).min(Duration::from_secs(5)));
    }
    let transport = if options.trace {
        let start = Instant::now();
        Box::new(Tap::new(server, move |message| show_traced(start, message)))
    } else {
        server
    };
    builder.connect(transport).map_err(|error| {
        if error.kind() == ErrorKind::Auth && !options.login && !interrupt::has_come() {
            print::note("mcplink: the server wants to know who asks: --login logs in");
        }
        Failure::of_connecting(&error, options.timeout)
    })
}

/// Returns the transport: a server to start, or a URL to connect to.
fn server(options: &Options) -> Result<Box<dyn Transport>, Failure> {
    if let Some(url) = &options.url {
        let http = Http::new(url).map_err(|error| Failure::usage(error.to_string()))?;
        let http = http.proxy_from_environment();
        let headers = options.headers.iter();
        let http = headers.fold(http, |http, (name, value)| http.header(name, value));
        let authorities = options.authorities.as_deref();
        let authorities = authorities.map(read_authorities).transpose()?;
        let http = match &authorities {
            Some(pem) => http.root_certificates(pem),
            None => http,
        };
        return Ok(Box::new(match options.login {
            true => http.authorizer(login::authorizer(
                options.tokens.as_deref(),
                authorities.as_deref(),
            )?),
            false => http,
        }));
    }
    let (program, arguments) = options.server.split_first().ok_or_else(|| {
        Failure::usage(
            "the server is missing: its command stands behind --, or its address behind --url"
                .to_owned(),
        )
    })?;
    let mut child = Child::new(program).args(arguments);
    if options.inherits_env {
        child = child.inherit_env();
    }
    for (name, value) in &options.env {
        child = match value {
            Some(value) => child.env(name, value),
            None => child.pass_env(name),
        };
    }
    Ok(Box::new(child))
}

fn read_authorities(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file)
        .map_err(|error| Failure::usage(format!("--cacert {}: {error}", file.display())))
}

fn show_traced(start: Instant, message: &Tapped<'_>) {
    let seconds = message.at.saturating_duration_since(start).as_secs_f64();
    let sign = match message.direction {
        Direction::Outgoing => '>',
        Direction::Incoming => '<',
    };
    let text = match message.too_long {
        Some(long) => format!("[too long: {} bytes]", long.bytes),
        None => message.text_lossy().replace('\n', " "),
    };
    print::note(&format!("{seconds:9.3} {sign} {text}"));
}

fn show_log_message(message: &LoggingMessageNotificationParams) {
    let data = message.data.get();
    let text = serde_json::from_str::<String>(data).unwrap_or_else(|_| data.to_owned());
    let logger = message.logger.as_deref().unwrap_or("server");
    print::note(&format!("[{}] {logger}: {text}", message.level));
}
