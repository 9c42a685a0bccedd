//! Checks of names and schemas: what the protocol demands, and what the model interfaces of hosts
//! refuse.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, Seen, Server, Verdict, excerpt, excerpt_of, passed, skip};
use crate::args::Level;

/// The depth to which schemas are looked at.
const MAX_DEPTH: usize = 64;
/// The most schemas that are looked at.
const MAX_SCHEMAS: usize = 100_000;
/// The most tools that every model interface takes.
const MAX_TOOLS: usize = 128;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "schemas/tool-names",
        level: Level::Should,
        requirements: &[
            "M-TOOL-S-12",
            "M-TOOL-S-14",
            "M-TOOL-S-16",
            "L-TOOL-S-07",
            "L-TOOL-S-10",
        ],
        remedy: "name tools with 1 to 128 of A-Z a-z 0-9 _ - . and each one differently",
        run: tool_names,
    },
    Check {
        name: "schemas/input",
        level: Level::Must,
        requirements: &["M-TOOL-S-08", "M-TOOL-S-09", "L-TOOL-S-05"],
        remedy: "give each tool an inputSchema with \"type\": \"object\" at its root",
        run: input,
    },
    Check {
        name: "schemas/valid",
        level: Level::Must,
        requirements: &["M-JSCH-B-06", "L-JSCH-B-06"],
        remedy: "make each schema valid JSON Schema (2020-12, unless $schema says otherwise)",
        run: valid,
    },
    Check {
        name: "schemas/references",
        level: Level::Should,
        requirements: &["M-JSCH-B-07", "M-JSCH-B-10"],
        remedy: "refer only to parts of the same schema: no client fetches others",
        run: references,
    },
    Check {
        name: "schemas/required",
        level: Level::Should,
        requirements: &[],
        remedy: "describe each required argument in properties",
        run: required,
    },
    Check {
        name: "schemas/output",
        level: Level::Must,
        requirements: &["L-TOOL-S-14", "L-TOOL-S-21"],
        remedy: "up to 2025-11-25, give an outputSchema \"type\": \"object\" at its root, or leave it out",
        run: output,
    },
    Check {
        name: "schemas/descriptions",
        level: Level::Hosts,
        requirements: &[],
        remedy: "describe each tool: models choose tools by their descriptions",
        run: descriptions,
    },
    Check {
        name: "schemas/host-names",
        level: Level::Hosts,
        requirements: &[],
        remedy: "name tools with at most 64 of A-Z a-z 0-9 _ - only, and arguments so too",
        run: host_names,
    },
    Check {
        name: "schemas/host-root",
        level: Level::Hosts,
        requirements: &[],
        remedy: "use no oneOf, anyOf, allOf, not, enum at the root of an inputSchema",
        run: host_root,
    },
    Check {
        name: "schemas/host-arrays",
        level: Level::Hosts,
        requirements: &[],
        remedy: "give each array of an inputSchema its items",
        run: host_arrays,
    },
    Check {
        name: "schemas/host-count",
        level: Level::Hosts,
        requirements: &[],
        remedy: "have at most 128 tools, or let the user choose",
        run: host_count,
    },
];

fn tools(server: &Server) -> Result<&[Value], Verdict> {
    match server.tools() {
        [] => skip("the server has no tools"),
        tools => Ok(tools),
    }
}

fn name_of(tool: &Value) -> String {
    excerpt(tool["name"].as_str().unwrap_or("(no name)"))
}

