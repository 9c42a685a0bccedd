//! The command line: actions, options, and their help.

mod requests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{
    Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use clap_complete::engine::ArgValueCandidates;
use mcplink::schema::{LoggingLevel, ProtocolVersion, Root};

pub(crate) use self::requests::*;
use crate::configs;

const ABOUT: &str = "Looks at, calls and checks MCP servers.

The server is a command behind --, a URL, or a name from a configuration file:
  mcplink tools -- npx -y @modelcontextprotocol/server-everything
  mcplink tools --url https://example.com/mcp
  mcplink tools --server github";

const AFTER_HELP: &str = "\
'mcplink ACTION --help' explains an action. Options may stand anywhere before --.

Questions of a server are asked at the terminal, if there is one.
Proxies are those of HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, less what NO_PROXY lists.

Exit code: 0 done, 1 the tool said error, or a check failed, 2 usage, 3 the server refused,
4 connection or protocol failure, 5 timed out, 130 interrupted

INT (Ctrl-C), TERM and HUP cancel what is going on and close the connection; a second one ends
at once. In the shell they cancel the action that runs, or end the shell where none does.";

#[derive(Parser)]
#[command(
    name = "mcplink",
    bin_name = "mcplink",
    version,
    about = ABOUT,
    after_help = AFTER_HELP,
    override_usage = "mcplink [OPTION ...] ACTION ... -- SERVER [ARGUMENT ...]
       mcplink [OPTION ...] ACTION ... --url URL
       mcplink [OPTION ...] ACTION ... --server NAME",
    args_override_self = true,
    disable_help_subcommand = true,
    subcommand_value_name = "ACTION",
    subcommand_help_heading = "Actions",
    max_term_width = 100
)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    action: Action,
}

/// A line of the shell.
#[derive(Parser)]
#[command(
    name = "help",
    bin_name = "",
    about = "The actions of the shell. 'help ACTION' explains one; 'quit' ends the shell.",
    no_binary_name = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    subcommand_value_name = "ACTION",
    subcommand_help_heading = "Actions",
    override_usage = "ACTION ...",
    max_term_width = 100
)]
struct Line {
    #[command(subcommand)]
    action: Action,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Print the bare result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Speak legacy, modern or any (auto) revisions
    #[arg(long, value_name = "ERA", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) era: Era,
    /// Speak this revision only
    #[arg(long, value_name = "DATE", value_parser = read_revision)]
    pub(crate) revision: Option<ProtocolVersion>,
    /// The time for connecting, and for each call
    #[arg(long, value_name = "SECONDS", value_parser = read_timeout)]
    pub(crate) timeout: Option<Duration>,
    /// A directory or URI that the server may work in; may be given again
    #[arg(long = "root", value_name = "PLACE", value_parser = read_root)]
    pub(crate) roots: Vec<Root>,
    /// Have the server send log messages from this level on
    #[arg(long, value_name = "LEVEL", value_parser = read_level)]
    pub(crate) log: Option<LoggingLevel>,
    /// Show the messages on standard error: seconds, > sent or < received, text
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// Where the server is, and what it gets.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct Place {
    /// Reach the server at this URL over HTTP (http, https, http+unix)
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Take the server of this name from a configuration file: see 'mcplink servers'
    #[arg(long, short, value_name = "NAME", add = ArgValueCandidates::new(configs::candidates))]
    pub(crate) server: Option<String>,
    /// Look for NAME in this configuration file only
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set an input of the configuration file; may be given again
    #[arg(long = "input", value_name = "ID=VALUE", value_parser = read_input)]
    pub(crate) inputs: Vec<(String, String)>,
    /// Send this header field with every request, or those of a file; may be given again
    #[arg(long = "header", value_name = "NAME:VALUE|@FILE")]
    pub(crate) headers: Vec<String>,
    /// Trust the certificate authorities in this PEM file, and no others
    #[arg(long = "cacert", value_name = "FILE")]
    pub(crate) authorities: Option<PathBuf>,
    /// Log in, in the browser, when the server requires it
    #[arg(long)]
    pub(crate) login: bool,
    /// Keep logins there, not in ~/.local/state/mcplink
    #[arg(long, value_name = "FOLDER")]
    pub(crate) tokens: Option<PathBuf>,
    /// Log in as this client, which is registered with the authorization server
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The secret of the client, or a file with it; else MCPLINK_CLIENT_SECRET, if it is set
    #[arg(long, value_name = "SECRET|@FILE")]
    pub(crate) client_secret: Option<String>,
    /// Log in for this scope, not for all that the server lists; may be given again
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,
    /// Have the browser come back to this port of 127.0.0.1, not to any free one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) callback_port: Option<u16>,
    /// Give the server this environment variable, or ours of this name; may be given again
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = read_variable)]
    pub(crate) env: Vec<(String, Option<String>)>,
    /// Give the server all our environment variables, not just PATH, HOME, LANG and the like
    #[arg(long = "inherit-env")]
    pub(crate) inherits_env: bool,
    /// Start the server in this directory
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show the server's standard error: always, never, or at a terminal (auto)
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) stderr: When,
    /// The command of the server, behind `--`.
    #[arg(skip)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Auto,
    Legacy,
    Modern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the name, the revision and the capabilities of the server
    #[command(after_help = "Example: mcplink info --server github")]
    Info,
    /// List the tools
    #[command(
        after_help = "Example: mcplink tools -- npx -y @modelcontextprotocol/server-everything"
    )]
    Tools,
    /// Show a tool: description, parameters, result, hints, and an example of a call
    #[command(
        after_help = "Example: mcplink tool get-sum -- npx -y @modelcontextprotocol/server-everything"
    )]
    Tool {
        /// The name of the tool
        name: String,
    },
    /// Call a tool
    #[command(after_help = "\
