//! Opening a conversation: which era, which revision.
//!
//! ```text
//!            a discovery result
//!  probe ─────────────────────────────────────────────▶ connected (modern)
//!   │ │ │ ╲ refused, another modern revision named ──▶ probe once more
//!   │ │ ╰─ it left ──▶ start it again, once ──╮
//!   │ ╰─── anything else, or silence ─────────┴─▶ initialize ──▶ connected (legacy)
//!   │                                              │   ╲ refused as unsupported: probe, once
//!   │                                              ╰─ silence after a probe: start it again, once ──▶ initialize
//!   ╰ known to be legacy, or only legacy revisions allowed ──▶ initialize
//! ```

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::envelope::Envelope;
use super::era::{self, Era, Verdict};
use super::input::{InputHandlers, Known};
use super::link::Link;
use super::mirror;
use super::misfits;
use super::session::Reopening;
use super::{ClientBuilder, ServerDescription};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{CallOptions, CancelToken, Connection, Peer};
use crate::schema::{
    DiscoverResult, EmptyResult, FitTo, InitializeRequestParams, InitializeResult, JsonObject,
    NotificationParams, ProtocolVersion, method,
};
use crate::transport::Transport;
use crate::transport::carrier::Manner;

/// A conversation that has come about.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) number: u64,
    pub(super) envelope: Envelope,
    pub(super) inputs: InputHandlers,
    pub(super) server: ServerDescription,
    /// How to open another session, with a server that keeps one.
    pub(super) reopening: Option<Reopening>,
}

/// How long connecting waits for the stream by which a legacy server tells what belongs to no call, so that nothing is missed.
const HEARING: Duration = Duration::from_secs(2);

/// The opening of one conversation.
pub(super) struct Opening<'a> {
    link: &'a Arc<Link>,
    settings: &'a ClientBuilder,
    /// The handlers of questions, which know who asks on this connection.
    inputs: InputHandlers,
    deadline: Option<Instant>,
    /// To start the server once more with.
    spare: Option<Box<dyn Transport>>,
    known: Option<Era>,
    /// Given up when this is triggered.
    cancel: Option<CancelToken>,
    /// The number of the connection that was opened last.
    number: u64,
    /// How long people were asked meanwhile: connecting has that much longer.
    people_took: Cell<Duration>,
}

