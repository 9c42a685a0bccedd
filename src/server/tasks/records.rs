//! The sealed records in the store that processes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::super::records::RecordStore;
use super::super::state::KeyRing;
use super::record::TaskRecord;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{LogHook, LogLevel, tell};
use crate::schema::json::from_bytes;

/// A record as it was read: its version, and its content.
pub(super) type Versioned<T> = (u64, T);

/// The records of the processes of a server. A record is sealed together with its key and version.
/// So the store can't read it, change it, or put it in the place of another record or version.
pub(in crate::server) struct Records {
    store: Arc<dyn RecordStore>,
    keys: KeyRing,
    log: Option<LogHook>,
    /// Whether the last access to the store failed. So a store that is gone is logged once.
    has_failed: AtomicBool,
}

impl Records {
    pub(in crate::server) fn new(
        store: Arc<dyn RecordStore>,
        keys: KeyRing,
        log: Option<LogHook>,
    ) -> Self {
        let has_failed = AtomicBool::new(false);
        Self {
            store,
            keys,
            log,
            has_failed,
        }
    }

    /// Reads a record. Returns its version and content.
    pub(super) fn read(&self, key: &str) -> Result<Option<Versioned<Vec<u8>>>> {
        self.report(self.try_read(key))
    }

    fn try_read(&self, key: &str) -> Result<Option<Versioned<Vec<u8>>>> {
        let Some(record) = self.store.read(key)? else {
            return Ok(None);
        };
        let opened = self
            .keys
            .open_bytes(&record.bytes, &binding(key, record.version));
        let plain = opened.map_err(|refused| unreadable(&refused))?;
        Ok(Some((record.version, plain)))
    }

    /// Writes a version of a record. Returns whether this was the next version.
    pub(super) fn write(
        &self,
        key: &str,
        version: u64,
        plain: &[u8],
        lifetime: Duration,
    ) -> Result<bool> {
        let sealed = self.keys.seal_bytes(plain, &binding(key, version));
        self.report(sealed.and_then(|sealed| self.store.write(key, version, &sealed, lifetime)))
    }

    pub(super) fn read_task(&self, key: &str) -> Result<Option<Versioned<TaskRecord>>> {
        let Some((version, plain)) = self.read(key)? else {
            return Ok(None);
        };
        let record = from_bytes(&plain).map_err(|error| unreadable(&error));
        Ok(Some((version, self.report(record)?)))
    }

    pub(super) fn write_task(
        &self,
        key: &str,
        version: u64,
        record: &TaskRecord,
        lifetime: Duration,
    ) -> Result<bool> {
        let plain = serde_json::to_vec(record).expect("texts and ids are JSON");
        self.write(key, version, &plain, lifetime)
    }

    /// Removes a record. If that fails, the record ends with its lifetime.
    pub(super) fn remove(&self, key: &str) {
        _ = self.report(self.store.remove(key));
    }

    pub(super) fn warn(&self, text: impl FnOnce() -> String) {
        tell(self.log.as_ref(), LogLevel::Warning, "server", text);
    }

    /// Logs the first of several failures in a row.
    fn report<T>(&self, result: Result<T>) -> Result<T> {
        let had_failed = self.has_failed.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !had_failed => {
                self.warn(|| format!("tasks can't be shared with other processes: {error}"));
            }
            Ok(_) if had_failed => tell(self.log.as_ref(), LogLevel::Info, "server", || {
                "tasks can be shared with other processes again".to_owned()
            }),
            _ => {}
        }
        result
    }
}

/// Returns the bytes together with which a record is sealed.
fn binding(key: &str, version: u64) -> Vec<u8> {
    format!("mcplink record 1\0{key}\0{version}").into_bytes()
}

fn unreadable(why: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Protocol,
        format!("a record can't be read: {why}"),
    )
}
