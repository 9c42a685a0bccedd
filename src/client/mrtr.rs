//! Multi round-trip requests: the client repeats a call with answers as long as the server requests
//! input.
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests" (2026-07-28).

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Client;
use super::attempt::Attempt;
use super::cache::Topic;
use super::call_options::CallOptions;
use super::connection::ClientConnection;
use super::input::{Question, Questions};
use super::request_meta::with_answers;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::{Call, When};
use crate::schema::tree;
use crate::schema::{InputResponses, ResultType, demanded_pages, method};
use crate::transport::clock::about_now;

/// The maximum number of round trips of one call. After these round trips the server gets no more
/// answers.
const MAX_ROUND_TRIPS: u32 = 10;
/// The first and the maximum pause before the call is repeated without answers, only with the
/// request state of the server.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(250));

/// The final result of a call, after all round trips.
pub(super) struct Answer {
    pub(super) result: RawResult,
    /// Whether the result is a task. Always false in the legacy era.
    pub(super) is_task: bool,
    /// Whether the server requested input before it gave the result.
    pub(super) asked: bool,
}

/// The state of the first request of a call: not sent, sent, or answered.
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved few times; a box would cost each started call an allocation"
)]
pub(super) enum FirstRequest {
    Unsent,
    /// The request was sent on this connection.
    Sent(Arc<ClientConnection>, Call),
    Answered(FirstAnswer),
}

/// The outcome of the first request of a call.
pub(super) struct FirstAnswer {
    pub(super) connection: Arc<ClientConnection>,
    /// The session in which the request was sent; `None` without sessions.
    pub(super) session: Option<u64>,
    pub(super) result: Result<RawResult>,
}

impl FirstAnswer {
    /// The length from which reading a result takes so long that a thread of its own reads it.
    const LONG: usize = 64 << 10;

    /// Whether the thread that received the response may also read it, while other messages wait.
    pub(super) fn is_short(&self) -> bool {
        self.result
            .as_ref()
            .map_or(true, |result| result.len() < Self::LONG)
    }
}

impl FirstRequest {
    fn connection(&self) -> Option<&Arc<ClientConnection>> {
        match self {
            Self::Unsent => None,
            Self::Sent(connection, _) => Some(connection),
            Self::Answered(answer) => Some(&answer.connection),
        }
    }
}

/// The outcome of one round trip of a call.
enum RoundTripOutcome {
    /// The call is over: the result is complete or is a task.
    Over {
        is_task: bool,
    },
    Asked(Asked),
}

/// The members of an [`InputRequiredResult`](crate::schema::InputRequiredResult) that the client
/// uses.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(default, deserialize_with = "tree::optional")]
    input_requests: Option<Questions>,
    request_state: Option<String>,
}

impl Client {
    /// Sends a request with the `_meta` members of the library.
    ///
    /// If the server refused the request without processing it, the client may be able to resolve
    /// the reason. The request is then sent once more. Other retries follow
    /// [`Supervisor::next_attempt`](super::supervisor::Supervisor::next_attempt). With
    /// `may_repeat`, an idempotent request may be repeated although the server may have received
    /// it.
    pub(super) fn request_text(
        &self,
        method: &str,
        params: &str,
        options: &mut CallOptions<'_>,
        mut first: FirstRequest,
        may_repeat: bool,
    ) -> Result<RawResult> {
        let supervisor = &self.0.supervisor;
        let mut attempt = supervisor.first_attempt(options, first.connection())?;
        if let FirstRequest::Answered(answer) = &first {
            attempt.session = answer.session;
        }
        loop {
            let connection = &attempt.connection;
            let mut rest = attempt.options(options);
            let outcome = match std::mem::replace(&mut first, FirstRequest::Unsent) {
                FirstRequest::Unsent => {
                    let meta = supervisor.own_meta(connection.revision, &rest)?;
                    let kind = connection.request_kind(method, params)?;
                    let write =
                        |id, text: &mut Vec<u8>| connection.envelope.write(id, params, &meta, text);
                    let peer = &connection.peer;
                    let started = peer.start(method, kind, write, &rest.request, When::Now);
                    started.and_then(|call| call.finish(&mut rest.request))
                }
                FirstRequest::Sent(_, call) => call.finish(&mut rest.request),
                FirstRequest::Answered(answer) => answer.result,
            };
            drop(rest);
            let refusal = match outcome {
                Ok(result) => return Ok(result),
                Err(refusal) => refusal,
            };
            self.note_demanded_pages(&refusal);
            let error = match self.is_dealt_with(&attempt, method, &refusal, options) {
                Ok(true) => {
                    attempt = attempt.again();
                    continue;
                }
                Ok(false) => refusal,
                Err(failure) => failure,
            };
            let known = &supervisor.server.harmless_tools;
            attempt = supervisor.next_attempt(&attempt, error, options, |number| {
                may_repeat && known.is_harmless(number, method, params)
            })?;
        }
    }

