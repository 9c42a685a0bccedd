//! The state of a replay: matches sent messages with a trace. Does no I/O and never blocks.
//!
//! **Invariant:** an incoming step can be returned when every outgoing step before it has been
//! played. A sent message has to match an unplayed outgoing step before the next incoming step.
//! Outgoing steps without an incoming step between them may be sent in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::value::RawValue;

use mcplink::jsonrpc::{Message, RequestId};
use mcplink::transport::{Received, SessionMessage};
use mcplink::{Error, ErrorKind, Result};

use super::{Dir, Entry, Long};

#[derive(Debug)]
pub(super) struct Script {
    steps: Vec<Step>,
    /// The index of the step after the last returned message of the peer. All earlier steps have
    /// been played.
    next: usize,
    /// The map from the recorded id of each request of this side to its current id. Contains only
    /// ids that differ.
    ids: BTreeMap<RequestId, RequestId>,
    /// The ids of the peer's own requests, which are not replaced.
    theirs: BTreeSet<RequestId>,
    difference: Difference,
    failed: Option<Error>,
}

/// The comparison of a recorded message with a sent one of the same [`Sign`]. Returns the
/// difference, if there is one. `None`: no further comparison.
#[derive(Default)]
pub(super) struct Difference(pub(super) Option<Compare>);

pub(super) type Compare = Box<dyn Fn(&str, &str) -> Option<String> + Send>;

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Difference")
            .field(&self.0.is_some())
            .finish()
    }
}

impl Difference {
    fn of(&self, recorded: &str, sent: &[u8]) -> Option<String> {
        let compare = self.0.as_ref()?;
        compare(recorded, &String::from_utf8_lossy(sent))
    }
}

#[derive(Debug)]
struct Step {
    /// The number of the step's line in the trace.
    line: usize,
    kind: Kind,
    played: bool,
}

#[derive(Debug)]
enum Kind {
    /// A message of this side, with its text.
    Out(Sign, String),
    In(Vec<u8>),
    TooLong(Long),
}

/// The properties by which a message of this side is compared with the trace.
#[derive(Debug, PartialEq)]
enum Sign {
    /// A request, with its method and id. The id is not compared.
    Request(String, Id),
    Notification(String),
    /// A response to the peer's request with this id.
    Response(Option<RequestId>),
    /// A batch, or text that is not a valid message.
    Other,
}

/// An id that is stored but not compared.
#[derive(Debug)]
struct Id(RequestId);

impl PartialEq for Id {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Sign {
    fn of(text: &[u8]) -> Self {
        let text = String::from_utf8_lossy(text).into_owned();
        match Message::read(text) {
            Ok(Message::Request(request)) => {
                Self::Request(request.method().to_owned(), Id(request.id().clone()))
            }
            Ok(Message::Notification(note)) => Self::Notification(note.method().to_owned()),
            Ok(Message::Response(response)) => Self::Response(response.id().cloned()),
            Err(_) => Self::Other,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Request(method, _) => format!("the request {}", method.escape_debug()),
            Self::Notification(method) => format!("the notification {}", method.escape_debug()),
            Self::Response(Some(id)) => format!("the response to request {id}"),
            Self::Response(None) => "a response without an id".to_owned(),
            Self::Other => "a batch, or no message".to_owned(),
        }
    }
}

impl Script {
    pub(super) fn read(trace: &str) -> Result<Self> {
        let lines = trace.lines().enumerate();
        let lines = lines.filter(|(_, text)| !text.trim().is_empty());
        let steps = lines.map(|(index, text)| {
            let line = index + 1;
            Step::read(line, text).map_err(|what| {
                Error::new(ErrorKind::Invalid, format!("trace line {line}: {what}"))
            })
        });
        let steps = steps.filter_map(Result::transpose);
        let steps = steps.collect::<Result<Vec<_>>>()?;
        let theirs = steps.iter().filter_map(|step| match &step.kind {
            Kind::In(text) => match Sign::of(text) {
                Sign::Request(_, Id(id)) => Some(id),
                _ => None,
            },
            _ => None,
        });
        Ok(Self {
            theirs: theirs.collect(),
            steps,
            difference: Difference::default(),
            next: 0,
            ids: BTreeMap::new(),
            failed: None,
        })
    }

