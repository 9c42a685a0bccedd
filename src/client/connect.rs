//! Connecting: detects the era and negotiates the revision.
//!
//! ```text
//!            a discovery result (may arrive during initialize)
//!  probe ─────────────────────────────────────────────▶ connected (modern)
//!   │ │ │ ╲ refused, another modern revision named ──▶ probe once more
//!   │ │ ╰─ exited after reading the probe ─╮
//!   │ ╰─── other answer, or no answer ─────┼─▶ initialize ──▶ connected (legacy)
//!   │                                      │     │  ╲ refused as unsupported: probe, once
//!   │                                      ▼     ╰─ refused, no answer, or exited ─╮
//!   │                      restart the server once, then initialize ◀──────────────╯
//!   ╰ known to be legacy, or only legacy revisions allowed ──▶ initialize
//! ```
//!
//! All steps share the time limit `connect_timeout`. On a stream, the timeout of the probe starts
//! when the server has read the probe. So a server that starts slowly may take until
//! `connect_timeout`. If the server exits after it has read the probe, the server is started again,
//! once, with `initialize` as the first message. Over HTTP a missing answer never leads to a new
//! connection.
//!
//! **Invariant:** an era is remembered only if the server proved the era by an answer, or by
//! exiting after it had read the probe. A missing answer is no proof.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::{Reopening, ServerDescription};
use super::era::{self, Era, Verdict};
use super::handshake::{Answer, Handshake};
use super::header_params;
use super::input::{InputHandlers, Known};
use super::misfits;
use super::request_meta::RequestMeta;
use super::settings::ClientSettings;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::{CancelToken, Connection, Handlers, LogLevel, Peer, RequestOptions};
use crate::schema::{
    DiscoverResult, EmptyResult, FitTo, InitializeRequestParams, InitializeResult, JsonObject,
    NotificationParams, ProtocolVersion, method,
};
use crate::transport::Transport;
use crate::transport::message::RequestKind;

/// A connection that is initialized and ready for calls.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) number: u64,
    pub(super) envelope: RequestMeta,
    pub(super) inputs: InputHandlers,
    pub(super) server: ServerDescription,
    /// The parameters for opening a new session; `None` if the server has no sessions.
    pub(super) reopening: Option<Reopening>,
    /// Whether the server proved its era. Only a proved era may be remembered.
    pub(super) is_proved: bool,
}

/// How long connecting waits until a legacy server has opened the stream for messages outside of
/// calls. Messages that the server sends before the stream is open could be lost.
const STREAM_WAIT: Duration = Duration::from_secs(2);

/// Opens a connection with these handlers. Returns the connection with its number.
type OpenConnection<'a> = dyn Fn(Handlers, Box<dyn Transport>) -> Result<(Connection, u64)> + 'a;

/// The state of one connect operation, from the first attempt to the result.
pub(super) struct Opening<'a> {
    settings: &'a ClientSettings,
    open_connection: &'a OpenConnection<'a>,
    /// The input handlers of this connection. The handlers get the server's description when the
    /// client knows it.
    inputs: InputHandlers,
    deadline: Option<Instant>,
    /// A second transport, which can start the server once more.
    spare: Option<Box<dyn Transport>>,
    known: Option<Era>,
    /// The token that cancels the connect operation.
    cancel: Option<CancelToken>,
    /// The number of the connection that was opened last.
    number: u64,
    /// The time that users took for answers, for example for a login. The deadline of the connect
    /// operation is extended by this time.
    user_time: Cell<Duration>,
    /// The earlier errors of the connect operation: the error of the probe, and the error of the
    /// first start of the server.
    earlier: Vec<Error>,
    /// Whether the client concluded the era without proof by the server.
    is_guessed: bool,
}

impl<'a> Opening<'a> {
    pub(super) fn new(
        settings: &'a ClientSettings,
        open_connection: &'a OpenConnection<'a>,
        transport: &dyn Transport,
        known: Option<Era>,
        cancel: Option<CancelToken>,
    ) -> Self {
        Self {
            settings,
            open_connection,
            inputs: settings.inputs.for_one_server(),
            deadline: Instant::now().checked_add(settings.connect_timeout),
            spare: transport.again(),
            known,
            cancel,
            number: 0,
            user_time: Cell::default(),
            earlier: Vec::new(),
            is_guessed: false,
        }
    }

