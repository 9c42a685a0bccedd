//! Lenient reading of results, entry by entry. If one entry is invalid, the other entries are still
//! used.
//!
//! ```text
//!  text ──▶ normal reading ──▶ valid: done
//!                 ╰─ invalid ──▶ second reading, each member and each entry by itself
//!                                  │ an invalid entry of a list ──▶ dropped and recorded
//!                                  │ an invalid optional member ──▶ dropped and recorded
//!                                  ╰ an invalid required member ──▶ its entry is invalid
//! ```
//!
//! Both readings use the same code. The mode of reading (`ReadingMode`) is a thread-local, which is
//! set while one text is read.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::member::{Form, Member};
use crate::error::{Excerpt, without_position};
use crate::jsonrpc::is_empty_array;
use crate::jsonrpc::raw_object::RawObject;
use crate::jsonrpc::typed;

/// The maximum length of an entry's name, in characters. Longer names are cut off.
const MAX_NAME_CHARS: usize = 200;

/// A part of a result that was dropped because it does not fit the specification.
///
/// The rest of the result is valid. See
/// [`ListToolsResult::misfits`](super::ListToolsResult::misfits), and the methods of the same name
/// on other results. With [`strict`](crate::client::ClientBuilder::strict) an invalid part makes
/// the whole result an error instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// The index of the list entry that contains the dropped part, or that was dropped itself.
    /// Counted from 0 in the list that the peer sent. Absent if the dropped part is outside of
    /// lists.
    pub index: Option<usize>,
    /// The `name` of the list entry, or its `uri` or `uriTemplate` if it has no name. Absent if it
    /// has none of the three.
    pub name: Option<String>,
    /// The path of the dropped part: a JSON Pointer (RFC 6901) relative to the result. If it is the
    /// path of a list entry, the whole entry was dropped.
    pub path: String,
    /// The reason why the part was dropped: the expected value and the received value.
    pub reason: String,
    /// Whether the part was kept, and only its text was changed. That happens to texts with half of
    /// a surrogate pair: they are read with U+FFFD in its place.
    pub is_kept: bool,
}

impl Misfit {
    /// The maximum number of dropped parts that are stored for one result.
    pub(crate) const MAX_KEPT: usize = 1000;

    /// Makes the description of a result that could not be read at all.
    #[cfg(feature = "cffi")]
    pub(crate) fn of_all(error: &serde_json::Error) -> Self {
        Self {
            index: None,
            name: None,
            path: String::new(),
            reason: Excerpt(&without_position(error)).to_string(),
            is_kept: false,
        }
    }

    /// Makes the description of a page whose cursor is not followed, because the list would have no
    /// end.
    pub(crate) fn of_repetition(reason: String) -> Self {
        Self {
            index: None,
            name: None,
            path: "/nextCursor".to_owned(),
            reason,
            is_kept: false,
        }
    }

    /// Makes the description of a result with texts that have half of a surrogate pair. The first
    /// of them is at this byte of the text.
    pub(crate) fn of_halves(text: &str, count: usize, first: usize) -> Self {
        let path = typed::pointer(text, first);
        let mut steps = path.split('/').skip(1);
        Self {
            index: steps.find_map(|step| step.parse().ok()),
            name: None,
            reason: match count {
                1 => "half of a surrogate pair is read as U+FFFD".to_owned(),
                _ => format!("{count} halves of surrogate pairs are read as U+FFFD"),
            },
            path,
            is_kept: true,
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Excerpt(&self.path))?;
        if let Some(name) = &self.name {
            write!(f, " of '{}'", Excerpt(name))?;
        }
        let what = if self.is_kept {
            "was changed"
        } else {
            "was left out"
        };
        write!(f, " {what}: {}", self.reason)
    }
}

/// The parts of a result that were dropped as invalid. This type is used for a field of the
/// result's struct that is not part of the message.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Misfits(Option<Box<[Misfit]>>);

impl Misfits {
    pub(super) fn as_slice(&self) -> &[Misfit] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Adds a part that was dropped after the object had been read.
    pub(super) fn add(&mut self, misfit: Misfit) {
        let mut misfits = self.0.take().unwrap_or_default().into_vec();
        misfits.push(misfit);
        self.0 = Some(misfits.into());
    }

    /// Returns the parts that were dropped as invalid from the object that this thread has read
    /// last.
    pub(super) fn of_last_object() -> Self {
        if !drops() {
            return Self::default();
        }
        let found = READ.with_borrow(|read| read.misfits.clone());
        Self((!found.is_empty()).then(|| found.into()))
    }
}

