//! What a server has of one kind, in order, and what a list of it looks like.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{FitTo, Implementation, ProtocolVersion, ResultMetaObject};
use crate::sync::Mutex;

/// What can stand in a catalogue.
pub(super) trait Listed: Clone {
    /// The result that lists items.
    type Page: FitTo + Serialize;

    /// One of them, for messages.
    const NOUN: &'static str;

    /// What it is found by.
    fn key(&self) -> &str;

    fn page(items: Vec<Self>, meta: Option<ResultMetaObject>) -> Self::Page;
}

/// An item and what is done when it is asked for.
pub(super) struct Entry<T, H> {
    pub(super) item: T,
    pub(super) handler: H,
    /// Grows from entry to entry, and is never used again.
    sequence: u64,
}

/// All items of a kind, in the order in which they were added.
pub(super) struct Catalogue<T, H>(Mutex<Shelf<T, H>>);

struct Shelf<T, H> {
    entries: Vec<Arc<Entry<T, H>>>,
    by_key: HashMap<String, Arc<Entry<T, H>>>,
    next_sequence: u64,
    /// The list as each revision sees it, made when it is first asked for, dropped when the items change.
    listings: HashMap<ProtocolVersion, Arc<RawValue>>,
}

impl<T, H> Default for Catalogue<T, H> {
    fn default() -> Self {
        Self(Mutex::new(Shelf {
            entries: Vec::new(),
            by_key: HashMap::new(),
            next_sequence: 0,
            listings: HashMap::new(),
        }))
    }
}

impl<T: Listed, H> Catalogue<T, H> {
    /// Adds an item that was checked.
    pub(super) fn add(&self, item: T, handler: H) -> Result<()> {
        let mut shelf = self.0.lock();
        if shelf.by_key.contains_key(item.key()) {
            let (noun, key) = (T::NOUN, Excerpt(item.key()));
            let text = format!(
                "a {noun} named '{key}' is there already: remove it first or choose another name"
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let sequence = shelf.next_sequence;
        shelf.next_sequence += 1;
        let entry = Arc::new(Entry {
            item,
            handler,
            sequence,
        });
        let key = entry.item.key().to_owned();
        shelf.by_key.insert(key, Arc::clone(&entry));
        shelf.entries.push(entry);
        shelf.listings.clear();
        Ok(())
    }

    pub(super) fn remove(&self, key: &str) -> bool {
        let mut shelf = self.0.lock();
        let removed = shelf.by_key.remove(key);
        if let Some(removed) = &removed {
            shelf
                .entries
                .retain(|entry| entry.sequence != removed.sequence);
            shelf.listings.clear();
        }
        // The handler may own anything: it is dropped outside of the lock.
        drop(shelf);
        removed.is_some()
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<Entry<T, H>>> {
        self.0.lock().by_key.get(key).cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().entries.is_empty()
    }

    /// The whole result of the list method, equal for everyone who speaks the revision.
    pub(super) fn listing(
        &self,
        revision: ProtocolVersion,
        server_info: Option<&Implementation>,
    ) -> Result<Arc<RawValue>> {
        let mut shelf = self.0.lock();
        if let Some(listing) = shelf.listings.get(&revision) {
            return Ok(Arc::clone(listing));
        }
        let items: Vec<T> = shelf
            .entries
            .iter()
            .map(|entry| entry.item.clone())
            .collect();
        let meta = server_info.map(|info| ResultMetaObject::default().server_info(info.clone()));
        let mut result = T::page(items, meta);
        result.fit_to(revision);
        let listing = serde_json::value::to_raw_value(&result).map_err(|error| {
            let text = format!("a list of {}s can't be written as JSON: {error}", T::NOUN);
            Error::new(ErrorKind::Invalid, text)
        })?;
        let listing = Arc::<RawValue>::from(listing);
        shelf.listings.insert(revision, Arc::clone(&listing));
        Ok(listing)
    }
}

impl<T: Listed, H> fmt::Debug for Catalogue<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.lock().entries.iter().map(|entry| entry.item.key()))
            .finish()
    }
}
