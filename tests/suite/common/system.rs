//! What a test asks the system about its own process: threads, descriptors or handles, processor time.

#[cfg(target_os = "linux")]
pub(crate) use linux::{open_descriptors, processor_time, runs, threads};
#[cfg(windows)]
pub(crate) use windows::{open_descriptors, processor_time, runs, threads};

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    /// How many threads of this process have a name that begins with this.
    pub(crate) fn threads(prefix: &str) -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks.filter_map(|task| {
            // One that ends meanwhile has no name any more.
            std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
        });
        names.filter(|name| name.starts_with(prefix)).count()
    }

    /// Whether a process runs. One that waits for its parent to reap it does not.
    pub(crate) fn runs(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.starts_with(" Z"))
    }

    /// How many descriptors this process has, with the one that lists them.
    pub(crate) fn open_descriptors() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    /// The processor time of this process, in steps of 10 ms.
    pub(crate) fn processor_time() -> Duration {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        // The name, which may have blanks in it, ends with the last parenthesis.
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        let ticks = fields.skip(11).take(2);
        Duration::from_millis(10 * ticks.map(|text| text.parse::<u64>().unwrap()).sum::<u64>())
    }
}

#[cfg(windows)]
mod windows {
    use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
    use std::ptr;
    use std::time::Duration;

    use windows_sys::Win32::Foundation::{FILETIME, GetHandleInformation, LocalFree, WAIT_TIMEOUT};
    use windows_sys::Win32::System::Diagnostics::ToolHelp::{
        CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
    };
    use windows_sys::Win32::System::Threading::{
        GetCurrentProcess, GetProcessTimes, GetThreadDescription, OpenProcess, OpenThread,
        PROCESS_SYNCHRONIZE, THREAD_QUERY_LIMITED_INFORMATION, WaitForSingleObject,
    };

    /// How many threads of this process have a name that begins with this.
    pub(crate) fn threads(prefix: &str) -> usize {
        // SAFETY: the snapshot is owned by the variable, and the entry has room for an answer.
        let (snapshot, mut entry) = unsafe {
            let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
            let entry = THREADENTRY32 {
                dwSize: size_of::<THREADENTRY32>() as u32,
                ..std::mem::zeroed()
            };
            (OwnedHandle::from_raw_handle(snapshot), entry)
        };
        let mut count = 0;
        // SAFETY: the snapshot is open, and the entry has room for an answer.
        let mut there = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
        while there != 0 {
            let ours = entry.th32OwnerProcessID == std::process::id();
            count += usize::from(ours && name_of(entry.th32ThreadID).starts_with(prefix));
            // SAFETY: as above.
            there = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
        }
        count
    }

    /// The name of a thread, which is empty if the thread ends meanwhile.
    fn name_of(thread: u32) -> String {
        // SAFETY: takes and gives numbers only.
        let handle = unsafe { OpenThread(THREAD_QUERY_LIMITED_INFORMATION, 0, thread) };
        if handle.is_null() {
            return String::new();
        }
        // SAFETY: the handle was made just now, and belongs to nobody else.
        let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
        let mut text = ptr::null_mut();
        // SAFETY: the handle is open, and the pointer has room for an answer.
        if unsafe { GetThreadDescription(handle.as_raw_handle(), &raw mut text) } < 0 {
            return String::new();
        }
        // SAFETY: the text ends in NUL, is ours, and is freed once.
        unsafe {
            let length = (0..).take_while(|&at| *text.add(at) != 0).count();
            let name = String::from_utf16_lossy(std::slice::from_raw_parts(text, length));
            LocalFree(text.cast());
            name
        }
    }

    /// Whether a process runs.
    pub(crate) fn runs(pid: u32) -> bool {
        // SAFETY: takes and gives numbers only.
        let process = unsafe { OpenProcess(PROCESS_SYNCHRONIZE, 0, pid) };
        if process.is_null() {
            return false;
        }
        // SAFETY: the handle was made just now, and belongs to nobody else.
        let process = unsafe { OwnedHandle::from_raw_handle(process) };
        // SAFETY: the handle is open.
        unsafe { WaitForSingleObject(process.as_raw_handle(), 0) == WAIT_TIMEOUT }
    }

    /// How many handles this process has. `GetProcessHandleCount` says 0 with wine 8, so each number
    /// that may be a handle is tried.
    pub(crate) fn open_descriptors() -> usize {
        let is_open = |number: &usize| {
            let mut flags = 0;
            // SAFETY: a number that is no handle is refused, and there is room for the answer.
            unsafe {
                GetHandleInformation(ptr::without_provenance_mut(*number), &raw mut flags) != 0
            }
        };
        (4..0x8000).step_by(4).filter(is_open).count()
    }

    /// The processor time of this process.
    pub(crate) fn processor_time() -> Duration {
        let mut times = [FILETIME::default(); 4];
        let [made, ended, kernel, user] = times.each_mut().map(ptr::from_mut);
        // SAFETY: there is room for the answers.
        let known = unsafe { GetProcessTimes(GetCurrentProcess(), made, ended, kernel, user) };
        assert!(known != 0);
        let hundreds = times[2..]
            .iter()
            .map(|time| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime));
        Duration::from_nanos(100 * hundreds.sum::<u64>())
    }
}
