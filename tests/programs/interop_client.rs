//! The client for tests against servers of other implementations: see `tests/interop`.
//!
//! ```text
//! interop_client [--era legacy|modern|auto] [--call NAME JSON]... [OPTION]... -- COMMAND [ARGUMENT ...]
//! interop_client … -- URL
//!
//! --answer               answer questions: the user enters "Ada" everywhere, the model returns "Paris"
//! --root URI             declare this root
//! --cancel NAME JSON     call a tool, in order with the calls, and cancel it at its first progress
//! --watch URI            subscribe to this resource, and to changes of lists, before anything else
//! --events NUMBER        wait for this number of events of the subscription; default 1
//! --log                  request log messages of level "debug" and above
//! --read URI             read a resource
//! --prompt NAME JSON     get a prompt
//! --complete JSON        send completion/complete with these params
//! ```
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own"
)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, Event, Subscription};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    CompleteRequestParams, ContentBlock, CreateMessageResult, ElicitResult, LoggingLevel,
    ProtocolVersion, Root, SubscriptionFilter,
};
use mcplink::transport::http::Http;
use mcplink::transport::{Child, Transport};
use serde_json::{Value, json};

enum Asked {
    Read(String),
    Prompt(String, BTreeMap<String, String>),
    Complete(Box<CompleteRequestParams>),
}

struct Call {
    name: String,
    arguments: Value,
    /// Whether to cancel the call at its first progress.
    is_cancelled: bool,
}

struct Arguments {
    revisions: Vec<ProtocolVersion>,
    calls: Vec<Call>,
    answer: bool,
    watch: Vec<String>,
    events: usize,
    log: bool,
    roots: Vec<String>,
    asked: Vec<Asked>,
    command: Vec<String>,
}

