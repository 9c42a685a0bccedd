//! A client of the crate rmcp: checks a stdio server in one era, as `../clients/checks.py` does, and prints what it saw.

#![expect(
    deprecated,
    reason = "log messages, sampling and roots are on their way out of the protocol"
)]

mod checks;
mod features;
mod told;
mod tools;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::checks::{Checks, Outcome, Service, said, same};
use crate::told::Told;

const CONNECT: Duration = Duration::from_secs(20);
const EXIT_CONNECT: u8 = 4;

struct Arguments {
    era: String,
    tools: Vec<String>,
    features: bool,
    pids: Option<String>,
    command: Vec<String>,
}

fn arguments() -> Outcome<Arguments> {
    let mut read = Arguments {
        era: "legacy".into(),
        tools: vec!["greet".into()],
        features: false,
        pids: None,
        command: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match &*word {
            "--era" => read.era = value()?,
            "--tools" => read.tools = value()?.split(',').map(str::to_owned).collect(),
            "--features" => read.features = true,
            "--pids" => read.pids = Some(value()?),
            "--" => read.command = words.by_ref().collect(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(read)
}

/// The client has closed: the server must be gone.
fn left_over(pids: &str) -> Outcome {
    let pids = std::fs::read_to_string(pids).map_err(said)?;
    let is_alive = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    };
    same(
        "still running after close",
        pids.split_whitespace().filter(is_alive).collect::<Vec<_>>(),
        json!([]),
    )
}

async fn connect(arguments: &Arguments, told: &Told) -> Outcome<Service> {
    let modern = vec![ProtocolVersion::V_2026_07_28];
    let lifecycle = match &*arguments.era {
        "legacy" => ClientLifecycleMode::Initialize,
        "modern" => ClientLifecycleMode::Discover {
            preferred_versions: modern,
        },
        _ => ClientLifecycleMode::Auto {
            preferred_versions: modern,
            legacy_version: None,
        },
    };
    let (program, words) = arguments
        .command
        .split_first()
        .ok_or("the server's command is missing")?;
    let mut command = tokio::process::Command::new(program);
    command.args(words);
    let server = TokioChildProcess::new(command).map_err(said)?;
    let connecting = told.clone().serve_with_lifecycle(server, lifecycle);
    let service = timeout(CONNECT, connecting)
        .await
        .map_err(said)?
        .map_err(said)?;
    Ok(service)
}

async fn run(arguments: &Arguments) -> Outcome<Value> {
    let told = Told {
        answers: arguments.features,
        ..Told::default()
    };
    let service = connect(arguments, &told).await?;
    let info = service
        .peer_info()
        .ok_or("the server did not say what it is")?;
    let revision = info.protocol_version.as_str().to_owned();
    let report = json!({
        "peer": "rmcp-3.9.0",
        "era": arguments.era,
        "revision": revision,
        "server": info.server_info,
        "capabilities": info.capabilities,
        "passed": [],
        "failed": [],
    });
    let is_legacy = *revision < *"2026";
    let mut checks = Checks {
        service,
        told,
        is_legacy,
        report,
    };
    tools::check(&mut checks, &arguments.tools).await;
    if arguments.features {
        features::check(&mut checks).await;
    }
    let Checks {
        service,
        mut report,
        ..
    } = checks;
    let began = Instant::now();
    let closed = service.cancel().await;
    report["close_ms"] = json!(began.elapsed().as_millis() as u64);
    let ended = closed
        .map(drop)
        .map_err(said)
        .and_then(|()| arguments.pids.as_deref().map_or(Ok(()), left_over));
    let (list, what) = match ended {
        Ok(()) => ("passed", json!("server exit")),
        Err(why) => ("failed", json!({ "check": "server exit", "why": why })),
    };
    if let Some(list) = report[list].as_array_mut() {
        list.push(what);
    }
    Ok(report)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("rmcp_client: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments).await {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(report["failed"] != json!([])))
        }
        Err(error) => {
            eprintln!("rmcp_client: {error}");
            ExitCode::from(EXIT_CONNECT)
        }
    }
}
