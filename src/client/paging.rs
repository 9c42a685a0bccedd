//! Paginated lists.
//!
//! A page may have any number of items, including zero. A cursor is opaque and sent back unchanged,
//! even if it is empty. A page without a cursor is the last page. A repeated cursor or page ends
//! the list, which would have no end otherwise. If the server refuses a cursor that it had sent,
//! the list has changed, and the pages read so far are discarded. A list that is read as a whole is
//! then read once more from the start.
//!
//! Spec: Server Features, Utilities, "Pagination" (every revision).

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};
use std::io;
use std::iter::FusedIterator;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Client;
use super::cache::{Looked, Topic};
use super::call_options::CallOptions;
use super::mrtr::FirstRequest;
use super::request_meta::params_text;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result};
use crate::schema::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, Misfit, Prompt, ReadResourceDirectoryResult, Resource, ResourceTemplate,
    Skill, Tool, method,
};

/// The result of a list method, such as [`ListToolsResult`]. This trait is sealed.
pub trait ListPage: sealed::Sealed + DeserializeOwned + Clone {
    /// The type of the listed items.
    type Item;

    /// The method that requests a page of the list.
    const METHOD: &'static str;

    /// Returns the items of the page, and consumes the page.
    fn into_items(self) -> Vec<Self::Item>;
}

mod sealed {
    use super::{Misfit, RandomState, Result, Tool};

    pub trait Sealed {
        /// Returns an error if the server did not declare the capability that the list method
        /// requires.
        fn require(client: &super::Client) -> Result<()>;

        fn next_cursor(&self) -> Option<&str>;

        /// Returns the entries that were left out of the page because they are invalid.
        fn misfits(&self) -> &[Misfit];

        /// Returns a hash of the items, to find repeated pages. `None` for a page without items,
        /// which may be repeated.
        fn hash_items(&self, hasher: &RandomState) -> Option<u64>;

        /// Removes the items of a page that came before.
        fn drop_items(&mut self);

        fn add_misfit(&mut self, misfit: Misfit);

        /// Returns the tools on the page; empty for the pages of other lists.
        fn tools(&self) -> &[Tool] {
            &[]
        }

        /// Processes a received page before the caller gets the page.
        fn review(&mut self, client: &super::Client) {
            _ = client;
        }
    }
}

macro_rules! list_page {
    ($page:ty, $field:ident: $item:ty, $method:expr, $capability:ident $(, $more:item)*) => {
        list_page!($page, $field: $item, $method, |client: &Client| {
            let has = client.capabilities().$capability.is_some();
            client.need(has, stringify!($capability), $method)
        } $(, $more)*);
    };
    ($page:ty, $field:ident: $item:ty, $method:expr, $require:expr $(, $more:item)*) => {
        impl ListPage for $page {
            type Item = $item;

            const METHOD: &'static str = $method;

            fn into_items(self) -> Vec<$item> {
                self.$field
            }
        }

        impl sealed::Sealed for $page {
            fn require(client: &Client) -> Result<()> {
                $require(client)
            }

            fn next_cursor(&self) -> Option<&str> {
                self.next_cursor.as_deref()
            }

            fn misfits(&self) -> &[Misfit] {
                self.misfits()
            }

            fn hash_items(&self, hasher: &RandomState) -> Option<u64> {
                let mut text = HashedText(hasher.build_hasher());
                let is_written = serde_json::to_writer(&mut text, &self.$field).is_ok();
                (is_written && !self.$field.is_empty()).then(|| text.0.finish())
            }

            fn drop_items(&mut self) {
                self.$field.clear();
            }

            fn add_misfit(&mut self, misfit: Misfit) {
                self.add_misfit(misfit);
            }
            $($more)*
        }
    };
}

list_page!(
    ListToolsResult,
    tools: Tool,
    method::TOOLS_LIST,
    tools,
    fn tools(&self) -> &[Tool] {
        &self.tools
    },
    fn review(&mut self, client: &Client) {
        client.0.supervisor.connection().review(&mut self.tools);
    }
);
list_page!(ListResourcesResult, resources: Resource, method::RESOURCES_LIST, resources);
list_page!(
    ListResourceTemplatesResult,
    resource_templates: ResourceTemplate,
    method::RESOURCES_TEMPLATES_LIST,
    resources
);
list_page!(ListPromptsResult, prompts: Prompt, method::PROMPTS_LIST, prompts);
list_page!(ListSkillsResult, skills: Skill, method::SKILLS_LIST, |client: &Client| {
    client.need_skills(method::SKILLS_LIST)
});
list_page!(
    ReadResourceDirectoryResult,
    resources: Resource,
    method::RESOURCES_DIRECTORY_READ,
    Client::need_directories
);