impl fmt::Debug for Misfits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// The mode in which this thread reads a text.
#[derive(Clone, Copy, PartialEq)]
enum ReadingMode {
    /// The usual mode: the `Deserialize` of each type decides which deviations are accepted.
    Plain,
    /// The strict mode: as `Plain`, but deviations from the specification are errors.
    Strict,
    /// The mode for raw objects: each member is read separately, and an empty array is accepted for
    /// an empty object.
    RawObject,
    /// The most lenient mode: as `RawObject`, but invalid parts are dropped where possible.
    Entries,
}

thread_local! {
    static READING_MODE: Cell<ReadingMode> = const { Cell::new(ReadingMode::Plain) };
    static READ: RefCell<Read> = const { RefCell::new(Read::new()) };
}

/// The position in the text that is being read, and the misfits that were found so far.
struct Read {
    path: Vec<Step>,
    misfits: Vec<Misfit>,
}

impl Read {
    const fn new() -> Self {
        Self {
            path: Vec::new(),
            misfits: Vec::new(),
        }
    }

    fn misfit(&self, reason: String) -> Misfit {
        let entry = self.path.iter().find_map(|step| match step {
            Step::Entry(index, name) => Some((*index, name.clone())),
            Step::Member(_) => None,
        });
        let (index, name) = entry.unzip();
        Misfit {
            index,
            name: name.flatten(),
            path: self.path.iter().map(ToString::to_string).collect(),
            reason,
            is_kept: false,
        }
    }
}

enum Step {
    Member(&'static str),
    Entry(usize, Option<String>),
}

/// Writes a step of a path as a reference token of a JSON Pointer.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")),
            Self::Entry(index, _) => write!(f, "/{index}"),
        }
    }
}

/// Checks that the thread-locals can be used. Fails if the host calls the library while the thread
/// exits, after the thread-locals were destroyed.
fn check_thread_locals() -> serde_json::Result<()> {
    READ.try_with(|_| ()).map_err(serde_json::Error::custom)
}

/// Runs `read` in this mode. Afterwards restores the previous mode.
fn reading<T>(mode: ReadingMode, read: impl FnOnce() -> T) -> T {
    struct Outer(ReadingMode);

    impl Drop for Outer {
        fn drop(&mut self) {
            READING_MODE.set(self.0);
        }
    }

    let _outer = Outer(READING_MODE.replace(mode));
    read()
}

/// Reads an invalid text again, in the mode in which each member is read separately.
pub(super) fn read_members<T: for<'a> Deserialize<'a>>(text: &str) -> serde_json::Result<T> {
    in_members(|| read_part(text))
}

/// Runs `read` in the lenient mode in which each member is read separately. An empty array is
/// accepted for an empty object.
pub(super) fn in_members<T>(read: impl FnOnce() -> serde_json::Result<T>) -> serde_json::Result<T> {
    check_thread_locals()?;
    reading(ReadingMode::RawObject, read)
}

/// Reads an invalid text again, and drops the parts that are invalid. `found` was found in the text
/// before.
pub(super) fn read_entries<T: for<'a> Deserialize<'a>>(
    text: &str,
    found: Option<Misfit>,
) -> serde_json::Result<(T, Vec<Misfit>)> {
    check_thread_locals()?;
    let mut read = Read::new();
    read.misfits.extend(found);
    let outer = READ.replace(read);
    let read = reading(ReadingMode::Entries, || read_part(text));
    let found = READ.replace(outer);
    Ok((read?, found.misfits))
}

/// Reads a text strictly: deviations from the specification are errors.
pub(super) fn read_strictly<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    reading(ReadingMode::Strict, || serde_json::from_str(text))
}

/// Whether the current mode reads each member and each list entry separately.
#[inline]
pub(super) fn is_by_parts() -> bool {
    matches!(
        READING_MODE.get(),
        ReadingMode::RawObject | ReadingMode::Entries
    )
}

/// Whether the current mode treats deviations from the specification as errors.
pub(super) fn is_strict() -> bool {
    READING_MODE.get() == ReadingMode::Strict
}

/// Whether the current mode drops invalid parts.
pub(super) fn drops() -> bool {
    READING_MODE.get() == ReadingMode::Entries
}

/// Deserializes the text of one member or list entry. Accepts an empty array where an empty object
/// is expected.
fn read_part<T: for<'a> Deserialize<'a>>(text: &str) -> serde_json::Result<T> {
    or_empty_object(text, |text| serde_json::from_str(text))
}

fn or_empty_object<T>(
    text: &str,
    read: impl Fn(&str) -> serde_json::Result<T>,
) -> serde_json::Result<T> {
    match read(text) {
        Err(error) if is_empty_array(text) => read("{}").map_err(|_| error),
        read => read,
    }
}

