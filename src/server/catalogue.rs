//! A catalogue: the registered items of one kind, such as all tools, and the pages of their list.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::paging::{Cursor, List};
use super::primitive::Primitive;
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::schema::{CacheHint, FitTo, Implementation, ProtocolVersion, ResultMetaObject};
use crate::sync::Mutex;

/// A type of items in a catalogue: tools, prompts, resources or resource templates.
pub(super) trait Listed: Clone {
    /// The result type of the method that lists items of this type.
    type Page: FitTo + Serialize;

    /// The name of this type of item in messages, such as "tool".
    const NOUN: &'static str;

    /// The list that contains the items of this type.
    const LIST: List;

    /// Returns the unique key of the item.
    fn key(&self) -> &str;

    /// Returns the normalized form of the key, which is equal for all spellings of the key. Returns
    /// `None` if the key has only one spelling.
    fn normalized_key(&self) -> Option<String> {
        None
    }

    /// Returns the item as the [`Primitive`] that guards get.
    fn primitive(&self) -> Primitive<'_>;

    fn page(items: Vec<Self>, beside: Beside) -> Self::Page;
}

/// The members of a page besides its items.
pub(super) struct Beside {
    pub(super) next_cursor: Option<String>,
    pub(super) hint: CacheHint,
    pub(super) meta: Option<ResultMetaObject>,
}

/// Implements [`Listed`] for a type of the schema.
macro_rules! listed {
    ($item:ident in $page:ident of $list:ident, $noun:literal, $key:ident, $primitive:ident
     $(, normalized by $normalized:path)?) => {
        impl $crate::server::catalogue::Listed for $item {
            type Page = $page;

            const NOUN: &'static str = $noun;

            const LIST: $crate::server::paging::List = $crate::server::paging::List::$list;

            fn key(&self) -> &str {
                &self.$key
            }

            $(fn normalized_key(&self) -> Option<String> {
                Some($normalized(&self.$key))
            })?

            fn primitive(&self) -> $crate::server::primitive::Primitive<'_> {
                $crate::server::primitive::Primitive::$primitive(&self.$key)
            }

            fn page(items: Vec<Self>, beside: $crate::server::catalogue::Beside) -> $page {
                let mut page = $page::new(items).cached(beside.hint);
                (page.next_cursor, page.meta) = (beside.next_cursor, beside.meta);
                page
            }
        }
    };
}
pub(super) use listed;

/// An item and its handler.
pub(super) struct Entry<T, H> {
    pub(super) item: T,
    pub(super) handler: H,
    /// The sequence number of the entry. Later entries get larger numbers, and no number is reused.
    sequence: u64,
}

impl<T, H> Entry<T, H> {
    /// Makes an entry that is in no catalogue.
    pub(super) fn apart(item: T, handler: H) -> Arc<Self> {
        Arc::new(Self {
            item,
            handler,
            sequence: 0,
        })
    }
}

/// All registered items of one kind, in the order of registration.
pub(super) struct Catalogue<T, H> {
    shelf: Mutex<Shelf<T, H>>,
}

struct Shelf<T, H> {
    /// All entries, in order. Readers take a snapshot by cloning the outer `Arc`.
    entries: Arc<Vec<Arc<Entry<T, H>>>>,
    /// The entries by key. The keys come from the host, so a fast hash without protection against
    /// collisions is safe. Keys from clients are only looked up.
    by_key: FxHashMap<String, Arc<Entry<T, H>>>,
    /// The entries by [`Listed::normalized_key`]. Entries with an equal normalized key are in the
    /// order of registration.
    by_normalized_key: FxHashMap<String, Vec<Arc<Entry<T, H>>>>,
    next_sequence: u64,
    /// Cached pages, by revision and by the index of their first item. All cached pages are dropped
    /// when the items change.
    pages: HashMap<(ProtocolVersion, usize), Arc<RawValue>>,
}

impl<T, H> Default for Catalogue<T, H> {
    fn default() -> Self {
        let shelf = Shelf {
            entries: Arc::default(),
            by_key: FxHashMap::default(),
            by_normalized_key: FxHashMap::default(),
            next_sequence: 0,
            pages: HashMap::new(),
        };
        Self {
            shelf: Mutex::new(shelf),
        }
    }
}