/// The params of a request for a page.
#[derive(Serialize)]
struct PageParams<'a> {
    /// The URI of the directory whose children are listed; absent for other lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// An iterator over the pages of a list. Each page is requested when the iterator reaches it,
/// unless a fresh response is cached. The iterator ends after the last page or the first error.
///
/// Each step blocks as a call does. An empty cursor is sent like any other cursor. If the server
/// refuses an empty cursor, the list has ended. If the server refuses another cursor that it had
/// sent ([`ErrorCode::INVALID_PARAMS`]), the list has changed. The pages of the list are then
/// removed from the cache. A new `Pages` has to read the list from the start.
///
/// If the server repeats a cursor, or a page that has items, the list has ended. The last page then
/// has a [`Misfit`] that tells that, unless the cursor is empty. A page that came before has no
/// items. With [`ClientBuilder::strict`](super::ClientBuilder::strict) both are errors of the kind
/// [`ErrorKind::Protocol`].
#[must_use = "nothing is asked for before the first page is taken"]
pub struct Pages<'a, P> {
    client: Client,
    options: CallOptions<'a>,
    /// The URI of the directory whose children are listed.
    directory: Option<String>,
    course: Course,
    /// Whether the server has refused a cursor that it had sent itself.
    is_lost: bool,
    /// The first page, if it was looked up before.
    begun: Option<(FirstPage, FirstRequest)>,
    page: PhantomData<fn() -> P>,
}

/// A page that was looked up in the cache.
pub(super) struct FirstPage {
    pub(super) looked: Looked,
    /// The age of the known tools at that time.
    age: u64,
}

impl FirstPage {
    /// Looks up the first page of a list. Returns the params of its request too.
    ///
    /// # Errors
    ///
    /// The server did not declare the capability that the list needs.
    pub(super) fn look_up<P: ListPage>(
        client: &Client,
        directory: Option<&str>,
        options: &CallOptions<'_>,
    ) -> Result<(String, Self)> {
        P::require(client)?;
        let params = PageParams {
            uri: directory,
            cursor: None,
        };
        let params = params_text(P::METHOD, &params)?;
        let age = client.0.supervisor.server.outputs.age();
        let looked = client.look_up(P::METHOD, Topic::of_list(P::METHOD), &params, options);
        Ok((params, Self { looked, age }))
    }
}

impl<'a, P: ListPage> Pages<'a, P> {
    pub(super) fn new(client: Client, options: CallOptions<'a>, directory: Option<String>) -> Self {
        let course = Course::new(client.0.supervisor.settings().list_bounds.max_list_pages);
        Self {
            client,
            options,
            directory,
            course,
            is_lost: false,
            begun: None,
            page: PhantomData,
        }
    }

    /// Sets the first page, which was looked up before.
    pub(super) fn begun(mut self, page: FirstPage, first: FirstRequest) -> Self {
        self.begun = Some((page, first));
        self
    }

