//! Access to JSON values for the validator. Each access is counted, so that a check can be stopped.
//!
//! The validator can't be cancelled, but it reads values only through this interface. When the
//! meter has run out, every value reads as `null` and every list ends, so that the validator
//! finishes. Invariant: the result of a run whose meter has run out is discarded.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use serde_json::{Map, Value, map};

/// The number of accesses between two reads of the clock. A usual check needs fewer accesses, and
/// never reads the clock.
const ACCESSES_BETWEEN_CLOCK_READS: usize = 1024;

/// The limit of one run of the validator.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Until(Instant),
    Accesses(usize),
}

#[derive(Clone, Copy)]
struct Meter {
    left: usize,
    until: Option<Instant>,
    /// The maximum length of a text that may be read, in bytes.
    max_text: usize,
    has_run_out: bool,
}

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter { left: 0, until: None, max_text: 0, has_run_out: true }) };
}

/// Runs the validator within a limit, on texts of at most `max_text` bytes. Returns `None` if the
/// meter ran out, or the validator panicked.
pub(super) fn run<T>(bound: Bound, max_text: usize, work: impl FnOnce() -> T) -> Option<T> {
    let (left, until) = match bound {
        Bound::Until(until) => (ACCESSES_BETWEEN_CLOCK_READS, Some(until)),
        Bound::Accesses(accesses) => (accesses, None),
    };
    let has_run_out = false;
    METER.set(Meter {
        left,
        until,
        max_text,
        has_run_out,
    });
    // The value comes from a peer: a panic of the validator must not unwind into the calling
    // thread.
    let result = catch_unwind(AssertUnwindSafe(work));
    let has_run_out = METER.get().has_run_out;
    result.ok().filter(|_| !has_run_out)
}

/// Counts one access to a text of `bytes` bytes. Returns false if the meter has run out.
fn spend(bytes: usize) -> bool {
    let mut meter = METER.get();
    if meter.has_run_out {
        return false;
    }
    if bytes > meter.max_text {
        meter.has_run_out = true;
        METER.set(meter);
        return false;
    }
    spend_accesses(1 + bytes / 1024)
}

/// Counts `cost` accesses. Returns false if the meter has run out.
fn spend_accesses(cost: usize) -> bool {
    let mut meter = METER.get();
    if meter.has_run_out {
        return false;
    }
    if meter.left >= cost {
        meter.left -= cost;
    } else if meter.until.is_some_and(|until| Instant::now() < until) {
        meter.left = ACCESSES_BETWEEN_CLOCK_READS;
    } else {
        meter.has_run_out = true;
    }
    METER.set(meter);
    !meter.has_run_out
}

/// The JSON representation that the validator uses, with counted accesses.
#[derive(Debug)]
pub(super) struct Metered;

/// A JSON value whose accesses are counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted<'a>(pub(super) &'a Value);

impl<'a> Counted<'a> {
    fn look(self) -> &'a Value {
        const NULL: &Value = &Value::Null;
        let bytes = self.0.as_str().map_or(0, str::len);
        if spend(bytes) { self.0 } else { NULL }
    }
}

impl Json for Metered {
    type Node<'a> = Counted<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(
        buffer: &mut Value,
        string: &str,
        f: impl FnOnce(Counted<'_>) -> T,
    ) -> T {
        *buffer = Value::String(string.to_owned());
        f(Counted(buffer))
    }
}

impl<'a> Node<'a, Metered> for Counted<'a> {
    type Object = &'a Map<String, Value>;
    type Array = &'a [Value];
    type Number = &'a serde_json::Number;

    fn as_object(&self) -> Option<Self::Object> {
        self.look().as_object()
    }

    fn as_array(&self) -> Option<Self::Array> {
        self.look().as_array().map(Vec::as_slice)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.look().as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Self::Number> {
        match self.look() {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look().as_bool()
    }

    fn is_null(&self) -> bool {
        self.look().is_null()
    }

    fn json_type(&self) -> JsonType {
        JsonType::from(self.look())
    }

    fn equals_value(&self, expected: &Value) -> bool {
        Node::equals_value(&self.look(), expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        // Always the real value: the validator relies on its type, even after the meter has run
        // out.
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.0) as usize))
    }

    /// Returns the identity of an array or object, under which the validator caches results. Uses
    /// the real value, even if the meter has run out.
    fn container_identity(&self) -> Option<NodeIdentity> {
        matches!(self.0, Value::Object(_) | Value::Array(_))
            .then(|| self.identity())
            .flatten()
    }
}

/// The members of an object. The iteration ends when the meter runs out.
#[derive(Debug)]
pub(super) struct Members<'a>(map::Iter<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Counted<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.0.next().filter(|(name, _)| spend(name.len()))?;
        Some((name, Counted(value)))
    }
}

impl<'a> Object<'a, Metered> for &'a Map<String, Value> {
    type Node = Counted<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn get(&self, key: &String) -> Option<Counted<'a>> {
        Map::get(self, key).filter(|_| spend(0)).map(Counted)
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

/// The items of an array. The iteration ends when the meter runs out.
#[derive(Debug)]
pub(super) struct Items<'a>(std::slice::Iter<'a, Value>);

impl<'a> Iterator for Items<'a> {
    type Item = Counted<'a>;

    fn next(&mut self) -> Option<Counted<'a>> {
        self.0.next().filter(|_| spend(0)).map(Counted)
    }
}

impl<'a> Array<'a, Metered> for &'a [Value] {
    type Node = Counted<'a>;
    type ElementsIter = Items<'a>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> Items<'a> {
        Items(self.iter())
    }

    /// Whether all items of the array are different. The comparison does not count its accesses.
    /// Therefore this function first counts enough accesses to trigger a read of the clock.
    fn is_unique(&self) -> bool {
        spend_accesses(ACCESSES_BETWEEN_CLOCK_READS)
            && Array::<jsonschema::json::SerdeJson>::is_unique(self)
    }
}