An argument is one of
  KEY=VALUE    JSON, or text where it is no JSON or the tool requires text
  KEY:=JSON    JSON
  KEY=@FILE    the text of a file; KEY:=@FILE its JSON; @- is standard input
or all arguments together are one of
  '{JSON}'     an object
  @FILE        a file with an object; @- is standard input

Example: mcplink call get-sum a=1 b=2 -- npx -y @modelcontextprotocol/server-everything")]
    Call(Call),
    /// List the resources
    #[command(after_help = "Example: mcplink resources --server docs")]
    Resources,
    /// List the resource templates
    #[command(after_help = "Example: mcplink templates --server docs")]
    Templates,
    /// Read a resource
    #[command(after_help = "Example: mcplink read file:///notes.txt --server docs")]
    Read {
        /// The URI of the resource
        uri: String,
        #[command(flatten)]
        output: Output,
    },
    /// List the prompts
    #[command(after_help = "Example: mcplink prompts --server docs")]
    Prompts,
    /// Get a prompt
    #[command(after_help = "\
An argument is KEY=VALUE, or KEY=@FILE for the text of a file (@- is standard input); or all
arguments together are an object, '{JSON}'.

Example: mcplink prompt greet name=Ada --server docs")]
    Prompt {
        /// The name of the prompt
        name: String,
        /// KEY=VALUE, or '{JSON}'
        #[arg(value_name = "ARGUMENT")]
        arguments: Vec<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Show how an argument of a prompt or a template can be completed
    #[command(after_help = "Example: mcplink complete prompt greet name A --server docs")]
    Complete(CompletionRequest),
    /// Show changes: of the lists, and of these resources
    #[command(after_help = "\
The action ends when it is interrupted. A server that is lost is started or connected to again. A
subscription that ends is renewed after a pause; changes may have been missed then.

Example: mcplink listen file:///notes.txt --server docs")]
    Listen {
        /// The URIs of resources
        #[arg(value_name = "URI")]
        uris: Vec<String>,
    },
    /// List tasks, or show, await or cancel one
    #[command(after_help = "\
A task is a call that goes on after its answer: 'mcplink call NAME --task' starts one. 'list' needs
a server of revision 2025-11-25, as do tasks that outlive their connection.

Example: mcplink tasks show 7f3a --url https://example.com/mcp")]
    Tasks {
        /// list, show, wait or cancel
        #[arg(value_name = "WHAT", default_value = "list", hide_default_value = true)]
        #[arg(hide_possible_values = true)]
        what: TaskAction,
        /// The id of the task
        #[arg(required_if_eq_any = [("what", "show"), ("what", "wait"), ("what", "cancel")])]
        #[arg(allow_hyphen_values = true)]
        id: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// List skills, or show, save or verify one
    #[command(after_help = "\
A skill is a folder of instructions for models. NAME is its name in the list, or its URI. 'fetch'
saves it in the folder NAME of --to, after size and digest of each file were verified. 'verify'
reads and verifies all its files, or those in a folder, which is written with a slash: ./refunds

Example: mcplink skills fetch refunds --to skills --server billing")]
    Skills(SkillRequest),
    /// See whether the server answers
    #[command(after_help = "Example: mcplink ping --url https://example.com/mcp")]
    Ping,
    /// Run actions line by line, on one connection
    #[command(after_help = "\
At a terminal there are history, editing and completion (Tab). Ctrl-C cancels the action that runs.
Otherwise lines are read from standard input, and the exit code is that of the first failure.

Example: mcplink shell --script try.mcp --stop --server docs")]
    Shell {
        /// Read the lines from this file
        #[arg(long, value_name = "FILE")]
        script: Option<PathBuf>,
        /// End at the first action that fails
        #[arg(long)]
        stop: bool,
    },
    /// List the servers of configuration files, and where they were found
    #[command(after_help = "\
These files are looked for: .mcp.json, .vscode/mcp.json and .cursor/mcp.json in this folder; the
configuration files of Claude Code, Claude Desktop, Cursor and Visual Studio Code of the user. No
server is started. Parts of a file that are not applied are named on standard error.

Example: mcplink servers --config .mcp.json")]
    Servers,
    /// List the logins that are kept
    #[command(after_help = "Example: mcplink tokens")]
    Tokens,
    /// Forget the login to a server
    #[command(after_help = "Example: mcplink logout --url https://example.com/mcp")]
    Logout,
    /// Check a server: protocol, behavior as a process, schemas, HTTP security
    #[command(after_help = "\
A check passes, fails, or is skipped with a reason. A failure above the level is only noted. The
exit code is 1 if a check of the level fails. No tool is called, unless --call names one.

Example: mcplink check --format junit -- ./my-server > report.xml")]
    Check(Check),
    /// Serve several servers as one, over standard input and output or HTTP
    #[command(after_help = "\
A server is the NAME of one in a configuration file, NAME=URL or NAME='COMMAND ARGUMENT ...'; --,
--url and --server name one too. With several servers, tools and prompts get names such as
github__search. Any client can use any server: old and new revisions are translated, and questions
of the servers reach the client. A server that fails is started or reached again.
A pattern has * for any text and ? for one character; it must fit the whole name.

Example: mcplink proxy github web=https://example.com/mcp --deny '*delete*' --listen 8080")]
    Proxy(ProxyRequest),
    /// Serve a program that is running, for the configuration of a host
    #[command(
        override_usage = "mcplink attach [OPTION ...] NAME[/INSTANCE] [--launch COMMAND ...]"
    )]
    #[command(after_help = "\
