//! The line editor of the shell.
//!
//! **Threads.** `editor`, started by [`Editor::start`], because reading a line can't be
//! interrupted. It reads a line for each request. It runs until the process ends; no thread joins
//! it.

use std::mem;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use mcplink::client::Client;
use mcplink::protocol::CancelToken;
use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config};

use super::completer::Completer;
use crate::input::{self, NoLine};
use crate::{login, print};

const PROMPT: &str = "mcplink> ";
/// The longest history, in lines.
const MAX_HISTORY: usize = 1000;

type LineEditor<'a> = rustyline::Editor<&'a Completer, FileHistory>;
type Answer = Result<String, NoLine>;

pub(super) struct Editor {
    wanted: Sender<()>,
    answers: Receiver<Option<Answer>>,
    /// Ends a wait: sends `None`.
    ends: Sender<Option<Answer>>,
    /// The state of the terminal before the first line, in the words of `stty`.
    terminal: Option<String>,
}

impl Editor {
    pub(super) fn start(client: &Client) -> Self {
        let (wanted, requests) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let ends = answer.clone();
        let client = client.clone();
        let editing = thread::Builder::new().name("editor".to_owned());
        // Without the thread, `answer` is dropped with the closure, and no line comes.
        drop(editing.spawn(move || edit(client, &requests, &answer)));
        Self {
            wanted,
            answers,
            ends,
            terminal: stty(&["-g"]),
        }
    }

    /// Waits for a line, until the token is triggered.
    pub(super) fn line(&mut self, token: &CancelToken) -> Answer {
        if input::is_reading() {
            // A question was interrupted. Two readers would take the keys from each other.
            if print::out(PROMPT).is_err() {
                return Err(NoLine::Ended);
            }
            print::ends_a_line(true);
            return input::line(&[token]);
        }
        if self.wanted.send(()).is_err() {
            return Err(NoLine::Ended);
        }
        let ends = self.ends.clone();
        let _woken = token.on_trigger(move || _ = ends.send(None));
        print::ends_a_line(true);
        match self.answers.recv() {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                // The thread still reads, and has changed the terminal.
                if let Some(terminal) = &self.terminal {
                    stty(&[terminal]);
                }
                print::beside("\n");
                Err(NoLine::Cancelled)
            }
            Err(_) => Err(NoLine::Ended),
        }
    }
}

fn stty(words: &[&str]) -> Option<String> {
    let mut stty = Command::new("stty");
    let stty = stty.args(words).stdin(Stdio::inherit());
    let output = stty.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The body of the thread.
///
/// The line editor handles SIGINT itself for as long as it exists. So it exists only while a line
/// is read, and is gone before the line is sent: an action that follows is cancelled by Ctrl-C.
fn edit(client: Client, requests: &Receiver<()>, answer: &Sender<Option<Answer>>) {
    let path = history_path();
    let completer = Completer::new(client);
    let mut history = None;
    while requests.recv().is_ok() {
        let Ok(mut editor) = line_editor(history.take(), path.as_deref()) else {
            return;
        };
        editor.set_helper(Some(&completer));
        let line = loop {
            match editor.readline(PROMPT) {
                Ok(line) => break Ok(line),
                // Ctrl-C at the prompt drops the line.
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Signal(_)) => break Err(NoLine::Cancelled),
                Err(_) => break Err(NoLine::Ended),
            }
        };
        if let (Ok(line), Some(path)) = (&line, &path)
            && editor.add_history_entry(line.as_str()).unwrap_or(false)
        {
            // A history that can't be kept is only missing the next time.
            _ = editor.append_history(path);
        }
        history = Some(mem::take(editor.history_mut()));
        drop(editor);
        if answer.send(Some(line)).is_err() {
            return;
        }
    }
}

/// Makes a line editor with the history so far; the first one reads it from the file.
fn line_editor<'a>(
    history: Option<FileHistory>,
    path: Option<&Path>,
) -> rustyline::Result<LineEditor<'a>> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .bracketed_paste(false)
        .max_history_size(MAX_HISTORY)?
        .build();
    let is_first = history.is_none();
    let history = history.unwrap_or_else(|| FileHistory::with_config(&config));
    let mut editor = LineEditor::with_history(config, history)?;
    // Terminals that do not know it would show its control sequences.
    editor.enable_synchronized_output(false);
    if let (true, Some(path)) = (is_first, path) {
        // There is none before the first line.
        _ = editor.load_history(path);
    }
    Ok(editor)
}

/// Returns the file of the history, whose folder is made.
fn history_path() -> Option<PathBuf> {
    let folder = login::state_folder()?;
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(&folder).ok()?;
    Some(folder.join("history"))
}