    pub(super) fn run(mut self, transport: Box<dyn Transport>) -> Result<Opened> {
        let connection = self.open(transport)?;
        let (Some(revision), false) = (self.newest(Era::Modern), self.known == Some(Era::Legacy))
        else {
            let done = self.initialize(&connection, self.left());
            if done
                .as_ref()
                .is_err_and(|error| self.is_contrary(error, &connection))
                && let Some(revision) = self.newest(Era::Modern)
            {
                // The remembered era was wrong, so the era is detected again.
                return self.find_out(connection, revision);
            }
            return self.after_initialize(connection, done);
        };
        self.find_out(connection, revision)
    }

    /// Whether a remembered legacy server may have become a modern server. The result is true only
    /// over HTTP, because a probe is still possible there after a refused `initialize`.
    fn is_contrary(&self, error: &Error, connection: &Connection) -> bool {
        let refused = error.rpc().is_some() || era::is_a_refusal(error);
        refused && self.known == Some(Era::Legacy) && is_over_http(&connection.peer())
    }

    /// Probes the server. If the server is not modern, sends `initialize`.
    fn find_out(&mut self, connection: Connection, revision: ProtocolVersion) -> Result<Opened> {
        if is_over_http(&connection.peer()) {
            return self.find_out_over_http(connection, revision);
        }
        let mut handshake = self.handshake(&connection);
        let (error, is_silent) = match self.probe_on(&mut handshake, revision) {
            Verdict::Modern(revision, discovered) => {
                return self.modern(connection, revision, *discovered);
            }
            Verdict::AskAgain(_) => unreachable!("a probe asks again by itself"),
            Verdict::Hopeless(error) => return Err(self.explain(error, &connection)),
            Verdict::Left(error) if self.newest(Era::Legacy).is_some() => {
                // If the server has not read the probe, the probe did not cause its exit.
                let unread = connection.peer().core().has_unread() == Some(true);
                return match unread || !error.was_sent() {
                    true => Err(self.explain(error, &connection)),
                    false => self.open_afresh(connection, error),
                };
            }
            Verdict::Legacy(error) | Verdict::Left(error) => (error, false),
            Verdict::Silent(error) => (error, true),
        };
        if self.newest(Era::Legacy).is_none() {
            return Err(self.legacy_is_not_allowed(error, &connection));
        }
        self.earlier.push(error);
        self.initialize_on(handshake, connection, is_silent)
    }

    /// Detects the era over HTTP, where only an answer decides the era. So `initialize` is not sent
    /// before the probe has an outcome.
    fn find_out_over_http(
        &mut self,
        connection: Connection,
        revision: ProtocolVersion,
    ) -> Result<Opened> {
        let error = match self.probe(&connection, revision) {
            Verdict::Modern(revision, discovered) => {
                return self.modern(connection, revision, *discovered);
            }
            Verdict::AskAgain(_) => unreachable!("a probe asks again by itself"),
            Verdict::Hopeless(error) => return Err(self.explain(error, &connection)),
            Verdict::Legacy(error) | Verdict::Left(error) | Verdict::Silent(error) => error,
        };
        if self.newest(Era::Legacy).is_none() {
            return Err(self.legacy_is_not_allowed(error, &connection));
        }
        // A proxy may have answered, and the server behind it may be modern.
        self.is_guessed = error.http_status().is_some_and(|status| status >= 500);
        self.earlier.push(error);
        match self.initialize(&connection, self.left()) {
            Err(error) => self.after_refusal(connection, error),
            done => self.after_initialize(connection, done),
        }
    }

    fn handshake(&self, connection: &Connection) -> Handshake {
        let in_all = self.settings.connect_timeout;
        Handshake::new(
            connection.peer(),
            self.deadline,
            in_all,
            self.cancel.as_ref(),
        )
    }