A program publishes its server under a name: see 'mcplink instances'. The host is answered at once,
also while the program does not run; its tools appear when it is started, and go when it ends.
With /INSTANCE, only instances with this title, folder, process number or id are used. If several
instances run, the tools 'instances' and 'choose' are shown, and nothing is called before one is
chosen. --launch stands last, with the command that starts the program: options stand before it.

Example: mcplink attach blender --launch blender --background")]
    Attach(AttachRequest),
    /// List running programs that have published their servers
    #[command(after_help = "Example: mcplink instances blender")]
    Instances {
        /// The name of a program
        #[arg(add = ArgValueCandidates::new(crate::instances::candidates))]
        name: Option<String>,
    },
    /// Write the messages between a host and a server that it starts to a file
    #[command(after_help = "\
Put it before the server's command in the configuration of the host. Each line of the file is a
message: t is the time in milliseconds, dir is out for the host and in for the server. The file has
every secret of the conversation. 'mcplink proxy --record' does it for servers with a URL.

Example: mcplink record conversation.jsonl -- ./my-server")]
    Record(RecordRequest),
    /// Play a recorded conversation, as the server or as the client
    #[command(after_help = "\
Without a server, the recorded server is played over standard input and output: a client gets the
answers if it sends what was recorded. With a server, what the client sent is sent to it, and its
answers and requests are compared. Ids, times, UUIDs, requestState, nextCursor, taskId and
notifications are not compared. The exit code is 1 if something differs.

Example: mcplink replay conversation.jsonl --ignore pid -- ./my-server")]
    Replay(ReplayRequest),
    /// Call a tool many times, and show how long the calls take
    #[command(after_help = "\
Arguments are those of 'mcplink call'. The tool is really called: name one without side effects.

Example: mcplink bench add a=1 b=2 --calls 10000 --concurrency 8 -- ./my-server")]
    Bench(Bench),
    /// Write a server into the configuration file of a host, or remove it
    #[command(after_help = "\