    /// Whether the client has resolved the reason why the server refused a request, so that the
    /// request can be sent once more on the same connection.
    fn is_dealt_with(
        &self,
        attempt: &Attempt,
        method: &str,
        refusal: &Error,
        options: &mut CallOptions<'_>,
    ) -> Result<bool> {
        if attempt.is_again {
            return Ok(false);
        }
        let (connection, server) = (&attempt.connection, &self.0.supervisor.server);
        let mut rest = attempt.rest_of(options);
        Ok(
            connection.has_recovered(attempt.session, refusal, &rest, server)?
                || self.has_learned(connection, method, refusal, &mut rest),
        )
    }

    /// Handles a call that was refused because its header fields no longer match the tool. Lists
    /// the tools again. Returns whether the call can be repeated.
    fn has_learned(
        &self,
        connection: &ClientConnection,
        method: &str,
        error: &Error,
        options: &mut CallOptions<'_>,
    ) -> bool {
        let mismatch = error
            .rpc()
            .is_some_and(|rpc| rpc.code == ErrorCode::HEADER_MISMATCH);
        if !mismatch || method != method::TOOLS_CALL || !connection.is_stateless() {
            return false;
        }
        // The cached list is outdated.
        let cache = &self.0.supervisor.server.cache;
        cache.forget(&Topic::of_list(method::TOOLS_LIST));
        self.list_tools_with(options.for_one()).is_ok()
    }

    /// Records the URL elicitations that an error requires. The server later reports which of them
    /// are complete.
    fn note_demanded_pages(&self, error: &Error) {
        let demanded = error.rpc().and_then(demanded_pages);
        for id in demanded.into_iter().flatten() {
            self.0.supervisor.settings().inputs.pages.add(&id);
        }
    }

