//! The actions of the command line; each makes one or two calls.

use std::sync::mpsc;
use std::time::Instant;

use mcplink::client::CallOptions;
use mcplink::client::{Client, Event, Subscription};
use mcplink::schema::{
    CallToolResult, CompleteRequestParams, CompletionReference, ReadResourceResult,
    ResourceContents, SubscriptionFilter,
};
use serde_json::{Value, json};

use crate::args::{Action, CompletionRequest, Options};
use crate::failure::{Failure, LOST, REFUSED};
use crate::interrupt;
use crate::print::{self, Bar};
use crate::values::{self, Arguments, Given};

/// A connected client and the options of the command line.
pub(crate) struct Session {
    client: Client,
    options: Options,
    log_level_is_set: bool,
    /// The subscription of the shell.
    listening: Option<Subscription>,
}

type Done = Result<(), Failure>;

impl Session {
    pub(crate) fn new(client: Client, options: Options) -> Self {
        Self {
            client,
            options,
            log_level_is_set: false,
            listening: None,
        }
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
            Action::Call(name, words) => self.call(&name, &words),
            Action::Resources => self.resources(),
            Action::Templates => self.templates(),
            Action::Read(uri) => self.read(&uri),
            Action::Prompts => self.prompts(),
            Action::Prompt(name, words) => self.prompt(&name, &words),
            Action::Complete(what) => self.complete(what),
            Action::Listen(uris) => self.listen(uris),
            Action::Ping => self.ping(),
            Action::Shell => Err(Failure::usage("a shell has no shell".to_owned())),
        }
    }

    /// Subscribes in the background, for the shell: events are shown while other actions run.
    pub(crate) fn listen_aside(&mut self, uris: Vec<String>) -> Done {
        let json = self.options.json;
        let show = move |event| _ = show_event(&event, json);
        self.listening = None;
        self.listening = Some(self.subscribe(uris, show)?);
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

    fn patience<'a>(&self) -> CallOptions<'a> {
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

    fn call(&self, name: &str, words: &[String]) -> Done {
        let arguments = match values::read(words).map_err(Failure::usage)? {
            Given::Object(object) => Arguments::Object(object),
            Given::Pairs(pairs) => {
                let schema = if values::are_ambiguous(&pairs) {
                    self.input_schema(name)?
                } else {
                    None
                };
                values::typed(pairs, schema.as_ref())
            }
        };
        let mut bar = Bar::new();
        let options = self.patience().on_progress(|progress| bar.draw(&progress));
        let result = self.client.call_tool_with(name, &arguments, options);
        drop(bar);
        self.show_result(&result?)
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

    fn show_result(&self, result: &CallToolResult) -> Done {
        if self.options.json {
            print::json(result)?;
        } else {
            let mut texts: Vec<String> = result.content.iter().map(print::content).collect();
            if let (true, Some(structured)) = (texts.is_empty(), &result.structured_content) {
                texts.push(structured.get().to_owned());
            }
            for text in texts {
                if result.is_error() {
                    print::note(&format!("mcp: the tool failed: {text}"));
                } else {
                    print::line(&text)?;
                }
            }
        }
        if result.is_error() {
            return Err(Failure::of_tool());
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

    fn read(&self, uri: &str) -> Done {
        let result = self.client.read_resource_with(uri, self.patience())?;
        if self.options.json {
            return Ok(print::json(&result)?);
        }
        self.show_contents(&result)
    }

    /// Prints resource contents. If standard output is not a terminal, a single binary resource is
    /// written as bytes.
    fn show_contents(&self, result: &ReadResourceResult) -> Done {
        use std::io::IsTerminal;
        if let [ResourceContents::Blob(blob)] = &*result.contents
            && !std::io::stdout().is_terminal()
        {
            let bytes = blob
                .bytes()
                .map_err(|error| Failure::new(LOST, error.to_string()))?;
            return Ok(print::bytes(&bytes)?);
        }
        for contents in &result.contents {
            print::fresh_line()?;
            match contents {
                ResourceContents::Text(text) => print::text(&text.text)?,
                other => print::line(&print::resource(other))?,
            }
        }
        Ok(())
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

    fn prompt(&self, name: &str, words: &[String]) -> Done {
        let given = values::read(words).map_err(Failure::usage)?;
        let texts = values::texts(given).map_err(Failure::usage)?;
        let arguments: Vec<(&str, &str)> = texts
            .iter()
            .map(|(key, value)| (&**key, &**value))
            .collect();
        let mut bar = Bar::new();
        let options = self.patience().on_progress(|progress| bar.draw(&progress));
        let result = self.client.get_prompt_with(name, &arguments, options);
        drop(bar);
        let result = result?;
        if self.options.json {
            return Ok(print::json(&result)?);
        }
        for message in &result.messages {
            let role = serde_json::to_value(message.role).unwrap_or_default();
            let role = role.as_str().unwrap_or("?");
            print::line(&format!("{role}: {}", print::content(&message.content)))?;
        }
        Ok(())
    }

    fn complete(&self, what: CompletionRequest) -> Done {
        let reference = if what.of_prompt {
            CompletionReference::prompt(what.name)
        } else {
            CompletionReference::resource(what.name)
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
            print::note("mcp: there are more");
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

    fn listen(&self, uris: Vec<String>) -> Done {
        let (told, events) = mpsc::channel();
        let interrupted = told.clone();
        let token = interrupt::token();
        let _woken = token.on_trigger(move || _ = interrupted.send(None));
        let _subscription = self.subscribe(uris, move |event| _ = told.send(Some(event)))?;
        for event in events {
            let Some(event) = event else {
                return Err(Failure::interrupted());
            };
            show_event(&event, self.options.json)?;
            match event {
                Event::Ended { clean: true, .. } => break,
                Event::Ended { .. } => return Err(Failure::new(LOST, "the server has gone")),
                _ => {}
            }
        }
        Ok(())
    }

    fn subscribe(
        &self,
        uris: Vec<String>,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Subscription, Failure> {
        let mut filter = SubscriptionFilter::default()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let wants_resources = !uris.is_empty();
        if wants_resources {
            filter = filter.resource_subscriptions(uris);
        }
        let client = &self.client;
        let subscription = client.subscribe_with(filter, self.patience(), on_event)?;
        let granted = subscription.granted();
        if granted.is_empty() {
            return Err(Failure::new(REFUSED, "the server tells of no changes"));
        }
        if wants_resources && granted.resource_subscriptions.is_none() {
            print::note("mcp: the server does not tell when a resource changes");
        }
        Ok(subscription)
    }
}

fn show_event(event: &Event, json: bool) -> std::io::Result<()> {
    let (name, text) = match event {
        Event::ToolsChanged => ("toolsChanged", "the tools have changed".to_owned()),
        Event::PromptsChanged => ("promptsChanged", "the prompts have changed".to_owned()),
        Event::ResourcesChanged => ("resourcesChanged", "the resources have changed".to_owned()),
        Event::ResourceUpdated(uri) => ("resourceUpdated", format!("{uri} has changed")),
        Event::Ended { clean: true, .. } => ("ended", "the server tells no more".to_owned()),
        _ => return Ok(()),
    };
    if !json {
        return print::line(&text);
    }
    let mut object = json!({ "event": name });
    if let Event::ResourceUpdated(uri) = event {
        object["uri"] = json!(uri);
    }
    print::json(&object)
}