The host is claude-code (or claude), claude-desktop, cursor or vscode; --project takes its file in
this folder, --config another file. What else stands in the file stays, with order and comments; a
copy of the old file is kept as FILE.bak. --env and --header are written too: --env NAME without a
value refers to the variable of the host. With --attach, the server is a program that publishes
itself: see 'mcplink attach'; --launch stands last, with its command.

Example: mcplink install files --host cursor -- npx -y @modelcontextprotocol/server-filesystem \"$PWD\"")]
    Install(InstallRequest),
    /// Print a script that completes the command line in a shell
    #[command(after_help = "\
The script asks the tool, which knows the servers of the configuration files. It goes into the
file that the shell runs when it starts, so that it fits the installed version:
  bash        source <(mcplink completions bash)
  elvish      eval (mcplink completions elvish | slurp)
  fish        mcplink completions fish | source
  powershell  mcplink completions powershell | Out-String | Invoke-Expression
  zsh         source <(mcplink completions zsh)

Example: mcplink completions bash")]
    Completions {
        /// bash, elvish, fish, powershell or zsh
        #[arg(hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example: mcplink man > ~/.local/share/man/man1/mcplink.1")]
    Man,
}

/// The meaning of a command line, or of a line of the shell.
#[expect(clippy::large_enum_variant, reason = "there is one of it")]
pub(crate) enum Asked {
    /// A text to print, such as help.
    Text(String),
    Run(Options, Action),
}

/// A command line that can't be read, and the command for more help.
pub(crate) struct Misuse {
    pub(crate) text: String,
    pub(crate) help: String,
}

impl From<String> for Misuse {
    fn from(text: String) -> Self {
        let help = "mcplink --help".to_owned();
        Self { text, help }
    }
}

/// Returns the definition of the command line, for manual pages.
pub(crate) fn manual() -> Command {
    Cli::command()
}

/// Returns the definition of the command line, for scripts that complete it.
pub(crate) fn command() -> Command {
    // Options are accepted behind an action, too: see `options_first`.
    Cli::command().mut_args(|arg| match arg.is_positional() {
        true => arg,
        false => arg.global(true),
    })
}

/// Returns the names of the actions.
pub(crate) fn action_names() -> Vec<String> {
    let names = Line::command();
    let names = names.get_subcommands();
    names.map(|action| action.get_name().to_owned()).collect()
}

/// Returns the options of an action of the shell.
pub(crate) fn options_of(action: &str) -> Vec<String> {
    let line = Line::command();
    let action = line.find_subcommand(action);
    let options = action.into_iter().flat_map(Command::get_arguments);
    let names = options.filter_map(|option| Some(format!("--{}", option.get_long()?)));
    names.chain(["--json".to_owned()]).collect()
}

pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Asked, Misuse> {
    let mut words: Vec<OsString> = words.collect();
    let command = split_command(&mut words);
    let words = options_first(words, &Cli::command());
    let program = std::iter::once(OsString::from("mcplink"));
    let matches = Cli::command().try_get_matches_from(program.chain(words.iter().cloned()));
    let read = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    let mut cli = match read {
        Ok(cli) => cli,
        Err(error) => return misread(&error, &words, "mcplink --help", !command.is_empty()),
    };
    cli.options.place.command = command;
    cli.options.check(names_servers(&cli.action))?;
    Ok(Asked::Run(cli.options, cli.action))
}

/// Takes the command behind `--` from the words of a command line, or the command of a program
/// behind `--launch`, which stays.
fn split_command(words: &mut Vec<OsString>) -> Vec<OsString> {
    let takes_launch = |word: &OsString| word == "attach" || word == "install";
    let begin = words.iter().position(takes_launch);
    let at = words.iter().enumerate().position(|(at, word)| {
        word == "--" || word == "--launch" && begin.is_some_and(|begin| begin < at)
    });
    let Some(at) = at else {
        return Vec::new();
    };
    let is_launch = words[at] == "--launch";
    let mut command = words.split_off(at + 1);
    if !is_launch {
        words.pop();
    } else if command.first().is_some_and(|word| word == "--") {
        command.remove(0);
    }
    command
}

