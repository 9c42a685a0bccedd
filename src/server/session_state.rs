//! The client info of a request: revision, client and capabilities. The client sends it in the
//! request itself or in `initialize`.
//!
//! ```text
//!  _meta names a revision ──▶ modern: this client info, for this request only
//!  it names none ──▶ initialize was answered ──▶ legacy: the client info of that answer
//!                └─▶ not yet ──▶ refused
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use crate::error::{ErrorCode, RpcError};
use crate::jsonrpc::raw_object::RawObject;
use crate::schema::tree;
use crate::schema::{
    ClientCapabilities, Implementation, InitializeRequestParams, LoggingLevel, ProgressToken,
    ProtocolVersion, RequestMetaObject,
};
use crate::sync::Mutex;

/// The client info of a request: its revision, and the client's capabilities and name.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientContext {
    /// The revision that the request uses.
    pub revision: ProtocolVersion,
    /// The client's capabilities.
    pub capabilities: ClientCapabilities,
    /// The name and version that the client gave. Use it for display and logs, not for decisions.
    // M-META-B-16, M-META-B-17
    pub client_info: Option<Implementation>,
}

/// The client info of the latest connection. If the next client has equal client info, both clients
/// share one copy in memory.
#[derive(Debug, Default)]
pub(super) struct LatestContext(Mutex<Weak<ClientContext>>);

impl LatestContext {
    /// Returns client info that equals `terms`. If the latest client has equal client info, both
    /// clients share one copy in memory.
    fn share(&self, terms: ClientContext) -> Arc<ClientContext> {
        let mut latest = self.0.lock();
        let known = latest.upgrade().filter(|known| **known == terms);
        known.unwrap_or_else(|| {
            let terms = Arc::new(terms);
            *latest = Arc::downgrade(&terms);
            terms
        })
    }
}

/// The state of one conversation between the server and a peer.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    /// The client info that was agreed in `initialize`. Unset until `initialize` was answered.
    agreed: OnceLock<Arc<ClientContext>>,
    /// The severity of the minimum level that the client set with `logging/setLevel`, plus one. 0
    /// if the client set none. The value orders no other memory accesses.
    log_level: AtomicU8,
    /// The latest `_meta` that a modern client sent, with its parsed form. The parsed form is used
    /// again for the next requests, since their `_meta` usually differs only in the progress token.
    latest: Mutex<Option<Box<Known>>>,
}

/// The maximum length of a cached `_meta`, in bytes. A longer `_meta` is not cached.
const MAX_CACHED: usize = 1024;

/// A parsed `_meta`: first its members without the client info, then the client info.
type Read = (Arc<RequestMetaObject>, Arc<ClientContext>);

/// A cached `_meta` and its parsed form.
#[derive(Debug)]
struct Known {
    text: Box<str>,
    /// The range of the progress token's value in `text`, if there is a token.
    token: Option<Range<usize>>,
    /// The parsed `_meta`, without the members that are part of the client info.
    meta: Arc<RequestMetaObject>,
    terms: Arc<ClientContext>,
}

impl Known {
    /// Returns the parsed form of `text`, if `text` equals the cached `_meta`. The values of the
    /// progress token may differ.
    fn meta_of(&self, text: &str) -> Option<Arc<RequestMetaObject>> {
        let Some(token) = &self.token else {
            return (*self.text == *text).then(|| Arc::clone(&self.meta));
        };
        let (front, rest) = (&self.text[..token.start], &self.text[token.end..]);
        let token = text.strip_prefix(front)?.strip_suffix(rest)?;
        let mut meta = (*self.meta).clone();
        // The text between may be more than a single JSON value; then `from_json` returns `None`.
        meta.progress_token = Some(ProgressToken::from_json(token)?);
        Some(Arc::new(meta))
    }
}

/// Returns the range of the progress token's value in the text of a `_meta`.
fn range_of_token(text: &str) -> Option<Range<usize>> {
    let (_, token) = RawObject::of(text).find(|(key, _)| key == "progressToken")?;
    let start = token.as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + token.len())
}

impl SessionState {
    /// Creates the state for legacy HTTP clients without a session. Only the revision of these
    /// clients is known.
    #[cfg(feature = "http-server")]
    pub(super) fn agreed_on(revision: ProtocolVersion) -> Self {
        let terms = ClientContext {
            revision,
            capabilities: ClientCapabilities::default(),
            client_info: None,
        };
        Self {
            agreed: Arc::new(terms).into(),
            ..Self::default()
        }
    }

