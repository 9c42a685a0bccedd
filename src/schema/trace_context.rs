//! Trace context: identifies the distributed trace that a request belongs to.
//!
//! Spec: Base Protocol, "`_meta`" (2026-07-28). W3C Trace Context; W3C Baggage.

use super::meta::{RequestMetaObject, meta_key};
use super::meta_rules::{is_valid_baggage, is_valid_traceparent, is_valid_tracestate};
use super::tree::JsonObject;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The trace context in the `_meta` of a request: `traceparent`, `tracestate` and `baggage`, each
/// in its W3C format.
///
/// # Examples
///
/// ```
/// use mcplink::client::CallOptions;
/// use mcplink::schema::TraceContext;
///
/// let trace = TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")?;
/// let options = CallOptions::new().trace_context(&trace.with_baggage("user=alice")?);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

/// A member of the trace context: its key, and the function that checks its value.
type Member = (&'static str, fn(&str) -> bool);

const TRACEPARENT: Member = (meta_key::TRACEPARENT, is_valid_traceparent);
const TRACESTATE: Member = (meta_key::TRACESTATE, is_valid_tracestate);
const BAGGAGE: Member = (meta_key::BAGGAGE, is_valid_baggage);

impl TraceContext {
    /// Makes a trace context with a `traceparent`. [`default`](Self::default) makes a trace context
    /// without a `traceparent`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `traceparent` does not have the W3C format.
    pub fn new(traceparent: &str) -> Result<Self> {
        Ok(Self {
            traceparent: Some(checked(TRACEPARENT, traceparent)?),
            ..Self::default()
        })
    }

    /// Sets the `tracestate`, which belongs to the `traceparent`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `tracestate` does not have the W3C format.
    pub fn with_tracestate(mut self, tracestate: &str) -> Result<Self> {
        self.tracestate = Some(checked(TRACESTATE, tracestate)?);
        Ok(self)
    }

    /// Sets the `baggage` of the trace context.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when `baggage` does not have the W3C format.
    pub fn with_baggage(mut self, baggage: &str) -> Result<Self> {
        self.baggage = Some(checked(BAGGAGE, baggage)?);
        Ok(self)
    }

    /// Returns the `traceparent`: version, trace id, parent id and flags.
    pub fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }

    /// Returns the `tracestate`: data of tracing vendors.
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// Returns the `baggage`: key-value pairs of the application.
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// Whether no member of the trace context is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the members of the trace context that are set, with their keys in `_meta`.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let members = [
            (meta_key::TRACEPARENT, self.traceparent()),
            (meta_key::TRACESTATE, self.tracestate()),
            (meta_key::BAGGAGE, self.baggage()),
        ];
        let there = members.into_iter();
        there.filter_map(|(key, value)| Some((key, value?)))
    }

    /// Checks the trace context in the `_meta` of a message that will be sent.
    pub(crate) fn check(meta: &JsonObject) -> Result<()> {
        for member in [TRACEPARENT, TRACESTATE, BAGGAGE] {
            match meta.get(member.0).map(|value| (value.as_str(), value)) {
                Some((Some(text), _)) => drop(checked(member, text)?),
                Some((None, value)) => return Err(malformed(member.0, &value.to_string())),
                None => {}
            }
        }
        Ok(())
    }
}

fn checked((key, is_valid): Member, text: &str) -> Result<String> {
    if is_valid(text) {
        Ok(text.to_owned())
    } else {
        Err(malformed(key, text))
    }
}

fn malformed(key: &str, text: &str) -> Error {
    let text = format!("{key} '{}' is not in the form of the W3C", Excerpt(text));
    Error::new(ErrorKind::Invalid, text)
}

impl RequestMetaObject {
    /// Returns the trace context of the request. Ignores members that do not have their W3C format,
    /// and a `tracestate` without a `traceparent`.
    pub fn trace_context(&self) -> TraceContext {
        let read = |(key, is_valid): Member| {
            let text = self.extra.get(key)?.as_str()?;
            is_valid(text).then(|| text.to_owned())
        };
        let traceparent = read(TRACEPARENT);
        let tracestate = traceparent.as_ref().and_then(|_| read(TRACESTATE));
        TraceContext {
            traceparent,
            tracestate,
            baggage: read(BAGGAGE),
        }
    }

    /// Adds a trace context to the `_meta`. Members that are already set stay unchanged.
    pub(crate) fn add_trace_context(&mut self, trace: &TraceContext) {
        for (key, value) in trace.members() {
            let value = || serde_json::Value::from(value);
            self.extra.entry(key.to_owned()).or_insert_with(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn meta(text: &str) -> RequestMetaObject {
        serde_json::from_str(text).expect("JSON")
    }

    // M-META-B-19
    #[test]
    fn what_is_not_in_form_is_refused_when_set_and_ignored_when_read() {
        assert!(TraceContext::new("00-0-0-0").is_err());
        let trace = TraceContext::new(PARENT).expect("valid");
        assert!(trace.clone().with_tracestate("a=b,a=c").is_err());
        assert!(trace.clone().with_baggage("no equals sign").is_err());
        let trace = trace
            .with_tracestate("v=1")
            .and_then(|trace| trace.with_baggage("k=v"))
            .expect("valid");
        let read = meta(&format!(
            r#"{{"traceparent":"{PARENT}","tracestate":"v=1","baggage":"k=v"}}"#
        ));
        assert_eq!(read.trace_context(), trace);
        for nonsense in [
            r#"{"traceparent":7,"tracestate":"v=1","baggage":{}}"#,
            r#"{"traceparent":"00-0-0-0","tracestate":"v=1"}"#,
            "{}",
        ] {
            assert!(meta(nonsense).trace_context().is_empty(), "{nonsense}");
        }
        let mut kept = meta(r#"{"baggage":"own=1"}"#);
        kept.add_trace_context(&trace);
        assert_eq!(kept.trace_context().baggage(), Some("own=1"));
        assert_eq!(kept.trace_context().traceparent(), Some(PARENT));
    }
}
