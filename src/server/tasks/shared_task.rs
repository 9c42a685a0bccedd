//! Writes the record of a task of this process, and takes what other processes write into it.

use std::sync::Arc;

use super::record::TaskRecord;
use super::share::Share;
use super::sharing::{ATTEMPTS, WatchedRecord};
use super::state::Outcome;
use super::task::Task;
use crate::error::{Error, ErrorKind, Result};

impl Task {
    /// Writes the first version of the record, if tasks are shared.
    pub(super) fn create_record(self: &Arc<Self>) -> Result<()> {
        let Some(share) = &self.share else {
            return Ok(());
        };
        let watched = Arc::downgrade(self);
        share.sharing.watch_own(&share.key, watched)?;
        let mut written = share.written.lock();
        let record = self.record(None);
        let records = &share.sharing.records;
        if !records.write_task(&share.key, 1, &record, self.remaining())? {
            let text = "the store does not store the record of a new task";
            return Err(Error::new(ErrorKind::State, text));
        }
        written.version = 1;
        Ok(())
    }

    /// Writes the state of the task, after taking what other processes have written.
    pub(super) fn write_record(&self, share: &Share) {
        for _ in 0..ATTEMPTS {
            let mut written = share.written.lock();
            if written.is_final {
                return;
            }
            let record = self.record(None);
            match share.put(&mut written, &record, self.remaining()) {
                Ok(None) => {
                    written.is_behind = false;
                    written.is_final = record.is_over();
                    drop(written);
                    return share.sharing.announce(&share.key);
                }
                Ok(Some(stored)) => {
                    drop(written);
                    self.take_record(share, stored);
                }
                Err(_) => {
                    written.is_behind = true;
                    return;
                }
            }
        }
        share.written.lock().is_behind = true;
    }

    /// Writes the end of the task. Returns the outcome: that of another process, if this process
    /// comes too late. Returns `None` if the end was written already.
    pub(super) fn conclude_record(&self, share: &Share, outcome: Outcome) -> Option<Outcome> {
        let mut written = share.written.lock();
        if written.is_final {
            return None;
        }
        let record = self.record(Some(&outcome));
        for _ in 0..ATTEMPTS {
            match share.put(&mut written, &record, self.remaining()) {
                Ok(None) => {
                    written.is_final = true;
                    drop(written);
                    share.sharing.announce(&share.key);
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

    /// Takes what another process has written: the end of the task, or answers to input requests.
    fn take_record(&self, share: &Share, stored: TaskRecord) {
        if stored.is_over() {
            share.written.lock().is_final = true;
            self.end_as(stored.outcome());
        } else if !stored.answers.is_empty()
            && let Err(error) = self.answer(stored.answers)
        {
            share
                .sharing
                .records
                .warn(|| format!("answers that came by another process are lost: {error}"));
        }
    }
}

impl WatchedRecord for Task {
    fn check(&self) -> bool {
        let Some(share) = &self.share else {
            return false;
        };
        let mut written = share.written.lock();
        if written.is_final {
            return false;
        }
        if !written.is_behind {
            match share.sharing.records.read_task(&share.key) {
                Ok(Some((version, _))) if version == written.version => return true,
                Ok(Some((version, stored))) => {
                    written.version = version;
                    drop(written);
                    self.take_record(share, stored);
                    written = share.written.lock();
                }
                // The store has lost the record. It is written again.
                Ok(None) => {}
                Err(_) => return true,
            }
        }
        let is_final = written.is_final;
        drop(written);
        if !is_final {
            self.write_record(share);
        }
        !share.written.lock().is_final
    }
}