    /// Returns the negotiated revision.
    #[cfg(feature = "http-server")]
    pub(super) fn revision(&self) -> Option<ProtocolVersion> {
        self.agreed.get().map(|terms| terms.revision)
    }

    /// Returns whether `initialize` was answered.
    pub(super) fn is_agreed(&self) -> bool {
        self.agreed.get().is_some()
    }

    /// Sets the minimum level, which is one of the eight levels of the specification.
    pub(super) fn set_log_level(&self, level: &LoggingLevel) {
        let severity = level.severity().map_or(0, |severity| severity + 1);
        self.log_level.store(severity, Ordering::Relaxed);
    }

    /// Returns whether a legacy client wants log messages of this level.
    ///
    /// The specification lets the server choose the minimum level until the client sets one. This
    /// server chooses *info*, so that a client that ignores logs is not flooded.
    pub(super) fn wants_log(&self, level: &LoggingLevel) -> bool {
        const INFO: u8 = 1;
        let set = self.log_level.load(Ordering::Relaxed);
        let minimum = set.checked_sub(1).unwrap_or(INFO);
        level.severity().is_none_or(|severity| severity >= minimum)
    }

    /// Returns the client info of a request. In the modern era, the client info is moved out of the
    /// `_meta`.
    pub(super) fn terms(
        &self,
        meta: Option<&mut RequestMetaObject>,
        served: &[ProtocolVersion],
    ) -> Result<Arc<ClientContext>, RpcError> {
        match meta {
            Some(meta) if meta.protocol_version.is_some() => {
                modern_terms(meta, served).map(Arc::new)
            }
            _ => self.agreed.get().cloned().ok_or_else(|| not_opened(served)),
        }
    }

    /// Returns the client info in the text of a `_meta`, and the other members of the `_meta`. Uses
    /// the cache if possible. Fails when the text can't be parsed.
    pub(super) fn read_terms(
        &self,
        text: &str,
        served: &[ProtocolVersion],
    ) -> serde_json::Result<Result<Read, RpcError>> {
        let latest = self.latest.lock();
        if let Some(known) = &*latest
            && let Some(meta) = known.meta_of(text)
        {
            return Ok(Ok((meta, Arc::clone(&known.terms))));
        }
        drop(latest);
        let mut meta: RequestMetaObject = tree::read(text)?;
        let is_modern = is_modern(Some(&meta));
        let terms = self.terms(Some(&mut meta), served);
        let meta = Arc::new(meta);
        let token = range_of_token(text);
        let may_return = is_modern && text.len() <= MAX_CACHED;
        let token_matches = token.is_some() == meta.progress_token.is_some();
        if let (true, Ok(terms)) = (may_return && token_matches, &terms) {
            let known = Known {
                text: text.into(),
                token,
                meta: Arc::clone(&meta),
                terms: Arc::clone(terms),
            };
            let replaced = self.latest.lock().replace(Box::new(known));
            drop(replaced);
        }
        Ok(terms.map(|terms| (meta, terms)))
    }

    /// Negotiates the revision in `initialize`, and stores the client info. Fails if `initialize`
    /// was answered already. Connections with equal client info share one copy in memory.
    pub(super) fn agree(
        &self,
        params: InitializeRequestParams,
        served: &[ProtocolVersion],
        latest_terms: &LatestContext,
    ) -> Result<ProtocolVersion, RpcError> {
        let mut legacy = served
            .iter()
            .copied()
            .filter(|revision| revision.is_legacy());
        let Some(latest) = legacy.clone().max() else {
            return Err(unsupported_version(&params.protocol_version, served));
        };
        let revision = legacy
            .find(|revision| revision.as_str() == params.protocol_version)
            .unwrap_or(latest);
        let terms = ClientContext {
            revision,
            capabilities: params.capabilities,
            client_info: Some(params.client_info),
        };
        match self.agreed.set(latest_terms.share(terms)) {
            Ok(()) => Ok(revision),
            Err(_) => Err(RpcError::invalid_request(
                "initialize was answered already on this connection",
            )),
        }
    }
}

/// Returns whether a request declares a revision of the modern era.
pub(super) fn is_modern(meta: Option<&RequestMetaObject>) -> bool {
    meta.is_some_and(|meta| meta.protocol_version.is_some())
}

fn modern_terms(
    meta: &mut RequestMetaObject,
    served: &[ProtocolVersion],
) -> Result<ClientContext, RpcError> {
    let requested = meta.protocol_version.take().unwrap_or_default();
    let known = served
        .iter()
        .copied()
        .find(|revision| revision.is_modern() && revision.as_str() == requested);
    let Some(revision) = known else {
        return Err(unsupported_version(&requested, served));
    };
    let Some(capabilities) = meta.client_capabilities.take() else {
        return Err(RpcError::invalid_params(
            "params._meta lacks io.modelcontextprotocol/clientCapabilities",
        ));
    };
    Ok(ClientContext {
        revision,
        capabilities,
        client_info: meta.client_info.take(),
    })
}

