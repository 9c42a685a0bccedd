//! The client of the benchmarks: `bench_client -- SERVER COMMAND`, or `bench_client URL`.
//!
//! It runs the workloads against a server with the tools of `bench_server`, and prints one JSON
//! object. The object has the median and the 99th percentile of the time per call in microseconds,
//! the processor time per call, calls per second, and memory in kilobytes.
//!
//! With `--legacy` as the first argument, the client uses the legacy era without detecting it.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::collections::VecDeque;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use mcplink::client::CallOptions;
use mcplink::client::{Client, Era};
use mcplink::schema::CallToolResult;
use mcplink::transport::http::Http;
use mcplink::transport::{Child, Transport};
use serde::Serialize;
use serde_json::{Map, Value, json};

const UNIT: &str = "The quick brown fox jumps over the lazy dog and keeps running ever on.\nHe said \"stop\" at the café; ";

#[derive(Serialize)]
struct Echo<'a> {
    message: &'a str,
}

/// The measured values, in the order of measurement.
#[derive(Default)]
struct Report(Map<String, Value>);

impl Report {
    fn add(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(key.into(), value.into());
    }

    /// Runs one workload for a limited time or number of rounds, and records the time of each.
    fn time(
        &mut self,
        name: &str,
        span: Duration,
        most: usize,
        mut round: impl FnMut() -> Result<(), Box<dyn Error>>,
    ) -> Result<usize, Box<dyn Error>> {
        let mut times = Vec::new();
        let (began, used) = (Instant::now(), processor_time());
        while times.len() < most && began.elapsed() < span {
            let start = Instant::now();
            round()?;
            times.push(start.elapsed());
        }
        let used = (processor_time() - used) / times.len() as f64;
        times.sort_unstable();
        let percentile = |part: f64| {
            let at = ((times.len() - 1) as f64 * part).round() as usize;
            micros(times[at])
        };
        self.add(format!("{name}.p50_us"), percentile(0.5));
        self.add(format!("{name}.p99_us"), percentile(0.99));
        self.add(format!("{name}.cpu_us"), used);
        Ok(times.len())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1).peekable();
    let legacy = arguments
        .next_if(|argument| argument == "--legacy")
        .is_some();
    let (kind, transport): (_, Box<dyn Transport>) =
        match arguments.next().as_deref() {
            Some("--") => {
                let program = arguments
                    .next()
                    .ok_or("behind -- comes the command of the server")?;
                (
                    "stdio",
                    // The environment configures some servers: `BENCH_TOOLS`.
                    Box::new(Child::new(program).args(arguments).inherit_env()),
                )
            }
            Some(url) => ("http", Box::new(Http::new(url)?)),
            None => return Err(
                "use: bench_client [--legacy] -- SERVER COMMAND, or bench_client [--legacy] URL"
                    .into(),
            ),
        };
    let began = Instant::now();
    let mut client = Client::builder("bench-client", "1.0");
    if legacy {
        client = client.era(Era::Legacy);
    }
    let client = client.connect(transport)?;
    echo(&client, "x")?;
    let mut report = Report::default();
    report.add("name", "mcplink");
    report.add("transport", "client");
    report.add("over", kind);
    report.add("revision", client.revision().as_str());
    report.add("start.first_call_ms", micros(began.elapsed()) / 1e3);
    one_at_a_time(&client, &mut report)?;
    for threads in [8, 64] {
        side_by_side(&client, threads, &mut report)?;
    }
    for calls in [8, 64] {
        in_flight(&client, calls, &mut report)?;
    }
    let half = Duration::from_millis(500);
    report.time("list", half, 500, || {
        let tools = client.list_tools_with(CallOptions::new().bypass_cache())?;
        (tools.len() > 1)
            .then_some(())
            .ok_or_else(|| "the list is short".into())
    })?;
    let mut told = 0u64;
    let rounds = report.time("progress", half, 150, || {
        let options = CallOptions::new().on_progress(|_| told += 1);
        client.call_tool_with("progress", &json!({ "count": 100 }), options)?;
        Ok(())
    })?;
    report.add("progress.notifs", told as f64 / rounds as f64);
    for (key, field) in [
        ("mem.end_rss_kb", "VmRSS:"),
        ("mem.hwm_kb", "VmHWM:"),
        ("mem.threads", "Threads:"),
    ] {
        report.add(key, of_this_process(field));
    }
    println!("{}", Value::Object(report.0));
    Ok(())
}