fn is_name(name: &str, longest: usize, others: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    (1..=longest).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Joins the faults of several tools into one failure.
fn seen(faults: Vec<String>) -> Seen {
    match &faults[..] {
        [] => passed(),
        [first] => Err(Verdict::Failed(first.clone())),
        [first, others @ ..] => {
            let more = others.len();
            Err(Verdict::Failed(format!("{first}, and {more} more like it")))
        }
    }
}

fn tool_names(server: &Server) -> Seen {
    let mut known = BTreeSet::new();
    let mut faults = Vec::new();
    for tool in tools(server)? {
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_name(name, 128, "_-.") {
            faults.push(format!("the name of tool {:?}", name_of(tool)));
        }
        if !known.insert(name) {
            faults.push(format!("two tools are named {:?}", name_of(tool)));
        }
    }
    seen(faults)
}

fn input(server: &Server) -> Seen {
    let wrong = tools(server)?
        .iter()
        .filter(|tool| tool["inputSchema"]["type"] != "object");
    seen(
        wrong
            .map(|tool| {
                let schema = excerpt_of(&tool["inputSchema"]);
                format!("the inputSchema of {:?} is {schema}", name_of(tool))
            })
            .collect(),
    )
}

fn output(server: &Server) -> Seen {
    let tools = server.with(server.legacy()?, |conn| {
        match conn.capabilities().contains_key("tools") {
            true => conn.list("tools"),
            false => skip("the server has no tools"),
        }
    })?;
    let wrong = tools.iter().filter(|tool| {
        let schema = &tool["outputSchema"];
        !schema.is_null() && schema["type"] != "object"
    });
    seen(
        wrong
            .map(|tool| format!("the outputSchema of {:?} is of no object", name_of(tool)))
            .collect(),
    )
}

fn descriptions(server: &Server) -> Seen {
    let missing = tools(server)?.iter().filter(|tool| {
        let description = tool["description"].as_str().unwrap_or_default();
        description.trim().is_empty()
    });
    seen(
        missing
            .map(|tool| format!("tool {:?} has no description", name_of(tool)))
            .collect(),
    )
}

fn host_names(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for tool in tools(server)? {
        if !is_name(tool["name"].as_str().unwrap_or_default(), 64, "_-") {
            faults.push(format!("the name of tool {:?}", name_of(tool)));
        }
        let members = tool["inputSchema"]["properties"].as_object();
        for member in members.into_iter().flat_map(|members| members.keys()) {
            if !is_name(member, 64, "_-.") {
                let member = excerpt(member);
                faults.push(format!(
                    "the argument {member:?} of tool {:?}",
                    name_of(tool)
                ));
            }
        }
    }
    seen(faults)
}

fn host_root(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for tool in tools(server)? {
        for keyword in ["oneOf", "anyOf", "allOf", "not", "enum"] {
            if tool["inputSchema"].get(keyword).is_some() {
                faults.push(format!(
                    "tool {:?} has {keyword} at its root",
                    name_of(tool)
                ));
            }
        }
    }
    seen(faults)
}

fn host_arrays(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for tool in tools(server)? {
        walk(&tool["inputSchema"], &mut |path, schema| {
            let is_array = schema["type"] == "array";
            if is_array
                && schema
                    .get("items")
                    .or_else(|| schema.get("prefixItems"))
                    .is_none()
            {
                faults.push(format!("{path} of tool {:?} has no items", name_of(tool)));
            }
        });
    }
    seen(faults)
}

fn host_count(server: &Server) -> Seen {
    let count = tools(server)?.len();
    match count <= MAX_TOOLS {
        true => Ok(format!("{count} tools")),
        false => Err(format!("there are {count} tools").into()),
    }
}

fn required(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for tool in tools(server)? {
        let schema = &tool["inputSchema"];
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let may_be_elsewhere = ["allOf", "$ref", "patternProperties"]
                .iter()
                .any(|keyword| schema.get(keyword).is_some());
            if schema["properties"].get(name).is_none() && !may_be_elsewhere {
                let name = excerpt(name);
                faults.push(format!(
                    "tool {:?} requires {name:?} without a description",
                    name_of(tool)
                ));
            }
        }
    }
    seen(faults)
}

