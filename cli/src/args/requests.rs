//! The arguments and options of single actions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;

use crate::{configs, instances};

#[derive(Args, Debug)]
pub(crate) struct Call {
    /// The name of the tool
    pub(crate) name: String,
    /// KEY=VALUE, KEY:=JSON, KEY=@FILE, '{JSON}' or @FILE
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// Ask for each argument that is not given
    #[arg(long)]
    pub(crate) form: bool,
    /// Have the server run the call as a task, and print the id of the task
    #[arg(long)]
    pub(crate) task: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Output {
    /// Save images, sounds and other binary content in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,
    /// Print the result as the server sent it
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionRequest {
    /// prompt or resource
    #[arg(value_name = "KIND", hide_possible_values = true)]
    pub(crate) kind: ReferenceKind,
    /// The name of the prompt, or the URI template
    pub(crate) name: String,
    /// The name of the argument
    pub(crate) argument: String,
    /// The beginning of the value
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) text: String,
    /// The other arguments
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) known: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReferenceKind {
    Prompt,
    Resource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskAction {
    List,
    Show,
    Wait,
    Cancel,
}

#[derive(Args, Debug)]
pub(crate) struct SkillRequest {
    /// list, show, fetch or verify
    #[arg(value_name = "WHAT", default_value = "list", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) what: SkillAction,
    /// The name or the URI of the skill, or its folder to verify
    #[arg(required_if_eq_any = [("what", "show"), ("what", "fetch"), ("what", "verify")])]
    pub(crate) name: Option<String>,
    /// Save the skill in a folder of this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) to: Option<PathBuf>,
    /// Replace files of a skill that was saved before
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SkillAction {
    List,
    Show,
    Fetch,
    Verify,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Run only checks whose name contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// The checks that must pass: must (what the protocol requires), should (what it recommends,
    /// too) or hosts (what the model interfaces of hosts accept, too)
    #[arg(long, default_value = "should", hide_possible_values = true)]
    pub(crate) level: Level,
    /// text, json or junit
    #[arg(long, default_value = "text", hide_possible_values = true)]
    pub(crate) format: Format,
    /// A tool that may be called, many times at once
    #[arg(long, value_name = "TOOL")]
    pub(crate) call: Option<String>,
    /// The arguments of that tool
    #[arg(
        long,
        value_name = "JSON",
        default_value = "{}",
        hide_default_value = true
    )]
    pub(crate) arguments: String,
    /// List the checks, and run none
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ProxyRequest {
    /// NAME, NAME=URL or NAME='COMMAND ARGUMENT ...'
    #[arg(value_name = "SERVER", add = ArgValueCandidates::new(configs::candidates))]
    pub(crate) servers: Vec<String>,
    /// Serve all enabled servers of the configuration files
    #[arg(long)]
    pub(crate) all: bool,
    /// Serve over HTTP on this port of this machine, on this address, or on a Unix socket (unix:PATH)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Show only tools whose names fit this pattern; may be given again
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// Hide tools whose names fit this pattern; may be given again
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
    /// Give names a prefix even if there is one server only
    #[arg(long)]
    pub(crate) prefix: bool,
    /// Write every message to this file; --listen: those of the servers
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct AttachRequest {
    /// The name of the program, and the title, folder, process number or id of an instance
    #[arg(value_name = "NAME[/INSTANCE]", value_parser = read_program)]
    #[arg(add = ArgValueCandidates::new(instances::candidates))]
    pub(crate) program: String,
    /// Start the program with this command when it is needed; all words behind it are the command
    #[arg(long)]
    pub(crate) launch: bool,
}

impl AttachRequest {
    /// Returns the name of the program, and what selects an instance.
    pub(crate) fn program(&self) -> (&str, Option<&str>) {
        program_and_instance(&self.program)
    }
}

fn read_program(text: &str) -> Result<String, String> {
    match text.ends_with('/') && program_and_instance(text).1 == Some("") {
        true => Err("the instance behind the slash is missing".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Splits `NAME[/INSTANCE]`.
pub(crate) fn program_and_instance(text: &str) -> (&str, Option<&str>) {
    match text.split_once('/') {
        Some((name, instance)) => (name, Some(instance)),
        None => (text, None),
    }
}

#[derive(Args, Debug)]
pub(crate) struct RecordRequest {
    /// The file to write
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayRequest {
    /// The file that 'record' or 'proxy --record' has written
    pub(crate) file: PathBuf,
    /// Do not compare members of this name; may be given again
    #[arg(long, value_name = "MEMBER")]
    pub(crate) ignore: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// The name of the tool
    pub(crate) name: String,
    /// KEY=VALUE, KEY:=JSON, KEY=@FILE, '{JSON}' or @FILE
    #[arg(value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<String>,
    /// The number of calls
    #[arg(long, value_name = "COUNT", default_value = "1000", value_parser = at_least_one)]
    pub(crate) calls: usize,
    /// The number of calls in flight at once
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = at_least_one)]
    pub(crate) concurrency: usize,
    /// The number of calls before the measured ones
    #[arg(long, value_name = "COUNT", default_value = "10")]
    pub(crate) warmup: usize,
}

#[derive(Args, Debug)]
pub(crate) struct InstallRequest {
    /// The name of the server in the file; with --attach that of the program, if it is missing
    #[arg(required_unless_present = "attach")]
    pub(crate) name: Option<String>,
    /// Write 'mcplink attach' of this published program
    #[arg(long, value_name = "NAME[/INSTANCE]", value_parser = read_program)]
    #[arg(add = ArgValueCandidates::new(instances::candidates))]
    pub(crate) attach: Option<String>,
    /// With --attach: start the program with this command when it is needed
    #[arg(long, requires = "attach")]
    pub(crate) launch: bool,
    /// claude-code, claude-desktop, cursor or vscode
    #[arg(long, value_name = "HOST", hide_possible_values = true)]
    pub(crate) host: Host,
    /// Write the host's file of this folder, not that of the user
    #[arg(long)]
    pub(crate) project: bool,
    /// Remove the server
    #[arg(long)]
    pub(crate) remove: bool,
    /// Replace a server of this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// Show the lines that would change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Host {
    #[value(alias = "claude")]
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().ok();
    let count = count.filter(|count| (1..=1_000_000_000).contains(count));
    count.ok_or_else(|| "expected a number, at least 1".to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Level {
    Must,
    Should,
    Hosts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Junit,
}
