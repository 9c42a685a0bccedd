//! Starts a child in a job of its own, with its three standard streams only.
//!
//! With the standard library's `Command`, the child would inherit every inheritable handle of the
//! host, and could not start in a job. Here the system gets a list of handles and a list of jobs.
//! So the child inherits the listed handles only, and is in the job before it runs.

use std::ffi::{OsStr, OsString, c_void};
use std::io;
use std::os::windows::ffi::OsStringExt as _;
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Foundation::{
    DUPLICATE_SAME_ACCESS, DuplicateHandle, HANDLE, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::System::Console::{GetConsoleMode, GetStdHandle, STD_ERROR_HANDLE};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::SystemInformation::GetSystemDirectoryW;
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    DeleteProcThreadAttributeList, EXTENDED_STARTUPINFO_PRESENT, GetCurrentProcess,
    InitializeProcThreadAttributeList, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
    PROC_THREAD_ATTRIBUTE_JOB_LIST, PROCESS_INFORMATION, STARTF_USESTDHANDLES, STARTUPINFOEXW,
    UpdateProcThreadAttribute,
};

use super::command::{
    batch_line, environment_block, program_line, refusal, terminated, variable_name,
};
use super::fd::{check, own};
use super::process::Process;
use crate::error::{Error, ErrorKind, Result};
use crate::transport::sys::child_command::{Command, Stderr};

/// The file name extensions of programs, in the order in which they are tried. The variable
/// `PATHEXT` may change the order and omit extensions. Other files, such as scripts of the Windows
/// Script Host, can't be servers.
const PROGRAMS: [&str; 4] = [".COM", ".EXE", ".BAT", ".CMD"];

/// Starts the child and closes this process's copies of the child's handles.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] for text with a NUL byte, a program with a quote in its name, an invalid
/// variable name, or an argument that a batch file can't be given. [`ErrorKind::Spawn`] when the
/// child can't be started.
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
    let (application, line) = match is_batch(&path) {
        true => (
            system_folder()?.join("cmd.exe"),
            batch_line(path.as_os_str(), command.args)?,
        ),
        false => (path.clone(), program_line(path.as_os_str(), command.args)?),
    };
    let texts = Texts {
        application: terminated("program", application.as_os_str())?,
        line,
        env: environment_block(command.env)?,
        directory: command
            .directory
            .map(|directory| terminated("working directory", directory.as_os_str()))
            .transpose()?,
    };
    start(&command, texts).map_err(|error| refusal(command.program, error))
}

/// The texts that describe a child, in UTF-16 with a NUL at the end.
struct Texts {
    application: Vec<u16>,
    line: Vec<u16>,
    env: Vec<u16>,
    directory: Option<Vec<u16>>,
}

fn start(command: &Command<'_>, mut texts: Texts) -> io::Result<Process> {
    let (stderr, has_console) = standard_error(command)?;
    let handles = [
        inheritable(command.stdin.as_handle())?,
        inheritable(command.stdout.as_handle())?,
        stderr,
    ];
    let job = job(command.dies_with_parent)?;
    // A child that does not share the console of this process gets a console without a window.
    // Otherwise the system might open a window.
    let console = match has_console {
        true => CREATE_NEW_PROCESS_GROUP,
        false => CREATE_NO_WINDOW,
    };
    let flags = console | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    let lists = Lists {
        handles: handles.each_ref().map(|handle| handle.as_raw_handle()),
        jobs: [job.as_raw_handle()],
    };
    let mut attributes = Attributes::new(&lists)?;
    let startup = attributes.startup(&lists.handles);
    let directory = texts.directory.as_ref().map_or(ptr::null(), Vec::as_ptr);
    // SAFETY: the structure is plain data, for which zeros are valid.
    let mut started: PROCESS_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: all texts end in NUL, the block of variables in two; the line may be changed. The
    // attributes and what they refer to live until the call returns.
    check(unsafe {
        CreateProcessW(
            texts.application.as_ptr(),
            texts.line.as_mut_ptr(),
            ptr::null(),
            ptr::null(),
            1,
            flags,
            texts.env.as_ptr().cast(),
            directory,
            (&raw const startup).cast(),
            &raw mut started,
        )
    })?;
    drop(own(started.hThread));
    Ok(Process::new(
        own(started.hProcess)?,
        job,
        started.dwProcessId,
    ))
}