fn one_at_a_time(client: &Client, report: &mut Report) -> Result<(), Box<dyn Error>> {
    for (name, bytes, most, millis) in [
        ("100B", 100, 40_000, 500),
        ("10KB", 10_000, 10_000, 400),
        ("1MB", 1_000_000, 300, 800),
    ] {
        let mut message = UNIT.repeat(bytes / UNIT.len());
        message.extend(std::iter::repeat_n(
            'x',
            bytes.saturating_sub(message.len()),
        ));
        for _ in 0..if bytes > 100_000 { 4 } else { 300 } {
            echo(client, &message)?;
        }
        let span = Duration::from_millis(millis);
        report.time(&format!("seq{name}"), span, most, || echo(client, &message))?;
    }
    Ok(())
}

fn side_by_side(
    client: &Client,
    threads: usize,
    report: &mut Report,
) -> Result<(), Box<dyn Error>> {
    let (calls, used) = (AtomicU64::new(0), AtomicU64::new(0));
    let (began, before) = (Instant::now(), processor_time());
    let done = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    while began.elapsed() < Duration::from_millis(600) {
                        echo(client, UNIT).map_err(|error| error.to_string())?;
                        calls.fetch_add(1, Ordering::Relaxed);
                    }
                    // A thread's processor time can be read only while the thread exists.
                    let own = nanos_run("/proc/thread-self/schedstat");
                    used.fetch_add(own, Ordering::Relaxed);
                    Ok::<_, String>(())
                })
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    });
    done?;
    let calls = calls.into_inner() as f64;
    let used = processor_time() - before + used.into_inner() as f64 / 1e3;
    report.add(
        format!("par{threads}x100B.per_s"),
        (calls / began.elapsed().as_secs_f64()).round(),
    );
    report.add(format!("par{threads}x100B.cpu_us"), used / calls);
    Ok(())
}

/// Keeps a number of calls in flight on this thread.
fn in_flight(client: &Client, calls: usize, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let start = || client.start_tool("echo", &Echo { message: UNIT }, CallOptions::new());
    let (began, before) = (Instant::now(), processor_time());
    let mut in_flight: VecDeque<_> = (0..calls).map(|_| start()).collect::<Result<_, _>>()?;
    let mut done = 0u64;
    while let Some(call) = in_flight.pop_front() {
        check_echo(&call.wait()?, UNIT)?;
        done += 1;
        if began.elapsed() < Duration::from_millis(600) {
            in_flight.push_back(start()?);
        }
    }
    let used = processor_time() - before;
    let rate = (done as f64 / began.elapsed().as_secs_f64()).round();
    report.add(format!("fly{calls}x100B.per_s"), rate);
    report.add(format!("fly{calls}x100B.cpu_us"), used / done as f64);
    Ok(())
}

fn echo(client: &Client, message: &str) -> Result<(), Box<dyn Error>> {
    check_echo(&client.call_tool("echo", &Echo { message })?, message)
}

fn check_echo(result: &CallToolResult, message: &str) -> Result<(), Box<dyn Error>> {
    let text = result.content.first().and_then(|block| block.as_text());
    match text {
        Some(text) if text.len() == message.len() => Ok(()),
        _ => Err("the echo is another text".into()),
    }
}

fn micros(span: Duration) -> f64 {
    (span.as_nanos() as f64 / 10.0).round() / 100.0
}

/// Returns the processor time of this process's threads, in microseconds.
fn processor_time() -> f64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return 0.0;
    };
    let files = tasks.flatten().map(|task| task.path().join("schedstat"));
    files
        .map(|file| nanos_run(&file.to_string_lossy()))
        .sum::<u64>() as f64
        / 1e3
}

fn nanos_run(file: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|nanos| nanos.parse().ok())
        .unwrap_or_default()
}

fn of_this_process(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}