/// Reads an optional member in the current mode. Types with derived `Deserialize` use this function
/// for their optional members.
pub(super) fn read_optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: for<'a> Deserialize<'a>,
    D: Deserializer<'de>,
{
    if !is_by_parts() {
        return Option::deserialize(deserializer);
    }
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let read = read_part(text.get());
    read.map_err(|error| D::Error::custom(without_position(&error)))
}

/// A member or list entry that is being read. While a `Part` exists, the path of this thread
/// contains the step to this member or entry.
struct Part {
    /// The number of misfits that were recorded before this member or entry was read.
    before: usize,
}

impl Part {
    fn enter(step: Step) -> Self {
        let before = READ.with_borrow_mut(|read| {
            read.path.push(step);
            read.misfits.len()
        });
        Self { before }
    }

    /// Removes the misfits that were recorded inside the member or entry.
    fn forget(self) {
        READ.with_borrow_mut(|read| read.misfits.truncate(self.before));
    }

    /// Records that the member or entry is dropped. Removes the misfits that were recorded inside
    /// it.
    fn leave_out(self, error: &serde_json::Error) {
        let reason = without_position(error);
        READ.with_borrow_mut(|read| {
            read.misfits.truncate(self.before);
            if read.misfits.len() < Misfit::MAX_KEPT {
                let misfit = read.misfit(Excerpt(&reason).to_string());
                read.misfits.push(misfit);
            }
        });
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        READ.with_borrow_mut(|read| read.path.pop());
    }
}

/// Reads a member separately from the rest of its object, into `slot`. A dropped member counts as
/// absent.
pub(super) fn read_member<'de, F: Form<T>, T: Member, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    members: &mut A,
) -> Result<(), A::Error> {
    let text = members.next_value::<Box<RawValue>>()?;
    let part = Part::enter(Step::Member(name));
    let read = or_empty_object(text.get(), |text| {
        F::read(&mut serde_json::Deserializer::from_str(text))
    });
    match read {
        Ok(value) => *slot = Some(value),
        Err(error) if drops() && F::is_dispensable() => part.leave_out(&error),
        Err(error) => return Err(A::Error::custom(without_position(&error))),
    }
    Ok(())
}

/// Reads a list. If the current mode reads members and entries separately, each entry of the list
/// is read separately.
pub(super) fn read_list<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: for<'a> Deserialize<'a>,
    D: Deserializer<'de>,
{
    let entries = Entries(std::marker::PhantomData);
    if !is_by_parts() {
        return Vec::deserialize(deserializer);
    }
    if !drops() {
        return deserializer.deserialize_seq(entries);
    }
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let text = text.get();
    if text.starts_with('{') {
        // A single entry without the brackets of its list.
        let part = Part::enter(Step::Entry(0, name_of(text)));
        match read_part(text) {
            Ok(entry) => return Ok(vec![entry]),
            Err(_) => part.forget(),
        }
    }
    let read = serde_json::Deserializer::from_str(text).deserialize_seq(entries);
    read.map_err(|error| D::Error::custom(without_position(&error)))
}

struct Entries<T>(std::marker::PhantomData<T>);

impl<'de, T: for<'a> Deserialize<'a>> Visitor<'de> for Entries<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        let mut index = 0;
        while let Some(text) = entries.next_element::<Box<RawValue>>()? {
            let part = Part::enter(Step::Entry(index, name_of(text.get())));
            match read_part(text.get()) {
                Ok(entry) => list.push(entry),
                Err(error) if drops() => part.leave_out(&error),
                Err(error) => return Err(A::Error::custom(without_position(&error))),
            }
            index += 1;
        }
        Ok(list)
    }
}

/// Returns the name of a list entry.
fn name_of(entry: &str) -> Option<String> {
    ["name", "uri", "uriTemplate"].into_iter().find_map(|key| {
        let (_, value) = RawObject::of(entry).find(|(name, _)| name == key)?;
        let name: String = serde_json::from_str(value).ok()?;
        Some(name.chars().take(MAX_NAME_CHARS).collect())
    })
}

/// Defines the method `misfits` of a result whose struct has a field for the misfits.
macro_rules! misfits {
    ($misfits:ident) => {
        /// Returns the parts of the result that were dropped because they do not fit the
        /// specification. The rest of the result is valid. At most 1000 dropped parts are listed.
        ///
        /// The list is empty with [`ClientBuilder::strict`](crate::client::ClientBuilder::strict),
        /// which refuses a result that has an invalid part.
        pub fn misfits(&self) -> &[$crate::schema::Misfit] {
            self.$misfits.as_slice()
        }
    };
}