/// Returns the path of the file to run. A relative path is relative to the working directory of
/// this process, not to the child's.
fn find(command: &Command<'_>) -> Result<PathBuf> {
    let program = Path::new(command.program);
    let is_path = command
        .program
        .as_encoded_bytes()
        .iter()
        .any(|byte| b"/\\:".contains(byte));
    let found = match is_path {
        true => existing(program, command).unwrap_or_else(|| program.to_owned()),
        false => search(command)?,
    };
    std::path::absolute(found).map_err(|error| {
        Error::io("finding the working directory", error).with_kind(ErrorKind::Spawn)
    })
}

/// Searches the child's own `PATH` for a program whose name is not a path. If the child has no
/// `PATH`, uses the `PATH` of this process.
fn search(command: &Command<'_>) -> Result<PathBuf> {
    let path = variable(command, "PATH").unwrap_or_default();
    // Relative entries are skipped. An empty entry would mean the working directory.
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .find_map(|directory| existing(&directory.join(command.program), command))
        .ok_or_else(|| {
            let (name, path) = (command.program.display(), path.display());
            let text = format!("can't start '{name}': there is no such program in PATH ({path}); give its full path or set PATH with env()");
            Error::new(ErrorKind::Spawn, text)
        })
}

fn variable(command: &Command<'_>, name: &str) -> Option<OsString> {
    let wanted = variable_name(name);
    let own = command.env.iter().find(|(name, _)| *name == wanted);
    own.map(|(_, value)| value.clone())
        .or_else(|| std::env::var_os(name))
}

/// Returns the existing file of a program. The name of the program may omit the file name
/// extension. A file without an extension is not a program: for example, the shell script `npx`
/// beside `npx.cmd`.
fn existing(file: &Path, command: &Command<'_>) -> Option<PathBuf> {
    let has_ending = file.extension().is_some_and(|ending| {
        let ending = format!(".{}", ending.display());
        PROGRAMS
            .iter()
            .any(|program| program.eq_ignore_ascii_case(&ending))
    });
    if has_ending && file.is_file() {
        return Some(file.to_owned());
    }
    let endings = variable(command, "PATHEXT");
    let endings = endings.as_deref().and_then(OsStr::to_str);
    let endings: Vec<&str> = match endings {
        Some(endings) => endings.split(';').collect(),
        None => PROGRAMS.to_vec(),
    };
    endings
        .into_iter()
        .filter(|ending| {
            PROGRAMS
                .iter()
                .any(|program| program.eq_ignore_ascii_case(ending))
        })
        .map(|ending| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        })
        .find(|file| file.is_file())
}

/// Whether a file is run by `cmd.exe`. The system ignores dots and spaces at the end of a name.
fn is_batch(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name.ends_with(".bat") || name.ends_with(".cmd")
}

/// Returns the folder of the system's programs. No other folder is searched for `cmd.exe`.
fn system_folder() -> Result<PathBuf> {
    let mut room = [0; 1024];
    // SAFETY: the buffer has room for that many units.
    let len = unsafe { GetSystemDirectoryW(room.as_mut_ptr(), room.len() as u32) } as usize;
    if len == 0 || len > room.len() {
        let error = io::Error::last_os_error();
        return Err(Error::io("finding the system's folder", error).with_kind(ErrorKind::Spawn));
    }
    Ok(OsString::from_wide(&room[..len]).into())
}