fn references(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for (tool, kind) in all_schemas(server)? {
        let root = &tool[kind];
        // A schema may have names of its own for its parts.
        let mut anchors = BTreeSet::new();
        walk(root, &mut |_, schema| {
            for keyword in ["$id", "$anchor", "$dynamicAnchor"] {
                anchors.extend(schema[keyword].as_str().map(str::to_owned));
            }
        });
        walk(root, &mut |path, schema| {
            let Some(target) = schema["$ref"].as_str() else {
                return;
            };
            let is_known = match target.strip_prefix('#') {
                Some("") => true,
                Some(pointer) if pointer.starts_with('/') => {
                    root.pointer(&decoded(pointer)).is_some()
                }
                Some(anchor) => anchors.contains(anchor),
                None => anchors.contains(target.split('#').next().unwrap_or_default()),
            };
            if !is_known {
                let target = excerpt(target);
                faults.push(format!(
                    "{path} of tool {:?} refers to {target:?}",
                    name_of(tool)
                ));
            }
        });
    }
    seen(faults)
}

/// Decodes the percent escapes of a URI fragment.
fn decoded(fragment: &str) -> String {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
        {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(part.as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the tools with the names of their schemas.
fn all_schemas(server: &Server) -> Result<Vec<(&Value, &'static str)>, Verdict> {
    let kinds = ["inputSchema", "outputSchema"];
    let tools = tools(server)?.iter();
    let schemas = tools.flat_map(|tool| kinds.map(|kind| (tool, kind)));
    Ok(schemas
        .filter(|(tool, kind)| !tool[*kind].is_null())
        .collect())
}

fn valid(server: &Server) -> Seen {
    let mut faults = Vec::new();
    for (tool, kind) in all_schemas(server)? {
        walk(&tool[kind], &mut |path, schema| {
            if let Some(fault) = fault_of(schema) {
                faults.push(format!(
                    "{path} in the {kind} of {:?}: {fault}",
                    name_of(tool)
                ));
            }
        });
    }
    seen(faults)
}

/// Returns what is wrong with one schema, apart from the schemas in it.
fn fault_of(schema: &Value) -> Option<String> {
    const TYPES: [&str; 7] = [
        "null", "boolean", "object", "array", "number", "string", "integer",
    ];
    let Value::Object(members) = schema else {
        let is_schema = schema.is_boolean();
        return (!is_schema).then(|| format!("{} is no schema", excerpt_of(schema)));
    };
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    for (keyword, value) in members {
        let is_right = match keyword.as_str() {
            "type" => match value {
                Value::Array(types) => !types.is_empty() && types.iter().all(is_type),
                value => is_type(value),
            },
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                value.is_object()
            }
            "required" => {
                let names = value.as_array();
                names.is_some_and(|names| names.iter().all(Value::is_string))
            }
            "enum" => value.is_array(),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.as_array().is_some_and(|schemas| !schemas.is_empty())
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => value
                .as_f64()
                .is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "pattern" | "format" | "title" | "description" | "$ref" | "$schema" | "$id"
            | "$anchor" | "$comment" => value.is_string(),
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "examples" => value.is_array(),
            // Of older dialects, or of none.
            _ => true,
        };
        if !is_right {
            return Some(format!("{keyword} is {}", excerpt_of(value)));
        }
    }
    None
}

/// Visits a schema and those in it, with their paths.
fn walk(root: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    let mut waiting: Vec<(String, &Value, usize)> = vec![("the root".to_owned(), root, 0)];
    let mut count = 0;
    while let Some((path, schema, depth)) = waiting.pop() {
        count += 1;
        if depth > MAX_DEPTH || count > MAX_SCHEMAS {
            continue;
        }
        visit(&path, schema);
        let Value::Object(members) = schema else {
            continue;
        };
        let below = |name: &str| match depth {
            0 => name.to_owned(),
            _ => excerpt(&format!("{path}/{name}")),
        };
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    let schemas = schemas.iter();
                    waiting.extend(schemas.map(|(name, schema)| (below(name), schema, depth + 1)));
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                    let schemas = schemas.iter();
                    waiting.extend(schemas.map(|schema| (below(keyword), schema, depth + 1)));
                }
                (
                    "items"
                    | "additionalProperties"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "contains"
                    | "propertyNames"
                    | "unevaluatedProperties"
                    | "unevaluatedItems",
                    schema @ (Value::Object(_) | Value::Bool(_)),
                ) => waiting.push((below(keyword), schema, depth + 1)),
                _ => {}
            }
        }
    }
}
