//! The output schemas of a server's tools, remembered from `tools/list`, and the validation of
//! results.
//!
//! A schema is compiled when its tool is called for the first time. All schemas are forgotten when
//! the server reports a change of its tools, and when the connection to the server ends. To get the
//! schemas again, the client must list the tools again.
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

/// The maximum number of bytes of all remembered tool names and schemas.
const MAX_BYTES: usize = 16 << 20;

/// The output schema and the time limits for validating the result of one call.
pub(super) struct ResultCheck {
    pub(super) schema: Option<CompiledSchema>,
    /// The value of `Known::age` when the call began. If `Known::age` differs after the call, the
    /// tools may have changed.
    pub(super) age: u64,
    /// The start of the call. The timeout of the call counts from this time.
    pub(super) began: Instant,
    pub(super) timeout: Option<Duration>,
}

impl ResultCheck {
    /// Returns the deadline for validating a result, which is the end of the call's timeout. If
    /// this time has passed because the call was extended, validation gets the whole timeout again.
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
    /// Whether schemas are used exactly as written. Otherwise known errors of servers are
    /// corrected.
    strict: bool,
    /// The known tools, with their schemas.
    // The lock is not held while a schema is compiled, because that takes long. The schema may be
    // replaced meanwhile. So the compiled schema is stored only if its source is still the known
    // schema.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    schemas: HashMap<String, KnownSchema>,
    /// The names of the tools that can only be called as tasks.
    tasks: HashSet<String>,
    bytes: usize,
    /// The generation of the known tools. The number increases when the server reports a change of
    /// its tools, and when the connection to the server ends.
    age: u64,
}

#[derive(Clone, Debug)]
struct KnownSchema {
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

    /// Forgets all tools, because the list of tools may have changed.
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

    /// Returns the generation of the known tools. Must be called before the tools are listed.
    pub(super) fn age(&self) -> u64 {
        self.known.lock().age
    }

    /// Remembers tools, unless the generation of the known tools differs from `age`. Returns false
    /// if some schemas were left out because of the size limit.
    pub(super) fn learn(&self, tools: &[Tool], age: u64) -> bool {
        let mut known = self.known.lock();
        if known.age != age {
            return true;
        }
        tools.iter().for_each(|tool| known.learn_task(tool));
        if self.validator.is_none() {
            return true;
        }
        // After a schema that does not fit, a smaller schema may fit.
        let left_out = tools.iter().filter(|tool| !known.learn(tool)).count();
        left_out == 0
    }

    /// Whether a tool is known to be callable only as a task.
    pub(super) fn needs_task(&self, name: &str) -> bool {
        self.known.lock().tasks.contains(name)
    }

    /// Whether the next call of a tool has to compile its output schema first, which may take long
    /// and may run code of the host.
    #[cfg(feature = "cffi")]
    pub(super) fn needs_compiling(&self, name: &str) -> bool {
        let known = self.known.lock();
        let entry = known.schemas.get(name);
        self.validator.is_some() && entry.is_some_and(|entry| entry.compiled.is_none())
    }

    /// Returns the compiled output schema of a tool; `None` if no output schema is known.
    fn compiled(&self, name: &str) -> Option<Result<CompiledSchema>> {
        let validator = self.validator.as_ref()?;
        let entry = self.known.lock().schemas.get(name)?.clone();
        if entry.compiled.is_some() {
            return entry.compiled;
        }
        let mut compiled = validator.compile_of_peer(&entry.schema);
        if compiled.is_err()
            && !self.strict
            && let Some(settled) = entry.schema.with_empty_objects()
            && let Ok(other) = validator.compile_of_peer(&settled)
        {
            compiled = Ok(other);
        }
        if let Some(known) = self.known.lock().schemas.get_mut(name)
            && Arc::ptr_eq(&known.schema, &entry.schema)
        {
            known.compiled = Some(compiled.clone());
        }
        Some(compiled)
    }

    /// Prepares the validation of a tool's results before the call. Returns the compiled output
    /// schema, if one is known.
    pub(super) fn check_of(&self, name: &str) -> Result<Option<CompiledSchema>> {
        let compiled = self.compiled(name).transpose();
        compiled.map_err(|error| blaming_the_server(error).remark(SWITCH))
    }
}

/// The hint added to the error when a server's output schema can't be used.
const SWITCH: &str = "ClientBuilder::validator can switch the check off";

/// Converts the error of an unusable schema into a protocol error, because the server caused the
/// error.
fn blaming_the_server(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Invalid => error.with_kind(ErrorKind::Protocol),
        _ => error,
    }
}

impl Known {
    /// Remembers that a tool can only be called as a task. If the limit is reached, the tool is not
    /// remembered. The client then calls the tool without a task, and the server refuses the call.
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
        let entry = KnownSchema {
            schema: Arc::new(schema.clone()),
            compiled: None,
        };
        self.schemas.insert(tool.name.clone(), entry);
        true
    }
}

/// Replaces an empty array in a result by an empty object where the schema allows only an object.
/// Servers written in PHP send empty arrays instead of empty objects.
///
/// If the validator has not finished by `deadline`, the result stays unchanged.
pub(super) fn settle_empty(
    schema: Option<&CompiledSchema>,
    revision: ProtocolVersion,
    result: &mut CallToolResult,
    deadline: Option<Instant>,
) {
    const OBJECT: &str = "{}";
    let Some(content) = &mut result.structured_content else {
        return;
    };
    if !is_empty_array(content.get()) {
        return;
    }
    let means_object = match schema {
        _ if revision.is_legacy() => true,
        Some(schema) => {
            let fits = |json| schema.check_of_peer(json, deadline).is_ok();
            !fits(content.get()) && fits(OBJECT)
        }
        None => false,
    };
    if means_object {
        *content = RawValue::from_string(OBJECT.to_owned()).expect("an object");
    }
}

/// Validates a tool's result against the tool's output schema.
pub(super) fn check(
    schema: &CompiledSchema,
    result: &CallToolResult,
    deadline: Option<Instant>,
) -> Result<()> {
    if result.is_error() {
        return Ok(());
    }
    let checked = match &result.structured_content {
        Some(content) => schema.check_of_peer(content.get(), deadline),
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
        assert!(outputs.compiled("b").is_none());
        assert!(outputs.compiled("a").is_some() && outputs.compiled("c").is_some());
        // A later description of a tool replaces the earlier one.
        for _ in 0..10 {
            assert!(outputs.learn(&[tool("a", 9 << 20)], 0));
            assert!(outputs.learn(&[tool("a", 10 << 20)], 0));
        }
        assert!(outputs.learn(&[Tool::new("a")], 0));
        assert!(outputs.compiled("a").is_none());
        assert!(outputs.learn(&[tool("b", 10 << 20)], 0));
    }

    // Must not happen: the cache serves stale lists, or those of another user or server.
    #[test]
    fn what_was_listed_before_a_change_is_not_remembered_after_it() {
        let outputs = outputs();
        let age = outputs.age();
        assert!(outputs.learn(&[tool("a", 1)], age));
        outputs.forget();
        assert!(outputs.compiled("a").is_none());
        assert!(outputs.learn(&[tool("a", 1)], age));
        assert!(outputs.compiled("a").is_none());
        assert!(outputs.learn(&[tool("a", 1)], outputs.age()));
        assert!(outputs.compiled("a").is_some());
    }
}
