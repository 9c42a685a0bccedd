//! A command line for servers: `mcplink [OPTION ...] ACTION ... -- SERVER COMMAND ...`, or
//! `--url URL` or `--server NAME` instead of the command.
//!
//! Try `mcplink tools -- target/debug/examples/hello_server`, or `mcplink --help`.

#![forbid(unsafe_code)]

mod actions;
mod args;
mod ask;
mod bench;
mod check;
mod configs;
mod describe;
mod failure;
mod form;
mod input;
mod install;
mod instances;
mod interrupt;
mod listen;
mod local_skill;
mod login;
mod print;
mod proxy;
mod reach;
mod record;
mod replay;
mod results;
mod save;
mod shell;
mod skills;
mod values;
mod wanted;

use std::process::ExitCode;

use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use crate::actions::Session;
use crate::args::{Action, Asked, Options};
use crate::failure::Failure;

/// The variable by which the scripts of `completions` ask the tool what may come next.
const COMPLETE: &str = "MCPLINK_COMPLETE";

fn main() -> ExitCode {
    // Ends here if a script asks. There is one thread so far, as changes of variables need.
    CompleteEnv::with_factory(args::command)
        .var(COMPLETE)
        .complete();
    interrupt::watch();
    let done = match args::read(std::env::args_os().skip(1)) {
        Ok(Asked::Text(text)) => print::out(&text).map_err(Failure::from),
        Ok(Asked::Run(options, action)) => run(options, action),
        Err(misuse) => Err(Failure::misuse(misuse)),
    };
    let done = match interrupt::has_come() {
        true => Err(Failure::interrupted()),
        false => done,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.code)
        }
    }
}

fn run(options: Options, action: Action) -> Result<(), Failure> {
    match action {
        Action::Servers => return configs::list(&options),
        Action::Tokens => return login::list(&options),
        Action::Logout => return login::forget(&options),
        Action::Check(check) => return check::run(&check, &options),
        Action::Proxy(request) => return proxy::run(&request, &options),
        Action::Attach(request) => return proxy::attach::run(&request, &options),
        Action::Instances { name } => return instances::list(name.as_deref(), &options),
        Action::Install(request) => return install::run(&request, &options),
        Action::Record(request) => return record::run(&request, &options),
        Action::Replay(request) => return replay::run(&request, &options),
        Action::Completions { shell } => return completions(shell),
        Action::Man => return manual(),
        _ => {}
    }
    let client = reach::connect(&options, &action)?;
    let mut session = Session::new(client, options);
    let done = match action {
        Action::Shell { script, stop } => shell::run(&mut session, script.as_deref(), stop),
        action => session.run(action),
    };
    session.close();
    done
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    if let Some(shell) = Shells::builtins().completer(&shell.to_string()) {
        shell.write_registration(COMPLETE, "mcplink", "mcplink", "mcplink", &mut script)?;
    }
    Ok(print::bytes(&script)?)
}

fn manual() -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(args::manual()).render(&mut page)?;
    Ok(print::bytes(&page)?)
}
