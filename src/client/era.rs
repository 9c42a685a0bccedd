//! The detection of a server's era from its answers.
//!
//! A server counts as modern only if its answer proves so: the answer is a discovery result, or an
//! error that exists only in the modern era. On a stream, a server that answers with any other
//! error, or with an invalid answer, counts as legacy. A server that does not answer also counts as
//! legacy, but this era is not remembered. Over HTTP, detection fails if there is no answer, or if
//! the answer is about the client and not about the request (such as 401).
//!
//! Spec: Base Protocol, "Versioning"; Transports, stdio, "Backward Compatibility" (2026-07-28).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::error::{Error, ErrorCode, ErrorKind, RpcError};
use crate::schema::tree;
use crate::schema::{DiscoverResult, ProtocolVersion};
use crate::sync::Mutex;

/// The era of a revision. Each era has its own way to open a connection.
///
/// # Examples
///
/// ```
/// use mcplink::client::{Client, Era};
/// use mcplink::schema::ProtocolVersion;
///
/// assert_eq!(Era::of(ProtocolVersion::V2025_11_25), Era::Legacy);
/// // The era of the server is known, so the client need not detect it.
/// let builder = Client::builder("host", "1.0").era(Era::Modern);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// The era up to 2025-11-25: `initialize` opens the connection.
    Legacy,
    /// The era since 2026-07-28: every request is self-contained.
    Modern,
}

impl Era {
    /// Returns the era of a revision.
    pub fn of(revision: ProtocolVersion) -> Self {
        if revision.is_modern() {
            Self::Modern
        } else {
            Self::Legacy
        }
    }
}

/// A table of the eras of servers, by address: a command line or a URL origin, for example. If the
/// table contains the era of a server, later connections need not detect the era. The table is
/// thread-safe.
///
/// Clones share the table, which exists until the last clone is dropped. To use the eras after
/// that, a host can store the [`entries`](Self::entries).
///
/// # Examples
///
/// ```
/// use mcplink::client::{Client, Era, EraMemory};
///
/// let eras = EraMemory::new();
/// eras.remember("weather-server --stdio", Era::Legacy); // from a file of the host
/// let builder = Client::builder("host", "1.0").era_memory(&eras);
///
/// // After the connections, the host writes the eras to its file.
/// assert_eq!(eras.entries(), [("weather-server --stdio".to_owned(), Era::Legacy)]);
/// ```
#[derive(Clone, Default)]
pub struct EraMemory(Arc<Mutex<HashMap<String, Era>>>);

impl EraMemory {
    /// Creates a table without entries. To restore entries that the host has stored, call
    /// [`remember`](Self::remember) for each entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the remembered era of the server at an address; `None` if no era is remembered.
    pub fn recall(&self, address: &str) -> Option<Era> {
        self.0.lock().get(address).copied()
    }

    /// Remembers the era of the server at an address.
    pub fn remember(&self, address: impl Into<String>, era: Era) {
        self.0.lock().insert(address.into(), era);
    }

    /// Forgets the era of the server at an address.
    pub fn forget(&self, address: &str) {
        self.0.lock().remove(address);
    }

    /// Returns all remembered addresses with their eras.
    pub fn entries(&self) -> Vec<(String, Era)> {
        self.0
            .lock()
            .iter()
            .map(|(address, era)| (address.clone(), *era))
            .collect()
    }
}

impl fmt::Debug for EraMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries()).finish()
    }
}

/// Returns the address under which an era is remembered. For a URL this is the origin, because the
/// era does not depend on the path. Any other address is returned unchanged.
// M-VER-C-09
pub(super) fn holder(address: &str) -> &str {
    let is_url = |scheme| matches!(scheme, "http" | "https" | "http+unix");
    let Some((scheme, rest)) = address
        .split_once("://")
        .filter(|(scheme, _)| is_url(scheme))
    else {
        return address;
    };
    let host = rest.find(['/', '?']).unwrap_or(rest.len());
    &address[..scheme.len() + "://".len() + host]
}

/// The next step of the client after a probe with `server/discover`.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The server is modern and supports this revision.
    Modern(ProtocolVersion, Box<DiscoverResult>),
    /// The server is modern. The probe has to be repeated in this revision.
    AskAgain(ProtocolVersion),
    /// The server is legacy and has to be initialized. If no legacy revision is allowed, connecting
    /// fails with this error.
    Legacy(Error),
    /// The server has exited. The server has to be started again and initialized.
    Left(Error),
    /// The server read the probe and did not answer in time. The server has to be initialized,
    /// because there is no evidence that it is modern.
    Silent(Error),
    /// No connection to the server is possible.
    Hopeless(Error),
}

