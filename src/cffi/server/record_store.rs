//! The record store: shares tasks between the processes of one server.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use super::settings::mcplink_server_options_t;
use crate::cffi::entry::needing_mut;
use crate::cffi::handle::Tagged;
use crate::cffi::refusal::set;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, measured, missing};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::server::{Record, RecordStore, ServerBuilder};

/// Reads a record, and passes it to mcplink_record_set.
///
/// The functions of a record store run on threads of requests and of tasks, which wait for them,
/// and on several threads at once, also with a pump. They must not use the server. While the store
/// can't be reached, they should fail within a fraction of a second.
///
/// key: the key of the record: at most 64 letters, digits, '-', '_' and '.'; valid until the
/// callback returns.
/// record: receives the record by mcplink_record_set. Without this call, there is no such record,
/// or its lifetime is over.
/// Returns: MCPLINK_OK. Any other status means that the store can't tell.
pub type mcplink_record_read_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        key: mcplink_str_t,
        record: *mut mcplink_record_t,
    ) -> mcplink_status_t,
>;

/// Stores a version of a record, unless another process has written it: a database does this with
/// "compare and set". For threads see mcplink_record_read_fn.
///
/// key: the key of the record; valid until the callback returns.
/// version: the version. The function must change nothing, unless the store has version - 1 of this
/// record. A record that is not in the store has version 0. Of two concurrent calls with one
/// version, only one may store its bytes.
/// bytes, len: the content, which the server has encrypted; valid until the callback returns.
/// lifetime_ms: how long the record has to be kept from now on, in milliseconds; 0 to end it at
/// once.
/// is_written: receives true if the version was stored. It is false before.
/// Returns: MCPLINK_OK. Any other status means that the record was not stored, or that the store
/// can't tell.
pub type mcplink_record_write_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        key: mcplink_str_t,
        version: u64,
        bytes: *const c_void,
        len: usize,
        lifetime_ms: u64,
        is_written: *mut bool,
    ) -> mcplink_status_t,
>;

/// Removes a record, if there is one. For threads see mcplink_record_read_fn.
///
/// key: the key of the record; valid until the callback returns.
/// Returns: MCPLINK_OK. Any other status means that the record ends with its lifetime.
pub type mcplink_record_remove_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, key: mcplink_str_t) -> mcplink_status_t>;

/// The functions of a record store.
#[derive(Clone, Copy)]
struct Functions {
    read: Callback<mcplink_record_read_fn>,
    write: Callback<mcplink_record_write_fn>,
    remove: Callback<mcplink_record_remove_fn>,
}

/// The record store of the host, for one server.
struct HostStore {
    hook: Arc<Hook<Functions>>,
    /// The number of the server's handle.
    owner: u64,
}

impl RecordStore for HostStore {
    fn read(&self, key: &str) -> Result<Option<Record>> {
        let key = Text::from(key);
        let mut record = Tagged::new(mcplink_record_t(None));
        let out = record.as_mut_ptr();
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (self.hook.callback.read)(self.hook.user.ptr(), key.view(), out)
        });
        done("reads a record", status)?;
        Ok(record.0.take())
    }

    fn write(&self, key: &str, version: u64, bytes: &[u8], lifetime: Duration) -> Result<bool> {
        let key = Text::from(key);
        let (ptr, len) = (bytes.as_ptr().cast(), bytes.len());
        let lifetime = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        // Not a `bool`: a host in another language may write any byte.
        let mut is_written = 0_u8;
        let out: *mut bool = (&raw mut is_written).cast();
        let (write, user) = (self.hook.callback.write, self.hook.user.ptr());
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            write(user, key.view(), version, ptr, len, lifetime, out)
        });
        done("writes a record", status)?;
        Ok(is_written == 1)
    }

    fn remove(&self, key: &str) -> Result<()> {
        let key = Text::from(key);
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (self.hook.callback.remove)(self.hook.user.ptr(), key.view())
        });
        done("removes a record", status)
    }
}

/// Converts the status of a callback; `None` if the callback panicked.
fn done(what: &str, status: Option<mcplink_status_t>) -> Result<()> {
    let text = match status {
        Some(status) if status == mcplink_status::MCPLINK_OK.code() => return Ok(()),
        Some(status) => format!("the function that {what} returned {status}"),
        None => format!("the function that {what} panicked"),
    };
    Err(Error::new(ErrorKind::State, text))
}

/// A record that mcplink_record_read_fn reads. See mcplink_record_set.
pub struct mcplink_record_t(Option<Record>);

object!(mcplink_record_t is Record);

actions! {
    needing_mut(record: mcplink_record_t);

    /// Passes a stored record to the server. A later call replaces the record.
    ///
    /// record: the parameter of mcplink_record_read_fn; valid until that function returns.
    /// version: the version of the record.
    /// bytes, len: the content as it was written, which is copied.
    /// Returns: MCPLINK_OK or MCPLINK_E_INVALID.
    /// Threads: the thread that runs the function.
    fn mcplink_record_set(version: u64, bytes: *const c_void, len: usize) {
        let bytes = measured(bytes.cast(), len, "bytes")?.to_vec();
        record.0 = Some(Record { version, bytes });
    }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets the store by which the processes of a server share tasks (since 2026-07-28). Default:
    /// none, so a task is known to the process that created it only.
    ///
    /// A task still runs in the process that created it. The other processes answer requests about
    /// the task from the store: they show its state and its result, pass on answers to its input
    /// requests, and cancel it. When the process ends, its working tasks fail (see
    /// mcplink_server_options_set_lease_ms), and the results of the others stay until the end of
    /// their lifetime.
    ///
    /// All processes need the same keys (mcplink_server_options_add_state_key), which encrypt what
    /// is stored: without them the server is not created. Without an event bus
    /// (mcplink_server_options_set_event_bus), a process notices only after a third of the lease
    /// that another process has changed a task.
    ///
    /// While the store fails, calls that require a task are refused as busy, other calls run
    /// without a task, and each process still knows its own tasks.
    ///
    /// read, write, remove: see mcplink_record_read_fn, mcplink_record_write_fn and
    /// mcplink_record_remove_fn. NULL is refused.
    /// user, destroy: passed to the functions; destroy runs when the store is replaced, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_set_record_store(
        read: mcplink_record_read_fn,
        write: mcplink_record_write_fn,
        remove: mcplink_record_remove_fn; user
    ) {
        let functions = match (read, write, remove) {
            (Some(read), Some(write), Some(remove)) => Some(Functions {
                read,
                write,
                remove,
            }),
            _ => None,
        };
        let hook = Hook::new(functions, user);
        let hook = hook.ok_or_else(|| missing("read, write or remove"))?;
        options.unset("record_store");
        options.add_for("record_store", move |builder, owner| {
            let hook = Arc::clone(&hook);
            builder.record_store(HostStore { hook, owner })
        });
    }

    /// Sets after which time a process that no longer writes to the record store counts as ended:
    /// its working tasks then fail. Each process with tasks renews its lease every third of this
    /// time. A process that is suspended or separated from the store for longer loses its working
    /// tasks.
    ///
    /// milliseconds: the time in milliseconds, at least 1000. Default: 15000.
    fn mcplink_server_options_set_lease_ms(milliseconds: u32) {
        let lease = Duration::from_millis(milliseconds.into());
        options.set("lease", Some(lease), ServerBuilder::lease);
    }
}
