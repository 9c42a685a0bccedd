//! Variables in the texts of a configuration: `${NAME}`, `${NAME:-default}`, `${env:NAME}`,
//! `${input:ID}`, and the predefined variables of editors.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::path::{Path, PathBuf};

/// The values of variables that do not come from the environment.
#[derive(Clone)]
pub(super) struct Scope {
    /// The folder that the configuration belongs to.
    pub(super) workspace: PathBuf,
    /// The values of inputs by their ids. They may be secrets.
    pub(super) inputs: BTreeMap<String, String>,
}

impl Scope {
    /// Replaces the variables of a text.
    ///
    /// # Errors
    ///
    /// The name of a variable without a value, and the reason. The error never contains a value.
    pub(super) fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, variable, after)) = next(rest) {
            expanded.push_str(before);
            match self.value(variable)? {
                Some(value) => expanded.push_str(&value),
                None => expanded.push_str(&rest[before.len()..rest.len() - after.len()]),
            }
            rest = after;
        }
        expanded.push_str(rest);
        Ok(expanded)
    }

    /// Returns the value of a variable; `None` for text in braces that is no variable.
    fn value(&self, variable: &str) -> Result<Option<String>, String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let value = match variable {
            "workspaceFolder" => path(&self.workspace),
            "workspaceFolderBasename" => {
                let name = self.workspace.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
            "userHome" => environment("HOME", None)?,
            "cwd" => {
                let folder = env::current_dir();
                path(&folder.map_err(|error| format!("${{cwd}} has no value: {error}"))?)
            }
            "pathSeparator" | "/" => "/".to_owned(),
            other => match other.split_once(':') {
                Some(("input", id)) => {
                    let value = self.inputs.get(id).cloned();
                    value.ok_or_else(|| format!("the input '{id}' has no value"))?
                }
                Some(("env", name)) => {
                    let (name, default) = with_default(name);
                    environment(name, default)?
                }
                _ => {
                    let (name, default) = with_default(other);
                    match (is_name(name), other.contains(':')) {
                        (true, false) => environment(name, None)?,
                        (true, true) if default.is_some() => environment(name, default)?,
                        (true, true) => {
                            return Err(format!("the variable ${{{other}}} is not supported"));
                        }
                        (false, _) => return Ok(None),
                    }
                }
            },
        };
        Ok(Some(value))
    }
}

/// Returns the ids of the inputs that a text uses.
pub(super) fn inputs(text: &str) -> Vec<&str> {
    let mut ids = Vec::new();
    let mut rest = text;
    while let Some((_, variable, after)) = next(rest) {
        ids.extend(variable.strip_prefix("input:"));
        rest = after;
    }
    ids
}

/// Splits a text at its first `${…}`. Returns the text before it, the name between the braces, and
/// the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (variable, after) = rest.split_once('}')?;
    Some((before, variable, after))
}

fn with_default(variable: &str) -> (&str, Option<&str>) {
    match variable.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (variable.split(':').next().unwrap_or_default(), None),
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

fn environment(name: &str, default: Option<&str>) -> Result<String, String> {
    match (env::var(name), default) {
        (Ok(value), _) => Ok(value),
        (Err(VarError::NotPresent), Some(default)) => Ok(default.to_owned()),
        (Err(VarError::NotPresent), None) => {
            Err(format!("the environment variable {name} is not set"))
        }
        (Err(VarError::NotUnicode(_)), _) => {
            Err(format!("the environment variable {name} is not UTF-8"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        let inputs = [("key".to_owned(), "k3y".to_owned())];
        Scope {
            workspace: PathBuf::from("/w/project"),
            inputs: inputs.into(),
        }
    }

    #[test]
    fn variables_are_replaced() {
        // Each test process has these variables.
        let path = env::var("PATH").expect("set in tests");
        for (text, expected) in [
            ("${workspaceFolder}/x", "/w/project/x"),
            ("${workspaceFolderBasename}${/}", "project/"),
            ("a ${PATH} b ${env:PATH}", &*format!("a {path} b {path}")),
            ("${MCPLINK_UNSET:-a:-b}", "a:-b"),
            ("${env:MCPLINK_UNSET:-}", ""),
            ("Bearer ${input:key}", "Bearer k3y"),
            // These are no variables.
            (
                "$PATH $ {PATH} ${} ${a b} ${not closed",
                "$PATH $ {PATH} ${} ${a b} ${not closed",
            ),
        ] {
            assert_eq!(scope().expand(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_variable_without_a_value_is_named() {
        for (text, said) in [
            ("${MCPLINK_UNSET}", "MCPLINK_UNSET"),
            ("${env:MCPLINK_UNSET}", "MCPLINK_UNSET"),
            ("${input:other}", "'other'"),
            ("${command:pick}", "${command:pick}"),
            ("${workspaceFolder:second}", "${workspaceFolder:second}"),
        ] {
            let error = scope().expand(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn the_inputs_of_a_text_are_found() {
        assert_eq!(inputs("${input:a} ${env:B} x${input:c}"), ["a", "c"]);
    }
}