    /// Sends the probe and judges the answer. If the server names a modern revision in a refusal,
    /// the probe is repeated once in that revision. The named revision may be the revision that the
    /// server refused.
    fn probe_on(&self, handshake: &mut Handshake, revision: ProtocolVersion) -> Verdict {
        match self.discover_on(handshake, revision) {
            Verdict::AskAgain(named) => match self.discover_on(handshake, named) {
                Verdict::AskAgain(_) => Verdict::Hopeless(refuses_what_it_names(named)),
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    fn discover_on(&self, handshake: &mut Handshake, revision: ProtocolVersion) -> Verdict {
        let sent = self
            .envelope(revision)
            .and_then(|envelope| handshake.probe(&envelope));
        if let Err(error) = sent {
            return self.judge(Err(error));
        }
        match handshake.probe_answer(|left| self.probe_patience(left)) {
            Ok(Some(answer)) => self.judge(answer),
            Ok(None) => Verdict::Silent(handshake.silence()),
            Err(error) => Verdict::Hopeless(error),
        }
    }

    fn judge(&self, answer: Result<RawResult>) -> Verdict {
        era::judge(
            answer.as_deref().map_err(Clone::clone),
            &self.settings.revisions,
            false,
            self.settings.strict,
        )
    }

    /// Returns how long to wait for the answer to a probe. If no answer arrives in this time, the
    /// server is treated as a legacy server.
    fn probe_patience(&self, left: Duration) -> Duration {
        let most = match self.newest(Era::Legacy) {
            Some(_) => left / 2,
            None => left,
        };
        most.min(self.settings.probe_timeout)
    }

    /// Sends `initialize` to a server that refused the probe or did not answer it in time. A late
    /// answer to the probe still counts.
    fn initialize_on(
        &mut self,
        mut handshake: Handshake,
        connection: Connection,
        mut is_silent: bool,
    ) -> Result<Opened> {
        self.is_guessed = is_silent;
        let sent = self
            .initialize_params()
            .and_then(|params| handshake.initialize(&params));
        if let Err(error) = sent {
            return self.after_leaving(connection, error);
        }
        let mut until = self.begin_patience();
        let mut refused = None;
        loop {
            let answer = match handshake.answer_until(until) {
                Ok(Some(Answer::Initialize(Ok(result)))) => {
                    handshake.settle_legacy();
                    let read = read_initialized(&connection.peer(), &result);
                    return self.after_initialize(connection, read);
                }
                Ok(Some(Answer::Initialize(Err(error)))) if has_gone(&error) => {
                    return self.after_leaving(connection, error);
                }
                Ok(Some(Answer::Initialize(Err(error)))) if is_silent => {
                    // The server was too slow to answer the probe, and may still answer it.
                    until = Instant::now().checked_add(self.probe_patience(self.left()));
                    refused = Some(error);
                    continue;
                }
                Ok(Some(Answer::Initialize(Err(error)))) => {
                    return self.after_refusal(connection, error);
                }
                Ok(Some(Answer::Probe(answer))) => answer,
                Ok(None) => {
                    return match refused {
                        Some(error) => self.after_refusal(connection, error),
                        None => self.open_afresh(connection, handshake.silence()),
                    };
                }
                Err(error) => return Err(self.explain(error, &connection)),
            };
            is_silent = false;
            match self.judge(answer) {
                Verdict::Modern(revision, discovered) => {
                    return self.modern(connection, revision, *discovered);
                }
                Verdict::AskAgain(named) => {
                    if let Verdict::Modern(revision, discovered) =
                        self.probe_on(&mut handshake, named)
                    {
                        return self.modern(connection, revision, *discovered);
                    }
                }
                Verdict::Left(error) => return self.after_leaving(connection, error),
                Verdict::Legacy(error) | Verdict::Hopeless(error) | Verdict::Silent(error) => {
                    self.is_guessed = false;
                    // This error explains more than the missing answer, so it replaces the error of
                    // the missing answer.
                    self.earlier.pop();
                    self.earlier.push(error);
                }
            }
            if let Some(error) = refused {
                return self.after_refusal(connection, error);
            }
        }
    }

    /// Returns the deadline for the answer to `initialize`. If the server can be started once more,
    /// a quarter of the remaining time is left for the second start.
    fn begin_patience(&self) -> Option<Instant> {
        let left = self.left();
        let most = match self.spare {
            Some(_) => left - left / 4,
            None => left,
        };
        Instant::now().checked_add(most)
    }

    /// Starts the server again after it has exited during initialization, because the probe may
    /// have caused the exit.
    fn after_leaving(&mut self, connection: Connection, error: Error) -> Result<Opened> {
        self.is_guessed = false;
        self.open_afresh(connection, error)
    }

    /// Handles a refusal of `initialize` by a server that had received a probe.
    fn after_refusal(&mut self, connection: Connection, error: Error) -> Result<Opened> {
        if era::may_be_due_to_the_probe(&error) {
            self.is_guessed = false;
            return self.open_afresh(connection, error);
        }
        self.after_initialize(connection, Err(error))
    }

    /// Starts the server once more, with `initialize` as the first message, because the probe may
    /// have confused the first server process.
    fn open_afresh(&mut self, connection: Connection, error: Error) -> Result<Opened> {
        let Some(spare) = self.spare.take() else {
            return Err(self.explain(error, &connection));
        };
        connection.close_at_once();
        // Ending the first server may have used up the remaining time.
        if self.left().is_zero() || self.is_cancelled() {
            return Err(self.explain(error, &connection));
        }
        self.earlier.push(add_words(error, &connection.peer()));
        // The new connection counts the users' time from zero.
        let user_time = self.user_time.take();
        self.deadline = self.deadline.and_then(|at| at.checked_add(user_time));
        let connection = self
            .open(spare)
            .map_err(|error| self.with_earlier(error.context("opening it once more failed")))?;
        let done = self.initialize(&connection, self.left());
        self.after_initialize(connection, done)
    }

    fn legacy_is_not_allowed(&mut self, error: Error, connection: &Connection) -> Error {
        let text =
            "it does not speak the modern era, and no legacy revision is allowed (revisions)";
        // Neither a missing answer nor an exit proves which revisions the server supports.
        let error = match error.kind() {
            ErrorKind::Timeout | ErrorKind::Closed | ErrorKind::Io => error,
            _ => error.with_kind(ErrorKind::Unsupported).context(text),
        };
        self.explain(error, connection)
    }

    /// Completes the connection after `initialize`. A server that was treated as legacy may turn
    /// out to be modern.
    fn after_initialize(
        &mut self,
        connection: Connection,
        done: Result<InitializeResult>,
    ) -> Result<Opened> {
        let refused = done.as_ref().err().and_then(Error::rpc);
        let supported = refused
            .filter(|rpc| rpc.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION)
            .and_then(era::supported_by);
        let common = supported
            .map(|theirs| era::known(&theirs))
            .and_then(|theirs| era::newest_common(&theirs, &self.settings.revisions, Era::Modern));
        let Some(revision) = common else {
            return self.legacy(connection, done);
        };
        match self.probe(&connection, revision) {
            Verdict::Modern(revision, discovered) => self.modern(connection, revision, *discovered),
            _ => self.legacy(connection, done),
        }
    }

    fn open(&mut self, transport: Box<dyn Transport>) -> Result<Connection> {
        let handlers = self.settings.handlers.clone();
        let handlers = handlers.owned_request(method::PING, true, |_, responder| {
            // The answer fails only if the server has gone, and then no server waits for the
            // answer.
            drop(responder.respond(&EmptyResult::default()));
        });
        let handlers = self.inputs.serve(handlers);
        let (connection, number) = (self.open_connection)(handlers, transport)?;
        self.number = number;
        Ok(connection)
    }

    /// Sends `server/discover` and judges the answer. If the server names a modern revision in a
    /// refusal, the request is repeated once in that revision.
    fn probe(&self, connection: &Connection, revision: ProtocolVersion) -> Verdict {
        let peer = connection.peer();
        if !is_over_http(&peer) {
            return self.probe_on(&mut self.handshake(connection), revision);
        }
        match self.discover(&peer, revision) {
            Verdict::AskAgain(named) => match self.discover(&peer, named) {
                Verdict::AskAgain(_) => Verdict::Hopeless(refuses_what_it_names(named)),
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    /// Sends the probe over HTTP. The probe may use all of the connect time, because over HTTP a
    /// missing answer does not show the era.
    fn discover(&self, peer: &Peer, revision: ProtocolVersion) -> Verdict {
        let envelope = match self.envelope(revision) {
            Ok(envelope) => envelope,
            Err(error) => return Verdict::Hopeless(error),
        };
        // A server that does not support the probe may not support its cancellation either.
        let mut options = RequestOptions::new()
            .timeout(self.left())
            .without_cancelling();
        if let Some(token) = &self.cancel {
            options = options.cancel_with(token);
        }
        let fields = header_params::standard(revision, method::SERVER_DISCOVER);
        let answer = peer.request_with(
            method::SERVER_DISCOVER,
            RequestKind::Stateless(fields),
            |id, text| envelope.write(id, "{}", &JsonObject::new(), text),
            &mut options,
        );
        self.note_user_time(peer);
        era::judge(
            answer.as_deref().map_err(Clone::clone),
            &self.settings.revisions,
            true,
            self.settings.strict,
        )
    }

    fn modern(
        &self,
        connection: Connection,
        revision: ProtocolVersion,
        discovered: DiscoverResult,
    ) -> Result<Opened> {
        connection.peer().core().answer_requests(false);
        let (peer, misfits) = (connection.peer(), discovered.misfits());
        misfits::log(&peer, &peer.name(), method::SERVER_DISCOVER, misfits);
        let server = ServerDescription {
            revision,
            info: discovered.meta.and_then(|meta| meta.server_info),
            capabilities: discovered.capabilities,
            instructions: discovered.instructions,
        };
        self.know(&server);
        let envelope = self.envelope(revision)?;
        if let Some(meta) = envelope.notification_meta() {
            peer.core().set_notification_meta(meta);
        }
        Ok(Opened {
            connection,
            number: self.number,
            envelope,
            inputs: self.inputs.clone(),
            server,
            reopening: None,
            is_proved: true,
        })
    }

    fn initialize(&self, connection: &Connection, patience: Duration) -> Result<InitializeResult> {
        let params = self.initialize_params()?;
        let cancel = self.cancel.as_ref();
        let done = initialize(&connection.peer(), &params, patience, cancel);
        self.note_user_time(&connection.peer());
        match done {
            // A server with the older HTTP+SSE transport answers in the same way.
            Err(error) if is_unknown_here(&error) => {
                let core = Arc::clone(connection.peer().core());
                let left = self.left().min(patience);
                core.fall_back(left, cancel).map_err(|other| {
                    error.remark(format_args!("nor does it speak HTTP with SSE: {other}"))
                })?;
                let left = self.left().min(patience);
                initialize(&connection.peer(), &params, left, cancel)
            }
            done => done,
        }
    }

    fn initialize_params(&self) -> Result<InitializeRequestParams> {
        let Some(revision) = self.newest(Era::Legacy) else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "no legacy revision is allowed (revisions)",
            ));
        };
        let settings = self.settings;
        let mut params = InitializeRequestParams::new(
            revision,
            settings.capabilities.clone(),
            settings.info.clone(),
        );
        params.fit_to(revision);
        Ok(params)
    }

    fn legacy(&mut self, connection: Connection, done: Result<InitializeResult>) -> Result<Opened> {
        let result = done.map_err(|error| self.explain(error, &connection))?;
        let allowed = self
            .settings
            .revisions
            .iter()
            .copied()
            .filter(|revision| revision.is_legacy());
        let Some(revision) = allowed
            .into_iter()
            .find(|revision| revision.as_str() == result.protocol_version)
        else {
            let error = era::no_common(&[result.protocol_version], &self.settings.revisions);
            return Err(self.explain(error, &connection));
        };
        let server = ServerDescription {
            revision,
            info: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
        };
        // From this notification on, the server may send requests.
        self.know(&server);
        let peer = connection.peer();
        finish_opening(
            &peer,
            revision,
            self.left(),
            STREAM_WAIT,
            self.cancel.as_ref(),
        )
        .map_err(|error| self.explain(error, &connection))?;
        let reopening = Reopening::new(self.initialize_params()?, self.settings.connect_timeout);
        Ok(Opened {
            connection,
            number: self.number,
            envelope: RequestMeta::legacy(),
            inputs: self.inputs.clone(),
            server,
            reopening: Some(reopening),
            is_proved: !self.is_guessed,
        })
    }

    /// Passes the description of the server to the input handlers.
    fn know(&self, server: &ServerDescription) {
        let known = Known {
            revision: server.revision,
            info: server.info.clone(),
        };
        // Set only once: after success no other connection is opened.
        _ = self.inputs.server.set(known);
    }

    fn envelope(&self, revision: ProtocolVersion) -> Result<RequestMeta> {
        let info = self
            .settings
            .send_client_info
            .then_some(&self.settings.info);
        RequestMeta::modern(revision, &self.settings.capabilities, info)
    }

    fn newest(&self, era: Era) -> Option<ProtocolVersion> {
        let ours = self.settings.revisions.iter().copied();
        ours.filter(|revision| Era::of(*revision) == era).max()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelToken::is_triggered)
    }

    /// Records the time that users took on this connection, for example for a login. This time does
    /// not count as connect time.
    fn note_user_time(&self, peer: &Peer) {
        if let Some(exchange_transport) = peer.core().exchange_transport() {
            self.user_time.set(exchange_transport.user_time());
        }
    }

    fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| {
            (deadline + self.user_time.get()).saturating_duration_since(Instant::now())
        })
    }

