//! Event streams: up to the response of a call, beside all calls, and the one stream of the first transport.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{Method, Uri};

use super::lane::is_same_origin;
use super::shown;
use super::watch::Watched;
use super::wire::{Answer, Ask, Released, Wire};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::TooLong;
use crate::transport::carrier::{Carried, Carrier as _, Deliver, Manner, Ticket};
use crate::transport::http::event_reader::{EventReader, Item};
use crate::transport::{Control as _, Received, SessionMessage, lock};

/// How long to wait before asking again for a stream that broke off, when the server doesn't say; doubled each time, up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// So often in a row the stream of a call is asked for again without getting anything by it.
const MAX_RESUMPTIONS: u32 = 8;

/// How reading a stream ended.
enum End {
    Enough,
    /// The server ended it, or it broke off for this reason.
    Over(Option<Error>),
}

impl Wire {
    /// Reads events until the stream ends or `take` has enough.
    fn read_events(
        &self,
        answer: &mut Answer,
        reader: &mut EventReader,
        ticket: &Ticket,
        watched: &Watched,
        take: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> End {
        loop {
            let lane = &mut answer.lane;
            let piece = match lane.line.read(&mut lane.buffer) {
                Ok(0) => return End::Over(None),
                Ok(len) => &lane.buffer[..len],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return End::Over(Some(self.broken_off(error, ticket, watched)));
                }
            };
            let comments = reader.comments();
            if reader.push(piece, take).is_break() {
                return End::Enough;
            }
            if (reader.comments() > comments || watched.expects_life())
                && let Err(error) = watched.is_alive()
            {
                return End::Over(Some(error));
            }
        }
    }

    /// The stream that answers a request: up to its response.
    pub(super) fn take_stream(
        &self,
        request: &SessionMessage,
        mut answer: Answer,
        ticket: &Arc<Ticket>,
        watched: &Watched,
        deliver: &mut Deliver<'_>,
    ) -> Result<Carried> {
        let mut reader = EventReader::new(self.max_message_bytes);
        let resumes = !matches!(request.manner, Manner::Stateless(_));
        let mut in_vain = 0;
        loop {
            let mut came = false;
            let end = self.read_events(&mut answer, &mut reader, ticket, watched, &mut |item| {
                came = true;
                deliver(received(item, Some(request)))
            });
            let why = match end {
                End::Enough => {
                    self.finish(answer.lane, ticket);
                    return Ok(Carried::Answered);
                }
                End::Over(why) => why,
            };
            drop(answer);
            ticket.release();
            in_vain = if came { 0 } else { in_vain + 1 };
            let mut unfinished = why.unwrap_or_else(|| {
                let text = format!(
                    "'{}' ended the stream without the response; outcome unknown",
                    self.peer()
                );
                Error::new(ErrorKind::Closed, text).sent(true)
            });
            loop {
                if !resumes || reader.last_id().is_empty() || in_vain > MAX_RESUMPTIONS {
                    return Err(unfinished);
                }
                let pause = reader.retry().unwrap_or_else(|| growing(in_vain));
                if !ticket.pause(Instant::now() + pause) {
                    return Err(unfinished);
                }
                let last_id = reader.last_id().to_owned();
                match self.open_stream(&self.http.url, Some(&last_id), ticket, watched) {
                    Ok(next) => {
                        answer = next;
                        break;
                    }
                    Err(error) => {
                        let is_final = error.http_status().is_some_and(|status| status < 500);
                        unfinished = unfinished.remark(format_args!("going on failed: {error}"));
                        in_vain = if is_final { u32::MAX } else { in_vain + 1 };
                    }
                }
            }
            reader.start_anew();
        }
    }

    /// Asks for a stream with GET.
    fn open_stream(
        &self,
        uri: &Uri,
        last_event_id: Option<&str>,
        ticket: &Arc<Ticket>,
        watched: &Watched,
    ) -> Result<Answer> {
        watched.begin_anew();
        let ask = Ask {
            method: Method::GET,
            uri,
            body: &[],
            manner: &Manner::InSession,
            last_event_id,
        };
        let answer = self.ask(&ask, ticket, watched)?;
        if answer.is_of("text/event-stream") {
            return Ok(answer);
        }
        let kind = Excerpt(answer.content_type()).to_string();
        let text = format!(
            "'{}' answered a request for a stream with content type '{kind}'",
            self.peer()
        );
        // As good as a refusal.
        Err(Error::new(ErrorKind::Http, text)
            .sent(true)
            .with_http(answer.status.as_u16(), None))
    }

