//! The actions of the command line; each makes one or two calls.

use std::time::Instant;

use mcplink::client::{CallOptions, Client, Subscription, ToolAnswer};
use mcplink::schema::{CompleteRequestParams, CompletionReference, Tool, read_json};
use serde_json::{Value, json};

use crate::args::{self, Action, CompletionRequest, Options, Output, ReferenceKind, TaskAction};
use crate::bench;
use crate::describe;
use crate::failure::{Failure, LOST, REFUSED};
use crate::form;
use crate::interrupt;
use crate::listen;
use crate::print::{self, Bar};
use crate::results::Shown;
use crate::skills;
use crate::values::{self, Arguments, Given};

/// A connected client and the options of the command line.
pub(crate) struct Session {
    client: Client,
    options: Options,
    log_level_is_set: bool,
    /// The subscription of the shell.
    listening: Option<Subscription>,
    /// Whether an argument may be read from standard input.
    stdin_is_free: bool,
}

type Done = Result<(), Failure>;

impl Session {
    pub(crate) fn new(client: Client, options: Options) -> Self {
        Self {
            client,
            options,
            log_level_is_set: false,
            listening: None,
            stdin_is_free: true,
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Leaves standard input to the lines of the shell.
    pub(crate) fn keep_stdin(&mut self) {
        self.stdin_is_free = false;
    }

    /// Runs an action of the shell, with options of its own.
    pub(crate) fn run_line(&mut self, options: Options, action: Action) -> Done {
        let usual = std::mem::replace(&mut self.options, options);
        let done = match action {
            Action::Listen { uris } => self.listen_aside(uris),
            action => self.run(action),
        };
        self.options = usual;
        done
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    pub(crate) fn close(self) {
        drop(self.listening);
        self.client.close();
    }

    pub(crate) fn run(&mut self, action: Action) -> Done {
        self.set_log_level()?;
        match action {
            Action::Info => self.info(),
            Action::Tools => self.tools(),
            Action::Tool { name } => self.tool(&name),
            Action::Call(call) => self.call(&call),
            Action::Bench(request) => self.bench(&request),
            Action::Resources => self.resources(),
            Action::Templates => self.templates(),
            Action::Read { uri, output } => self.read(&uri, &output),
            Action::Prompts => self.prompts(),
            Action::Prompt {
                name,
                arguments,
                output,
            } => self.prompt(&name, &arguments, &output),
            Action::Complete(what) => self.complete(what),
            Action::Listen { uris } => listen::run(self, &uris),
            Action::Tasks { what, id, output } => self.tasks(what, id.as_deref(), &output),
            Action::Skills(request) => skills::run(self, &request),
            Action::Ping => self.ping(),
            Action::Shell { .. }
            | Action::Servers
            | Action::Tokens
            | Action::Logout
            | Action::Check(_)
            | Action::Proxy(_)
            | Action::Attach(_)
            | Action::Instances { .. }
            | Action::Install(_)
            | Action::Record(_)
            | Action::Replay(_)
            | Action::Completions { .. }
            | Action::Man => Err(Failure::usage(
                "the shell does not have this action".to_owned(),
            )),
        }
    }

    /// Subscribes in the background, for the shell: events are shown while other actions run.
    fn listen_aside(&mut self, uris: Vec<String>) -> Done {
        let json = self.options.json;
        let show = move |event| _ = listen::show_event(&event, json);
        self.listening = None;
        self.listening = Some(listen::subscribe(self, &uris, show)?);
        Ok(())
    }

    /// Sets the log level: a legacy server gets it once, a modern one with each call.
    fn set_log_level(&mut self) -> Done {
        let client = &self.client;
        let may_set = client.revision().is_legacy() && client.capabilities().logging.is_some();
        if let (Some(level), true, false) = (&self.options.log, may_set, self.log_level_is_set) {
            client.set_log_level_with(level.clone(), self.patience())?;
            self.log_level_is_set = true;
        }
        Ok(())
    }

    /// Returns the options of a call.
    pub(crate) fn patience<'a>(&self) -> CallOptions<'a> {
        let mut options = CallOptions::new().cancel_with(&interrupt::token());
        if let Some(timeout) = self.options.timeout {
            options = options.timeout(timeout).max_timeout(timeout);
        }
        if let Some(level) = &self.options.log {
            options = options.log_level(level.clone());
        }
        options
    }

    fn info(&self) -> Done {
        let client = &self.client;
        let info = client.server_info();
        if self.options.json {
            print::json(&json!({
                "name": info.map(|info| &info.name),
                "version": info.map(|info| &info.version),
                "protocolVersion": client.revision(),
                "capabilities": client.capabilities(),
                "instructions": client.instructions(),
            }))?;
            return Ok(());
        }
        let name = info
            .map(|info| format!("{} {}", info.name, info.version))
            .filter(|name| name != " ")
            .unwrap_or_else(|| "(it keeps its name to itself)".to_owned());
        print::line(&format!("server        {name}"))?;
        print::line(&format!("revision      {}", client.revision()))?;
        let capabilities = serde_json::to_value(client.capabilities()).unwrap_or_default();
        let mut first = "capabilities";
        for (name, details) in capabilities.as_object().into_iter().flatten() {
            let details = match details.as_object() {
                Some(details) if details.is_empty() => String::new(),
                _ => format!(" {details}"),
            };
            print::line(&format!("{first:12}  {name}{details}"))?;
            first = "";
        }
        if let Some(instructions) = client.instructions() {
            print::line(&format!("\n{}", instructions.trim_end()))?;
        }
        Ok(())
    }

    fn tools(&self) -> Done {
        let tools = self.client.list_tools_with(self.patience())?;
        if self.options.json {
            return Ok(print::json(&json!({ "tools": tools }))?);
        }
        let rows: Vec<Vec<String>> = tools
            .iter()
            .map(|tool| {
                let arguments = print::arguments(&tool.input_schema);
                let about = tool.description.clone().or_else(|| tool.title.clone());
                vec![tool.name.clone(), arguments, about.unwrap_or_default()]
            })
            .collect();
        Ok(print::table(&["NAME", "ARGUMENTS", "DESCRIPTION"], &rows)?)
    }

    fn tool(&self, name: &str) -> Done {
        let tool = self.find_tool(name)?;
        if self.options.json {
            return Ok(print::json(&tool)?);
        }
        let text = describe::tool(&tool, &self.options.place);
        Ok(print::text(&text)?)
    }

    /// Finds a tool by its name, or names those that are similar.
    fn find_tool(&self, name: &str) -> Result<Tool, Failure> {
        let mut tools = self.client.list_tools_with(self.patience())?;
        if let Some(at) = tools.iter().position(|tool| tool.name == name) {
            return Ok(tools.swap_remove(at));
        }
        let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
        Err(Failure::new(REFUSED, no_tool(name, &names)))
    }

    /// Reads the arguments of a tool. With `form`, asks for those that are not given.
    fn arguments(&self, name: &str, words: &[String], form: bool) -> Result<Arguments, Failure> {
        let given = values::read(words, self.stdin_is_free);
        let given = given.map_err(|text| Failure::usage(text).with_help("mcplink call --help"))?;
        match given {
            Given::Object(object) if !form => Ok(Arguments::Object(object)),
            Given::Object(_) => {
                let text = "--form takes KEY=VALUE, not all arguments together".to_owned();
                Err(Failure::usage(text))
            }
            Given::Pairs(pairs) => {
                let needs_schema = values::are_ambiguous(&pairs) || form;
                let schema = match needs_schema {
                    true => self.input_schema(name)?,
                    false => None,
                };
                let mut arguments = values::typed(pairs, schema.as_ref());
                if form {
                    form::complete(&mut arguments, schema.as_ref())?;
                }
                Ok(arguments)
            }
        }
    }

    fn bench(&self, bench: &args::Bench) -> Done {
        let arguments = self.arguments(&bench.name, &bench.arguments, false)?;
        let (timeout, json) = (self.options.timeout, self.options.json);
        bench::run(&self.client, bench, &arguments, timeout, json)
    }

    fn call(&self, call: &args::Call) -> Done {
        let name = &*call.name;
        let arguments = self.arguments(name, &call.arguments, call.form)?;
        let shown = self.shown(&call.output);
        if call.task {
            return self.call_as_task(name, &arguments, &shown);
        }
        let mut bar = Bar::new();
        let options = self.patience().on_progress(|progress| bar.draw(&progress));
        // The raw result is shown as it came; a typed result may lack what can't be read.
        let done = if call.output.raw {
            let raw = self.client.call_tool_raw(name, &arguments, options);
            drop(bar);
            raw.map_err(Failure::from).and_then(|raw| {
                shown.raw(&raw)?;
                match is_error(&raw) {
                    true => Err(Failure::of_tool()),
                    false => Ok(()),
                }
            })
        } else {
            let result = self.client.call_tool_with(name, &arguments, options);
            drop(bar);
            let result = result.map_err(Failure::from);
            result.and_then(|result| shown.tool(name, &result))
        };
        if let Err(failure) = &done
            && failure.may_be_of_arguments()
            && !interrupt::has_come()
        {
            self.hint(name, &arguments);
        }
        done
    }

    fn call_as_task(&self, name: &str, arguments: &Arguments, shown: &Shown<'_>) -> Done {
        let options = self.patience();
        let answer = self
            .client
            .call_tool_as_task_with(name, arguments, None, options)?;
        match answer {
            ToolAnswer::Result(result) => {
                print::note("mcplink: the server answered at once, without a task");
                shown.tool(name, &result)
            }
            ToolAnswer::Task(task) if self.options.json => {
                Ok(print::json(&json!({ "taskId": task.id() }))?)
            }
            ToolAnswer::Task(task) => Ok(print::line(task.id())?),
        }
    }

    /// After a failed call: says what the tool's schema tells about the cause.
    fn hint(&self, name: &str, arguments: &Arguments) {
        let Ok(tools) = self.client.list_tools_with(self.patience()) else {
            return;
        };
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            return print::note(&format!("mcplink: {}", no_tool(name, &names)));
        };
        let schema: Value = tool.input_schema.read().unwrap_or_default();
        let given = arguments.names();
        let required = schema["required"].as_array().into_iter().flatten();
        let missing: Vec<&str> = required
            .filter_map(Value::as_str)
            .filter(|name| !given.iter().any(|given| given == name))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            print::note(&format!("mcplink: the tool requires {missing}"));
        }
        let known = schema["properties"].as_object();
        let is_known = |name: &&String| known.is_some_and(|known| known.contains_key(&**name));
        let unknown: Vec<&str> = given
            .iter()
            .filter(|name| !is_known(name))
            .map(|name| &**name)
            .collect();
        if !unknown.is_empty() && known.is_some() {
            let unknown = unknown.join(", ");
            print::note(&format!(
                "mcplink: the tool's description does not name {unknown}"
            ));
        }
        if !missing.is_empty() || !unknown.is_empty() {
            print::note(&format!("try 'mcplink tool {name}'"));
        }
    }

    fn shown<'a>(&self, output: &'a Output) -> Shown<'a> {
        Shown {
            json: self.options.json,
            output,
        }
    }

    fn input_schema(&self, name: &str) -> Result<Option<Value>, Failure> {
        for tool in self.client.tool_pages(self.patience()).items() {
            let tool = tool?;
            if tool.name == name {
                return Ok(tool.input_schema.read().ok());
            }
        }
        Ok(None)
    }

    fn tasks(&self, what: TaskAction, id: Option<&str>, output: &Output) -> Done {
        let task = self.client.task(id.unwrap_or_default());
        match what {
            TaskAction::List => return self.list_tasks(),
            TaskAction::Show => {
                let status = task.status_with(self.patience())?;
                match self.options.json {
                    true => print::json(&json!({ "taskId": task.id(), "status": status }))?,
                    false => print::line(&status.to_string())?,
                }
            }
            TaskAction::Cancel => {
                task.cancel_with(self.patience())?;
                match self.options.json {
                    true => print::json(&json!({}))?,
                    false => print::line("the task is to be cancelled")?,
                }
            }
            TaskAction::Wait => {
                let mut bar = Bar::new();
                let options = self.patience().on_progress(|progress| bar.draw(&progress));
                let shown = self.shown(output);
                if output.raw {
                    let raw = task.wait_raw(options);
                    drop(bar);
                    return shown.raw(&raw?);
                }
                let result = task.wait_with(options);
                drop(bar);
                return shown.tool("task", &result?);
            }
        }
        Ok(())
    }

    /// Lists the tasks of a 2025-11-25 server. Each task is shown as far as it can be read.
    fn list_tasks(&self) -> Done {
        let mut tasks: Vec<Value> = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let raw = self
                .client
                .request("tasks/list", &params, self.patience())?;
            let mut page: Value = read(&raw)?;
            match page.get_mut("tasks").map(Value::take) {
                Some(Value::Array(page)) => tasks.extend(page),
                Some(Value::Null) => {}
                _ => return Err(Failure::new(LOST, "the result of tasks/list has no tasks")),
            }
            match page["nextCursor"].as_str() {
                Some(next) if cursor.as_deref() != Some(next) => cursor = Some(next.to_owned()),
                _ => break,
            }
        }
        let has_id = |task: &Value| task["taskId"].is_string();
        let without_id = tasks.iter().filter(|task| !has_id(task)).count();
        if self.options.json {
            print::json(&json!({ "tasks": tasks }))?;
        } else {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let members = ["taskId", "status", "createdAt", "statusMessage"];
            let rows: Vec<Vec<String>> = tasks
                .iter()
                .filter(|task| has_id(task))
                .map(|task| members.map(|name| text(&task[name])).to_vec())
                .collect();
            print::table(&["ID", "STATUS", "CREATED", "MESSAGE"], &rows)?;
        }
        if without_id > 0 {
            print::note(&format!("mcplink: {without_id} tasks have no id"));
        }
        Ok(())
    }

    fn resources(&self) -> Done {
        let resources = self.client.list_resources_with(self.patience())?;
        if self.options.json {
            return Ok(print::json(&json!({ "resources": resources }))?);
        }
        let rows: Vec<Vec<String>> = resources
            .into_iter()
            .map(|resource| {
                let name = resource.display_name().to_owned();
                let kind = resource.mime_type.unwrap_or_default();
                vec![
                    resource.uri,
                    kind,
                    name,
                    resource.description.unwrap_or_default(),
                ]
            })
            .collect();
        Ok(print::table(
            &["URI", "TYPE", "NAME", "DESCRIPTION"],
            &rows,
        )?)
    }

    fn templates(&self) -> Done {
        let templates = self.client.list_resource_templates_with(self.patience())?;
        if self.options.json {
            return Ok(print::json(&json!({ "resourceTemplates": templates }))?);
        }
        let rows: Vec<Vec<String>> = templates
            .into_iter()
            .map(|template| {
                let name = template.display_name().to_owned();
                let kind = template.mime_type.unwrap_or_default();
                vec![
                    template.uri_template,
                    kind,
                    name,
                    template.description.unwrap_or_default(),
                ]
            })
            .collect();
        Ok(print::table(
            &["TEMPLATE", "TYPE", "NAME", "DESCRIPTION"],
            &rows,
        )?)
    }

    fn read(&self, uri: &str, output: &Output) -> Done {
        let shown = self.shown(output);
        if output.raw {
            return shown.raw(&self.client.read_resource_raw(uri, self.patience())?);
        }
        shown.resource(&self.client.read_resource_with(uri, self.patience())?)
    }

    fn prompts(&self) -> Done {
        let prompts = self.client.list_prompts_with(self.patience())?;
        if self.options.json {
            return Ok(print::json(&json!({ "prompts": prompts }))?);
        }
        let rows: Vec<Vec<String>> = prompts
            .into_iter()
            .map(|prompt| {
                let arguments: Vec<String> = prompt
                    .arguments
                    .iter()
                    .flatten()
                    .map(|argument| {
                        if argument.is_required() {
                            argument.name.clone()
                        } else {
                            format!("[{}]", argument.name)
                        }
                    })
                    .collect();
                let about = prompt.description.or(prompt.title);
                vec![prompt.name, arguments.join(" "), about.unwrap_or_default()]
            })
            .collect();
        Ok(print::table(&["NAME", "ARGUMENTS", "DESCRIPTION"], &rows)?)
    }

    fn prompt(&self, name: &str, words: &[String], output: &Output) -> Done {
        let usage = |text| Failure::usage(text).with_help("mcplink prompt --help");
        let given = values::read(words, self.stdin_is_free).map_err(usage)?;
        let texts = values::texts(given).map_err(usage)?;
        let arguments: Vec<(&str, &str)> = texts
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .collect();
        let mut bar = Bar::new();
        let options = self.patience().on_progress(|progress| bar.draw(&progress));
        let shown = self.shown(output);
        if output.raw {
            let raw = self.client.get_prompt_raw(name, &arguments, options);
            drop(bar);
            return shown.raw(&raw?);
        }
        let result = self.client.get_prompt_with(name, &arguments, options);
        drop(bar);
        shown.prompt(name, &result?)
    }

    fn complete(&self, what: CompletionRequest) -> Done {
        let reference = match what.kind {
            ReferenceKind::Prompt => CompletionReference::prompt(what.name),
            ReferenceKind::Resource => CompletionReference::resource(what.name),
        };
        let known = values::pairs(&what.known).map_err(Failure::usage)?;
        let params = known.into_iter().fold(
            CompleteRequestParams::new(reference, what.argument, what.text),
            |params, (key, value)| params.known(key, value),
        );
        let result = self.client.complete_with(params, self.patience())?;
        if self.options.json {
            return Ok(print::json(&result)?);
        }
        for value in &result.completion.values {
            print::line(value)?;
        }
        if result.completion.has_more == Some(true) {
            print::note("mcplink: there are more");
        }
        Ok(())
    }

    fn ping(&self) -> Done {
        let started = Instant::now();
        self.client.ping(self.patience())?;
        if self.options.json {
            return Ok(print::json(&json!({}))?);
        }
        let text = format!("it answered within {:.1?}", started.elapsed());
        Ok(print::line(&text)?)
    }
}