/// Returns the inheritable handle that becomes the child's standard error, and whether it is a
/// console of this process.
fn standard_error(command: &Command<'_>) -> io::Result<(OwnedHandle, bool)> {
    match &command.stderr {
        Stderr::To(handle) => return Ok((inheritable(handle.as_handle())?, false)),
        Stderr::Discard => {}
        Stderr::Inherit => {
            // SAFETY: the call has no pointers.
            let raw = unsafe { GetStdHandle(STD_ERROR_HANDLE) };
            if !raw.is_null() && raw != INVALID_HANDLE_VALUE {
                // SAFETY: the handle is open, and the standard streams stay open. If a host closes
                // it meanwhile, the duplication fails.
                let handle = unsafe { BorrowedHandle::borrow_raw(raw) };
                let mut mode = 0;
                // SAFETY: as before, and there is room for the mode. Only consoles have a mode.
                let is_console = unsafe { GetConsoleMode(raw, &raw mut mode) } != 0;
                return Ok((inheritable(handle)?, is_console));
            }
        }
    }
    let null = std::fs::File::options().write(true).open("NUL")?;
    Ok((inheritable(null.as_handle())?, false))
}

/// Returns an inheritable duplicate. It has to be closed as soon as the child has been started: a
/// child that other code starts meanwhile may inherit the duplicate too.
fn inheritable(handle: BorrowedHandle<'_>) -> io::Result<OwnedHandle> {
    let mut duplicate: HANDLE = ptr::null_mut();
    // SAFETY: the handle is open, and there is room for the new one.
    check(unsafe {
        let this = GetCurrentProcess();
        let raw = handle.as_raw_handle();
        DuplicateHandle(
            this,
            raw,
            this,
            &raw mut duplicate,
            0,
            1,
            DUPLICATE_SAME_ACCESS,
        )
    })?;
    own(duplicate)
}

/// Creates a job. If `dies_with_parent`, the system ends the processes of the job when the handle
/// is closed, which happens at the latest when this process ends.
fn job(dies_with_parent: bool) -> io::Result<OwnedHandle> {
    // SAFETY: a job without a name and with the default security needs no pointers.
    let job = own(unsafe { CreateJobObjectW(ptr::null(), ptr::null()) })?;
    if dies_with_parent {
        // SAFETY: the structure is plain data, for which zeros are valid.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let (class, len) = (
            JobObjectExtendedLimitInformation,
            size_of_val(&limits) as u32,
        );
        let limits = (&raw const limits).cast();
        // SAFETY: the job is open; the limits have the type of the class, and their size is given.
        check(unsafe { SetInformationJobObject(job.as_raw_handle(), class, limits, len) })?;
    }
    Ok(job)
}

/// The handles that a child inherits, and the jobs that it is in.
struct Lists {
    handles: [HANDLE; 3],
    jobs: [HANDLE; 1],
}

/// The attributes of a child, in memory whose layout only the system knows. The attributes point to
/// the [`Lists`].
struct Attributes<'a> {
    memory: Vec<usize>,
    _lists: &'a Lists,
}

