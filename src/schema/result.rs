//! What all results have in common.

use std::time::Duration;

use super::json::{Count, Extra, millis};
use super::meta::ResultMetaObject;
use super::version::{FitTo, ProtocolVersion};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::members::Members;

open_enum! {
    /// Which kind of result a result is. Since 2026-07-28; absent means complete.
    ///
    /// Only this tells an [`InputRequiredResult`](super::InputRequiredResult) from others, since every result has the form of one. An
    /// unknown value makes the response invalid: it is kept for the message that says so.
    pub enum ResultType {
        /// The result that belongs to the method.
        Complete = "complete",
        /// An [`InputRequiredResult`](super::InputRequiredResult).
        InputRequired = "input_required",
        /// A task of the tasks extension.
        Task = "task",
    }
}

impl ResultType {
    /// Reads only the `resultType` of a result's JSON text, the first one; [`Complete`](Self::Complete) when there is none. All else is passed over.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] when the text is not an object or its `resultType` is not a string.
    pub fn of(json: &str) -> Result<Self> {
        if !json.trim_ascii_start().starts_with('{') {
            return Err(Error::new(ErrorKind::Protocol, "result is not an object"));
        }
        let Some((_, kind)) = Members::of(json).find(|(key, _)| key == "resultType") else {
            return Ok(Self::Complete);
        };
        match serde_json::from_str::<Option<Self>>(kind) {
            Ok(kind) => Ok(kind.unwrap_or(Self::Complete)),
            Err(error) => {
                let text = format!("resultType can't be read: {error}");
                Err(Error::new(ErrorKind::Protocol, text))
            }
        }
    }
}

/// Modern results say that they are complete, legacy ones say nothing.
pub(super) fn fit_result_type(result_type: &mut Option<ResultType>, revision: ProtocolVersion) {
    if revision.is_modern() {
        result_type.get_or_insert(ResultType::Complete);
    } else {
        *result_type = None;
    }
}

open_enum! {
    /// Who may share a cached result. Since 2026-07-28.
    pub enum CacheScope {
        /// Everybody.
        Public = "public",
        /// Only those with the same authorization.
        Private = "private",
    }
}

/// How long and by whom a result may be kept. Since 2026-07-28.
///
/// Spec: Server Features, Utilities, "Caching" (2026-07-28).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CacheHint {
    /// For how many milliseconds the result stays fresh; 0 means not at all.
    pub ttl_ms: Option<u64>,
    /// Who may share it.
    pub cache_scope: Option<CacheScope>,
}

members!(CacheHint { ttl_ms = "ttlMs" as Count, cache_scope = "cacheScope" });

impl CacheHint {
    /// Lets a result be kept for a time. It is shared by nobody unless `scope` is public.
    pub fn new(ttl: Duration, scope: CacheScope) -> Self {
        Self {
            ttl_ms: Some(millis(ttl)),
            cache_scope: Some(scope),
        }
    }

    pub(super) fn of(ttl_ms: Option<u64>, cache_scope: Option<CacheScope>) -> Self {
        Self {
            ttl_ms,
            cache_scope,
        }
    }

    /// The same hint for a result that only those with the same authorization may share.
    pub fn private(&self) -> Self {
        Self {
            ttl_ms: self.ttl_ms,
            cache_scope: self.cache_scope.as_ref().map(|_| CacheScope::Private),
        }
    }

    /// How long the result stays fresh; nothing when the hint is absent.
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms.unwrap_or(0))
    }

    /// Whether everybody may share the result.
    pub fn is_public(&self) -> bool {
        self.cache_scope == Some(CacheScope::Public)
    }
}

/// A result without members of its own, `Result` of the specification.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EmptyResult {
    /// Which kind of result it is. Since 2026-07-28.
    pub result_type: Option<ResultType>,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(EmptyResult { result_type = "resultType", meta = "_meta", ..extra });

impl FitTo for EmptyResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.meta.fit_to(revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_result_is_read_from_its_text() {
        fn check(json: &str, expected: Option<&str>) {
            let kind = ResultType::of(json).ok();
            assert_eq!(kind.as_ref().map(ResultType::as_str), expected, "{json}");
        }
        check("{}", Some("complete"));
        check(r#"{"a":1e400,"resultType":"complete"}"#, Some("complete"));
        check(
            r#" {"resultType":"input_required"}"#,
            Some("input_required"),
        );
        check(r#"{"resultType":"later"}"#, Some("later"));
        check(r#"{"resultType":null}"#, Some("complete"));
        check(
            r#"{"a":{"resultType":"task"},"b":"\"resultType\":1"}"#,
            Some("complete"),
        );
        check(r#"{"result\u0054ype":"task"}"#, Some("task"));
        check(r#"{"resultType":1}"#, None);
        check("[]", None);
        check("null", None);
    }

    // M-CACHE-C-07, M-CACHE-C-08
    #[test]
    fn odd_times_to_live_are_read_as_nothing() {
        fn check(json: &str, millis: u64) {
            let hint: CacheHint = serde_json::from_str(json).expect("decodes");
            assert_eq!(hint.ttl(), Duration::from_millis(millis), "{json}");
        }
        check("{}", 0);
        check(r#"{"ttlMs":-5}"#, 0);
        check(r#"{"ttlMs":-5.5}"#, 0);
        check(r#"{"ttlMs":1e3}"#, 1000);
        check(r#"{"ttlMs":7}"#, 7);
        check(r#"{"ttlMs":null}"#, 0);
    }

    #[test]
    fn an_unknown_cache_scope_is_not_public() {
        let hint: CacheHint = serde_json::from_str(r#"{"cacheScope":"team"}"#).expect("decodes");
        assert!(!hint.is_public());
    }
}