    /// Sends a request and repeats it with answers until its result is complete. Each round trip
    /// has its own timeout. The timeout does not run while a user answers.
    pub(super) fn call_round_trips(
        &self,
        method: &str,
        params: String,
        options: &mut CallOptions<'_>,
        first: FirstRequest,
    ) -> Result<Answer> {
        let (started, mut user_time) = (about_now(), Duration::ZERO);
        let mut result = self.request_text(method, &params, options, first, true)?;
        let connection = self.0.supervisor.connection();
        let mut pause = PAUSES.0;
        for round_trip in 0..MAX_ROUND_TRIPS {
            let asked = match self.judge_result(&connection, method, &result)? {
                RoundTripOutcome::Asked(asked) => asked,
                RoundTripOutcome::Over { is_task } => {
                    return Ok(Answer {
                        result,
                        is_task,
                        asked: round_trip > 0,
                    });
                }
            };
            let answers = asked.input_requests.as_ref().map(|asked| {
                let asked: Vec<_> = asked.iter().collect();
                let since = Instant::now();
                let answers = self.answer_inputs(&connection, &asked, options);
                user_time += since.elapsed();
                answers
            });
            let answers = answers
                .transpose()
                .map_err(|error| error.context(self.during(method)))?;
            if answers.is_none() {
                if options.request.pause(pause) {
                    let text = format!("{} was cancelled between two rounds", self.during(method));
                    return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
                }
                pause = (pause * 2).min(PAUSES.1);
            }
            let state = asked.request_state.as_deref();
            let again = with_answers(&params, answers.as_ref(), state).map_err(|error| {
                let text = format!(
                    "the answers for {} are not JSON: {error}",
                    self.during(method)
                );
                Error::new(ErrorKind::Invalid, text).sent(true)
            })?;
            // An earlier round trip may have had an effect, so the error must say that the call was
            // sent. A retry on another server is not possible, because only the requesting server
            // knows the state.
            let spent = started.elapsed().saturating_sub(user_time);
            let mut rest = options.after(Duration::ZERO, spent);
            result = self
                .request_text(method, &again, &mut rest, FirstRequest::Unsent, false)
                .map_err(|error| error.sent(true))?;
        }
        match self.judge_result(&connection, method, &result)? {
            RoundTripOutcome::Over { is_task } => Ok(Answer {
                result,
                is_task,
                asked: true,
            }),
            RoundTripOutcome::Asked(_) => {
                let text = format!(
                    "{}: the server asks on after {MAX_ROUND_TRIPS} rounds",
                    self.during(method)
                );
                Err(Error::new(ErrorKind::Limit, text).sent(true))
            }
        }
    }

    /// Runs the handlers of input requests, and returns their responses.
    pub(super) fn answer_inputs(
        &self,
        connection: &ClientConnection,
        asked: &[(&String, &Question)],
        options: &CallOptions<'_>,
    ) -> Result<InputResponses> {
        let cancel = options.request.cancel_token();
        let threads = &self.0.supervisor.settings().threads;
        let inputs = &connection.inputs;
        inputs.fulfil(asked, &connection.peer, &cancel, options.tag, threads)
    }

    /// Parses the outcome of a round trip: the result, or the server's input requests.
    fn judge_result(
        &self,
        connection: &ClientConnection,
        method: &str,
        result: &str,
    ) -> Result<RoundTripOutcome> {
        let over = |is_task| Ok(RoundTripOutcome::Over { is_task });
        if connection.revision.is_legacy() {
            return over(false);
        }
        let broken = |text: String| {
            let error = Error::new(ErrorKind::Protocol, text).sent(true);
            error.with_result(result)
        };
        let kind = ResultType::of(result)
            .map_err(|error| error.context(self.during(method)).sent(true))?;
        match kind {
            ResultType::Complete => over(false),
            ResultType::Task
                if method == method::TOOLS_CALL && connection.envelope.takes_tasks() =>
            {
                over(true)
            }
            ResultType::InputRequired if may_ask(method) => {
                let read = match connection.peer.core().is_strict() {
                    true => tree::read_strictly,
                    false => tree::read::<Asked>,
                };
                let asked = read(result).map_err(|error| {
                    broken(format!(
                        "{}: the questions can't be read: {error}",
                        self.during(method)
                    ))
                })?;
                if asked.input_requests.is_some() || asked.request_state.is_some() {
                    Ok(RoundTripOutcome::Asked(asked))
                } else {
                    Err(broken(format!(
                        "{}: input is required, but none is named",
                        self.during(method)
                    )))
                }
            }
            other => {
                let other = Excerpt(other.as_str()).to_string();
                let text = format!(
                    "{} was answered with resultType '{other}', which was not agreed on",
                    self.during(method)
                );
                Err(broken(text))
            }
        }
    }

    /// Returns a description of the call for error texts.
    fn during(&self, method: &str) -> String {
        format!("{method} of '{}'", self.server_name())
    }
}

/// Whether a server may request input during a call of this method.
// M-MRTR-S-02
fn may_ask(method: &str) -> bool {
    [
        method::TOOLS_CALL,
        method::PROMPTS_GET,
        method::RESOURCES_READ,
    ]
    .contains(&method)
}
