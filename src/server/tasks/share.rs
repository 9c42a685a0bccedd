//! The record of a task, as the process of the task writes it.

use std::sync::Arc;
use std::time::Duration;

use super::record::TaskRecord;
use super::sharing::Sharing;
use super::state::Outcome;
use super::task::Task;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// How often a record is written again when other processes change it.
const ATTEMPTS: u32 = 16;

/// The record of one task of this process.
///
/// **Locks:** the lock of `written` is held while the store is accessed, so the newest state is
/// written last. The lock of the task's state may be taken inside it, but nothing is answered or
/// run.
pub(super) struct Share {
    sharing: Arc<Sharing>,
    key: String,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    version: u64,
    /// Whether the record has the end of the task, or is no longer needed. It is not written again.
    is_final: bool,
    /// Whether the last state could not be written. It is written as soon as the store works again.
    is_behind: bool,
}

impl Share {
    pub(super) fn new(sharing: Arc<Sharing>, key: String) -> Self {
        let written = Mutex::default();
        Self {
            sharing,
            key,
            written,
        }
    }

    pub(super) fn process(&self) -> &str {
        &self.sharing.process
    }

    /// Writes the first version of the record.
    pub(super) fn create(&self, task: &Arc<Task>) -> Result<()> {
        self.sharing.watch_own(&self.key, task)?;
        let mut written = self.written.lock();
        let record = task.record(None);
        let records = &self.sharing.records;
        if !records.write_task(&self.key, 1, &record, task.remaining())? {
            let text = "the store does not store the record of a new task";
            return Err(Error::new(ErrorKind::State, text));
        }
        written.version = 1;
        Ok(())
    }

    /// Removes the record.
    pub(super) fn forget(&self) {
        self.written.lock().is_final = true;
        self.sharing.unwatch(&self.key);
        self.sharing.records.remove(&self.key);
    }

    /// Writes the state of the task, after taking what other processes have written.
    pub(super) fn write(&self, task: &Task) {
        for _ in 0..ATTEMPTS {
            let mut written = self.written.lock();
            if written.is_final {
                return;
            }
            let record = task.record(None);
            match self.put(&mut written, &record, task.remaining()) {
                Ok(None) => {
                    written.is_behind = false;
                    written.is_final = record.is_over();
                    drop(written);
                    return self.sharing.announce(&self.key);
                }
                Ok(Some(stored)) => {
                    drop(written);
                    self.take(task, stored);
                }
                Err(_) => {
                    written.is_behind = true;
                    return;
                }
            }
        }
        self.written.lock().is_behind = true;
    }

    /// Writes the next version of the record. If another process has written it, returns that
    /// record.
    fn put(
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

    /// Writes the end of the task. Returns the outcome: that of another process, if this process
    /// comes too late. Returns `None` if the end was written already.
    pub(super) fn conclude(&self, task: &Task, outcome: Outcome) -> Option<Outcome> {
        let mut written = self.written.lock();
        if written.is_final {
            return None;
        }
        let record = task.record(Some(&outcome));
        for _ in 0..ATTEMPTS {
            match self.put(&mut written, &record, task.remaining()) {
                Ok(None) => {
                    written.is_final = true;
                    drop(written);
                    self.sharing.announce(&self.key);
                    return Some(outcome);
                }
                Ok(Some(stored)) if stored.is_over() => {
                    written.is_final = true;
                    return Some(stored.outcome());
                }
                // The answers of clients come too late.
                Ok(Some(_)) => {}
                Err(_) => break,
            }
        }
        written.is_behind = true;
        Some(outcome)
    }

    /// Reads the record, and takes what other processes have written. Returns whether the task goes
    /// on.
    pub(super) fn check(&self, task: &Task) -> bool {
        let mut written = self.written.lock();
        if written.is_final {
            return false;
        }
        if !written.is_behind {
            match self.sharing.records.read_task(&self.key) {
                Ok(Some((version, _))) if version == written.version => return true,
                Ok(Some((version, stored))) => {
                    written.version = version;
                    drop(written);
                    self.take(task, stored);
                    written = self.written.lock();
                }
                // The store has lost the record. It is written again.
                Ok(None) => {}
                Err(_) => return true,
            }
        }
        let is_final = written.is_final;
        drop(written);
        if !is_final {
            self.write(task);
        }
        !self.written.lock().is_final
    }

    /// Takes what another process has written: the end of the task, or answers to input requests.
    fn take(&self, task: &Task, stored: TaskRecord) {
        if stored.is_over() {
            self.written.lock().is_final = true;
            task.end_as(stored.outcome());
        } else if !stored.answers.is_empty()
            && let Err(error) = task.answer(stored.answers)
        {
            self.sharing
                .records
                .warn(|| format!("answers that came by another process are lost: {error}"));
        }
    }
}