impl<'a> Attributes<'a> {
    fn new(lists: &'a Lists) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: without a list, the call only stores the size, and reports that there is no room.
        unsafe { InitializeProcThreadAttributeList(ptr::null_mut(), 2, 0, &raw mut size) };
        let mut memory = vec![0usize; size.div_ceil(size_of::<usize>()).max(1)];
        let list = memory.as_mut_ptr().cast();
        // SAFETY: the memory has the size that the system has asked for.
        check(unsafe { InitializeProcThreadAttributeList(list, 2, 0, &raw mut size) })?;
        let mut this = Self {
            memory,
            _lists: lists,
        };
        this.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, &lists.handles)?;
        this.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, &lists.jobs)?;
        Ok(this)
    }

    fn set(&mut self, key: u32, handles: &'a [HANDLE]) -> io::Result<()> {
        let (list, none) = (self.memory.as_mut_ptr().cast(), ptr::null_mut::<c_void>());
        let (value, size) = (handles.as_ptr().cast(), size_of_val(handles));
        // SAFETY: the list is initialized; the handles outlive the list, and their size is given.
        check(unsafe {
            UpdateProcThreadAttribute(list, 0, key as usize, value, size, none, ptr::null())
        })
    }

    fn startup(&mut self, handles: &[HANDLE; 3]) -> STARTUPINFOEXW {
        // SAFETY: the structure is plain data, for which zeros are valid.
        let mut startup: STARTUPINFOEXW = unsafe { std::mem::zeroed() };
        let info = &mut startup.StartupInfo;
        info.cb = size_of::<STARTUPINFOEXW>() as u32;
        info.dwFlags = STARTF_USESTDHANDLES;
        [info.hStdInput, info.hStdOutput, info.hStdError] = *handles;
        startup.lpAttributeList = self.memory.as_mut_ptr().cast();
        startup
    }
}