    /// What belongs to no call: GET, and again when it ends.
    pub(super) fn hear(&self, settled: &mut dyn FnMut(), deliver: &mut Deliver<'_>) -> Result<()> {
        let ticket = Ticket::until(None);
        let watched = self.watch.add(&ticket, false)?;
        let _released = Released(&ticket);
        let session = self.session();
        lock(&self.state).listening = Some(Arc::clone(&ticket));
        let mut reader = EventReader::new(self.max_message_bytes);
        let mut in_vain = 0;
        loop {
            let last_id = reader.last_id().to_owned();
            let last_id = Some(&*last_id).filter(|id| !id.is_empty());
            let opened = self.open_stream(&self.http.url, last_id, &ticket, &watched);
            settled();
            match opened {
                Ok(mut answer) => {
                    let mut came = false;
                    reader.start_anew();
                    let end = self.read_events(
                        &mut answer,
                        &mut reader,
                        &ticket,
                        &watched,
                        &mut |item| {
                            came = true;
                            deliver(received(item, None))
                        },
                    );
                    if let End::Enough = end {
                        return Ok(());
                    }
                    in_vain = if came { 0 } else { in_vain + 1 };
                }
                // It offers none, or knows the session no more, which the next call finds out.
                Err(error) if matches!(error.http_status(), Some(404 | 405)) => return Ok(()),
                Err(error) if error.http_status().is_some_and(|status| status < 500) => {
                    return Err(error);
                }
                Err(_) => in_vain += 1,
            }
            ticket.release();
            let pause = reader.retry().unwrap_or_else(|| growing(in_vain));
            if !ticket.pause(Instant::now() + pause) || self.session() != session {
                return Ok(());
            }
        }
    }

    /// The first transport: GET, whose first event says where messages go, and by which all comes.
    pub(super) fn hear_everything(
        &self,
        ticket: &Arc<Ticket>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        let watched = self.watch.add(ticket, false)?;
        let _released = Released(ticket);
        let url = &self.http.url;
        let mut answer = self.open_stream(url, None, ticket, &watched)?;
        let mut reader = EventReader::new(self.max_message_bytes);
        let mut fault = None;
        let end =
            self.read_events(
                &mut answer,
                &mut reader,
                ticket,
                &watched,
                &mut |item| match item {
                    Item::Event { name, data } if name == "endpoint" => {
                        match self.endpoint(url, &data) {
                            Ok(endpoint) => lock(&self.state).endpoint = Some(endpoint),
                            Err(error) => {
                                fault = Some(error);
                                return ControlFlow::Break(());
                            }
                        }
                        settled();
                        ControlFlow::Continue(())
                    }
                    item if lock(&self.state).endpoint.is_some() => deliver(received(item, None)),
                    _ => {
                        let text = format!(
                            "'{}' began its stream with another event than 'endpoint'",
                            self.peer()
                        );
                        fault = Some(Error::new(ErrorKind::Protocol, text).sent(true));
                        ControlFlow::Break(())
                    }
                },
            );
        let why = match end {
            End::Enough => fault,
            End::Over(why) => why,
        };
        Err(why.unwrap_or_else(|| {
            let text = format!("'{}' ended its stream", self.peer());
            Error::new(ErrorKind::Closed, text).sent(true)
        }))
    }

    /// Where messages go, as the server says it: nowhere but to itself.
    fn endpoint(&self, url: &Uri, data: &[u8]) -> Result<Uri> {
        let text = String::from_utf8_lossy(data);
        let Some(endpoint) = self.resolve(url, text.trim()) else {
            let text = format!("'{}' names an endpoint that is no URL", self.peer());
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        };
        if is_same_origin(url, &endpoint) {
            return Ok(endpoint);
        }
        let text = format!(
            "'{}' names an endpoint of another origin: {}",
            self.peer(),
            Excerpt(&shown(&endpoint))
        );
        Err(Error::new(ErrorKind::Protocol, text).sent(true))
    }
}

fn growing(in_vain: u32) -> Duration {
    let pause = PAUSES.0 * 2u32.saturating_pow(in_vain.saturating_sub(1).min(10));
    pause.min(PAUSES.1)
}

fn received(item: Item, request: Option<&SessionMessage>) -> Received {
    match item {
        Item::Event { data, .. } => Received::Message(SessionMessage::new(data)),
        Item::TooLong(bytes) => Received::TooLong(TooLong {
            bytes,
            id: request.and_then(|request| request.related.clone()),
            is_response: true,
        }),
    }
}
