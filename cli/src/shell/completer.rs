//! Completion in the shell: actions, names, arguments, and the values that the server proposes.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mcplink::client::{CallOptions, Client};
use mcplink::schema::{
    CompleteRequestParams, CompletionReference, Prompt, Resource, ResourceTemplate, Tool,
};
use mcplink_skills::Skills;
use rustyline::Context;
use rustyline::completion::Pair;
use serde_json::Value;

use crate::{args, print};

/// How long a person waits for what the server proposes.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a list is used again.
const FRESH: Duration = Duration::from_secs(10);

/// The lists of the server.
struct Lists {
    since: Instant,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    /// The names of skills.
    skills: Vec<String>,
}

pub(super) struct Completer {
    client: Client,
    lists: RefCell<Option<Rc<Lists>>>,
}

impl Completer {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            lists: RefCell::new(None),
        }
    }

    fn options() -> CallOptions<'static> {
        CallOptions::new().timeout(PATIENCE).max_timeout(PATIENCE)
    }

    /// Whether the server declares neither tools nor prompts nor resources. Such a server may still
    /// have them.
    fn declares_no_list(&self) -> bool {
        let can = self.client.capabilities();
        can.tools.is_none() && can.prompts.is_none() && can.resources.is_none()
    }

    /// Returns the lists. A list that the server does not have is empty. A server that declares
    /// none of the three kinds is asked for all: see `assume_capabilities` in `reach`.
    fn lists(&self) -> Rc<Lists> {
        let mut kept = self.lists.borrow_mut();
        if let Some(lists) = kept.as_ref().filter(|lists| lists.since.elapsed() < FRESH) {
            return Rc::clone(lists);
        }
        let client = &self.client;
        let can = client.capabilities();
        let mut lists = Lists {
            since: Instant::now(),
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            skills: Vec::new(),
        };
        let options = Self::options;
        let declares_none = self.declares_no_list();
        if can.tools.is_some() || declares_none {
            lists.tools = client.list_tools_with(options()).unwrap_or_default();
        }
        if can.prompts.is_some() || declares_none {
            lists.prompts = client.list_prompts_with(options()).unwrap_or_default();
        }
        if can.resources.is_some() || declares_none {
            lists.resources = client.list_resources_with(options()).unwrap_or_default();
            let templates = client.list_resource_templates_with(options());
            lists.templates = templates.unwrap_or_default();
        }
        let skills = Skills::new(client, "the server");
        if skills.is_supported() {
            let listing = skills.list_with(options()).unwrap_or_default();
            let names = listing.skills.iter().map(|skill| skill.name().to_owned());
            lists.skills = names.collect();
        }
        let lists = Rc::new(lists);
        *kept = Some(Rc::clone(&lists));
        lists
    }

    /// Returns the words that may stand at the end of a line, and where the last one begins.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = &line[start..];
        let before: Vec<&str> = line[..start].split_whitespace().collect();
        let lists = || self.lists();
        let words = match before[..] {
            [] | ["help"] => {
                let mut names = args::action_names();
                if before.is_empty() {
                    names.extend(["help".to_owned(), "quit".to_owned()]);
                }
                names
            }
            [action, ..] if word.starts_with('-') => args::options_of(action),
            ["tool" | "call"] => names(&lists().tools, |tool| &tool.name),
            ["prompt"] | ["complete", "prompt"] => names(&lists().prompts, |prompt| &prompt.name),
            ["complete"] => vec!["prompt".to_owned(), "resource".to_owned()],
            ["complete", "resource"] => {
                names(&lists().templates, |template| &template.uri_template)
            }
            ["complete", "prompt", prompt] => {
                let arguments = self.arguments_of_prompt(prompt);
                arguments
                    .into_iter()
                    .map(|name| name.trim_end_matches('=').to_owned())
                    .collect()
            }
            ["tasks"] => ["list", "show", "wait", "cancel"]
                .map(str::to_owned)
                .to_vec(),
            ["skills"] => ["list", "show", "fetch", "verify"]
                .map(str::to_owned)
                .to_vec(),
            ["skills", "verify"] if word.contains('/') => files(word),
            ["skills", "show" | "fetch" | "verify"] => lists().skills.clone(),
            ["skills", .., "--to"] => files(word),
            ["read"] | ["listen", ..] => self.uris(word),
            ["call", tool, ..] => return self.argument_of_tool(tool, word, start),
            ["prompt", prompt, ref given @ ..] => {
                return self.argument_of_prompt(prompt, word, given, start);
            }
            _ => Vec::new(),
        };
        (start, words)
    }

    fn argument_of_tool(&self, tool: &str, word: &str, start: usize) -> (usize, Vec<String>) {
        let lists = self.lists();
        let tool = lists.tools.iter().find(|other| other.name == tool);
        let schema = tool.and_then(|tool| tool.input_schema.read().ok());
        let schema: Value = schema.unwrap_or_default();
        let properties = schema["properties"].as_object();
        let Some((key, value)) = word.split_once('=') else {
            let names = properties.into_iter().flatten();
            return (start, names.map(|(name, _)| format!("{name}=")).collect());
        };
        let start = start + key.len() + 1;
        if let Some(path) = value.strip_prefix('@') {
            return (start + 1, files(path));
        }
        let schema = &schema["properties"][key.trim_end_matches(':')];
        let values = match (&schema["enum"], &schema["type"]) {
            (Value::Array(values), _) => values.iter().map(as_text).collect(),
            (_, Value::String(kind)) if kind == "boolean" => {
                vec!["true".to_owned(), "false".to_owned()]
            }
            _ => schema.get("default").map(as_text).into_iter().collect(),
        };
        (start, values)
    }

    fn arguments_of_prompt(&self, prompt: &str) -> Vec<String> {
        let lists = self.lists();
        let prompt = lists.prompts.iter().find(|other| other.name == prompt);
        let arguments = prompt.and_then(|prompt| prompt.arguments.as_ref());
        let arguments = arguments.into_iter().flatten();
        arguments
            .map(|argument| format!("{}=", argument.name))
            .collect()
    }

    fn argument_of_prompt(
        &self,
        prompt: &str,
        word: &str,
        given: &[&str],
        start: usize,
    ) -> (usize, Vec<String>) {
        let Some((key, value)) = word.split_once('=') else {
            return (start, self.arguments_of_prompt(prompt));
        };
        let start = start + key.len() + 1;
        if let Some(path) = value.strip_prefix('@') {
            return (start + 1, files(path));
        }
        let reference = CompletionReference::prompt(prompt);
        let mut params = CompleteRequestParams::new(reference, key, value);
        for (key, value) in given.iter().filter_map(|word| word.split_once('=')) {
            params = params.known(key, value);
        }
        (start, self.proposed(params))
    }

    /// Asks the server for values.
    fn proposed(&self, params: CompleteRequestParams) -> Vec<String> {
        let completes = self.client.capabilities().completions.is_some();
        if !completes && !self.declares_no_list() {
            return Vec::new();
        }
        let completed = self.client.complete_with(params, Self::options());
        completed
            .map(|result| result.completion.values)
            .unwrap_or_default()
    }

    /// Returns the URIs of resources, and those of templates whose variable the server completes.
    fn uris(&self, word: &str) -> Vec<String> {
        let lists = self.lists();
        let mut uris = names(&lists.resources, |resource| &resource.uri);
        for template in &lists.templates {
            let template = &*template.uri_template;
            let Some((before, rest)) = template.split_once('{') else {
                continue;
            };
            let Some((variable, after)) = rest.split_once('}') else {
                continue;
            };
            let Some(value) = word.strip_prefix(before) else {
                uris.push(before.to_owned());
                continue;
            };
            if after.contains('{') || value.contains('/') {
                continue;
            }
            let reference = CompletionReference::resource(template);
            let params = CompleteRequestParams::new(reference, variable, value);
            let values = self.proposed(params).into_iter();
            uris.extend(values.map(|value| format!("{before}{value}{after}")));
        }
        uris
    }
}