    pub(super) fn compare_with(&mut self, difference: Compare) {
        self.difference = Difference(Some(difference));
    }

    /// Matches a sent message with the trace. Fails when the trace does not expect the message.
    pub(super) fn send(&mut self, text: &[u8]) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let sent = Sign::of(text);
        let first = self.steps[self.next..]
            .iter()
            .position(|step| !step.played && matches!(step.kind, Kind::Out(..)))
            .map_or(self.steps.len(), |offset| self.next + offset);
        let window = self.steps[first..]
            .iter_mut()
            .take_while(|step| matches!(step.kind, Kind::Out(..)));
        // The first recorded message of this kind, if each of them differs.
        let mut differs = None;
        let matching = window.filter(|step| !step.played).find(|step| {
            let Kind::Out(sign, recorded) = &step.kind else {
                return false;
            };
            if *sign != sent {
                return false;
            }
            let difference = self.difference.of(recorded, text);
            let is_alike = difference.is_none();
            differs = differs
                .take()
                .or_else(|| difference.map(|text| (step.line, text)));
            is_alike
        });
        let Some(step) = matching else {
            let error = match differs {
                Some((line, difference)) => {
                    let sent = sent.describe();
                    let text = format!("trace line {line} expects {sent} with {difference}");
                    Error::new(ErrorKind::State, text)
                }
                None => self.mismatch(first, &sent),
            };
            self.failed = Some(error.clone());
            return Err(error);
        };
        step.played = true;
        if let (Kind::Out(Sign::Request(_, Id(recorded)), _), Sign::Request(_, Id(now))) =
            (&step.kind, sent)
            && *recorded != now
        {
            self.ids.insert(recorded.clone(), now);
        }
        Ok(())
    }

    fn mismatch(&self, first: usize, sent: &Sign) -> Error {
        let sent = sent.describe();
        let text = match self.steps.get(first) {
            Some(Step {
                line,
                kind: Kind::Out(expected, _),
                ..
            }) => {
                let expected = expected.describe();
                format!("trace line {line} expects {expected}, but {sent} was sent")
            }
            _ => format!("the trace expects nothing more, but {sent} was sent"),
        };
        Error::new(ErrorKind::State, text)
    }

    /// Whether [`give`](Self::give) would return a message or an error.
    pub(super) fn can_give(&self) -> bool {
        self.failed.is_some() || self.givable().is_some()
    }

    fn givable(&self) -> Option<usize> {
        let unplayed = |step: &Step| !step.played;
        let at = self.next + self.steps[self.next..].iter().position(unplayed)?;
        (!matches!(self.steps[at].kind, Kind::Out(..))).then_some(at)
    }

    /// Returns the next message of the peer. Returns `None` while the trace expects a sent message
    /// first.
    pub(super) fn give(&mut self) -> Result<Option<Received>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Some(at) = self.givable() else {
            return Ok(None);
        };
        self.next = at + 1;
        let step = &mut self.steps[at];
        step.played = true;
        Ok(Some(match &step.kind {
            Kind::TooLong(long) => {
                let mut long = long.clone();
                if let Some(now) = long.id.as_ref().and_then(|id| self.ids.get(id)) {
                    long.id = Some(now.clone());
                }
                Received::TooLong(long.into_too_long())
            }
            Kind::In(text) => {
                let text = with_ids(text, &self.ids, &self.theirs).unwrap_or_else(|| text.clone());
                Received::Message(SessionMessage::new(text))
            }
            Kind::Out(..) => unreachable!("what can be given is incoming"),
        }))
    }

    /// Whether the whole trace was played, or the replay has failed.
    pub(super) fn is_over(&self) -> bool {
        self.failed.is_some() || self.steps[self.next..].iter().all(|step| step.played)
    }

    /// Returns an error unless the whole trace was played.
    pub(super) fn finish(&self) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let mut left = self.steps.iter().filter(|step| !step.played);
        let Some(first) = left.next() else {
            return Ok(());
        };
        let what = match &first.kind {
            Kind::Out(sign, _) => format!("{} was not sent", sign.describe()),
            Kind::In(_) | Kind::TooLong(_) => "it was not received".to_owned(),
        };
        let (line, count) = (first.line, left.count() + 1);
        let text =
            format!("{count} messages were not played, the first in trace line {line}: {what}");
        Err(Error::new(ErrorKind::State, text))
    }
}

