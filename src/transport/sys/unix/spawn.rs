//! Starts a child with its own process group, an empty signal mask, default signal actions, and the
//! descriptors 0, 1 and 2 only.
//!
//! The standard library's `Command` passes the caller's signal mask on. A child that is started
//! from a thread that blocks SIGTERM could then not be terminated. `posix_spawn` sets mask, actions
//! and group without running library code between fork and exec.

use std::ffi::{CStr, CString, OsString, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::command::{c_string, inheritable, pointers, refusal};
#[cfg(target_os = "linux")]
use super::fork;
use super::process::Process;
use super::signal::Set;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::sys::child_command::{Command, Stderr};

/// Starts the child and closes this process's copies of the child's descriptors.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] for text with a NUL byte or an invalid variable name,
/// [`ErrorKind::Spawn`] when the child can't be started.
pub(crate) fn spawn(command: Command<'_>) -> Result<Process> {
    let path = find(&command)?;
    if let Some(directory) = command.directory
        && !directory.is_dir()
    {
        let name = command.program.display();
        let text = format!(
            "can't start '{name}': its working directory '{}' is no directory; check Child::current_dir",
            directory.display()
        );
        return Err(Error::new(ErrorKind::Spawn, text));
    }
    let mut words = vec![c_string("program", command.program)?];
    for (index, arg) in command.args.iter().enumerate() {
        words.push(c_string(format_args!("argument {}", index + 1), arg)?);
    }
    let env = c_environment(command.env)?;
    let mut path = c_string("program", path.as_os_str())?;
    if command.dies_with_parent {
        return fork::spawn(&command, &path, &words, &env);
    }
    let mut actions = Actions::new();
    actions.duplicate(&command.stdin, 0);
    actions.duplicate(&command.stdout, 1);
    match &command.stderr {
        Stderr::To(fd) => actions.duplicate(fd, 2),
        Stderr::Discard => actions.open_null(2),
        Stderr::Inherit => {}
    }
    if let Some(directory) = command.directory {
        let directory = c_string("working directory", directory.as_os_str())?;
        if !actions.change_directory(&directory) {
            through_shell(&mut path, &mut words, directory);
        }
    }
    actions.close_the_rest();
    posix_spawn(&path, &words, &env, &actions).map_err(|error| refusal(command.program, error))
}

#[cfg(not(target_os = "linux"))]
mod fork {
    use std::ffi::{CStr, CString};

    use super::super::process::Process;
    use crate::error::{Error, ErrorKind, Result};
    use crate::transport::sys::child_command::Command;

    pub(super) fn spawn(
        _: &Command<'_>,
        _: &CStr,
        _: &[CString],
        _: &[CString],
    ) -> Result<Process> {
        let text = "Child::die_with_parent needs Linux";
        Err(Error::new(ErrorKind::Unsupported, text))
    }
}

/// Returns the path of the file to run. A relative path is relative to the working directory of
/// this process, not to the child's.
fn find(command: &Command<'_>) -> Result<PathBuf> {
    let file = match command.program.as_bytes().contains(&b'/') {
        true => PathBuf::from(command.program),
        false => search(command)?,
    };
    std::path::absolute(file).map_err(|error| {
        Error::io("finding the working directory", error).with_kind(ErrorKind::Spawn)
    })
}

/// Searches the child's own `PATH` for a program whose name has no slash. If the child has no
/// `PATH`, uses the `PATH` of this process.
fn search(command: &Command<'_>) -> Result<PathBuf> {
    let own = command.env.iter().find(|(name, _)| name == "PATH");
    let path = match own {
        Some((_, path)) => path.clone(),
        None => std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/bin:/usr/bin".into()),
    };
    let is_program = |file: &PathBuf| file.is_file() && is_executable(file);
    std::env::split_paths(&path)
        .map(|directory| directory.join(command.program))
        .find(is_program)
        .ok_or_else(|| {
            let (name, path) = (command.program.display(), path.display());
            let text = format!("can't start '{name}': there is no such program in PATH ({path}); give its full path or set PATH with env()");
            Error::new(ErrorKind::Spawn, text)
        })
}

fn is_executable(file: &Path) -> bool {
    // SAFETY: the path ends in NUL.
    CString::new(file.as_os_str().as_bytes())
        .is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0)
}

/// Changes the command so that a shell changes the directory and runs the program. This is needed
/// on systems whose `posix_spawn` can't change the directory.
fn through_shell(path: &mut CString, words: &mut Vec<CString>, directory: CString) {
    let program = std::mem::replace(path, c"/bin/sh".into());
    let script = c"cd \"$1\" && shift && exec \"$@\"";
    let head = [
        c"sh".into(),
        c"-c".into(),
        script.into(),
        c"sh".into(),
        directory,
        program,
    ];
    words.splice(..1, head);
}