    /// Returns an iterator over the items of all pages.
    pub fn items(self) -> Items<'a, P> {
        Items {
            pages: self,
            page: Vec::new().into_iter(),
        }
    }

    /// Reads the whole list. Returns the items of all pages, and the entries that were left out
    /// because they are invalid. If the list changes while it is read, it is read once more from
    /// the start.
    ///
    /// # Errors
    ///
    /// As the function that lists all items, for example
    /// [`list_resources`](Client::list_resources).
    pub fn read_all(mut self) -> Result<(Vec<P::Item>, Vec<Misfit>)> {
        let client = self.client.clone();
        let bounds = &client.0.supervisor.settings().list_bounds;
        let max = bounds.max_list_items;
        let (mut all, mut misfits) = (Vec::new(), Vec::new());
        let mut is_second = false;
        while let Some(page) = self.next() {
            let page = match page {
                Err(_) if self.is_lost && !is_second => {
                    is_second = true;
                    self.course = Course::new(bounds.max_list_pages);
                    all.clear();
                    misfits.clear();
                    continue;
                }
                page => page?,
            };
            let room = Misfit::MAX_KEPT - misfits.len();
            misfits.extend(page.misfits().iter().take(room).cloned());
            all.extend(page.into_items());
            if all.len() > max {
                let text = format!(
                    "the list of {} of '{}' exceeds ClientBuilder::max_list_items ({max})",
                    P::METHOD,
                    client.server_name()
                );
                return Err(Error::new(ErrorKind::Limit, text).sent(true));
            }
        }
        Ok((all, misfits))
    }

    /// Requests the page at a cursor. Returns `None` at the end of the list.
    ///
    /// Some servers send an empty cursor with each page. An empty cursor that leads to no new page
    /// ends the list.
    fn ask(&mut self, cursor: Option<String>) -> Result<Option<P>> {
        let client = &self.client;
        P::require(client)?;
        let params = PageParams {
            uri: self.directory.as_deref(),
            cursor,
        };
        let supervisor = &client.0.supervisor;
        let topic = Topic::of_list(P::METHOD);
        let options = self.options.for_one();
        let is_empty = params.cursor.as_deref() == Some("") && !supervisor.settings().strict;
        let text = params_text(P::METHOD, &params)?;
        let (age, looked, first) = match self.begun.take() {
            Some((FirstPage { looked, age }, first)) => (age, looked, first),
            None => {
                let age = supervisor.server.outputs.age();
                let looked = client.look_up(P::METHOD, topic.clone(), &text, &options);
                (age, looked, FirstRequest::Unsent)
            }
        };
        let page = client
            .fetch_looked_up(P::METHOD, text, options, looked, first)
            .and_then(|answer| client.decode_and_keep(P::METHOD, answer));
        let mut page: P = match page {
            Err(error) if params.cursor.is_some() && is_refusal(&error) => {
                if is_empty {
                    return Ok(None);
                }
                supervisor.server.cache.forget(&topic);
                self.is_lost = true;
                return Err(error);
            }
            page => page?,
        };
        page.review(client);
        supervisor.note_tools(page.tools(), age);
        let hash = page.hash_items(&self.course.hasher);
        let Err(stray) = self.course.answered(page.next_cursor(), hash) else {
            return Ok(Some(page));
        };
        self.end_at(page, stray)
    }

    /// Ends the list at a page after which no further page is read.
    fn end_at(&self, mut page: P, stray: Stray) -> Result<Option<P>> {
        let client = &self.client;
        let cursor = page.next_cursor();
        let reason = match stray {
            Stray::RepeatedPage => "the page came before".to_owned(),
            Stray::RepeatedCursor => {
                format!(
                    "cursor \"{}\" came before",
                    Excerpt(cursor.unwrap_or_default())
                )
            }
            Stray::TooManyPages => {
                format!("ClientBuilder::max_list_pages ({})", self.course.max_pages)
            }
        };
        if stray == Stray::TooManyPages || client.0.supervisor.settings().strict {
            let (kind, what) = match stray {
                Stray::TooManyPages => (ErrorKind::Limit, "exceed"),
                _ => (ErrorKind::Protocol, "don't end:"),
            };
            let server = client.server_name();
            let text = format!("the pages of {} of '{server}' {what} {reason}", P::METHOD);
            return Err(Error::new(kind, text).sent(true));
        }
        if cursor == Some("") {
            // Servers write an empty cursor for "no more pages".
            return Ok((stray == Stray::RepeatedCursor).then_some(page));
        }
        if stray == Stray::RepeatedPage {
            page.drop_items();
        }
        let misfit = Misfit::of_repetition(format!("{reason}: the list ends here"));
        client.tell_misfits(P::METHOD, std::slice::from_ref(&misfit));
        page.add_misfit(misfit);
        Ok(Some(page))
    }
}

/// Whether the error shows that the server no longer knows a cursor.
fn is_refusal(error: &Error) -> bool {
    let code = error.rpc().map(|rpc| rpc.code);
    code == Some(ErrorCode::INVALID_PARAMS)
}

impl<P: ListPage> Iterator for Pages<'_, P> {
    type Item = Result<P>;

    fn next(&mut self) -> Option<Result<P>> {
        let cursor = self.course.ask()?;
        let page = self.ask(cursor).transpose();
        if !matches!(page, Some(Ok(_))) {
            self.course.end();
        }
        page
    }
}

impl<P: ListPage> FusedIterator for Pages<'_, P> {}

impl<P> fmt::Debug for Pages<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("client", &self.client)
            .field("course", &self.course)
            .finish_non_exhaustive()
    }
}

/// An iterator over the items of all pages: see [`Pages::items`].
#[must_use = "nothing is asked for before the first item is taken"]
pub struct Items<'a, P: ListPage> {
    pages: Pages<'a, P>,
    page: std::vec::IntoIter<P::Item>,
}