/// Reads a line of the shell. The options are those of the shell itself.
pub(crate) fn read_line(words: &[String], options: &Options) -> Result<Asked, Misuse> {
    let mut options = options.clone();
    let words: Vec<&String> = words.iter().collect();
    let is_json = |word: &&String| **word == "--json";
    options.json |= words.iter().any(is_json);
    let words: Vec<OsString> = words
        .into_iter()
        .filter(|word| !is_json(word))
        .map(OsString::from)
        .collect();
    match Line::try_parse_from(&words) {
        Ok(line) => Ok(Asked::Run(options, line.action)),
        Err(error) => misread(&error, &words, "help", true),
    }
}

/// Returns the help of the shell, or of one of its actions.
pub(crate) fn help_of_line(action: Option<&str>) -> Result<String, Misuse> {
    let mut command = Line::command();
    let Some(name) = action else {
        return Ok(command.render_help().to_string());
    };
    command.build();
    match command.find_subcommand_mut(name) {
        Some(action) => Ok(action.render_help().to_string()),
        None => Err(Misuse {
            text: format!("there is no action {name}"),
            help: "help".to_owned(),
        }),
    }
}

/// Moves the options of the program before the action, so that they may stand anywhere.
fn options_first(words: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let (mut options, mut rest) = (Vec::new(), Vec::new());
    let mut action: Option<&Command> = None;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        let find = |command: &Command| {
            let mut args = command.get_arguments();
            args.find(|arg| {
                let long = arg.get_long().map(|long| format!("--{long}"));
                let short = arg.get_short().map(|short| format!("-{short}"));
                [long, short].iter().flatten().any(|own| own == name)
            })
            .map(|arg| arg.get_action().takes_values())
        };
        let own = action.and_then(find);
        let places = match own {
            Some(_) => &mut rest,
            None if text.starts_with('-') && find(program).is_some() => &mut options,
            None => &mut rest,
        };
        let takes_value = own.or_else(|| find(program)) == Some(true);
        let is_separate = takes_value && !text.contains('=');
        if action.is_none() && !text.starts_with('-') {
            action = program.find_subcommand(&*text);
        }
        places.push(word);
        if is_separate {
            places.extend(words.next());
        }
    }
    options.extend(rest);
    options
}

fn misread(
    error: &clap::Error,
    words: &[OsString],
    help: &str,
    has_command: bool,
) -> Result<Asked, Misuse> {
    let names = action_names();
    let action = words.iter().find_map(|word| {
        let word = word.to_str()?;
        names.iter().find(|name| *name == word)
    });
    let misuse = |text: String| {
        let help = match (action, help) {
            (Some(action), "help") => format!("help {action}"),
            (Some(action), _) => format!("mcplink {action} --help"),
            (None, help) => help.to_owned(),
        };
        Err(Misuse { text, help })
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return Ok(Asked::Text(error.render().to_string()));
        }
        _ if words.iter().any(|word| word.to_str().is_none()) => {
            let word = words.iter().find(|word| word.to_str().is_none());
            let word = word.map(|word| word.to_string_lossy()).unwrap_or_default();
            return misuse(format!("'{word}' is no UTF-8"));
        }
        ErrorKind::InvalidSubcommand => {
            let name = error.get(clap::error::ContextKind::InvalidSubcommand);
            let name = name.map(ToString::to_string).unwrap_or_default();
            let similar = error.get(clap::error::ContextKind::SuggestedSubcommand);
            let mut text = format!("there is no action {name}");
            if let Some(similar) = similar {
                text.push_str(&format!(": did you mean {similar}?"));
            }
            let is_server = |word: &OsString| word == "--url" || word == "--server" || word == "-s";
            if !has_command && !words.iter().any(is_server) {
                text.push_str("; the server's command stands behind --");
            }
            return misuse(text);
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let text = match words.is_empty() && !has_command {
                true => "there is nothing to do",
                false => "the action is missing, such as 'tools'",
            };
            return misuse(text.to_owned());
        }
        _ => {}
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = text
        .find("\n\nUsage:")
        .or_else(|| text.find("\n\nFor more"));
    let mut text = text[..end.unwrap_or(text.len())].trim_end().to_owned();
    if error.kind() == ErrorKind::UnknownArgument && !has_command && help != "help" {
        text.push_str("; the server's command stands behind --");
    }
    misuse(text)
}

impl Options {
    /// Returns the allowed revisions.
    pub(crate) fn revisions(&self) -> Vec<ProtocolVersion> {
        let all = ProtocolVersion::ALL.iter().copied();
        let of_era = all.filter(|revision| match self.era {
            Era::Auto => true,
            Era::Legacy => revision.is_legacy(),
            Era::Modern => revision.is_modern(),
        });
        of_era
            .filter(|revision| self.revision.is_none_or(|only| only == *revision))
            .collect()
    }