/// Returns the next step after the answer to a probe. `ours` are the revisions that the client
/// allows. Over HTTP, no connection is possible if there is no answer, or if the answer concerns
/// the client and not the request.
pub(super) fn judge(
    answer: Result<&str, Error>,
    ours: &[ProtocolVersion],
    over_http: bool,
    strict: bool,
) -> Verdict {
    match answer {
        Ok(result) => judge_result(result, ours, strict),
        Err(error) if over_http && is_about_the_client(&error) => Verdict::Hopeless(error),
        Err(error) => match error.rpc().map(|rpc| (rpc.code, rpc.clone())) {
            Some((ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, rpc)) => {
                judge_refusal(&rpc, error, ours)
            }
            Some((
                ErrorCode::HEADER_MISMATCH | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
                _,
            )) => Verdict::Hopeless(error),
            Some(_) => Verdict::Legacy(error),
            None if over_http => match error.kind() {
                ErrorKind::Protocol => Verdict::Legacy(error),
                _ if is_a_refusal(&error) => Verdict::Legacy(error),
                _ => Verdict::Hopeless(error),
            },
            None => match error.kind() {
                ErrorKind::Timeout | ErrorKind::Protocol | ErrorKind::Limit => {
                    Verdict::Legacy(error)
                }
                ErrorKind::Closed | ErrorKind::Io => Verdict::Left(error),
                _ => Verdict::Hopeless(error),
            },
        },
    }
}

/// Whether an HTTP answer refuses this request. Returns false if the answer refuses the client.
pub(super) fn is_a_refusal(error: &Error) -> bool {
    error.http_status().is_some() && !is_about_the_client(error)
}

/// Whether an HTTP answer concerns the client and not this request. Such an answer tells the client
/// to authenticate, to send fewer requests, or to try again later.
fn is_about_the_client(error: &Error) -> bool {
    match error.http_status() {
        Some(403) => error.http_challenge().is_some(),
        status => matches!(status, Some(401 | 429 | 503)),
    }
}

/// Whether the server may have refused `initialize` because of the probe before it, for example
/// with "already initialized".
pub(super) fn may_be_due_to_the_probe(error: &Error) -> bool {
    // The excluded statuses concern authorization, a missing endpoint, or a gateway.
    let says_so = |status| !matches!(status, 401 | 403..=405 | 407 | 429 | 502..=504);
    match (error.rpc(), error.http_status()) {
        (Some(rpc), _) => rpc.code != ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        (None, Some(status)) => says_so(status),
        (None, None) => false,
    }
}

fn judge_result(result: &str, ours: &[ProtocolVersion], strict: bool) -> Verdict {
    let discovered = match strict {
        true => tree::read_strictly(result),
        false => tree::read_entries(result).map(|(discovered, _)| discovered),
    };
    let discovered: DiscoverResult = match discovered {
        Ok(discovered) => discovered,
        Err(error) => {
            let text = format!("the answer to server/discover can't be read: {error}");
            return Verdict::Legacy(Error::new(ErrorKind::Protocol, text).sent(true));
        }
    };
    let theirs = known(&discovered.supported_versions);
    match (
        newest_common(&theirs, ours, Era::Modern),
        newest_common(&theirs, ours, Era::Legacy),
    ) {
        (Some(revision), _) => Verdict::Modern(revision, Box::new(discovered)),
        (None, Some(_)) => Verdict::Legacy(no_common(&discovered.supported_versions, ours)),
        (None, None) => Verdict::Hopeless(no_common(&discovered.supported_versions, ours)),
    }
}

fn judge_refusal(rpc: &RpcError, error: Error, ours: &[ProtocolVersion]) -> Verdict {
    // Without the list it is not the error of the modern era, which requires the list.
    let Some(supported) = supported_by(rpc) else {
        return Verdict::Legacy(error);
    };
    let theirs = known(&supported);
    match (
        newest_common(&theirs, ours, Era::Modern),
        newest_common(&theirs, ours, Era::Legacy),
    ) {
        (Some(revision), _) => Verdict::AskAgain(revision),
        (None, Some(_)) => Verdict::Legacy(error),
        (None, None) => Verdict::Hopeless(no_common(&supported, ours)),
    }
}

/// Returns the supported revisions that an error of the server names.
pub(super) fn supported_by(rpc: &RpcError) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    let data = rpc.data.as_ref()?;
    serde_json::from_str::<Data>(data.get())
        .ok()
        .map(|data| data.supported)
}

/// Returns the newest revision of an era that both sides support.
pub(super) fn newest_common(
    theirs: &[ProtocolVersion],
    ours: &[ProtocolVersion],
    era: Era,
) -> Option<ProtocolVersion> {
    let common = ours
        .iter()
        .copied()
        .filter(|revision| Era::of(*revision) == era && theirs.contains(revision));
    common.max()
}

pub(super) fn known(versions: &[String]) -> Vec<ProtocolVersion> {
    versions
        .iter()
        .filter_map(|version| version.parse().ok())
        .collect()
}

