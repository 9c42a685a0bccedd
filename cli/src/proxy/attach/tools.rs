//! The tools of `attach` itself: `instances` and `choose` while somebody can choose among instances,
//! and `start` while no instance runs and there is a command for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcplink::schema::{CallToolResult, JsonSchema, Tool};
use mcplink::server::{HandlerError, Server, ToolCall};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::shown::Shown;
use super::program::Program;
use crate::print::note;

/// The prefix of a name that the program itself uses.
const PREFIX: &str = "mcplink_";

#[derive(Clone, Copy)]
enum Own {
    Instances,
    Choose,
    Start,
}

impl Own {
    const ALL: [Self; 3] = [Self::Instances, Self::Choose, Self::Start];

    fn name(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Choose => "choose",
            Self::Start => "start",
        }
    }

    fn is_shown(self, program: &Program) -> bool {
        match self {
            Self::Instances | Self::Choose => program.has_choice(),
            Self::Start => program.can_start(),
        }
    }

    fn tool(self, program: &str, name: &str) -> mcplink::Result<Tool> {
        let none = json!({"type": "object", "properties": {}});
        let (text, schema) = match self {
            Self::Instances => (
                format!("Lists the running instances of {program}, and which one is in use"),
                none,
            ),
            Self::Choose => (
                format!("Chooses the instance of {program} that the other tools are for"),
                json!({
                    "type": "object",
                    "properties": {"instance": {
                        "type": "string",
                        "description": "The id, the title, the folder or the process number"
                    }},
                    "required": ["instance"]
                }),
            ),
            Self::Start => (format!("Starts {program}"), none),
        };
        let mut tool = Tool::new(name).input_schema(JsonSchema::new(&schema)?);
        tool.description = Some(text);
        Ok(match self {
            Self::Instances => tool.read_only(),
            Self::Choose | Self::Start => tool,
        })
    }

    fn run(self, program: &Arc<Program>, call: ToolCall) {
        let result = match self {
            Self::Instances => instances(program),
            Self::Choose => choose(program, &call),
            Self::Start => start(program, &call),
        };
        // Answering fails only when the client no longer waits.
        _ = call.respond(result);
    }
}

fn instances(program: &Program) -> Result<CallToolResult, HandlerError> {
    let (all, current) = program.candidates();
    let row = |one: &crate::instances::Found| {
        let mut row = json!(one);
        row["in_use"] = json!(current.as_ref() == Some(&one.id));
        row
    };
    let list = json!({ "instances": all.iter().map(row).collect::<Vec<Value>>() });
    Ok(CallToolResult::text(list.to_string()).structured(&list)?)
}

fn choose(program: &Arc<Program>, call: &ToolCall) -> Result<CallToolResult, HandlerError> {
    #[derive(Deserialize)]
    struct Arguments {
        instance: Value,
    }
    let arguments: Arguments = serde_json::from_str(call.raw_arguments())?;
    let word = match arguments.instance {
        Value::String(word) => word,
        // A process number.
        other => other.to_string(),
    };
    let cancel = call.context().cancel_token();
    let chosen = program.choose(&word, cancel).map_err(HandlerError::new)?;
    let text = format!(
        "The instance of {} in use is now: {chosen}. Its tools are listed.",
        program.name
    );
    Ok(CallToolResult::text(text))
}

fn start(program: &Arc<Program>, call: &ToolCall) -> Result<CallToolResult, HandlerError> {
    let ready = program.ready(call.context().cancel_token());
    ready.map_err(|error| HandlerError::new(error.message))?;
    let text = format!("{} is running, and its tools are listed.", program.name);
    Ok(CallToolResult::text(text))
}

/// Adds and removes the own tools after the tools of the program were shown. A tool of the program
/// keeps its name: the own tool gets a prefix then.
pub(in crate::proxy) fn show(program: &Arc<Program>, server: &Server, shown: &mut Shown) {
    let taken: BTreeSet<String> = shown.tools.keys().cloned().collect();
    let name = |own: Own| match taken.contains(own.name()) {
        true => format!("{PREFIX}{}", own.name()),
        false => own.name().to_owned(),
    };
    let wanted: Vec<(String, Own)> = Own::ALL
        .into_iter()
        .filter(|own| own.is_shown(program))
        .map(|own| (name(own), own))
        .collect();
    let names: BTreeSet<String> = wanted.iter().map(|(name, _)| name.clone()).collect();
    // They are set first: the host may read the list as soon as it changes.
    program.set_names(names.clone(), taken.clone());
    for name in shown.own.difference(&names) {
        // A tool of the program that has this name has replaced ours.
        if !taken.contains(name) {
            server.remove_tool(name);
        }
    }
    for (name, own) in wanted {
        if shown.own.contains(&name) {
            continue;
        }
        let program = Arc::clone(program);
        let tool = own.tool(&program.name, &name);
        let added = tool.and_then(|tool| {
            server.add_deferred_tool(tool, move |call| {
                let this = Arc::clone(&program);
                // The connection of the client does not wait for the program.
                program.gate.run(move || own.run(&this, call));
            })
        });
        if let Err(error) = added {
            note(&format!("mcplink: tool {name} is left out: {error}"));
        }
    }
    shown.own = names;
}