    /// Checks what options mean together. `has_others` tells whether the action names servers of
    /// its own, which the options may be for.
    fn check(&self, has_others: bool) -> Result<(), String> {
        if self.revisions().is_empty() {
            return Err("--era and --revision contradict each other".to_owned());
        }
        let place = &self.place;
        place.check_login()?;
        let ways = [
            place.url.is_some(),
            place.server.is_some(),
            !place.command.is_empty(),
        ];
        if ways.iter().filter(|way| **way).count() > 1 {
            return Err(
                "a server is either started, behind --, reached, with --url, or taken from a \
                 configuration file, with --server"
                    .to_owned(),
            );
        }
        let given = |options: &[(&'static str, bool)]| {
            let given = options.iter().find(|(_, is_given)| *is_given);
            given.map(|(name, _)| *name)
        };
        let for_url = given(&[
            ("--header", !place.headers.is_empty()),
            ("--login", place.login),
        ]);
        let names_none = place.url.is_none() && place.server.is_none() && !has_others;
        if let (true, Some(name)) = (names_none, for_url) {
            return Err(format!(
                "{name} is for servers that are reached with --url or --server"
            ));
        }
        let for_command = given(&[
            ("--env", !place.env.is_empty()),
            ("--inherit-env", place.inherits_env),
            ("--cwd", place.cwd.is_some()),
        ]);
        if let (Some(_), Some(name), false) = (&place.url, for_command, has_others) {
            return Err(format!(
                "{name} is for servers that are started, behind -- or with --server"
            ));
        }
        if place.server.is_none() && !place.inputs.is_empty() && !has_others {
            return Err("--input is for servers that are named with --server".to_owned());
        }
        let is_secure = |url: &String| url.starts_with("https:");
        let may_be_secure =
            has_others || place.server.is_some() || place.url.as_ref().is_some_and(is_secure);
        if place.authorities.is_some() && !may_be_secure {
            return Err("--cacert is for servers that are reached with --url https://…".to_owned());
        }
        Ok(())
    }
}

impl Place {
    /// Checks the options about logins.
    fn check_login(&self) -> Result<(), String> {
        let options = [
            ("--client-id", self.client_id.is_some()),
            ("--client-secret", self.client_secret.is_some()),
            ("--scope", !self.scopes.is_empty()),
            ("--callback-port", self.callback_port.is_some()),
        ];
        let given = options.iter().find(|(_, is_given)| *is_given);
        if let (false, Some((name, _))) = (self.login, given) {
            return Err(format!("{name} is for logins, with --login"));
        }
        if self.client_secret.is_some() && self.client_id.is_none() {
            return Err("--client-secret is for a client with --client-id".to_owned());
        }
        Ok(())
    }
}

/// Whether an action names servers of its own.
fn names_servers(action: &Action) -> bool {
    matches!(action, Action::Proxy(request) if request.all || !request.servers.is_empty())
}

fn read_input(text: &str) -> Result<(String, String), String> {
    let (id, value) = text.split_once('=').ok_or("expected ID=VALUE")?;
    Ok((id.to_owned(), value.to_owned()))
}

fn read_variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() {
        return Err("expected NAME or NAME=VALUE".to_owned());
    }
    Ok((name.to_owned(), value))
}

fn read_revision(text: &str) -> Result<ProtocolVersion, String> {
    text.parse().map_err(|_| {
        let known = ProtocolVersion::ALL.iter();
        let known: Vec<&str> = known.map(|revision| revision.as_str()).collect();
        format!("expected one of {}", known.join(", "))
    })
}

/// Parses a root: a URI, or a directory, which becomes a URI.
fn read_root(text: &str) -> Result<Root, String> {
    let root = if text.contains("://") {
        let root = Root::new(text);
        root.check().map(|()| root)
    } else {
        let path = std::fs::canonicalize(text).map_err(|error| error.to_string())?;
        Root::of_path(path)
    };
    root.map_err(|error| error.to_string())
}

fn read_timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| "expected a number of seconds".to_owned())
}

fn read_level(text: &str) -> Result<LoggingLevel, String> {
    match LoggingLevel::from(text) {
        LoggingLevel::Other(_) => {
            Err("expected a level such as debug, info, warning or error".to_owned())
        }
        level => Ok(level),
    }
}
