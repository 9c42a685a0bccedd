//! Checks of whole results against the schemas of the specification.

use mcplink::schema::ProtocolVersion;
use serde_json::{Value, json};

use super::spec::Types;
use super::wire::{initialize_params, refusal};
use super::{Check, Conn, Seen, Server, Verdict, passed, skip};
use crate::args::Level;

/// The most values that a completion may have.
const MAX_VALUES: usize = 100;
/// The most faults that a report names.
const MOST: usize = 5;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "results/opening",
        level: Level::Must,
        requirements: &["L-INIT-S-03", "M-DISC-S-01"],
        remedy: "give the result of initialize and server/discover the form that the schema describes",
        run: opening,
    },
    Check {
        name: "results/lists",
        level: Level::Must,
        requirements: &["M-TOOL-S-04", "L-TOOL-S-03"],
        remedy: "give each page of a list, and each entry, the form that the schema describes",
        run: lists,
    },
    Check {
        name: "results/call",
        level: Level::Must,
        requirements: &["M-BASE-S-08"],
        remedy: "give the result of a call, and each block of its content, the form that the schema describes",
        run: call,
    },
    Check {
        name: "results/prompt",
        level: Level::Must,
        requirements: &[],
        remedy: "give a prompt and its messages the form that the schema describes",
        run: prompt,
    },
    Check {
        name: "results/resource",
        level: Level::Must,
        requirements: &[],
        remedy: "give the contents of a resource the form that the schema describes",
        run: resource,
    },
    Check {
        name: "results/completion",
        level: Level::Must,
        requirements: &[],
        remedy: "give completions the form that the schema describes: at most 100 values",
        run: completion,
    },
];

/// Fails if a result has not the form of its type.
fn validate(revision: ProtocolVersion, method: &str, name: &str, result: &Value) -> Seen {
    // A server of 2026-07-28 may need input instead of a result.
    let name = match result["resultType"].as_str() {
        Some("input_required") if revision.is_modern() => "InputRequiredResult",
        _ => name,
    };
    let faults = Types::of(revision).faults(name, result);
    if faults.is_empty() {
        return passed();
    }
    let shown = faults.iter().take(MOST).cloned().collect::<Vec<_>>();
    let more = match faults.len() - shown.len() {
        0 => String::new(),
        more => format!(", and {more} more faults"),
    };
    let faults = shown.join("; ");
    Err(format!("the result of {method}: {faults}{more}").into())
}

/// Sends a request, and validates its result. An error is no result.
fn ask(conn: &mut Conn, method: &str, name: &str, params: Value) -> Result<Value, Verdict> {
    let response = conn.request(method, params)?;
    let Some(result) = response.get("result") else {
        return skip(&format!("{method} is refused: {}", refusal(&response)?));
    };
    validate(conn.revision, method, name, result)?;
    Ok(result.clone())
}

/// Returns the first request of a revision, and the type of its result.
fn opening_of(revision: ProtocolVersion) -> (&'static str, &'static str) {
    match revision.is_modern() {
        true => ("server/discover", "DiscoverResult"),
        false => ("initialize", "InitializeResult"),
    }
}

fn opening(server: &Server) -> Seen {
    for revision in &server.revisions {
        // A server that is open has sent a result that can be read.
        if let Ok(result) = server.with(*revision, |conn| Ok(conn.opening.clone())) {
            let (method, name) = opening_of(*revision);
            validate(*revision, method, name, &result)?;
            continue;
        }
        let mut conn = server.connect(*revision)?;
        let (method, name) = opening_of(*revision);
        let params = match revision.is_modern() {
            true => json!({}),
            false => initialize_params(revision.as_str()),
        };
        let seen = ask(&mut conn, method, name, params);
        conn.close();
        let result = seen?;
        let spoken = result["protocolVersion"].as_str().unwrap_or_default();
        if !revision.is_modern() && spoken.parse::<ProtocolVersion>().is_err() {
            let spoken = super::excerpt(spoken);
            return Err(
                format!("the result of initialize: no revision is named '{spoken}'").into(),
            );
        }
    }
    passed()
}

fn lists(server: &Server) -> Seen {
    server.each(|conn| {
        let capabilities = conn.capabilities();
        let mut count = 0;
        for (capability, method, name) in [
            ("tools", "tools/list", "ListToolsResult"),
            ("prompts", "prompts/list", "ListPromptsResult"),
            ("resources", "resources/list", "ListResourcesResult"),
            (
                "resources",
                "resources/templates/list",
                "ListResourceTemplatesResult",
            ),
        ] {
            if !capabilities.contains_key(capability) {
                continue;
            }
            match ask(conn, method, name, json!({})) {
                Ok(_) => count += 1,
                // A check of its own reports a list that fails.
                Err(Verdict::Skipped(_)) => {}
                Err(failed) => return Err(failed),
            }
        }
        match count {
            0 => skip("the server has no lists"),
            count => Ok(format!("{count} lists")),
        }
    })
}

fn call(server: &Server) -> Seen {
    let Some((name, arguments)) = &server.call else {
        return skip("no tool may be called: --call TOOL --arguments JSON");
    };
    server.each(|conn| {
        let params = json!({ "name": name, "arguments": arguments });
        ask(conn, "tools/call", "CallToolResult", params)?;
        passed()
    })
}

/// Returns the first entry of a list that fits.
fn first(conn: &mut Conn, list: &str, fits: impl Fn(&Value) -> bool) -> Result<Value, Verdict> {
    if !conn.capabilities().contains_key(list) {
        return skip(&format!("the server has no {list}"));
    }
    let entries = conn.list(list)?;
    let entry = entries.into_iter().find(fits);
    entry.map_or_else(|| skip(&format!("none of the {list} can be tried")), Ok)
}

fn prompt(server: &Server) -> Seen {
    server.each(|conn| {
        let prompt = first(conn, "prompts", |prompt| prompt["name"].is_string())?;
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.filter_map(|argument| argument["name"].as_str());
        let arguments = arguments.map(|name| (name.to_owned(), json!("test")));
        let arguments: serde_json::Map<_, _> = arguments.collect();
        let params = json!({ "name": prompt["name"], "arguments": arguments });
        ask(conn, "prompts/get", "GetPromptResult", params)?;
        passed()
    })
}

fn resource(server: &Server) -> Seen {
    server.each(|conn| {
        let resource = first(conn, "resources", |resource| resource["uri"].is_string())?;
        let params = json!({ "uri": resource["uri"] });
        ask(conn, "resources/read", "ReadResourceResult", params)?;
        passed()
    })
}

fn completion(server: &Server) -> Seen {
    server.each(|conn| {
        if !conn.capabilities().contains_key("completions") {
            return skip("the server declares no completions");
        }
        let prompt = first(conn, "prompts", |prompt| {
            prompt["arguments"][0]["name"].is_string()
        })?;
        let params = json!({
            "ref": { "type": "ref/prompt", "name": prompt["name"] },
            "argument": { "name": prompt["arguments"][0]["name"], "value": "" },
        });
        let result = ask(conn, "completion/complete", "CompleteResult", params)?;
        let count = result["completion"]["values"]
            .as_array()
            .map_or(0, Vec::len);
        // Up to 2025-11-25 only the text of the schema says so.
        match count <= MAX_VALUES {
            true => passed(),
            false => Err(format!(
                "completion.values is a list of {count}, not of at most {MAX_VALUES} items"
            )
            .into()),
        }
    })
}