pub(super) fn no_common(theirs: &[String], ours: &[ProtocolVersion]) -> Error {
    let ours: Vec<&str> = ours.iter().map(|revision| revision.as_str()).collect();
    let text = format!(
        "no common protocol version: the server speaks {}, this client may speak {} (revisions)",
        theirs.join(", "),
        ours.join(", ")
    );
    Error::new(ErrorKind::Unsupported, text).sent(true)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const ALL: &[ProtocolVersion] = ProtocolVersion::ALL;

    fn refusal(code: ErrorCode, data: Option<&str>) -> Result<String, Error> {
        let mut rpc = RpcError::new(code, "no");
        if let Some(data) = data {
            rpc = rpc
                .with_data(
                    &serde_json::value::RawValue::from_string(data.to_owned()).expect("JSON"),
                )
                .expect("JSON");
        }
        Err(Error::peer("p", "server/discover", rpc))
    }

    fn check(answer: Result<String, Error>, ours: &[ProtocolVersion], expected: &str) {
        let what = format!("{answer:?}");
        let answer = answer.as_deref().map_err(Clone::clone);
        let verdict = match judge(answer, ours, false, false) {
            Verdict::Modern(revision, _) => format!("modern {revision}"),
            Verdict::AskAgain(revision) => format!("again {revision}"),
            Verdict::Legacy(_) => "legacy".to_owned(),
            Verdict::Left(_) => "left".to_owned(),
            Verdict::Silent(_) => "silent".to_owned(),
            Verdict::Hopeless(_) => "hopeless".to_owned(),
        };
        assert_eq!(verdict, expected, "{what}");
    }

    fn discovered(versions: &str) -> Result<String, Error> {
        Ok(format!(
            r#"{{"resultType":"complete","supportedVersions":{versions},"capabilities":{{}},"ttlMs":0,"cacheScope":"private"}}"#
        ))
    }

    // M-VER-C-13, M-VER-C-14, M-STDIO-C-13, M-VER-C-18, AMB-43
    #[test]
    fn only_positive_evidence_means_modern() {
        check(discovered(r#"["2026-07-28"]"#), ALL, "modern 2026-07-28");
        check(
            discovered(r#"["2025-11-25","2026-07-28","2099-01-01"]"#),
            ALL,
            "modern 2026-07-28",
        );
        for code in [
            ErrorCode::METHOD_NOT_FOUND,
            ErrorCode::INVALID_PARAMS,
            ErrorCode::INVALID_REQUEST,
            ErrorCode::INTERNAL_ERROR,
        ] {
            check(refusal(code, None), ALL, "legacy");
        }
        check(
            refusal(ErrorCode::application(-31000).expect("free"), None),
            ALL,
            "legacy",
        );
        check(Ok(r#"{"tools":[]}"#.to_owned()), ALL, "legacy");
        check(Ok("[]".to_owned()), ALL, "legacy");
        check(
            Err(Error::new(ErrorKind::Timeout, "silence")),
            ALL,
            "legacy",
        );
        check(
            Err(Error::new(ErrorKind::Protocol, "garbage")),
            ALL,
            "legacy",
        );
        check(Err(Error::new(ErrorKind::Closed, "gone")), ALL, "left");
        for code in [
            ErrorCode::HEADER_MISMATCH,
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        ] {
            check(refusal(code, None), ALL, "hopeless");
        }
    }

    // M-VER-C-02, AMB-03, AMB-45, M-DISC-C-04
    #[test]
    fn a_refusal_names_what_to_speak() {
        let code = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
        check(
            refusal(
                code,
                Some(r#"{"supported":["2026-07-28"],"requested":"x"}"#),
            ),
            ALL,
            "again 2026-07-28",
        );
        check(
            refusal(
                code,
                Some(r#"{"supported":["2025-06-18"],"requested":"x"}"#),
            ),
            ALL,
            "legacy",
        );
        check(
            refusal(
                code,
                Some(r#"{"supported":["2099-01-01"],"requested":"x"}"#),
            ),
            ALL,
            "hopeless",
        );
        check(refusal(code, Some(r#"{"supported":[]}"#)), ALL, "hopeless");
        check(refusal(code, None), ALL, "legacy");
        check(refusal(code, Some("{}")), ALL, "legacy");
        check(discovered(r#"["2099-01-01"]"#), ALL, "hopeless");
        check(discovered(r#"["2025-11-25"]"#), ALL, "legacy");
        check(
            discovered(r#"["2025-11-25"]"#),
            &[ProtocolVersion::V2026_07_28],
            "hopeless",
        );
    }

    // M-VER-C-09
    #[test]
    fn a_verdict_holds_for_the_origin() {
        for (address, expected) in [
            ("http://h:1/a/b", "http://h:1"),
            ("https://h?12", "https://h"),
            ("https://h", "https://h"),
            ("http+unix://%2Fs/mcp", "http+unix://%2Fs"),
            ("server --url http://h/x", "server --url http://h/x"),
        ] {
            assert_eq!(holder(address), expected);
        }
    }

    // M-VER-C-09
    #[test]
    fn the_memory_is_shared_and_can_be_stored() {
        let memory = EraMemory::new();
        memory.clone().remember("server --x", Era::Legacy);
        assert_eq!(memory.recall("server --x"), Some(Era::Legacy));
        assert_eq!(memory.entries(), [("server --x".to_owned(), Era::Legacy)]);
        memory.forget("server --x");
        assert_eq!(memory.recall("server --x"), None);
    }
}