fn arguments() -> Result<Arguments, Box<dyn std::error::Error>> {
    let mut read = Arguments {
        revisions: ProtocolVersion::ALL.to_vec(),
        calls: Vec::new(),
        answer: false,
        watch: Vec::new(),
        events: 1,
        log: false,
        roots: Vec::new(),
        asked: Vec::new(),
        command: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match &*word {
            "--era" => match words.next().as_deref() {
                Some("legacy") => read.revisions = ProtocolVersion::LEGACY.to_vec(),
                Some("modern") => read.revisions = vec![ProtocolVersion::LATEST],
                Some("auto") => {}
                other => {
                    return Err(format!("--era takes legacy, modern or auto, not {other:?}").into());
                }
            },
            "--call" | "--cancel" => {
                let mut next = || words.next().ok_or("a call takes a name and a JSON object");
                read.calls.push(Call {
                    name: next()?,
                    arguments: serde_json::from_str(&next()?)?,
                    is_cancelled: word == "--cancel",
                });
            }
            "--answer" => read.answer = true,
            "--log" => read.log = true,
            "--watch" => read.watch.push(words.next().ok_or("--watch takes a URI")?),
            "--events" => {
                read.events = words.next().ok_or("--events takes a number")?.parse()?;
            }
            "--root" => read.roots.push(words.next().ok_or("--root takes a URI")?),
            "--read" => {
                let uri = words.next().ok_or("--read takes a URI")?;
                read.asked.push(Asked::Read(uri));
            }
            "--prompt" => {
                let name = words.next().ok_or("--prompt takes a name and JSON")?;
                let json = words.next().ok_or("--prompt takes a name and JSON")?;
                let arguments = serde_json::from_str(&json)?;
                read.asked.push(Asked::Prompt(name, arguments));
            }
            "--complete" => {
                let json = words.next().ok_or("--complete takes JSON")?;
                let params = serde_json::from_str(&json)?;
                read.asked.push(Asked::Complete(Box::new(params)));
            }
            "--" => read.command = words.by_ref().collect(),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    Ok(read)
}

fn call(client: &Client, call: &Call, log: bool) -> mcplink::Result<Value> {
    let name = &*call.name;
    let mut progress = Vec::new();
    let cancel = CancelToken::new();
    let mut options = CallOptions::new().cancel_with(&cancel).on_progress(|step| {
        progress.push(step.progress);
        if call.is_cancelled {
            cancel.cancel();
        }
    });
    if log {
        options = options.log_level(LoggingLevel::Debug);
    }
    let result = match client.call_tool_with(name, &call.arguments, options) {
        Ok(result) => result,
        Err(error) if error.kind() == ErrorKind::Cancelled => {
            return Ok(json!({ "name": name, "cancelled": true, "progress": progress }));
        }
        Err(error) => match error.rpc() {
            Some(rpc) => {
                let error = json!({ "code": rpc.code.value(), "message": rpc.message });
                return Ok(json!({ "name": name, "error": error }));
            }
            None => return Err(error),
        },
    };
    let text: String = result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect();
    let kinds: Vec<&str> = result.content.iter().map(ContentBlock::kind).collect();
    let structured: Option<Value> = result.read_structured()?;
    let is_error = result.is_error();
    let mut seen = json!({ "name": name, "isError": is_error, "text": text, "kinds": kinds });
    if let Some(structured) = structured {
        seen["structured"] = structured;
    }
    if !progress.is_empty() {
        seen["progress"] = json!(progress);
    }
    Ok(seen)
}

/// Makes a typed call, and converts its result back to JSON, so that the report shows lost members.
fn ask(client: &Client, asked: &Asked) -> mcplink::Result<Value> {
    let result = match asked {
        Asked::Read(uri) => client.read_resource(uri).map(|it| json!(it.contents)),
        Asked::Prompt(name, arguments) => {
            let arguments = arguments.iter().map(|(name, value)| (&**name, &**value));
            let result = client.get_prompt(name, &arguments.collect::<Vec<_>>());
            result.map(|it| json!(it.messages))
        }
        Asked::Complete(params) => {
            let result = client.complete((**params).clone());
            result.map(|it| json!(it.completion))
        }
    };
    result.or_else(|error| match error.rpc() {
        Some(rpc) => Ok(json!({ "error": rpc.message })),
        None => Err(error),
    })
}

/// Events and notifications that the server sent.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Value>>>);

impl Told {
    fn note(&self, what: Value) {
        self.0.lock().expect("nobody panics").push(what);
    }

    fn all(&self) -> Value {
        json!(*self.0.lock().expect("nobody panics"))
    }

    /// Waits until there are `number` events, or a timeout passes.
    fn wait(&self, number: usize) {
        let patience = Instant::now() + Duration::from_secs(5);
        let told = || self.0.lock().expect("nobody panics").len();
        while told() < number && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn builder(arguments: &Arguments, logs: &Told) -> ClientBuilder {
    let builder = Client::builder("interop", "1.0").revisions(&arguments.revisions);
    let logs = logs.clone();
    let builder = builder.on_log_message(move |message| logs.note(json!(message)));
    let builder = if arguments.roots.is_empty() {
        builder
    } else {
        let roots: Vec<Root> = arguments.roots.iter().map(Root::new).collect();
        builder.on_list_roots(move |_| Ok(roots.clone()))
    };
    if !arguments.answer {
        return builder;
    }
    builder
        .on_elicit(|form, _| {
            let schema: Value = form.requested_schema.read().unwrap_or_default();
            let fields = schema["properties"].as_object().into_iter().flatten();
            // Fill in only strings: other fields have defaults, or are not tested here.
            let texts = fields.filter(|(_, field)| field["type"] == "string");
            let texts = texts.filter(|(_, field)| field["format"].is_null());
            let plain = texts.filter(|(_, it)| it["enum"].is_null() && it["oneOf"].is_null());
            let filled: Value = plain
                .map(|(name, _)| (name.clone(), json!("Ada")))
                .collect();
            ElicitResult::accept(&filled).unwrap_or_else(|_| ElicitResult::cancel())
        })
        .on_sample(|_, _| Ok(CreateMessageResult::new("parrot", "Paris")))
}

fn watch(
    client: &Client,
    arguments: &Arguments,
    events: &Told,
) -> mcplink::Result<Option<Subscription>> {
    if arguments.watch.is_empty() {
        return Ok(None);
    }
    let filter = SubscriptionFilter::default()
        .tools_list_changed(true)
        .resource_subscriptions(arguments.watch.clone());
    let events = events.clone();
    let noting = move |event| match event {
        Event::ResourceUpdated(uri) => events.note(json!(uri)),
        Event::ToolsChanged => events.note(json!("tools")),
        _ => {}
    };
    client.subscribe(filter, noting).map(Some)
}

/// Returns the names in each of the server's lists.
fn lists(client: &Client) -> mcplink::Result<Value> {
    let mut lists = json!({});
    if client.capabilities().resources.is_some() {
        let resources = client.list_resources()?.into_iter().map(|it| it.uri);
        lists["resources"] = resources.collect();
        // Not every server with resources implements this method.
        if let Ok(templates) = client.list_resource_templates() {
            lists["templates"] = templates.into_iter().map(|it| it.uri_template).collect();
        }
    }
    if client.capabilities().prompts.is_some() {
        lists["prompts"] = client
            .list_prompts()?
            .into_iter()
            .map(|it| it.name)
            .collect();
    }
    Ok(lists)
}

/// Returns a transport that starts the server, or connects to its URL.
fn server(command: &[String]) -> mcplink::Result<Box<dyn Transport>> {
    if let [url] = command
        && url.starts_with("http")
    {
        return Ok(Box::new(Http::new(url)?));
    }
    let mut command = command.iter();
    let program = command.next().map_or("", String::as_str);
    Ok(Box::new(Child::new(program).args(command).inherit_env()))
}

fn run(arguments: &Arguments) -> mcplink::Result<Value> {
    let (logs, events) = (Told::default(), Told::default());
    let client = builder(arguments, &logs).connect(server(&arguments.command)?)?;
    // A server may send log messages without supporting `logging/setLevel`.
    let may_set = client.revision().is_legacy() && client.capabilities().logging.is_some();
    if arguments.log && may_set {
        client.set_log_level(LoggingLevel::Debug)?;
    }
    let subscription = watch(&client, arguments, &events)?;
    let tools = client.list_tools()?.into_iter().map(|tool| tool.name);
    let tools: Vec<String> = tools.collect();
    let calls = arguments.calls.iter();
    let calls = calls.map(|it| call(&client, it, arguments.log));
    let calls: Vec<Value> = calls.collect::<mcplink::Result<_>>()?;
    let asked = arguments.asked.iter().map(|asked| ask(&client, asked));
    let asked: Vec<Value> = asked.collect::<mcplink::Result<_>>()?;
    if subscription.is_some() {
        events.wait(arguments.events);
    }
    if arguments.log {
        logs.wait(1);
    }
    let seen = json!({
        "revision": client.revision(),
        "server": client.server_info(),
        "capabilities": client.capabilities(),
        "tools": tools,
        "calls": calls,
        "lists": lists(&client)?,
        "asked": asked,
        "events": events.all(),
        "logs": logs.all(),
    });
    client.ping(CallOptions::new()).or_else(|error| {
        if error.kind() == ErrorKind::Peer {
            Ok(())
        } else {
            Err(error)
        }
    })?;
    drop(subscription);
    client.close();
    Ok(seen)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("interop_client: {error}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(seen) => {
            println!("{seen}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("interop_client: {error}");
            ExitCode::from(4)
        }
    }
}
