//! Members that all results have in common.

use std::time::Duration;

use super::json::{Count, millis};
use super::meta::ResultMetaObject;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::raw_object::RawObject;

open_enum! {
    /// The kind of a result. An absent kind means *complete*. Since 2026-07-28.
    ///
    /// Only this member distinguishes an [`InputRequiredResult`](super::InputRequiredResult) from
    /// other results, because every object could be read as an `InputRequiredResult`. An unknown
    /// kind makes the response invalid. The unknown kind is stored for the error text.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResultType;
    ///
    /// let answer = r#"{"resultType":"input_required","requestState":"3f"}"#;
    /// assert_eq!(ResultType::of(answer)?, ResultType::InputRequired);
    /// assert_eq!(ResultType::of(r#"{"content":[]}"#)?, ResultType::Complete);
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub enum ResultType {
        /// The result is the ordinary result of the request's method.
        Complete = "complete",
        /// The result is an [`InputRequiredResult`](super::InputRequiredResult).
        InputRequired = "input_required",
        /// The result is a task of the tasks extension.
        Task = "task",
    }
}

impl ResultType {
    /// Reads only the first `resultType` of a result's JSON text, and ignores all other members.
    /// Returns [`Complete`](Self::Complete) if the result has no `resultType`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] when the text is not an object or its `resultType` is not a string.
    pub fn of(json: &str) -> Result<Self> {
        if !json.trim_ascii_start().starts_with('{') {
            let error = Error::new(ErrorKind::Protocol, "result is not an object");
            return Err(error.with_result(json));
        }
        let Some((_, kind)) = RawObject::of(json).find(|(key, _)| key == "resultType") else {
            return Ok(Self::Complete);
        };
        match serde_json::from_str::<Option<Self>>(kind) {
            Ok(kind) => Ok(kind.unwrap_or(Self::Complete)),
            Err(error) => {
                let text = format!("resultType can't be read: {error}");
                Err(Error::new(ErrorKind::Protocol, text).with_result(json))
            }
        }
    }
}

open_enum! {
    /// Whether users may share a cached result. Since 2026-07-28.
    pub enum CacheScope {
        /// All users may share the cached result.
        Public = "public",
        /// Only requests with the same authorization may share the cached result.
        Private = "private",
    }
}

object! {
    /// A cache hint: the time for which a result may be cached, and whether users may share it.
    /// Since 2026-07-28.
    ///
    /// Spec: Server Features, Utilities, "Caching" (2026-07-28).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcplink::schema::{CacheHint, CacheScope};
    /// use mcplink::server::{List, Server};
    ///
    /// let a_minute = CacheHint::new(Duration::from_secs(60), CacheScope::Public);
    /// assert!(a_minute.is_public() && !a_minute.private().is_public());
    /// let server = Server::builder("clock", "1.0").cache_list(List::Tools, a_minute).build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CacheHint {
        /// The time for which the result stays fresh, in milliseconds. 0 means that the result is
        /// never fresh.
        pub ttl_ms: Option<u64> = "ttlMs" as Count,
        /// Whether users may share the cached result.
        pub cache_scope: Option<CacheScope> = "cacheScope",
    }

    pub(super) fn of(ttl_ms: Option<u64>, cache_scope: Option<CacheScope>);
}

impl CacheHint {
    /// Makes a hint that allows caching for a time. Users may share the result only if `scope` is
    /// public.
    pub fn new(ttl: Duration, scope: CacheScope) -> Self {
        Self {
            ttl_ms: Some(millis(ttl)),
            cache_scope: Some(scope),
        }
    }

    /// Returns a copy of this cache hint with the scope *private*.
    pub fn private(&self) -> Self {
        Self {
            ttl_ms: self.ttl_ms,
            cache_scope: self.cache_scope.as_ref().map(|_| CacheScope::Private),
        }
    }

    /// Returns the time for which the result stays fresh. Returns zero if the hint has no time.
    pub fn ttl(&self) -> Duration {
        Duration::from_millis(self.ttl_ms.unwrap_or(0))
    }

    /// Whether all users may share the cached result.
    pub fn is_public(&self) -> bool {
        self.cache_scope == Some(CacheScope::Public)
    }
}

object! {
    /// A result without members of its own. The specification calls it `Result`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Handlers;
    /// use mcplink::schema::EmptyResult;
    ///
    /// let handlers = Handlers::new().request("ping", |_, responder| {
    ///     _ = responder.respond(&EmptyResult::default());
    /// });
    /// assert_eq!(serde_json::json!(EmptyResult::default()), serde_json::json!({}));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct EmptyResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra
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
