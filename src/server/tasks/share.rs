//! What a process has written into the record of one of its tasks.

use std::sync::Arc;
use std::time::Duration;

use super::record::TaskRecord;
use super::sharing::{Sharing, key_of};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// The record of one task of this process.
///
/// **Locks:** the lock of `written` is held while the store is accessed, so the newest state is
/// written last. The lock of the task's state may be taken inside it, but nothing is answered or
/// run.
pub(super) struct Share {
    pub(super) sharing: Arc<Sharing>,
    pub(super) key: String,
    pub(super) written: Mutex<Written>,
}

#[derive(Default)]
pub(super) struct Written {
    pub(super) version: u64,
    /// Whether the record has the end of the task, or is no longer needed. It is not written again.
    pub(super) is_final: bool,
    /// Whether the last state could not be written. It is written as soon as the store works again.
    pub(super) is_behind: bool,
}

impl Share {
    pub(super) fn new(sharing: &Arc<Sharing>, id: &str) -> Self {
        Self {
            sharing: Arc::clone(sharing),
            key: key_of(id),
            written: Mutex::default(),
        }
    }

    pub(super) fn process(&self) -> &str {
        &self.sharing.process
    }

    /// Removes the record.
    pub(super) fn forget(&self) {
        self.written.lock().is_final = true;
        self.sharing.unwatch(&self.key);
        self.sharing.records.remove(&self.key);
    }

    /// Writes the next version of the record. If another process has written it, returns that
    /// record.
    pub(super) fn put(
        &self,
        written: &mut Written,
        record: &TaskRecord,
        lifetime: Duration,
    ) -> Result<Option<TaskRecord>> {
        loop {
            let next = written.version + 1;
            if self
                .sharing
                .records
                .write_task(&self.key, next, record, lifetime)?
            {
                written.version = next;
                return Ok(None);
            }
            if let Some((version, stored)) = self.sharing.records.read_task(&self.key)? {
                written.version = version;
                return Ok(Some(stored));
            }
            if next == 1 {
                let text = "the store neither has the record nor stores it";
                return Err(Error::new(ErrorKind::State, text));
            }
            // The store has lost the record.
            written.version = 0;
        }
    }
}
