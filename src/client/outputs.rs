//! What the tools of a server promise of their results, remembered from `tools/list`, and results held against it.
//!
//! A schema is compiled when its tool is called for the first time. What a server says of a change makes all of them unknown, and so does
//! its loss, until the tools are listed again.
//!
//! Spec: Server Features, Tools, "Output Schema" (since 2025-06-18).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::is_empty_array;
use crate::schema::{CallToolResult, JsonSchema, ProtocolVersion, TaskSupport, Tool};
use crate::sync::Mutex;
use crate::validation::{CompiledSchema, Validator};

/// Names and schemas of more bytes than this are not remembered.
const MAX_BYTES: usize = 16 << 20;

/// What a tool promised of its results.
pub(super) struct Promised {
    pub(super) schema: Option<CompiledSchema>,
    /// That of what was known of the tools.
    pub(super) age: u64,
    /// When the call began, and how long it may take.
    pub(super) began: Instant,
    pub(super) timeout: Option<Duration>,
}

impl Promised {
    /// Until when a result that has come may be checked: the end of the call, or as long again if
    /// the call was extended.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let timeout = self.timeout?;
        let (now, end) = (Instant::now(), self.began.checked_add(timeout)?);
        if now < end {
            Some(end)
        } else {
            now.checked_add(timeout)
        }
    }
}

/// The output schemas of a server's tools.
#[derive(Debug)]
pub(super) struct Outputs {
    validator: Option<Validator>,
    /// Schemas are taken by the letter.
    strict: bool,
    /// What is known. Not held while a schema is compiled.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    schemas: HashMap<String, Promise>,
    /// Tools that can be called as tasks only.
    tasks: HashSet<String>,
    bytes: usize,
    /// Grows with each change that the server tells, and when it is lost.
    age: u64,
}

#[derive(Clone, Debug)]
struct Promise {
    schema: Arc<JsonSchema>,
    compiled: Option<Result<CompiledSchema>>,
}

impl Outputs {
    pub(super) fn new(validator: Option<Validator>, strict: bool) -> Self {
        Self {
            validator,
            strict,
            known: Mutex::default(),
        }
    }

    /// The list of tools may be another one from now on.
    pub(super) fn forget(&self) {
        let mut known = self.known.lock();
        let age = known.age + 1;
        let old = std::mem::replace(
            &mut *known,
            Known {
                age,
                ..Known::default()
            },
        );
        drop(known);
        drop(old);
    }

    /// How old the knowledge is, to be told before tools are listed.
    pub(super) fn age(&self) -> u64 {
        self.known.lock().age
    }

    /// Remembers tools, unless they have changed since `age`. Returns whether there was room for all of them.
    pub(super) fn learn(&self, tools: &[Tool], age: u64) -> bool {
        let mut known = self.known.lock();
        if known.age != age {
            return true;
        }
        tools.iter().for_each(|tool| known.learn_task(tool));
        if self.validator.is_none() {
            return true;
        }
        // Behind one that found no room there may be others that do.
        let left_out = tools.iter().filter(|tool| !known.learn(tool)).count();
        left_out == 0
    }

    /// Whether a tool is known to be one that can be called as a task only.
    pub(super) fn needs_task(&self, name: &str) -> bool {
        self.known.lock().tasks.contains(name)
    }

    /// What results of a tool are checked with; `None` when nothing is known of them.
    fn promise(&self, name: &str) -> Option<Result<CompiledSchema>> {
        let validator = self.validator.as_ref()?;
        let promise = self.known.lock().schemas.get(name)?.clone();
        if promise.compiled.is_some() {
            return promise.compiled;
        }
        let mut compiled = validator.compile_of_peer(&promise.schema);
        if compiled.is_err()
            && !self.strict
            && let Some(settled) = promise.schema.with_empty_objects()
            && let Ok(other) = validator.compile(&settled)
        {
            compiled = Ok(other);
        }
        if let Some(known) = self.known.lock().schemas.get_mut(name)
            && Arc::ptr_eq(&known.schema, &promise.schema)
        {
            known.compiled = Some(compiled.clone());
        }
        Some(compiled)
    }

    /// Makes ready what results of a tool are checked with, before it is called.
    pub(super) fn check_of(&self, name: &str) -> Result<Option<CompiledSchema>> {
        let compiled = self.promise(name).transpose();
        compiled.map_err(|error| blaming_the_server(error).remark(SWITCH))
    }
}

/// What a host does that has to live with a server as it is.
const SWITCH: &str = "ClientBuilder::validator can switch the check off";

