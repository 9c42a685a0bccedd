//! The shell: runs actions line by line.

mod completer;
mod editor;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::vec;

use self::editor::Editor;
use crate::actions::Session;
use crate::args::{self, Asked};
use crate::failure::{Failure, LOST, USAGE};
use crate::input::{self, NoLine};
use crate::{interrupt, print};

/// Where the lines come from.
enum Lines {
    /// A person at a terminal.
    Editor(Editor),
    /// Standard input.
    Input,
    Script(vec::IntoIter<String>),
}

impl Lines {
    fn next(&mut self) -> Result<String, NoLine> {
        match self {
            Self::Editor(editor) => editor.line(&interrupt::token()),
            Self::Input => input::line(&[&interrupt::token()]),
            Self::Script(_) if interrupt::has_come() => Err(NoLine::Cancelled),
            Self::Script(lines) => lines.next().ok_or(NoLine::Ended),
        }
    }
}

/// Runs the shell until the input ends, or a signal arrives while no action runs. A signal during
/// an action cancels only that action. A script continues after a failure, unless `stop` is set,
/// and returns the first one at its end.
pub(crate) fn run(session: &mut Session, script: Option<&Path>, stop: bool) -> Result<(), Failure> {
    let is_interactive =
        script.is_none() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut lines = match script {
        Some(path) => Lines::Script(read_script(path)?.into_iter()),
        None if is_interactive => {
            print::out("The actions of 'mcplink', one a line; 'help' lists them, 'quit' ends.\n")?;
            Lines::Editor(Editor::start(session.client()))
        }
        None => {
            session.keep_stdin();
            Lines::Input
        }
    };
    let mut first_failure = None;
    loop {
        interrupt::begin();
        print::fresh_line()?;
        let done = match lines.next() {
            Ok(line) => run_line(session, &line),
            Err(NoLine::NotText) => Err(Failure::usage("the line is no UTF-8".to_owned())),
            Err(NoLine::Cancelled) => {
                print::fresh_line()?;
                return Err(Failure::interrupted());
            }
            Err(NoLine::Ended) => {
                print::fresh_line()?;
                break;
            }
        };
        match done {
            Ok(Next::Line) => {}
            Ok(Next::Quit) => break,
            Err(failure) => {
                failure.report();
                first_failure.get_or_insert(failure.code);
                if stop {
                    break;
                }
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

fn read_script(path: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(path);
    let text =
        text.map_err(|error| Failure::usage(format!("--script {}: {error}", path.display())))?;
    Ok(text.lines().map(str::to_owned).collect())
}

enum Next {
    Line,
    Quit,
}

/// Runs one line. A line that begins with `#` is a comment.
fn run_line(session: &mut Session, line: &str) -> Result<Next, Failure> {
    if line.trim_start().starts_with('#') {
        return Ok(Next::Line);
    }
    let words = words(line).map_err(|text| Failure::new(USAGE, text).with_help("help"))?;
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    match words[..] {
        [] => return Ok(Next::Line),
        ["quit" | "exit"] => return Ok(Next::Quit),
        ["help"] => print::out(&args::help_of_line(None).map_err(Failure::misuse)?)?,
        ["help", action] | [action, "--help" | "-h"] => {
            let help = args::help_of_line(Some(action)).map_err(Failure::misuse)?;
            print::out(&help)?;
        }
        _ => {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let asked = args::read_line(&words, session.options());
            match asked.map_err(Failure::misuse)? {
                Asked::Text(text) => print::out(&text)?,
                Asked::Run(options, action) => {
                    interrupt::begin();
                    let done = session.run_line(options, action);
                    if interrupt::has_come() {
                        return Err(Failure::interrupted());
                    }
                    done?;
                }
            }
        }
    }
    Ok(Next::Line)
}

/// Splits a line at its spaces. Quotes at the beginning of a word or a value keep it together. A
/// word that begins with a brace is JSON, and extends to the end of the line. So does a value of
/// the form `KEY:=JSON` that begins with a brace or a bracket, up to its end.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        if rest.starts_with('{') {
            words.push(rest.to_owned());
            break;
        }
        if let Some(end) = end_of_json(rest) {
            words.push(rest[..end].to_owned());
            rest = rest[end..].trim_start();
            continue;
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

/// Returns the end of a word `KEY:=JSON` whose value is an object, an array or a string.
fn end_of_json(text: &str) -> Option<usize> {
    let (key, json) = text.split_once(":=")?;
    if key.contains(char::is_whitespace) || !json.starts_with(['{', '[', '"']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(key.len() + 2 + values.byte_offset())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_line_is_split_at_its_spaces() {
        for (line, expected) in [
            ("  call  t a=b ", vec!["call", "t", "a=b"]),
            ("call t a=\"b c\" 'd e'", vec!["call", "t", "a=b c", "d e"]),
            ("call t {\"a\": 1}", vec!["call", "t", "{\"a\": 1}"]),
            (
                "call t a:=[1, 2] b=3",
                vec!["call", "t", "a:=[1, 2]", "b=3"],
            ),
            (
                "call t a:=\"x y\" b:=1",
                vec!["call", "t", "a:=\"x y\"", "b:=1"],
            ),
            ("call t it's", vec!["call", "t", "it's"]),
            ("", vec![]),
        ] {
            assert_eq!(
                words(line).as_deref(),
                Ok(&*expected.into_iter().map(str::to_owned).collect::<Vec<_>>()),
                "{line}"
            );
        }
        assert!(words("call 'a").is_err());
    }
}