impl Step {
    /// Reads a line of a trace. Returns `None` for a message of another connection.
    fn read(line: usize, text: &str) -> Result<Option<Self>, String> {
        let entry: Entry<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if entry.peer.is_some() {
            return Ok(None);
        }
        let content = match (entry.message, &entry.text, entry.too_long) {
            (Some(message), None, None) => message.get().as_bytes(),
            (None, Some(text), None) => text.as_bytes(),
            (None, None, Some(long)) if entry.dir == Dir::In => {
                return Ok(Some(Self::new(line, Kind::TooLong(long))));
            }
            _ => return Err("it needs one of message, text and (dir \"in\") too_long".to_owned()),
        };
        Ok(Some(Self::new(
            line,
            match entry.dir {
                Dir::Out => {
                    let text = String::from_utf8_lossy(content).into_owned();
                    Kind::Out(Sign::of(content), text)
                }
                Dir::In => Kind::In(content.to_vec()),
            },
        )))
    }

    fn new(line: usize, kind: Kind) -> Self {
        let played = false;
        Self { line, kind, played }
    }
}

/// A JSON object with raw values. The keys are owned, because a key may be written with escapes.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Returns a message of the peer in which the recorded ids of this side's requests are replaced by
/// the current ids. Returns `None` when nothing changes.
fn with_ids(
    text: &[u8],
    ids: &BTreeMap<RequestId, RequestId>,
    theirs: &BTreeSet<RequestId>,
) -> Option<Vec<u8>> {
    if ids.is_empty() {
        return None;
    }
    if let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(text) {
        let changed = batch.iter().map(|member| {
            let text = member.get().as_bytes();
            let text = with_ids(text, ids, theirs).unwrap_or_else(|| text.to_vec());
            serde_json::from_slice::<Box<RawValue>>(&text).ok()
        });
        return serde_json::to_vec(&changed.collect::<Option<Vec<_>>>()?).ok();
    }
    let mut message: Members<'_> = serde_json::from_slice(text).ok()?;
    let now = |raw: &RawValue| {
        let id = ids.get(&RequestId::from_json(raw.get())?)?;
        serde_json::value::to_raw_value(id).ok()
    };
    if !message.contains_key("method") {
        let id = now(message.get("id")?)?;
        message.insert("id".to_owned(), &id);
        return serde_json::to_vec(&message).ok();
    }
    let mut params: Members<'_> = serde_json::from_str(message.get("params")?.get()).ok()?;
    let token = params.get("progressToken").and_then(|raw| now(raw));
    // Since 2026-07-28 a server may cancel a request of its client. Before, it can cancel only its
    // own requests.
    let cancels = message["method"].get() == r#""notifications/cancelled""#;
    let cancelled = params.get("requestId").filter(|raw| {
        cancels && RequestId::from_json(raw.get()).is_some_and(|id| !theirs.contains(&id))
    });
    let cancelled = cancelled.and_then(|raw| now(raw));
    let mut meta: Members<'_> = params
        .get("_meta")
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let subscription = meta.get(SUBSCRIPTION_ID).and_then(|raw| now(raw));
    let new_meta = subscription.as_ref().and_then(|id| {
        meta.insert(SUBSCRIPTION_ID.to_owned(), id);
        serde_json::value::to_raw_value(&meta).ok()
    });
    if let Some(token) = &token {
        params.insert("progressToken".to_owned(), token);
    }
    if let Some(cancelled) = &cancelled {
        params.insert("requestId".to_owned(), cancelled);
    }
    if let Some(meta) = &new_meta {
        params.insert("_meta".to_owned(), meta);
    }
    if token.is_none() && cancelled.is_none() && new_meta.is_none() {
        return None;
    }
    let params = serde_json::value::to_raw_value(&params).ok()?;
    message.insert("params".to_owned(), &params);
    serde_json::to_vec(&message).ok()
}