    /// Closes the connection and ends the server. Returns the error with the earlier errors and the
    /// server's last output.
    fn explain(&mut self, error: Error, connection: &Connection) -> Error {
        let peer = connection.peer();
        let error = self.with_earlier(add_words(error, &peer));
        connection.close_at_once();
        error.context(format_args!("connecting to '{}' failed", peer.name()))
    }

    /// Returns an error whose text describes `error` and then the earlier errors, the latest first.
    /// If an earlier answer could not be parsed, and `error` is a refusal, the parse error comes
    /// first, because it explains the refusal.
    fn with_earlier(&mut self, error: Error) -> Error {
        let mut earlier = std::mem::take(&mut self.earlier);
        let misread = earlier
            .iter()
            .position(|earlier| earlier.kind() == ErrorKind::Protocol)
            .filter(|_| matches!(error.kind(), ErrorKind::Peer | ErrorKind::Http));
        let mut error = match misread {
            Some(at) => earlier
                .remove(at)
                .remark(format_args!("after that: {error}")),
            None => error,
        };
        for earlier in earlier.into_iter().rev() {
            error = error.remark(format_args!("before that: {earlier}"));
            if error.stderr_tail().is_none() {
                error = error.with_stderr_tail(earlier.stderr_tail().map(str::to_owned));
            }
        }
        error
    }
}

