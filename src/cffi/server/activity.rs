//! State, statistics and activity of a server, and its log messages to clients.

use std::ffi::c_char;

use serde_json::{Value, json};

use super::mcplink_server_t;
use super::serving::{Line, Served, Serving};
use crate::cffi::arg;
use crate::cffi::dump::Dumped;
use crate::cffi::handle::{enter, entering};
use crate::cffi::json::{Document, json_payload, mcplink_json_t};
use crate::cffi::log::level_of;
use crate::cffi::text::optional;
use crate::server::{Endpoint, ServerState};

impl Served for Line {
    fn close(&self) {
        self.close();
    }

    fn is_running(&self) -> bool {
        self.is_running()
    }

    fn stats(&self) -> Value {
        let Some(connection) = self.connection() else {
            return json!({ "kind": "session", "closed": true });
        };
        let (peer, stats) = (connection.peer(), connection.peer().stats());
        json!({
            "kind": "session",
            "peer": peer.name(),
            "closed": peer.is_closed(),
            "requestsInHand": stats.requests_in_flight,
            "callsInFlight": stats.calls_in_flight,
            "queuedBytes": stats.queued_bytes,
            "threads": stats.threads,
            "noise": stats.noise,
            "malformed": stats.malformed,
            "tooLong": stats.too_long,
            "refusedBusy": stats.refused_busy,
            "droppedNotifications": stats.dropped_notifications,
        })
    }

    fn activity(&self) -> String {
        let connection = self.connection();
        connection.map_or_else(String::new, |it| format!("{}\n", it.activity()))
    }
}

impl Dumped for Serving {
    fn dump(&self) -> String {
        let text: String = self.all().iter().map(|served| served.activity()).collect();
        match text.is_empty() {
            true => "a server that serves nobody\n".to_owned(),
            false => text,
        }
    }
}

fn described(state: ServerState) -> Value {
    let endpoints = state.endpoints.into_iter().map(|endpoint| match endpoint {
        Endpoint::Http {
            url,
            connections,
            sessions,
        } => json!({
            "kind": "listener",
            "url": url,
            "connections": connections,
            "sessions": sessions,
        }),
        Endpoint::Published { instance, clients } => json!({
            "kind": "publication",
            "id": instance.id,
            "name": instance.name,
            "title": instance.title,
            "clients": clients,
        }),
    });
    let failures = state.failures.into_iter().map(|failure| {
        let error = failure.error.to_string();
        json!({ "address": failure.address, "error": error })
    });
    json!({
        "endpoints": endpoints.collect::<Vec<_>>(),
        "failures": failures.collect::<Vec<_>>(),
    })
}

fallible! {
    enter(server: *const mcplink_server_t);

    /// Returns where clients reach a server, how many they are, and why an address could not be
    /// opened. A program shows the state to a person, for example on a settings page.
    ///
    /// The document is {"endpoints":[...],"failures":[...]}, the oldest endpoint first. An open
    /// listener is {"kind":"listener","url":"...","connections":1,"sessions":0}. Only clients of
    /// revisions before 2026-07-28 have sessions. An open publication is
    /// {"kind":"publication","id":"...","name":"...","title":"...","clients":1}; "title" may be
    /// null. A failure is {"address":"8080","error":"..."}, with what was passed as bind or name to
    /// the function that failed. At most 16 failures are remembered, the latest. A failure is
    /// forgotten when its address is opened.
    ///
    /// out: receives the document, NULL on failure. The caller owns it and frees it with
    /// mcplink_json_free.
    fn mcplink_server_state() -> out: mcplink_json_t {
        Document::of(&described(server.server.state()))?
    }

    /// Returns statistics of a server: an array with one object for each session, listener,
    /// publication and endpoint. The member "kind" is "session", "listener", "publication" or
    /// "http". The other members are counters, the URL of a listener, and the id, name and title of
    /// a publication. The session of a client of a publication has no object of its own.
    ///
    /// out: receives a document, NULL on failure. The caller owns it and frees it with
    /// mcplink_json_free.
    fn mcplink_server_stats() -> out: mcplink_json_t {
        let all: Vec<Value> = server.serving.all().iter().map(|it| it.stats()).collect();
        Document::of(&all.into())?
    }

    /// Returns a text about the current activity of a server, to find the cause of a hang.
    ///
    /// out: receives a JSON document that is one string; read it with mcplink_json_str. NULL on
    /// failure. The caller owns it and frees it with mcplink_json_free.
    fn mcplink_server_activity() -> out: mcplink_json_t {
        Document::of(&server.serving.dump().into())?
    }
}

actions! {
    entering(server: mcplink_server_t);

    /// Sends a log message to all clients that requested messages of the given level. If logging is
    /// not enabled (mcplink_server_options_set_logging), the function sends nothing. Only clients
    /// of revisions before 2026-07-28 can receive the message. Newer clients receive only log
    /// messages of their own calls: see mcplink_responder_log.
    ///
    /// level: the severity of the message.
    /// logger: the name of the part of the server that logs; NULL for no name.
    /// json, len: the message, as JSON; len may be MCPLINK_NUL for text that ends in NUL. The
    /// message must not contain secrets.
    /// Returns: MCPLINK_OK, also when no client requested the message; MCPLINK_E_INVALID.
    fn mcplink_server_log(
        level: arg::mcplink_log_level,
        logger: *const c_char,
        json: *const c_char,
        len: usize,
    ) {
        let json = json_payload(json, len, "json")?;
        let logger = optional(logger, "logger")?;
        server.server.log(level_of(level)?, logger, json)?;
    }
}
