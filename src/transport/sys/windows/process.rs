//! A child process and the job that it is in: detecting the end, ending the job.
//!
//! The job contains the child and every process that the child starts, directly or not. A process
//! can't leave the job. The system does not reuse the process id while the handle of the process is
//! open. So there is nothing to reap.

use std::fmt;
use std::os::windows::io::{AsHandle as _, AsRawHandle as _, BorrowedHandle, OwnedHandle};
use std::time::{Duration, Instant};

use windows_sys::Win32::System::JobObjects::TerminateJobObject;
use windows_sys::Win32::System::Threading::GetExitCodeProcess;

use super::fd;

/// The exit code of processes that [`Process::kill`] ends.
const KILLED: u32 = 1;

/// A child process that is in a job of its own.
#[derive(Debug)]
pub(crate) struct Process {
    handle: OwnedHandle,
    job: OwnedHandle,
    id: u32,
}

/// The exit code of a process. `None` if the system does not report the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit(Option<u32>);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(code) => match exception(code) {
                Some(name) => write!(f, "was ended by exception {code:#010x} ({name})"),
                None => write!(f, "exited with status {}", code.cast_signed()),
            },
            None => f.write_str("ended (status unknown)"),
        }
    }
}

/// Returns the meaning of an exit code that the system sets (an NTSTATUS value).
fn exception(code: u32) -> Option<&'static str> {
    Some(match code {
        0xc000_0005 => "access violation",
        0xc000_0017 => "no memory",
        0xc000_001d => "illegal instruction",
        0xc000_0094 => "integer division by zero",
        0xc000_00fd => "stack overflow",
        0xc000_0135 => "a DLL was not found",
        0xc000_0139 => "a DLL has no such function",
        0xc000_013a => "Ctrl+C",
        0xc000_0142 => "a DLL could not be initialized",
        0xc000_0374 => "heap corruption",
        0xc000_0409 => "abort or stack buffer overrun",
        _ => return None,
    })
}

impl Process {
    /// Takes ownership of a child that was just started in `job`.
    pub(super) fn new(handle: OwnedHandle, job: OwnedHandle, id: u32) -> Self {
        Self { handle, job, id }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Whether the current process started this child: always true.
    #[allow(clippy::unused_self, reason = "a fork has another answer on Unix")]
    pub(crate) fn is_ours(&self) -> bool {
        true
    }

    /// Returns a handle that is signaled once the process has ended.
    pub(crate) fn end_signal(&self) -> Option<BorrowedHandle<'_>> {
        Some(self.handle.as_handle())
    }

    /// Waits until the process has ended, or until `deadline`. Returns whether the process has
    /// ended.
    pub(crate) fn wait(&self, deadline: Instant) -> bool {
        // The wait can't fail for an open handle.
        matches!(
            fd::wait(&[self.handle.as_raw_handle()], Some(deadline)),
            Ok(Some(_))
        )
    }

    /// Does nothing: there are no zombies on this system.
    #[allow(clippy::unused_self, reason = "the method reaps on Unix")]
    pub(crate) fn reap_early(&self) {}

    /// If the child has ended, returns how it ended. Returns `None` while the child runs.
    pub(crate) fn finish(&self) -> Option<Exit> {
        if !self.wait(Instant::now()) {
            return None;
        }
        let mut code = 0;
        // SAFETY: the handle is open and there is room for the code.
        let told = unsafe { GetExitCodeProcess(self.handle.as_raw_handle(), &raw mut code) };
        Some(Exit((told != 0).then_some(code)))
    }

    /// Ends the other processes of the job after the child has ended. They get no time to end by
    /// themselves, because this system has no request for an orderly end.
    pub(crate) fn end_rest_of_group(&self, _grace: Duration) {
        self.kill();
    }

    /// Returns false, because this system has no request for an orderly end that reaches every
    /// process.
    #[allow(clippy::unused_self, reason = "the method sends a signal on Unix")]
    pub(crate) fn request_end(&self) -> bool {
        false
    }

    /// Ends every process of the job at once.
    pub(crate) fn kill(&self) {
        // SAFETY: the job is open. The call fails only if no process is left in the job.
        unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_told_as_numbers_or_exceptions() {
        for (code, text) in [
            (Some(7), "exited with status 7"),
            (Some(u32::MAX), "exited with status -1"),
            (
                Some(0xc000_0005),
                "was ended by exception 0xc0000005 (access violation)",
            ),
            (None, "ended (status unknown)"),
        ] {
            assert_eq!(Exit(code).to_string(), text);
        }
    }
}