impl<'a> Opening<'a> {
    pub(super) fn new(
        link: &'a Arc<Link>,
        transport: &dyn Transport,
        known: Option<Era>,
        cancel: Option<CancelToken>,
    ) -> Self {
        let settings = link.settings();
        Self {
            link,
            settings,
            inputs: settings.inputs.for_one_server(),
            deadline: Instant::now().checked_add(settings.connect_timeout),
            spare: transport.again(),
            known,
            cancel,
            number: 0,
            people_took: Cell::default(),
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
                // What was remembered of the server no longer holds.
                return self.find_out(connection, revision);
            }
            return self.after_initialize(connection, done);
        };
        self.find_out(connection, revision)
    }

    /// Whether a server that was known to be of the legacy era may be of the modern one by now. Only asked over HTTP, where it can be
    /// probed after that.
    fn is_contrary(&self, error: &Error, connection: &Connection) -> bool {
        let refused = error.rpc().is_some() || era::is_a_refusal(error);
        refused && self.known == Some(Era::Legacy) && connection.peer().core().carrier().is_some()
    }

    /// Probes, and initializes what is not modern.
    fn find_out(&mut self, connection: Connection, revision: ProtocolVersion) -> Result<Opened> {
        let error = match self.probe(&connection, revision) {
            Verdict::Modern(revision, discovered) => {
                return self.modern(connection, revision, *discovered);
            }
            Verdict::AskAgain(_) => unreachable!("a probe asks again by itself"),
            Verdict::Hopeless(error) => return Err(self.explain(error, &connection)),
            Verdict::Legacy(error) | Verdict::Left(error) => error,
        };
        if self.newest(Era::Legacy).is_none() {
            let text =
                "it does not speak the modern era, and no legacy revision is allowed (revisions)";
            // Silence and leaving prove nothing of what it speaks.
            let error = match error.kind() {
                ErrorKind::Timeout | ErrorKind::Closed | ErrorKind::Io => error,
                _ => error.with_kind(ErrorKind::Unsupported).context(text),
            };
            return Err(self.explain(error, &connection));
        }
        if connection.peer().is_closed() {
            return self.start_again(connection, error);
        }
        // It may have choked on the probe: then a fresh one needs its time too.
        let patience = match self.spare {
            Some(_) => self.left() / 2,
            None => self.left(),
        };
        match self.initialize(&connection, patience) {
            Err(error) if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Closed) => {
                self.start_again(connection, error)
            }
            // One that was too slow to answer the probe may refuse this.
            done => self.after_initialize(connection, done),
        }
    }

    /// The server left or fell silent because of the probe: once more without it.
    fn start_again(&mut self, connection: Connection, error: Error) -> Result<Opened> {
        let Some(spare) = self.spare.take() else {
            return Err(self.explain(error, &connection));
        };
        connection.close_at_once();
        // Ending the first one may have taken what was left of the time.
        if self.left().is_zero() || self.is_cancelled() {
            return Err(self.explain(error, &connection));
        }
        let connection = self.open(spare)?;
        let done = self.initialize(&connection, self.left());
        self.after_initialize(connection, done)
    }

    /// A server that was taken for a legacy one may prove to be modern after all.
    fn after_initialize(
        &self,
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
        let settings = self.settings;
        self.number = self.link.next_number();
        let handlers =
            settings
                .handlers
                .clone()
                .owned_request(method::PING, true, |_, responder| {
                    // It fails when the server has gone, and then nobody waits for it.
                    drop(responder.respond(&EmptyResult::default()));
                });
        let mut connection = Connection::asking()
            .handlers(self.link.follow(self.inputs.serve(handlers), self.number))
            .limits(settings.limits.clone())
            .threads(&settings.threads)
            .slow_handler(settings.slow_handler)
            .strict(settings.strict)
            .keep_alive(settings.keep_alive);
        if let Some(log) = &settings.log {
            connection = connection.log(log.clone());
        }
        let connection = connection.open_boxed(transport)?;
        self.link.adopt(&connection)?;
        Ok(connection)
    }

    /// Asks with `server/discover`, and once more if the server wants to be asked in a modern revision that it names: maybe the same one,
    /// which it refused for no good reason.
    fn probe(&self, connection: &Connection, revision: ProtocolVersion) -> Verdict {
        match self.discover(&connection.peer(), revision) {
            Verdict::AskAgain(named) => match self.discover(&connection.peer(), named) {
                Verdict::AskAgain(_) => Verdict::Hopeless(refuses_what_it_names(named)),
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    fn discover(&self, peer: &Peer, revision: ProtocolVersion) -> Verdict {
        let envelope = match self.envelope(revision) {
            Ok(envelope) => envelope,
            Err(error) => return Verdict::Hopeless(error),
        };
        let over_http = peer.core().carrier().is_some();
        let patience = match self.newest(Era::Legacy) {
            // Silence over HTTP decides nothing: there is nothing to save the time for.
            _ if over_http => self.left(),
            Some(_) => (self.left() / 2).min(self.settings.probe_timeout),
            None => self.left().min(self.settings.probe_timeout),
        };
        // A server that does not know the probe may not know how to cancel it either.
        let mut options = CallOptions::new().timeout(patience).without_cancelling();
        if let Some(token) = &self.cancel {
            options = options.cancel_with(token);
        }
        let fields = mirror::standard(revision, method::SERVER_DISCOVER);
        options.set_manner(Manner::Stateless(fields));
        let answer = peer.request_with(
            method::SERVER_DISCOVER,
            |id, text| envelope.write(id, "{}", &JsonObject::new(), text),
            &mut options,
        );
        self.note_people(peer);
        era::judge(
            answer.as_deref().map_err(Clone::clone),
            &self.settings.revisions,
            over_http,
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
        Ok(Opened {
            connection,
            number: self.number,
            envelope: self.envelope(revision)?,
            inputs: self.inputs.clone(),
            server,
            reopening: None,
        })
    }

    fn initialize(&self, connection: &Connection, patience: Duration) -> Result<InitializeResult> {
        let params = self.initialize_params()?;
        let cancel = self.cancel.as_ref();
        let done = initialize(&connection.peer(), &params, patience, cancel);
        self.note_people(&connection.peer());
        match done {
            // So answers a server of the first transport over HTTP, too.
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

    fn legacy(&self, connection: Connection, done: Result<InitializeResult>) -> Result<Opened> {
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
        // From the notification on the server may ask.
        self.know(&server);
        let (peer, patience) = (connection.peer(), self.left().min(HEARING));
        finish_opening(&peer, revision, patience, self.cancel.as_ref())
            .map_err(|error| self.explain(error, &connection))?;
        let reopening = Reopening::new(self.initialize_params()?, self.settings.connect_timeout);
        Ok(Opened {
            connection,
            number: self.number,
            envelope: Envelope::legacy(),
            inputs: self.inputs.clone(),
            server,
            reopening: Some(reopening),
        })
    }

    /// Lets the handlers of questions know who asks.
    fn know(&self, server: &ServerDescription) {
        let known = Known {
            revision: server.revision,
            info: server.info.clone(),
        };
        // It is set once: nothing is opened after a success.
        _ = self.inputs.server.set(known);
    }

    fn envelope(&self, revision: ProtocolVersion) -> Result<Envelope> {
        let info = self.settings.names_itself.then_some(&self.settings.info);
        Envelope::modern(revision, &self.settings.capabilities, info)
    }

    fn newest(&self, era: Era) -> Option<ProtocolVersion> {
        let ours = self.settings.revisions.iter().copied();
        ours.filter(|revision| Era::of(*revision) == era).max()
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(CancelToken::is_triggered)
    }

    /// The time that people took, to log in for example, is not that of connecting.
    fn note_people(&self, peer: &Peer) {
        if let Some(carrier) = peer.core().carrier() {
            self.people_took.set(carrier.people_took());
        }
    }

    fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| {
            (deadline + self.people_took.get()).saturating_duration_since(Instant::now())
        })
    }

    /// Ends the server, and says all that is known of why connecting failed.
    fn explain(&self, error: Error, connection: &Connection) -> Error {
        let peer = connection.peer();
        let mut error = error.context(format_args!("connecting to '{}' failed", peer.name()));
        if let Some(line) = peer.core().first_noise() {
            error = error.remark(format_args!(
                "its first line that is no message was: {line}"
            ));
        }
        if error.stderr_tail().is_none() {
            error = error.with_stderr_tail(peer.core().last_words());
        }
        connection.close_at_once();
        error
    }
}

/// Sends `initialize` and reads its result.
pub(super) fn initialize(
    peer: &Peer,
    params: &InitializeRequestParams,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Result<InitializeResult> {
    let mut options = CallOptions::new()
        .timeout(patience)
        .max_timeout(patience)
        .without_cancelling();
    if let Some(token) = cancel {
        options = options.cancel_with(token);
    }
    options.set_manner(Manner::OpensSession);
    let answer = peer.request(method::INITIALIZE, params, options)?;
    misfits::read(peer, method::INITIALIZE, &answer).map_err(|error| {
        let text = format!("the answer to initialize can't be read: {error}");
        let error = Error::new(ErrorKind::Protocol, text).sent(true);
        error.with_result(answer.as_str().to_owned())
    })
}

/// The revision is agreed on: says so, and hears what belongs to no call from now on.
pub(super) fn finish_opening(
    peer: &Peer,
    revision: ProtocolVersion,
    patience: Duration,
    cancel: Option<&CancelToken>,
) -> Result<()> {
    let core = peer.core();
    core.allow_batches(revision.has_batches());
    if let Some(carrier) = core.carrier() {
        let has_field = revision >= ProtocolVersion::V2025_06_18;
        carrier.agree(has_field.then_some(revision.as_str()));
    }
    peer.notify(
        method::NOTIFICATIONS_INITIALIZED,
        &NotificationParams::default(),
    )?;
    core.listen(patience, cancel);
    Ok(())
}

/// Whether a server that has no idea of this transport may answer so.
fn is_unknown_here(error: &Error) -> bool {
    error.kind() == ErrorKind::Http && matches!(error.http_status(), Some(400 | 404 | 405))
}

fn refuses_what_it_names(revision: ProtocolVersion) -> Error {
    let text =
        format!("the server refuses protocol version {revision}, which it names as supported");
    Error::new(ErrorKind::Protocol, text).sent(true)
}