impl<P: ListPage> Iterator for Items<'_, P> {
    type Item = Result<P::Item>;

    fn next(&mut self) -> Option<Result<P::Item>> {
        loop {
            if let Some(item) = self.page.next() {
                return Some(Ok(item));
            }
            match self.pages.next()? {
                Ok(page) => self.page = page.into_items().into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<P: ListPage> FusedIterator for Items<'_, P> {}

impl<P: ListPage> fmt::Debug for Items<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items")
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

/// The reason why a list is not read further although the server gave a cursor.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stray {
    RepeatedPage,
    RepeatedCursor,
    TooManyPages,
}

/// A writer that hashes the text that is written to it.
struct HashedText(DefaultHasher);

impl io::Write for HashedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The progress of reading a list: the next cursor, and the received cursors and pages.
#[derive(Debug)]
struct Course {
    next: NextPage,
    pages: usize,
    max_pages: usize,
    /// Hashes of the received cursors and of the items of the received pages. The hashes save
    /// memory, because both may have any length.
    seen: HashSet<u64>,
    hasher: RandomState,
}

#[derive(Debug)]
enum NextPage {
    First,
    At(String),
    End,
}

impl Course {
    fn new(max_pages: usize) -> Self {
        Self {
            next: NextPage::First,
            pages: 0,
            max_pages,
            seen: HashSet::new(),
            hasher: RandomState::new(),
        }
    }

    /// Returns the cursor of the next request: `Some(None)` for the first page, and `None` when the
    /// list has ended.
    fn ask(&mut self) -> Option<Option<String>> {
        match std::mem::replace(&mut self.next, NextPage::End) {
            NextPage::First => Some(None),
            NextPage::At(cursor) => Some(Some(cursor)),
            NextPage::End => None,
        }
    }

    /// Records a received page, with the cursor of the next page and the hash of the items, if
    /// there are any. After an error the list has ended.
    fn answered(&mut self, cursor: Option<&str>, items: Option<u64>) -> Result<(), Stray> {
        self.pages += 1;
        if items.is_some_and(|items| !self.seen.insert(items)) {
            return Err(Stray::RepeatedPage);
        }
        let Some(cursor) = cursor else { return Ok(()) };
        if !self.seen.insert(self.hasher.hash_one(cursor)) {
            return Err(Stray::RepeatedCursor);
        }
        if self.pages >= self.max_pages {
            return Err(Stray::TooManyPages);
        }
        self.next = NextPage::At(cursor.to_owned());
        Ok(())
    }

    fn end(&mut self) {
        self.next = NextPage::End;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Reads pages with these cursors. Returns the requested cursors, and the reason why the list
    /// was not read further.
    fn walk(cursors: &[Option<&str>], max: usize) -> (Vec<Option<String>>, Option<Stray>) {
        let mut course = Course::new(max);
        let mut asked = Vec::new();
        let mut pages = cursors.iter();
        while let Some(cursor) = course.ask() {
            asked.push(cursor);
            let page = pages.next().expect("a page");
            if let Err(stray) = course.answered(*page, None) {
                return (asked, Some(stray));
            }
        }
        (asked, None)
    }

    // M-PAGE-C-04, M-PAGE-C-06, M-PAGE-C-07, L-PAGE-C-03, L-PAGE-C-04
    #[test]
    fn cursors_go_back_as_they_came_until_there_is_none() {
        fn check(cursors: &[Option<&str>]) {
            let (asked, stray) = walk(cursors, 100);
            let mut expected = vec![None];
            let given = cursors.iter().flatten();
            expected.extend(given.map(|cursor| Some((*cursor).to_owned())));
            assert_eq!(asked, expected, "{cursors:?}");
            assert_eq!(stray, None, "{cursors:?}");
        }
        check(&[None]);
        check(&[Some(""), None]);
        check(&[Some("a"), Some("A"), Some(" a\n"), Some("{}"), None]);
    }

    // M-PAGE-C-08
    #[test]
    fn a_list_without_end_is_given_up() {
        fn check(cursors: &[Option<&str>], max: usize, asked: usize, expected: Stray) {
            let (seen, stray) = walk(cursors, max);
            assert_eq!((seen.len(), stray), (asked, Some(expected)), "{cursors:?}");
        }
        let (a, b) = (Some("a"), Some("b"));
        check(&[a, a], 9, 2, Stray::RepeatedCursor);
        check(&[a, b, a], 9, 3, Stray::RepeatedCursor);
        check(&[Some(""), Some("")], 9, 2, Stray::RepeatedCursor);
        check(&[a, b, Some("c")], 2, 2, Stray::TooManyPages);
    }
}