fn names<T>(list: &[T], name: impl Fn(&T) -> &String) -> Vec<String> {
    list.iter().map(|item| name(item).clone()).collect()
}

fn as_text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the paths that begin with a text.
fn files(beginning: &str) -> Vec<String> {
    let folder = beginning.rfind('/').map_or("", |at| &beginning[..=at]);
    let place = if folder.is_empty() { "." } else { folder };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let paths = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let end = if entry.file_type().ok()?.is_dir() {
            "/"
        } else {
            ""
        };
        Some(format!("{folder}{name}{end}"))
    });
    paths.collect()
}

impl rustyline::completion::Completer for &Completer {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, mut words) = self.candidates(&line[..at]);
        let beginning = &line[start..at];
        // A text of the server must not steer the terminal.
        words.retain(|word| word.starts_with(beginning) && print::clean(word) == *word);
        words.sort();
        words.dedup();
        let is_only = words.len() == 1;
        let pairs = words.into_iter().map(|word| {
            let mut replacement = word.clone();
            if word.contains(char::is_whitespace) {
                replacement = format!("\"{word}\"");
            }
            if is_only && !word.ends_with(['=', '/']) {
                replacement.push(' ');
            }
            Pair {
                display: word,
                replacement,
            }
        });
        Ok((start, pairs.collect()))
    }
}

impl rustyline::hint::Hinter for &Completer {
    type Hint = String;
}

impl rustyline::highlight::Highlighter for &Completer {}

impl rustyline::validate::Validator for &Completer {}

impl rustyline::Helper for &Completer {}