impl Drop for Attributes<'_> {
    fn drop(&mut self) {
        // SAFETY: initialized in `new`, deleted once.
        unsafe { DeleteProcThreadAttributeList(self.memory.as_mut_ptr().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::time::{Duration, Instant};

    use windows_sys::Win32::System::Threading::GetProcessHandleCount;

    use super::super::command::{VariableName, streams};
    use super::super::read::{Read, ReadEnd};
    use super::super::write::WriteEnd;
    use super::*;

    /// The variable that makes this program a child: see [`child`].
    const ROLE: &str = "MCPLINK_TEST_ROLE";

    /// The code of the children. A child is this test program, which runs only this test. The
    /// variable [`ROLE`] selects what the child does. Without the variable the test does nothing.
    #[test]
    fn child() {
        let role = std::env::var(ROLE).unwrap_or_default();
        let is_kept = std::env::var("mcplink_Mixed").is_ok();
        match role.as_str() {
            "echo" => {
                let mut text = String::new();
                io::stdin().read_to_string(&mut text).expect("text");
                let mut output = io::stdout();
                writeln!(output, "[{text} {is_kept}]").expect("a reader");
                output.flush().expect("a reader");
                std::process::exit(7);
            }
            "leave" => {
                let program = std::env::current_exe().expect("a program");
                let mut command = std::process::Command::new(program);
                command.args(ARGS).env(ROLE, "sleep");
                drop(command.spawn().expect("a process"));
                std::process::exit(3);
            }
            "sleep" => std::thread::sleep(Duration::from_secs(1000)),
            _ => {}
        }
    }

    const ARGS: [&str; 3] = [
        "--exact",
        "transport::sys::windows::spawn::tests::child",
        "--nocapture",
    ];

    fn start(role: &str, dies_with_parent: bool) -> (Process, WriteEnd, ReadEnd) {
        let program = std::env::current_exe().expect("a program");
        let own = std::env::vars_os();
        let mut env: Vec<(VariableName, OsString)> = own
            .map(|(name, value)| (variable_name(name), value))
            .collect();
        env.push((variable_name(ROLE), role.into()));
        env.push((variable_name("MCPLINK_MIXED"), "x".into()));
        let ((to_child, from_child), stdin, stdout) = streams(true).expect("handles");
        let process = spawn(Command {
            program: program.as_os_str(),
            args: &ARGS.map(OsString::from),
            env: &env,
            directory: None,
            stdin,
            stdout,
            stderr: Stderr::Discard,
            dies_with_parent,
        });
        (process.expect("it starts"), to_child, from_child)
    }

    fn all(end: &ReadEnd) -> String {
        let (mut text, mut room) = (Vec::new(), [0; 4096]);
        let patience = Some(Duration::from_secs(30));
        while let Read::Bytes(count) = end.read(&mut room, patience, None).expect("a pipe") {
            text.extend_from_slice(&room[..count]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn a_child_reads_writes_and_ends_with_a_status() {
        let (process, to_child, from_child) = start("echo", false);
        assert_eq!(process.finish(), None);
        to_child.write(b"hello", soon()).expect("a reader");
        to_child.end();
        let text = all(&from_child);
        assert!(text.contains("[hello true]"), "{text}");
        assert!(process.wait(soon()));
        let exit = process.finish().expect("it has ended");
        assert_eq!(exit.to_string(), "exited with status 7");
    }

    #[test]
    fn what_a_child_leaves_behind_is_ended_with_the_job() {
        for dies_with_parent in [false, true] {
            let (process, _to_child, from_child) = start("leave", dies_with_parent);
            assert!(process.wait(soon()));
            let exit = process.finish().expect("it has ended");
            assert_eq!(exit.to_string(), "exited with status 3");
            // The grandchild holds the pipe open.
            let mut room = [0; 4096];
            let read = loop {
                match from_child.read(&mut room, Some(Duration::from_millis(100)), None) {
                    Ok(Read::Bytes(_)) => {}
                    read => break read,
                }
            };
            assert!(matches!(read, Ok(Read::Nothing)), "{read:?}");
            match dies_with_parent {
                true => drop(process),
                false => process.end_rest_of_group(Duration::ZERO),
            }
            all(&from_child);
            let read = from_child.read(&mut room, Some(Duration::ZERO), None);
            assert!(matches!(read, Ok(Read::End)), "{read:?}");
        }
    }

    #[test]
    fn fifty_children_leak_no_handle() {
        let count = || {
            let mut count = 0;
            // SAFETY: the handle stands for this process, and there is room for the number.
            check(unsafe { GetProcessHandleCount(GetCurrentProcess(), &raw mut count) })
                .expect("a number");
            count
        };
        let run = || {
            let (process, to_child, from_child) = start("sleep", false);
            process.kill();
            assert!(process.wait(soon()));
            assert!(!all(&from_child).contains('['));
            to_child.end();
        };
        run();
        let before = count();
        for _ in 0..50 {
            run();
        }
        // Other tests run at the same time, and have a few handles.
        assert!(count() < before + 50, "{before} before, {} after", count());
    }

    #[test]
    fn a_program_is_found_by_its_name_without_an_ending() {
        let (_, stdin, stdout) = streams(true).expect("handles");
        let folder = std::env::temp_dir().join(format!("mcplink-find-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for name in ["tool", "tool.cmd", "tool.js", "both.exe", "both.bat"] {
            std::fs::write(folder.join(name), "").expect("a file");
        }
        let command = |program: &'static str, variable: &str| {
            let env = vec![(variable_name(variable), folder.clone().into_os_string())];
            let command = Command {
                program: program.as_ref(),
                args: &[],
                env: &env,
                directory: None,
                stdin: stdin.try_clone().expect("a handle"),
                stdout: stdout.try_clone().expect("a handle"),
                stderr: Stderr::Discard,
                dies_with_parent: false,
            };
            find(&command)
                .ok()
                .and_then(|path| path.file_name().map(OsStr::to_owned))
        };
        for (program, found) in [
            ("tool", Some("tool.cmd")),
            ("tool.cmd", Some("tool.cmd")),
            ("tool.js", None),
            ("both", Some("both.exe")),
            ("both.BAT", Some("both.BAT")),
            ("none", None),
        ] {
            let found = found.map(OsString::from);
            assert_eq!(command(program, "Path"), found, "{program}");
        }
        std::fs::remove_dir_all(&folder).expect("it can be removed");
        for (name, expected) in [
            ("a.cmd", true),
            ("a.BAT", true),
            ("a.bat. .", true),
            ("a.bat.exe", false),
            ("cmd", false),
        ] {
            assert_eq!(is_batch(Path::new(name)), expected, "{name}");
        }
    }
}