/// The member of `_meta` that contains the id of the request that opened the notification's stream
/// (since 2026-07-28).
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_CALLS: &str = r#"
{"t":0,"dir":"out","message":{"jsonrpc":"2.0","id":1,"method":"a"}}
{"t":0,"dir":"out","message":{"jsonrpc":"2.0","id":2,"method":"b"}}
{"t":1,"dir":"in","message":{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1.0}}}
{"t":1,"dir":"in","message":{"jsonrpc":"2.0","id":2,"result":{"z":1.50,"a":2}}}
{"t":2,"dir":"out","message":{"jsonrpc":"2.0","method":"c"}}
{"t":3,"dir":"in","text":"bye"}
{"t":3,"dir":"in","too_long":{"bytes":9,"id":1,"response":true}}"#;

    fn given(script: &mut Script) -> Option<String> {
        let received = script.give().expect("no mismatch")?;
        Some(match received {
            Received::Message(message) => String::from_utf8(message.text).expect("UTF-8"),
            other => format!("{other:?}"),
        })
    }

    fn send(script: &mut Script, text: &str) -> Result<()> {
        script.send(text.as_bytes())
    }

    #[test]
    fn messages_come_when_it_is_their_turn_with_ids_of_now() {
        let mut script = Script::read(TWO_CALLS).expect("a trace");
        assert!(!script.can_give());
        send(&mut script, r#"{"jsonrpc":"2.0","id":"x","method":"b"}"#).expect("expected");
        assert_eq!(given(&mut script), None);
        send(&mut script, r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#).expect("expected");
        assert!(script.can_give());
        let progress = given(&mut script).expect("progress");
        assert!(progress.contains(r#""progressToken":"x""#), "{progress}");
        let result = given(&mut script).expect("a result");
        assert_eq!(
            result,
            r#"{"id":"x","jsonrpc":"2.0","result":{"z":1.50,"a":2}}"#
        );
        assert_eq!(given(&mut script), None);
        let left = script.finish().expect_err("not played").to_string();
        assert!(
            left.contains("3 messages") && left.contains("line 6"),
            "{left}"
        );
        send(&mut script, r#"{"jsonrpc":"2.0","method":"c"}"#).expect("expected");
        assert_eq!(given(&mut script).as_deref(), Some("bye"));
        let long = given(&mut script).expect("too long");
        assert!(long.contains("bytes: 9"), "{long}");
        script.finish().expect("all was played");
        assert!(script.is_over() && !script.can_give());
    }

    #[test]
    fn a_mismatch_tells_the_line_and_stays() {
        let mut script = Script::read(TWO_CALLS).expect("a trace");
        for text in [
            r#"{"jsonrpc":"2.0","method":"c"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
        ] {
            let error = send(&mut script, text).expect_err("not what was recorded");
            let expected = "trace line 2 expects the request a, but the notification c was sent";
            assert_eq!(error.to_string(), expected);
            assert_eq!(error.kind(), ErrorKind::State);
        }
        assert!(script.can_give() && script.give().is_err() && script.finish().is_err());
    }

    #[test]
    fn a_stream_is_tied_to_the_request_of_now() {
        let recorded = br#"{"method":"m","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3,"b":1}}}"#;
        let ids = BTreeMap::from([(RequestId::from(3), RequestId::from(5))]);
        let text = String::from_utf8(with_ids(recorded, &ids, &BTreeSet::new()).expect("changed"))
            .expect("UTF-8");
        let now = r#""_meta":{"b":1,"io.modelcontextprotocol/subscriptionId":5}"#;
        assert!(text.contains(now), "{text}");
        let other = br#"{"method":"m","id":3,"params":{"id":3}}"#;
        assert_eq!(
            with_ids(other, &ids, &BTreeSet::new()),
            None,
            "the peer's own ids stay"
        );
    }

    #[test]
    fn lines_that_are_none_of_a_trace_are_named() {
        for text in [
            "no JSON",
            r#"{"t":0,"dir":"up","message":{}}"#,
            r#"{"t":0,"dir":"in"}"#,
            r#"{"t":0,"dir":"in","message":{},"text":"x"}"#,
            r#"{"t":0,"dir":"out","too_long":{"bytes":1,"response":false}}"#,
        ] {
            let error = Script::read(&format!("\n{text}")).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}");
            assert!(error.to_string().starts_with("trace line 2: "), "{error}");
        }
    }
}
