//! A program that publishes its server, for tests of `mcplink attach`:
//! `cli_published_program NAME [TITLE [legacy|modern [TOOL ...]]]`. It says `published` when it is
//! found, and then does what the lines of its standard input say: `title TEXT`, `add TOOL`, `remove
//! TOOL`, `touch`. It says `done` after each of them, and ends with the input. With the variable
//! `STAYS` it ends when its tool `quit` is called, or after two minutes.
//!
//! The tools: `who` returns title and process number, `may` the capabilities of the client, `ask`
//! asks for a confirmation, `sample` asks the model, `roots` returns the client's roots, `log` logs,
//! `slow` reports progress until it is cancelled, and then says `cancelled`, `task` may run as a
//! task. `TITLE` may be `-` for none.
#![allow(
    clippy::unwrap_used,
    reason = "a program that can't go on fails its test"
)]

use std::env;
use std::io::{self, BufRead as _, Write as _};
use std::process;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcplink::schema::{
    CompletionReference, CreateMessageRequestParams, LoggingLevel, Prompt, PromptArgument,
    ProtocolVersion, Resource, SamplingMessage, Tool,
};
use mcplink::server::{Context, HandlerError, Publish, Server, ServerBuilder, TaskOptions};
use serde_json::{Value, json};

fn say(text: &str) {
    let mut out = io::stdout().lock();
    // The test may have gone.
    _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

type Answer = Result<String, HandlerError>;

fn with_tools(builder: ServerBuilder, title: Arc<Mutex<String>>) -> ServerBuilder {
    let who = move |_: Value, _: &Context| -> Answer {
        Ok(format!("{} {}", title.lock().unwrap(), process::id()))
    };
    builder
        .tool_with(Tool::new("who").read_only(), who)
        .tool_with(Tool::new("may"), |_: Value, context: &Context| -> Answer {
            Ok(serde_json::to_string(&context.client().capabilities)?)
        })
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| -> Answer {
            let is_sure = context.confirm("sure", "Go on?")?;
            Ok(format!("sure: {is_sure}"))
        })
        .tool_with(
            Tool::new("sample"),
            |_: Value, context: &Context| -> Answer {
                let asked = SamplingMessage::user("cats");
                let answer =
                    context.sample("cats", CreateMessageRequestParams::new([asked], 10))?;
                let text = answer.content.blocks()[0].as_text().unwrap().to_owned();
                Ok(format!("model: {text}"))
            },
        )
        .tool_with(
            Tool::new("roots"),
            |_: Value, context: &Context| -> Answer {
                let roots = context.list_roots("roots")?.roots;
                let uris: Vec<String> = roots.into_iter().map(|root| root.uri).collect();
                Ok(uris.join(" "))
            },
        )
        .tool_with(Tool::new("log"), |_: Value, context: &Context| -> Answer {
            context.log(LoggingLevel::Warning, None, json!("it is hot"));
            Ok("logged".to_owned())
        })
        .tool_with(
            Tool::new("talk"),
            |arguments: Value, context: &Context| -> Answer {
                let word = arguments["word"].as_str().unwrap();
                for number in 1..=arguments["count"].as_u64().unwrap() {
                    let text = format!("{word} {number}");
                    context.progress(number as f64, None, Some(&text));
                    context.log(LoggingLevel::Info, None, json!(text));
                }
                Ok(word.to_owned())
            },
        )
        .tool_with(Tool::new("slow"), |_: Value, context: &Context| -> Answer {
            for step in 1..=36_000 {
                context.progress(step.into(), None, None);
                if context.cancel_token().wait(Duration::from_millis(10)) {
                    say("cancelled");
                    break;
                }
            }
            Ok("slow".to_owned())
        })
        .tool_with(Tool::new("quit"), |_: Value, _: &Context| -> Answer {
            process::exit(0)
        })
        .tool_with(Tool::new("task"), |_: Value, context: &Context| -> Answer {
            context.become_task()?;
            Ok("task done".to_owned())
        })
        .prompt_with_arguments(
            Prompt::new("greet").argument(PromptArgument::new("name")),
            |_: Value, _: &Context| "Hello",
        )
        .completer(
            &CompletionReference::prompt("greet"),
            "name",
            |_: &_, _: &_| vec!["Ada".to_owned()],
        )
}

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let word = |at: usize| words.get(at).map(String::as_str);
    let name = word(0).unwrap();
    let title = word(1).filter(|title| *title != "-").unwrap_or_default();
    let is_meant = |one: &&ProtocolVersion| match word(2) {
        Some("legacy") => one.is_legacy(),
        Some("modern") => one.is_modern(),
        _ => true,
    };
    let revisions: Vec<_> = ProtocolVersion::ALL
        .iter()
        .filter(is_meant)
        .copied()
        .collect();
    let shown = Arc::new(Mutex::new(title.to_owned()));
    let builder = Server::builder(name, "1.0")
        .revisions(&revisions)
        .instructions(format!("These are the tools of {name}."))
        .tasks(TaskOptions::default())
        .logging(true);
    let server = with_tools(builder, Arc::clone(&shown)).build().unwrap();
    let text = Arc::clone(&shown);
    let state = Resource::new("x:state", "state");
    server
        .add_resource(state, move |_: &_, _: &_| text.lock().unwrap().clone())
        .unwrap();
    let add = |tool: &str| {
        let own = format!("own {tool}");
        let tool = Tool::new(tool);
        server.add_tool(tool, move |_: Value, _: &Context| own.clone())
    };
    words.iter().skip(3).for_each(|tool| add(tool).unwrap());
    let mut options = Publish::new().folder(format!("/folder of {title}"));
    if !title.is_empty() {
        options = options.title(title);
    }
    let publication = server.publish(name, options).unwrap();
    say("published");
    if env::var_os("STAYS").is_some() {
        thread::sleep(Duration::from_secs(120));
        return;
    }
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("title", text) => {
                text.clone_into(&mut shown.lock().unwrap());
                publication.set_title(text).unwrap();
            }
            ("add", tool) => add(tool).unwrap(),
            ("remove", tool) => assert!(server.remove_tool(tool)),
            ("touch", _) => server.resource_updated("x:state"),
            other => panic!("{other:?}"),
        }
        say("done");
    }
}