/// Adds the server's output outside of the protocol, such as its standard error, to the error.
fn add_words(mut error: Error, peer: &Peer) -> Error {
    if let Some(line) = peer.core().first_noise() {
        error = error.remark(format_args!(
            "its first line that is no message was: {line}"
        ));
    }
    if error.stderr_tail().is_none() {
        error = error.with_stderr_tail(peer.core().last_words());
    }
    error
}

fn is_over_http(peer: &Peer) -> bool {
    peer.core().exchange_transport().is_some()
}

/// Whether an error shows that the server has exited or closed the connection.
fn has_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed | ErrorKind::Io)
}

/// Sends `initialize` and parses the result.
pub(super) fn initialize(
    peer: &Peer,
    params: &InitializeRequestParams,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Result<InitializeResult> {
    let mut options = RequestOptions::new()
        .timeout(patience)
        .max_timeout(patience)
        .without_cancelling();
    if let Some(token) = cancel {
        options = options.cancel_with(token);
    }
    let answer = peer.request_with(
        method::INITIALIZE,
        RequestKind::OpensSession,
        |_, text| serde_json::to_writer(text, params),
        &mut options,
    )?;
    read_initialized(peer, &answer)
}

fn read_initialized(peer: &Peer, answer: &RawResult) -> Result<InitializeResult> {
    misfits::read(peer, method::INITIALIZE, answer).map_err(|error| {
        let text = format!("the answer to initialize can't be read: {error}");
        let error = Error::new(ErrorKind::Protocol, text).sent(true);
        error.with_result(answer.as_str())
    })
}

/// Completes initialization within the time `left`. Notifies the server, and starts to receive
/// messages outside of calls. Waits at most `stream_wait` until the stream for these messages is
/// open.
pub(super) fn finish_opening(
    peer: &Peer,
    revision: ProtocolVersion,
    left: Duration,
    stream_wait: Duration,
    cancel: Option<&CancelToken>,
) -> Result<()> {
    let deadline = Instant::now().checked_add(left);
    let core = peer.core();
    core.allow_batches(revision.has_batches());
    if let Some(exchange_transport) = core.exchange_transport() {
        let has_field = revision >= ProtocolVersion::V2025_06_18;
        exchange_transport.agree(has_field.then_some(revision.as_str()));
    }
    let said = peer.notify_until(
        method::NOTIFICATIONS_INITIALIZED,
        &NotificationParams::default(),
        deadline,
        cancel,
    );
    match said {
        // The server received and refused the notification. The connection remains usable.
        Err(error) if error.http_status().is_some() => {
            core.log_as("client", LogLevel::Warning, || {
                format!("notifications/initialized was refused: {error}")
            });
        }
        Err(error) => return Err(error.context("notifications/initialized was not taken")),
        Ok(()) => {}
    }
    let left = deadline.map_or(stream_wait, |deadline| {
        deadline.saturating_duration_since(Instant::now())
    });
    core.listen(stream_wait.min(left), cancel);
    Ok(())
}

/// Whether a server without the Streamable HTTP transport may answer a probe with this error.
fn is_unknown_here(error: &Error) -> bool {
    error.kind() == ErrorKind::Http && matches!(error.http_status(), Some(400 | 404 | 405))
}

fn refuses_what_it_names(revision: ProtocolVersion) -> Error {
    let text =
        format!("the server refuses protocol version {revision}, which it names as supported");
    Error::new(ErrorKind::Protocol, text).sent(true)
}
