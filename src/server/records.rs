//! Stores of records, by which the processes of one server share tasks.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::debug_fields::debug_fields;
use crate::error::Result;
use crate::sync::Mutex;
use crate::transport::clock::CENTURY;

/// A record of a [`RecordStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The version of the record. The first version of a record is 1.
    pub version: u64,
    /// The content of the record.
    pub bytes: Vec<u8>,
}

/// A store that the processes of one server share. See
/// [`ServerBuilder::record_store`](super::ServerBuilder::record_store).
///
/// A record is a version and bytes, found by a key. A database with "compare and set" and a time to
/// live can store records. The server encrypts and authenticates the bytes with its
/// [`state_keys`](super::ServerBuilder::state_keys), so the store learns nothing from them, and
/// can't forge them.
///
/// The functions run on threads of requests and of tasks, which they may block. Several threads
/// call them at once. While the store can't be reached, the functions should fail within a fraction
/// of a second.
pub trait RecordStore: Send + Sync {
    /// Returns the record with this key. Returns `None` when there is no such record, or its
    /// lifetime is over.
    ///
    /// `key` consists of at most 64 letters, digits, `-`, `_` and `.`.
    ///
    /// # Errors
    ///
    /// An error when the store can't tell.
    fn read(&self, key: &str) -> Result<Option<Record>>;

    /// Stores `bytes` as version `version` of the record with this key. The record is kept for
    /// `lifetime` from now on; zero ends the record at once.
    ///
    /// The function changes nothing and returns `false`, unless the store has version `version - 1`
    /// of this record. A record that is not in the store has version 0. Of two concurrent calls
    /// with one version, only one may return `true`.
    ///
    /// # Errors
    ///
    /// An error when the record was not stored, or the store can't tell.
    fn write(&self, key: &str, version: u64, bytes: &[u8], lifetime: Duration) -> Result<bool>;

    /// Removes the record with this key, if there is one.
    ///
    /// # Errors
    ///
    /// An error when the store can't be reached. The record then ends with its lifetime.
    fn remove(&self, key: &str) -> Result<()>;
}

/// A [`RecordStore`] in the memory of this process, for several servers in one process and for
/// tests. Clones share the records.
///
/// # Examples
///
/// ```
/// use mcplink::server::{MemoryRecordStore, Server, StateKey, TaskOptions};
///
/// let keys = [StateKey::random()?];
/// let records = MemoryRecordStore::default();
/// let build = || {
///     Server::builder("shop", "1.0")
///         .state_keys(&keys)
///         .record_store(records.clone())
///         .tasks(TaskOptions::default())
///         .build()
/// };
/// // A client of one server finds the tasks of the other.
/// let (public, internal) = (build()?, build()?);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MemoryRecordStore {
    shared: Arc<Mutex<Records>>,
}

#[derive(Default)]
struct Records {
    /// The records, with the times at which their lifetimes end.
    records: HashMap<String, (Instant, Record)>,
    /// The ends and keys of all records, the earliest first.
    expiry: BTreeSet<(Instant, String)>,
}

impl Records {
    fn remove(&mut self, key: &str) -> Option<Record> {
        let (until, record) = self.records.remove(key)?;
        self.expiry.remove(&(until, key.to_owned()));
        Some(record)
    }

    /// Removes the records whose lifetime is over.
    fn expire(&mut self, now: Instant) {
        while self.expiry.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, key)) = self.expiry.pop_first() {
                self.records.remove(&key);
            }
        }
    }

    fn write(&mut self, key: &str, record: Record, until: Instant) -> bool {
        let stored = self.records.get(key).map_or(0, |(_, it)| it.version);
        if record.version.checked_sub(1) != Some(stored) {
            return false;
        }
        self.remove(key);
        self.expiry.insert((until, key.to_owned()));
        self.records.insert(key.to_owned(), (until, record));
        true
    }
}

impl RecordStore for MemoryRecordStore {
    fn read(&self, key: &str) -> Result<Option<Record>> {
        let mut all = self.shared.lock();
        all.expire(Instant::now());
        Ok(all.records.get(key).map(|(_, record)| record.clone()))
    }

    fn write(&self, key: &str, version: u64, bytes: &[u8], lifetime: Duration) -> Result<bool> {
        let now = Instant::now();
        let bytes = bytes.to_vec();
        let mut all = self.shared.lock();
        all.expire(now);
        Ok(all.write(key, Record { version, bytes }, now + lifetime.min(CENTURY)))
    }

    fn remove(&self, key: &str) -> Result<()> {
        self.shared.lock().remove(key);
        Ok(())
    }
}

debug_fields!(
    MemoryRecordStore,
    records = |it| it.shared.lock().records.len()
);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn record(version: u64) -> Record {
        let bytes = version.to_string().into_bytes();
        Record { version, bytes }
    }

    // Must not happen: of two processes that write one version, both believe that theirs is stored.
    #[test]
    fn each_version_of_a_record_is_written_once_and_in_order() {
        let store = MemoryRecordStore::default();
        let write = |version| {
            let bytes = record(version).bytes;
            let written = store.write("a", version, &bytes, Duration::from_secs(60));
            written.expect("stored")
        };
        assert!(!write(0) && !write(2) && !write(u64::MAX));
        assert_eq!(store.read("a").expect("read"), None);
        assert!(write(1) && !write(1) && write(2) && !write(1) && !write(4));
        assert_eq!(store.read("a").expect("read"), Some(record(2)));
        assert_eq!(store.read("b").expect("read"), None);
        store.remove("a").expect("removed");
        store.remove("a").expect("nothing to remove");
        assert!(!write(3) && write(1));
    }

    #[test]
    fn a_record_ends_with_the_lifetime_of_its_last_version() {
        let mut all = Records::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(all.write("a", record(1), at(10)));
        assert!(all.write("a", record(2), at(20)));
        all.expire(at(19));
        assert_eq!(all.records.len(), 1);
        all.expire(at(20));
        assert!(all.records.is_empty() && all.expiry.is_empty());
        assert!(!all.write("a", record(3), at(30)) && all.write("a", record(1), at(30)));
    }

    #[test]
    fn a_lifetime_may_be_nothing_or_without_end() {
        let store = MemoryRecordStore::default();
        assert!(store.write("a", 1, b"", Duration::ZERO).expect("stored"));
        assert_eq!(store.read("a").expect("read"), None);
        assert!(store.write("a", 1, b"", Duration::MAX).expect("stored"));
        assert!(store.read("a").expect("read").is_some());
    }
}