fn c_environment(env: &[(OsString, OsString)]) -> Result<Vec<CString>> {
    let entry = |(name, value): &(OsString, OsString)| {
        // The first character may be `=`: such names can be in an inherited environment.
        if name.is_empty() || name.as_bytes()[1..].contains(&b'=') {
            let text = format!(
                "'{}' is no name for an environment variable",
                name.display()
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let mut line = name.clone();
        line.push("=");
        line.push(value);
        c_string(
            format_args!("environment variable '{}'", name.display()),
            &line,
        )
    };
    env.iter().map(entry).collect()
}

fn posix_spawn(
    path: &CStr,
    words: &[CString],
    env: &[CString],
    actions: &Actions,
) -> io::Result<Process> {
    let attributes = Attributes::new();
    let (argv, envp) = (pointers(words), pointers(env));
    let mut pid = 0;
    // SAFETY: path, words and environment end in NUL, and their lists in a null pointer. Actions
    // and attributes are initialised. All of them live until the call returns.
    let result = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            path.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv.as_ptr(),
            envp.as_ptr(),
        )
    };
    match result {
        0 => Ok(Process::new(pid)),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Self {
        let mut attributes = MaybeUninit::uninit();
        let mut flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        #[cfg(target_vendor = "apple")]
        {
            flags |= libc::POSIX_SPAWN_CLOEXEC_DEFAULT;
        }
        flags |= 0;
        // The actions of these two can't be changed, and some systems refuse the attempt.
        let changeable = Set::full().without(libc::SIGKILL).without(libc::SIGSTOP);
        // SAFETY: init initialises the attributes. After that, the other calls store plain values
        // in them.
        unsafe {
            libc::posix_spawnattr_init(attributes.as_mut_ptr());
            let mut attributes = attributes.assume_init();
            libc::posix_spawnattr_setflags(&raw mut attributes, flags as libc::c_short);
            libc::posix_spawnattr_setpgroup(&raw mut attributes, 0);
            libc::posix_spawnattr_setsigmask(&raw mut attributes, Set::empty().as_ptr());
            libc::posix_spawnattr_setsigdefault(&raw mut attributes, changeable.as_ptr());
            Self(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised in new, destroyed once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> Self {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: init initialises the actions.
        Self(unsafe {
            libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
            actions.assume_init()
        })
    }

    /// Duplicates `fd` to `number` in the child. The number of `fd` is at least 3, so the two
    /// numbers differ, and the duplicate is not close-on-exec.
    fn duplicate(&mut self, fd: &OwnedFd, number: libc::c_int) {
        // SAFETY: the actions are initialised; the descriptor stays open until the child has been
        // started.
        unsafe {
            libc::posix_spawn_file_actions_adddup2(&raw mut self.0, fd.as_raw_fd(), number);
        }
    }

    fn open_null(&mut self, number: libc::c_int) {
        // SAFETY: the actions are initialised and the path, which they copy, ends in NUL.
        unsafe {
            libc::posix_spawn_file_actions_addopen(
                &raw mut self.0,
                number,
                c"/dev/null".as_ptr(),
                libc::O_WRONLY,
                0,
            );
        }
    }

    /// Sets the child's working directory. Returns false if the system does not support this.
    fn change_directory(&mut self, directory: &CStr) -> bool {
        type Add = unsafe extern "C" fn(
            *mut libc::posix_spawn_file_actions_t,
            *const c_char,
        ) -> libc::c_int;
        let Some(function) = optional(c"posix_spawn_file_actions_addchdir_np") else {
            return false;
        };
        // SAFETY: where this function exists it has this signature; it copies the path, which ends
        // in NUL.
        unsafe {
            let add = std::mem::transmute::<*mut libc::c_void, Add>(function);
            add(&raw mut self.0, directory.as_ptr()) == 0
        }
    }

    /// Closes, in the child, the descriptors of the host that are not close-on-exec.
    fn close_the_rest(&mut self) {
        type Add =
            unsafe extern "C" fn(*mut libc::posix_spawn_file_actions_t, libc::c_int) -> libc::c_int;
        match optional(c"posix_spawn_file_actions_addclosefrom_np") {
            // SAFETY: where this function exists it has this signature.
            Some(function) => unsafe {
                let add = std::mem::transmute::<*mut libc::c_void, Add>(function);
                add(&raw mut self.0, 3);
            },
            // On Apple systems a spawn attribute closes the descriptors.
            None if cfg!(target_vendor = "apple") => {}
            None => self.close_inheritable(),
        }
    }

    /// Closes, in the child, the descriptors that are open now. If another thread opens a
    /// descriptor without close-on-exec at this moment, that descriptor may stay open in the child.
    fn close_inheritable(&mut self) {
        for number in inheritable() {
            // SAFETY: the actions are initialised. Closing a descriptor in the child is harmless,
            // even if it has been closed meanwhile.
            unsafe { libc::posix_spawn_file_actions_addclose(&raw mut self.0, number) };
        }
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: initialised in new, destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// Looks up a function that older C libraries lack. If the function were linked normally, a host
/// with an older library could not start.
fn optional(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: the name ends in NUL.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!function.is_null()).then_some(function)
}