/// What is wrong is not what the caller gave.
fn blaming_the_server(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Invalid => error.with_kind(ErrorKind::Protocol),
        _ => error,
    }
}

impl Known {
    /// Remembers that a tool can be called as a task only. One for which there is no room is refused by the server.
    fn learn_task(&mut self, tool: &Tool) {
        let execution = tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.as_ref());
        let required = matches!(support, Some(TaskSupport::Required));
        if !required {
            if self.tasks.remove(&tool.name) {
                self.bytes -= tool.name.len();
            }
        } else if self.bytes + tool.name.len() <= MAX_BYTES && self.tasks.insert(tool.name.clone())
        {
            self.bytes += tool.name.len();
        }
    }

    fn learn(&mut self, tool: &Tool) -> bool {
        let size = |schema: &JsonSchema| tool.name.len() + schema.as_str().len();
        if let Some(old) = self.schemas.get(&tool.name) {
            if Some(&*old.schema) == tool.output_schema.as_ref() {
                return true;
            }
            self.bytes -= size(&old.schema);
            self.schemas.remove(&tool.name);
        }
        let Some(schema) = &tool.output_schema else {
            return true;
        };
        if self.bytes + size(schema) > MAX_BYTES {
            return false;
        }
        self.bytes += size(schema);
        let promise = Promise {
            schema: Arc::new(schema.clone()),
            compiled: None,
        };
        self.schemas.insert(tool.name.clone(), promise);
        true
    }
}

/// An empty array stands for an empty object where only an object can be meant: servers that are written in PHP can't tell them apart.
pub(super) fn settle_empty(
    promised: Option<&CompiledSchema>,
    revision: ProtocolVersion,
    result: &mut CallToolResult,
) {
    const OBJECT: &str = "{}";
    let Some(content) = &mut result.structured_content else {
        return;
    };
    if !is_empty_array(content.get()) {
        return;
    }
    let means_object = match promised {
        _ if revision.is_legacy() => true,
        Some(schema) => schema.check(content.get()).is_err() && schema.check(OBJECT).is_ok(),
        None => false,
    };
    if means_object {
        *content = RawValue::from_string(OBJECT.to_owned()).expect("an object");
    }
}

/// Holds a result against what was promised.
pub(super) fn check(
    promised: &CompiledSchema,
    result: &CallToolResult,
    deadline: Option<Instant>,
) -> Result<()> {
    if result.is_error() {
        return Ok(());
    }
    let checked = match &result.structured_content {
        Some(content) => promised.check_of_peer(content.get(), deadline),
        None => Err(Error::new(ErrorKind::Invalid, "there is none")),
    };
    checked.map_err(|error| blaming_the_server(error).sent(true))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn tool(name: &str, bytes: usize) -> Tool {
        let text = format!(r#"{{"description":"{}"}}"#, "x".repeat(bytes));
        Tool::new(name).output_schema(JsonSchema::parse(&text).expect("JSON"))
    }

    fn outputs() -> Outputs {
        let validator = Validator::custom(|_| Ok(|_: &str| Ok(())));
        Outputs::new(Some(validator), false)
    }

    // Seen in other SDKs: memory grows with every use.
    #[test]
    fn what_is_remembered_is_bounded() {
        let outputs = outputs();
        assert!(outputs.learn(&[tool("a", 10 << 20)], 0));
        assert!(!outputs.learn(&[tool("b", 10 << 20), tool("c", 1)], 0));
        assert!(outputs.promise("b").is_none());
        assert!(outputs.promise("a").is_some() && outputs.promise("c").is_some());
        // What is said of a tool again takes the place of what was said before.
        for _ in 0..10 {
            assert!(outputs.learn(&[tool("a", 9 << 20)], 0));
            assert!(outputs.learn(&[tool("a", 10 << 20)], 0));
        }
        assert!(outputs.learn(&[Tool::new("a")], 0));
        assert!(outputs.promise("a").is_none());
        assert!(outputs.learn(&[tool("b", 10 << 20)], 0));
    }

    // Must not happen: the cache serves stale lists, or those of another user or server.
    #[test]
    fn what_was_listed_before_a_change_is_not_remembered_after_it() {
        let outputs = outputs();
        let age = outputs.age();
        assert!(outputs.learn(&[tool("a", 1)], age));
        outputs.forget();
        assert!(outputs.promise("a").is_none());
        assert!(outputs.learn(&[tool("a", 1)], age));
        assert!(outputs.promise("a").is_none());
        assert!(outputs.learn(&[tool("a", 1)], outputs.age()));
        assert!(outputs.promise("a").is_some());
    }
}
