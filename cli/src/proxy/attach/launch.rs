//! Starting the program.
//!
//! **Threads.** `launch`, one for each started program, started by [`Launcher::start`]: it waits for
//! the end of the program, so that no zombie process is left. No thread joins it: the program
//! outlives the tool.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::args::Place;

/// The command that starts the program.
pub(super) struct Launcher {
    command: Vec<OsString>,
    /// The variables that are set for the program, beside ours.
    env: Vec<(String, String)>,
    /// The working directory, if it is not ours.
    folder: Option<PathBuf>,
}

impl Launcher {
    /// Returns `None` without a command.
    pub(super) fn new(place: &Place) -> Option<Self> {
        let variables = place.env.iter();
        let set = |(name, value): &(String, Option<String>)| Some((name.clone(), value.clone()?));
        (!place.command.is_empty()).then(|| Self {
            command: place.command.clone(),
            env: variables.filter_map(set).collect(),
            folder: place.cwd.clone(),
        })
    }

    /// Starts the program, in a process group of its own and without our standard streams. So it
    /// goes on when the tool ends, and none of its output reaches the host. `on_end` runs when the
    /// started process has ended.
    pub(super) fn start(
        &self,
        on_end: impl FnOnce(io::Result<ExitStatus>) + Send + 'static,
    ) -> io::Result<()> {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        let named = |error: io::Error| {
            let program = self.command[0].to_string_lossy();
            io::Error::new(error.kind(), format!("{program}: {error}"))
        };
        let mut child = command.spawn().map_err(named)?;
        let thread = thread::Builder::new().name("launch".to_owned());
        thread.spawn(move || on_end(child.wait()))?;
        Ok(())
    }
}

/// The state of the latest start of the program.
#[derive(Debug, Default)]
pub(super) enum Launch {
    /// The program was not started, or has published itself since.
    #[default]
    None,
    /// The started process runs, and has not published itself yet.
    Running(u64),
    /// The started process has ended without an error. Another process may go on for it, and
    /// publishes itself until then.
    Left(u64, std::time::Instant),
    /// The start with this number has failed.
    Failed(u64, String),
}
