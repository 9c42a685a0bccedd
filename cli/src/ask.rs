//! Passes the server's questions on to the user at the terminal.
//!
//! Questions go to standard error, so that standard output contains only the result.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};

use mcplink::RpcError;
use mcplink::client::{ClientBuilder, Requester};
use mcplink::schema::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams,
    ElicitRequestURLParams, ElicitResult, Root,
};
use serde_json::{Map, Value};

use crate::form::{self, Field};
use crate::input::{self, NoLine};
use crate::interrupt;
use crate::print::{beside, clean, note};

/// Serializes questions: only the holder of the lock talks to the user, also when a server sends
/// several questions at once.
static TURN: Mutex<()> = Mutex::new(());

/// Registers the handlers: for roots, if there are any, and for the user and the model, if standard
/// input and standard error are terminals.
pub(crate) fn let_ask(builder: ClientBuilder, roots: &[Root]) -> ClientBuilder {
    let mut builder = builder;
    if !roots.is_empty() {
        let roots = roots.to_vec();
        builder = builder.on_list_roots(move |_| Ok(roots.clone()));
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return builder;
    }
    // A terminal shows one question at a time, in the order of the server.
    builder
        .max_concurrent_inputs(1)
        .on_elicit(|form, by| {
            in_turn(|| fill_in(form, by)).unwrap_or_else(|_| ElicitResult::cancel())
        })
        .on_elicit_url(|page, by| {
            in_turn(|| open(page, by)).unwrap_or_else(|_| ElicitResult::cancel())
        })
        .on_sample(|asked, by| in_turn(|| answer_for_model(asked, by)))
}

fn in_turn<T>(ask: impl FnOnce() -> T) -> T {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    ask()
}

/// No answer will come: the input has ended, or the question was withdrawn.
struct Gone;

/// Shows a prompt, and waits for a line.
fn line(prompt: &str, by: &Requester) -> Result<String, Gone> {
    loop {
        beside(&clean(prompt));
        match input::line(&[&interrupt::token(), by.cancel_token()]) {
            Ok(text) => return Ok(text.trim().to_owned()),
            Err(NoLine::NotText) => note("  that is no UTF-8"),
            Err(NoLine::Ended | NoLine::Cancelled) => {
                beside("\n");
                return Err(Gone);
            }
        }
    }
}

enum Consent {
    Yes,
    No,
    Cancel,
}

fn consent(question: &str, by: &Requester) -> Result<Consent, Gone> {
    loop {
        match &*line(question, by)?.to_lowercase() {
            "" | "y" | "yes" => return Ok(Consent::Yes),
            "n" | "no" => return Ok(Consent::No),
            "c" | "cancel" => return Ok(Consent::Cancel),
            _ => note("  y sends it, n says no to the server, c leaves the question open"),
        }
    }
}

fn fill_in(asked: &ElicitRequestFormParams, by: &Requester) -> Result<ElicitResult, Gone> {
    note(&format!("{} asks: {}", by.server_name(), asked.message));
    let fields = match form::fields(&asked.requested_schema) {
        Ok(fields) => fields,
        Err(error) => {
            note(&format!("mcplink: its form can't be shown: {error}"));
            return Err(Gone);
        }
    };
    if !fields.is_empty() {
        note("(an empty line takes what stands in brackets; Ctrl-D cancels)");
    }
    let mut content = Map::new();
    for field in fields {
        if let Some(value) = fill(&field, by)? {
            content.insert(field.name, value);
        }
    }
    Ok(match consent("send this? [Y]es, (n)o, (c)ancel: ", by)? {
        Consent::Yes => ElicitResult::accept(&content).unwrap_or_else(|_| ElicitResult::cancel()),
        Consent::No => ElicitResult::decline(),
        Consent::Cancel => ElicitResult::cancel(),
    })
}

/// Asks until the answer is valid; `None` means that the field is left out.
fn fill(field: &Field, by: &Requester) -> Result<Option<Value>, Gone> {
    for (number, option) in (1..).zip(&field.options) {
        note(&format!("    {number:2}  {option}"));
    }
    loop {
        match field.read(&line(&field.prompt(), by)?) {
            Ok(value) => return Ok(value),
            Err(why) => note(&format!("  {why}")),
        }
    }
}

fn open(asked: &ElicitRequestURLParams, by: &Requester) -> Result<ElicitResult, Gone> {
    note(&format!("{} asks: {}", by.server_name(), asked.message));
    note(&format!(
        "it wants you to open this page, if you trust it: {}",
        asked.url
    ));
    Ok(match consent("did you? [Y]es, (n)o, (c)ancel: ", by)? {
        Consent::Yes => ElicitResult::new(mcplink::schema::ElicitAction::Accept),
        Consent::No => ElicitResult::decline(),
        Consent::Cancel => ElicitResult::cancel(),
    })
}

/// Lets the user answer a sampling request, because this program has no model.
fn answer_for_model(
    asked: &CreateMessageRequestParams,
    by: &Requester,
) -> Result<CreateMessageResult, RpcError> {
    note(&format!("{} asks the model:", by.server_name()));
    if let Some(system) = &asked.system_prompt {
        note(&format!("  (to everybody) {system}"));
    }
    for message in &asked.messages {
        let role = serde_json::to_value(message.role).unwrap_or_default();
        for block in message.content.blocks() {
            let text = block.as_text().unwrap_or("[not a text]");
            note(&format!("  ({}) {text}", role.as_str().unwrap_or("?")));
        }
    }
    let refused = || RpcError::user_rejected("the user refused");
    match line("your answer in its place (an empty one refuses): ", by) {
        Ok(text) if !text.is_empty() => Ok(CreateMessageResult::new("a person", text)),
        _ => Err(refused()),
    }
}
