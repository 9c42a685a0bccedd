//! The shell: runs actions line by line.

use std::io::{self, IsTerminal};

use crate::actions::Session;
use crate::args::{self, Action};
use crate::failure::{Failure, LOST, USAGE};
use crate::input::{self, NoLine};
use crate::{interrupt, print};

/// Runs the shell until the input ends, or a signal arrives while no action runs. A signal during
/// an action cancels only that action. A script continues after a failure, and returns the first
/// one at its end.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let is_interactive = io::stdin().is_terminal();
    let mut first_failure = None;
    if is_interactive {
        print::out("The actions of 'mcplink', one a line; 'help' lists them, 'quit' ends.\n")?;
    }
    loop {
        interrupt::begin();
        print::fresh_line()?;
        if is_interactive {
            print::out("mcplink> ")?;
        }
        let line = input::line(&[&interrupt::token()]);
        if is_interactive && line.is_ok() {
            print::ends_a_line(true);
        }
        let line = match line {
            Ok(line) => words(&line),
            Err(NoLine::NotText) => Err("the line is no UTF-8".to_owned()),
            Err(NoLine::Cancelled) => {
                print::fresh_line()?;
                return Err(Failure::interrupted());
            }
            Err(NoLine::Ended) => {
                print::fresh_line()?;
                break;
            }
        };
        match line.as_deref() {
            Ok([]) => {}
            Ok([word]) if word == "quit" || word == "exit" => break,
            Ok([word]) if word == "help" => print::out(args::HELP)?,
            Ok(words) => {
                interrupt::begin();
                let done = args::read_action(words.to_vec())
                    .map_err(Failure::usage)
                    .and_then(|action| match action {
                        Action::Listen(uris) => session.listen_aside(uris),
                        action => session.run(action),
                    });
                let done = match interrupt::has_come() {
                    true => Err(Failure::interrupted()),
                    false => done,
                };
                if let Err(failure) = done {
                    failure.report("help");
                    first_failure.get_or_insert(failure.code);
                }
            }
            Err(text) => {
                Failure::usage(text.clone()).report("help");
                first_failure.get_or_insert(USAGE);
            }
        }
        if session.is_lost() {
            return Err(Failure::new(LOST, "the server has gone"));
        }
    }
    match first_failure {
        Some(code) if !is_interactive => Err(Failure::new(code, "")),
        _ => Ok(()),
    }
}

/// Splits a line at its spaces. Quotes at the beginning of a word or a value keep it together. A
/// word that begins with a brace is JSON, and extends to the end of the line.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if rest.starts_with('{') {
            words.push(rest.to_owned());
            break;
        }
        let mut word = String::new();
        let mut quote = None;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) if word.is_empty() || word.ends_with('=') => quote = Some(c),
                (c, None) if c.is_whitespace() => {
                    end = at;
                    break;
                }
                (c, _) => word.push(c),
            }
        }
        if quote.is_some() {
            return Err("a quote is not closed".to_owned());
        }
        words.push(word);
        rest = rest[end..].trim_start();
    }
    Ok(words)
}