/// Whether a raw result of a tool is an error of the tool.
pub(crate) fn is_error(raw: &str) -> bool {
    read_json::<Value>(raw).is_ok_and(|result| result["isError"] == true)
}

/// Reads a result. A result that does not fit is a failure of the server.
fn read<T: serde::de::DeserializeOwned>(raw: &str) -> Result<T, Failure> {
    read_json(raw).map_err(|error| {
        let text = format!("the result can't be read: {error}: {raw}");
        Failure::new(LOST, text)
    })
}

/// Says that there is no such tool, and names those that are similar.
fn no_tool(name: &str, names: &[&str]) -> String {
    let wanted = name.to_lowercase();
    let is_similar = |other: &&&str| {
        let other = other.to_lowercase();
        let is_part = |part: &str, whole: &str| part.len() >= 3 && whole.contains(part);
        is_part(&wanted, &other) || is_part(&other, &wanted) || distance(&wanted, &other) <= 2
    };
    let similar: Vec<&str> = names.iter().filter(is_similar).take(5).copied().collect();
    match similar.is_empty() {
        true => format!("the server has no tool '{name}': 'tools' lists them"),
        false => format!(
            "the server has no tool '{name}'; it has {}",
            similar.join(", ")
        ),
    }
}

/// Returns how many characters have to be changed to turn a text into another one (Levenshtein
/// distance), for texts of up to 64 characters.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().max(other.len()) > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, d) in other.iter().enumerate() {
            let changed = diagonal + usize::from(c != d);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