fn not_opened(served: &[ProtocolVersion]) -> RpcError {
    let modern = served.iter().any(|revision| revision.is_modern());
    let legacy = served.iter().any(|revision| revision.is_legacy());
    RpcError::invalid_params(match (modern, legacy) {
        (true, true) => {
            "params._meta lacks io.modelcontextprotocol/protocolVersion, and initialize was not sent before"
        }
        (true, false) => "params._meta lacks io.modelcontextprotocol/protocolVersion",
        _ => "initialize has to be sent before",
    })
}

/// Returns the error for an unsupported revision.
pub(super) fn unsupported_version(requested: &str, served: &[ProtocolVersion]) -> RpcError {
    let names: Vec<&str> = served.iter().map(|revision| revision.as_str()).collect();
    let supported = names.join(", ");
    let text = format!("unsupported protocol version; supported: {supported}");
    let data = serde_json::json!({ "supported": names, "requested": requested });
    RpcError::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, text).with_json(&data)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn newest_first() -> Vec<ProtocolVersion> {
        ProtocolVersion::ALL.iter().rev().copied().collect()
    }

    fn initialize(version: &str) -> InitializeRequestParams {
        let mut params = InitializeRequestParams::new(
            ProtocolVersion::LATEST_LEGACY,
            ClientCapabilities::default(),
            Implementation::new("c", "1"),
        );
        params.protocol_version = version.to_owned();
        params
    }

    fn meta(version: Option<&str>) -> RequestMetaObject {
        let mut meta =
            RequestMetaObject::new(ProtocolVersion::LATEST, ClientCapabilities::default());
        meta.protocol_version = version.map(str::to_owned);
        meta
    }

    // L-INIT-S-09, L-INIT-S-10, L-INIT-S-11, L-INIT-S-25, AMB-60
    #[test]
    fn initialize_agrees_on_the_revision_asked_for_or_the_latest_legacy_one() {
        for asked in ProtocolVersion::LEGACY {
            let agreed = SessionState::default().agree(
                initialize(asked.as_str()),
                &newest_first(),
                &LatestContext::default(),
            );
            assert_eq!(agreed.expect("agreed"), *asked);
        }
        for asked in ["1900-01-01", "2026-07-28", ""] {
            let agreed = SessionState::default().agree(
                initialize(asked),
                &newest_first(),
                &LatestContext::default(),
            );
            assert_eq!(
                agreed.expect("agreed"),
                ProtocolVersion::V2025_11_25,
                "{asked}"
            );
        }
    }

    // M-VER-S-11, M-ERR-S-11
    #[test]
    fn a_modern_server_answers_initialize_with_what_it_serves() {
        let error = SessionState::default()
            .agree(
                initialize("2025-11-25"),
                &[ProtocolVersion::V2026_07_28],
                &LatestContext::default(),
            )
            .expect_err("refused");
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        let data = error.data.expect("data").get().to_owned();
        assert_eq!(
            data,
            r#"{"requested":"2025-11-25","supported":["2026-07-28"]}"#
        );
        assert!(error.message.contains("2026-07-28"));
    }

    // M-VER-S-01, AMB-03
    #[test]
    fn an_envelope_of_another_revision_is_refused() {
        for version in ["1900-01-01", "2025-11-25", ""] {
            let error =
                SessionState::default().terms(Some(&mut meta(Some(version))), &newest_first());
            assert_eq!(
                error.expect_err(version).code,
                ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            );
        }
        let error = SessionState::default()
            .terms(Some(&mut meta(Some("2026-07-28"))), ProtocolVersion::LEGACY)
            .expect_err("switched off");
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
    }

    // M-META-S-08, L-INIT-B-01
    #[test]
    fn a_request_without_terms_is_refused_with_what_is_missing() {
        let conversation = SessionState::default();
        let mut without_capabilities = meta(Some("2026-07-28"));
        without_capabilities.client_capabilities = None;
        for (mut meta, missing) in [
            (meta(None), "protocolVersion"),
            (without_capabilities, "clientCapabilities"),
        ] {
            let error = conversation
                .terms(Some(&mut meta), &newest_first())
                .expect_err(missing);
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
            assert!(error.message.contains(missing), "{error}");
        }
        assert_eq!(
            conversation
                .terms(None, &newest_first())
                .expect_err("none")
                .code,
            ErrorCode::INVALID_PARAMS
        );
    }

    // M-STATE-S-01, M-VER-S-15
    #[test]
    fn modern_terms_are_forgotten_and_legacy_ones_kept() {
        let conversation = SessionState::default();
        let modern = |conversation: &SessionState| {
            let terms = conversation
                .terms(Some(&mut meta(Some("2026-07-28"))), &newest_first())
                .expect("modern");
            terms.revision
        };
        assert_eq!(modern(&conversation), ProtocolVersion::V2026_07_28);
        assert!(conversation.terms(None, &newest_first()).is_err());
        conversation
            .agree(
                initialize("2024-11-05"),
                &newest_first(),
                &LatestContext::default(),
            )
            .expect("agreed");
        let terms = conversation.terms(None, &newest_first()).expect("legacy");
        assert_eq!(terms.revision, ProtocolVersion::V2024_11_05);
        assert_eq!(modern(&conversation), ProtocolVersion::V2026_07_28);
    }

    // M-STATE-S-01
    #[test]
    fn what_is_remembered_of_a_meta_is_what_its_text_says() {
        let conversation = SessionState::default();
        let read = |name: &str, more: &str| {
            let text = format!(
                r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"io.modelcontextprotocol/clientInfo":{{"name":"{name}","version":"1"}}{more}}}"#
            );
            let read = conversation.read_terms(&text, &newest_first());
            let (meta, terms) = read.expect("JSON").expect("modern");
            let info = terms.client_info.as_ref().expect("said");
            assert_eq!(info.name, name);
            assert_eq!(meta.client_info, None);
            (meta, terms)
        };
        let (_, first) = read("a", "");
        assert!(Arc::ptr_eq(&first, &read("a", "").1));
        let (meta, other) = read("b", r#","x":1"#);
        assert!(!Arc::ptr_eq(&first, &other));
        assert_eq!(meta, read("b", r#","x":1"#).0);
        // The token belongs to its request only; all else is shared.
        let (_, cached) = read("b", r#","progressToken":7,"x":1"#);
        for token in [
            "7",
            "8",
            r#""seven""#,
            r#""\u0037""#,
            "-7",
            "123456789012345678901",
        ] {
            let (meta, terms) = read("b", &format!(r#","progressToken":{token},"x":1"#));
            assert_eq!(meta.progress_token, ProgressToken::from_json(token));
            assert!(Arc::ptr_eq(&cached, &terms) && meta.extra.contains_key("x"));
        }
        let (meta, terms) = read("b", r#","progressToken":7"#);
        assert!(meta.progress_token.is_some() && !Arc::ptr_eq(&cached, &terms));
        assert_eq!(read("b", r#","x":1"#).0.progress_token, None);
        assert_eq!(read("a", "").0.progress_token, None);
        assert!(conversation.read_terms("[1]", &newest_first()).is_err());
        // The text between an equal beginning and an equal end must be a single value.
        let known = r#"{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let known = |token: &str| known.replace("n\":1", &format!("n\":{token}"));
        let read = |token| conversation.read_terms(&known(token), &newest_first());
        assert!(read("1").expect("JSON").is_ok());
        let (meta, _) = read(r#"2,"x":3"#).expect("JSON").expect("modern");
        assert!(meta.extra.contains_key("x"));
        assert!(read("1").expect("JSON").is_ok());
        for wrong in ["{}", "1.5", r#"1,"progressToken":2"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let refused = conversation.read_terms("{}", &newest_first());
        assert!(refused.expect("JSON").is_err(), "initialize was not sent");
    }

    // L-INIT-S-24
    #[test]
    fn a_second_initialize_is_refused() {
        let conversation = SessionState::default();
        conversation
            .agree(
                initialize("2025-06-18"),
                &newest_first(),
                &LatestContext::default(),
            )
            .expect("first");
        let error = conversation
            .agree(
                initialize("2025-06-18"),
                &newest_first(),
                &LatestContext::default(),
            )
            .expect_err("second");
        assert_eq!(error.code, ErrorCode::INVALID_REQUEST);
    }

    #[test]
    fn clients_that_say_the_same_share_it() {
        let latest = LatestContext::default();
        let agreed = |version| {
            let conversation = SessionState::default();
            let agreed = conversation.agree(initialize(version), &newest_first(), &latest);
            agreed.expect("it is served");
            conversation.terms(None, &newest_first()).expect("agreed")
        };
        let [first, second, other] = ["2025-06-18", "2025-06-18", "2025-11-25"].map(agreed);
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        assert_eq!(other.revision, ProtocolVersion::V2025_11_25);
    }
}