impl<T: Listed, H> Catalogue<T, H> {
    /// Adds an item that the caller has checked. Fails if another item has the same key.
    pub(super) fn add(&self, item: T, handler: H) -> Result<()> {
        let mut shelf = self.shelf.lock();
        if shelf.by_key.contains_key(item.key()) {
            let (noun, key) = (T::NOUN, Excerpt(item.key()));
            return Err(Error::invalid(format!(
                "a {noun} named '{key}' is there already: remove it first or choose another name"
            )));
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
        if let Some(key) = entry.item.normalized_key() {
            let alike = shelf.by_normalized_key.entry(key).or_default();
            alike.push(Arc::clone(&entry));
        }
        Arc::make_mut(&mut shelf.entries).push(entry);
        shelf.pages.clear();
        Ok(())
    }

    pub(super) fn remove(&self, key: &str) -> bool {
        let mut shelf = self.shelf.lock();
        let removed = shelf.by_key.remove(key);
        if let Some(removed) = &removed {
            let is_other = |entry: &Arc<Entry<T, H>>| entry.sequence != removed.sequence;
            Arc::make_mut(&mut shelf.entries).retain(is_other);
            if let Some(key) = removed.item.normalized_key()
                && let Some(alike) = shelf.by_normalized_key.get_mut(&key)
            {
                alike.retain(is_other);
                if alike.is_empty() {
                    shelf.by_normalized_key.remove(&key);
                }
            }
            shelf.pages.clear();
        }
        // A handler may run any code when it is dropped, so it is dropped outside of the lock.
        drop(shelf);
        removed.is_some()
    }

    pub(super) fn find(&self, key: &str) -> Option<Arc<Entry<T, H>>> {
        self.shelf.lock().by_key.get(key).cloned()
    }

    /// Returns the item with this key. If no item has this key, returns the first item with an
    /// equal normalized key.
    pub(super) fn find_alike(
        &self,
        key: &str,
        normalized: impl FnOnce(&str) -> String,
    ) -> Option<Arc<Entry<T, H>>> {
        let shelf = self.shelf.lock();
        if let Some(entry) = shelf.by_key.get(key) {
            return Some(Arc::clone(entry));
        }
        if shelf.by_normalized_key.is_empty() {
            return None;
        }
        let alike = shelf.by_normalized_key.get(&normalized(key))?;
        alike.first().cloned()
    }

    /// Returns a snapshot of all entries, in order.
    pub(super) fn entries(&self) -> Arc<Vec<Arc<Entry<T, H>>>> {
        Arc::clone(&self.shelf.lock().entries)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn cached_pages(&self) -> usize {
        self.shelf.lock().pages.len()
    }

    /// Returns a page of the list: the result of the list method. The page is cached, since it is
    /// equal for all clients of a revision.
    pub(super) fn page(
        &self,
        revision: ProtocolVersion,
        cursor: Option<Cursor>,
        paging: &Paging<'_>,
    ) -> Result<Arc<RawValue>, RpcError> {
        let mut shelf = self.shelf.lock();
        let start = shelf.after(cursor)?;
        if let Some(page) = shelf.pages.get(&(revision, start)) {
            return Ok(Arc::clone(page));
        }
        let size = paging.size_of(&shelf.entries);
        let rest = shelf.entries.get(start..).unwrap_or_default();
        let (shown, later) = rest.split_at(size.min(rest.len()));
        let page = write_page(shown.iter(), !later.is_empty(), revision, paging)?;
        if shelf.pages.len() < shelf.worthwhile_pages(paging.size) {
            shelf.pages.insert((revision, start), Arc::clone(&page));
        }
        Ok(page)
    }

    /// Returns a page with only the items that `sees` admits. The page is made for each request,
    /// outside of the lock.
    pub(super) fn page_for(
        &self,
        revision: ProtocolVersion,
        cursor: Option<Cursor>,
        paging: &Paging<'_>,
        sees: impl Fn(&T) -> bool,
    ) -> Result<Arc<RawValue>, RpcError> {
        let shelf = self.shelf.lock();
        let start = shelf.after(cursor)?;
        let entries = Arc::clone(&shelf.entries);
        drop(shelf);
        let rest = entries.get(start..).unwrap_or_default();
        let mut seen = rest.iter().filter(|entry| sees(&entry.item));
        let shown: Vec<_> = seen.by_ref().take(paging.size_of(&entries)).collect();
        write_page(
            shown.iter().copied(),
            seen.next().is_some(),
            revision,
            paging,
        )
    }
}

/// The page size and the common members of pages.
pub(super) struct Paging<'a> {
    pub(super) size: Option<NonZeroUsize>,
    pub(super) hint: &'a CacheHint,
    pub(super) server_info: Option<&'a Implementation>,
}

impl Paging<'_> {
    /// Returns the maximum number of items on a page.
    fn size_of<E>(&self, entries: &[E]) -> usize {
        self.size.map_or(entries.len(), NonZeroUsize::get)
    }
}

/// Writes a page with the items `shown` as JSON. `has_more` tells whether the list has later items.
fn write_page<'a, T: Listed + 'a, H: 'a>(
    shown: impl DoubleEndedIterator<Item = &'a Arc<Entry<T, H>>> + Clone,
    has_more: bool,
    revision: ProtocolVersion,
    paging: &Paging<'_>,
) -> Result<Arc<RawValue>, RpcError> {
    let next = shown.clone().next_back().filter(|_| has_more);
    let beside = Beside {
        next_cursor: next.map(|last| Cursor::after(T::LIST.into(), last.sequence).to_string()),
        hint: paging.hint.clone(),
        meta: paging
            .server_info
            .map(|info| ResultMetaObject::default().server_info(info.clone())),
    };
    let mut page = T::page(shown.map(|entry| entry.item.clone()).collect(), beside);
    page.fit_to(revision);
    let page = serde_json::value::to_raw_value(&page).map_err(|_| {
        // Items contain nothing that JSON can't express.
        RpcError::internal("internal error")
    })?;
    Ok(page.into())
}

impl<T: Listed, H> Shelf<T, H> {
    /// Returns the index of the first item after the cursor.
    fn after(&self, cursor: Option<Cursor>) -> Result<usize, RpcError> {
        let Some(cursor) = cursor else { return Ok(0) };
        if cursor.last_shown >= self.next_sequence {
            return Err(Cursor::invalid());
        }
        let shown = |entry: &Arc<Entry<T, H>>| entry.sequence <= cursor.last_shown;
        Ok(self.entries.partition_point(shown))
    }

    /// Returns the maximum number of cached pages: the number of pages of the list times the number
    /// of revisions. So cursors that a client makes up can't make the cache larger.
    fn worthwhile_pages(&self, size: Option<NonZeroUsize>) -> usize {
        let pages = size.map_or(1, |size| self.entries.len().div_ceil(size.get()).max(1));
        pages * ProtocolVersion::ALL.len()
    }
}

impl<T: Listed, H> fmt::Debug for Catalogue<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries();
        let keys = entries.iter().map(|entry| entry.item.key());
        f.debug_list().entries(keys).finish()
    }
}
