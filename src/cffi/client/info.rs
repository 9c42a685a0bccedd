//! Information about a client and its server.

use std::ffi::c_char;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::options::mcplink_era;
use super::shared::mcplink_client_t;
use crate::cffi::arg;
use crate::cffi::handle::{enter, visit};
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::text::{Text, mcplink_str_t, name};
use crate::client::Client;
use crate::schema::ProtocolVersion;

getters! {
    visit(client: mcplink_client_t);

    /// Returns the state of a client.
    fn mcplink_client_state() -> arg::mcplink_connection_state {
        client.shared.state() as i32
    }

    /// Returns the negotiated protocol revision, for example "2025-11-25".
    ///
    /// Returns: static text; empty before the client is connected.
    fn mcplink_client_revision() -> mcplink_str_t {
        static ALL: OnceLock<Vec<(ProtocolVersion, Text)>> = OnceLock::new();
        let all = ALL.get_or_init(|| {
            let all = ProtocolVersion::ALL.iter();
            all.map(|one| (*one, one.as_str().into())).collect()
        });
        let spoken = client.client().ok()?.revision();
        let (_, text) = all.iter().find(|(one, _)| *one == spoken)?;
        text.view()
    }

    /// Returns the era of the server. Pass the era to mcplink_client_options_set_era for the next
    /// client, to skip the detection.
    fn mcplink_client_era() -> arg::mcplink_era {
        mcplink_era::from(client.client().ok()?.era()) as i32
    }

    /// Checks whether the server declared a capability.
    ///
    /// capability: a path into the declared capabilities: "tools", "tools.listChanged",
    /// "extensions.com.example/thing".
    /// Returns: true if the server declared the capability.
    fn mcplink_client_has(capability: *const c_char) -> bool {
        has(client.client().ok()?, name(capability, "capability").ok()?)
    }
}

fn has(client: &Client, path: &str) -> bool {
    let Ok(capabilities) = serde_json::to_value(client.capabilities()) else {
        return false;
    };
    let found = match path.strip_prefix("extensions.") {
        // Extension ids contain dots.
        Some(id) => capabilities.get("extensions").and_then(|all| all.get(id)),
        None => path
            .split('.')
            .try_fold(&capabilities, |node, step| node.get(step)),
    };
    found.is_some_and(|found| !matches!(found, Value::Null | Value::Bool(false)))
}

fallible! {
    enter(client: *const mcplink_client_t);

    /// Returns the identity and the capabilities that the server reported in the handshake.
    ///
    /// out: receives {"protocolVersion":"...", "serverInfo":{"name":"...","version":"..."},
    /// "capabilities":{...}, "instructions":"..."}; NULL on failure. The members serverInfo and
    /// instructions may be missing. The caller owns the document and frees it with
    /// mcplink_json_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
    fn mcplink_client_server_info() -> out: mcplink_json_t {
        let client = client.client()?;
        let mut info = json!({
            "protocolVersion": client.revision().as_str(),
            "capabilities": client.capabilities(),
        });
        if let Some(server) = client.server_info() {
            info["serverInfo"] = json!(server);
        }
        if let Some(instructions) = client.instructions() {
            info["instructions"] = instructions.into();
        }
        Document::of(&info)?
    }

    /// Returns the last 64 KiB that a child process wrote to its standard error.
    ///
    /// out: receives a JSON string: see mcplink_json_str. The string is empty if there is no child
    /// process or no output. NULL on failure. The caller owns the string and frees it with
    /// mcplink_json_free.
    fn mcplink_client_stderr_tail() -> out: mcplink_json_t {
        let tail = client.shared.tail.get();
        Document::of(&tail.map(|tail| tail.text()).unwrap_or_default().into())?
    }

    /// Returns statistics of the connection. After a restart the numbers start again from 0.
    ///
    /// out: receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads,
    /// lateResponses, unknownResponses, noise, malformed, tooLong, refusedBusy,
    /// droppedNotifications, mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses;
    /// NULL on failure. The caller owns the object and frees it with mcplink_json_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
    fn mcplink_client_stats() -> out: mcplink_json_t {
        let stats = client.client()?.stats();
        Document::of(&json!({
            "callsInFlight": stats.calls_in_flight,
            "requestsInHand": stats.requests_in_flight,
            "queuedBytes": stats.queued_bytes,
            "threads": stats.threads,
            "lateResponses": stats.late_responses,
            "unknownResponses": stats.unknown_responses,
            "noise": stats.noise,
            "malformed": stats.malformed,
            "tooLong": stats.too_long,
            "refusedBusy": stats.refused_busy,
            "droppedNotifications": stats.dropped_notifications,
            "mergedProgress": stats.merged_progress,
            "cachedResponses": stats.cached_responses,
            "cachedBytes": stats.cached_bytes,
            "cacheHits": stats.cache_hits,
            "cacheMisses": stats.cache_misses,
        }))?
    }

    /// Returns a text about the current activity, to find the cause of a hang: pending calls,
    /// requests of the server in flight, and threads that write.
    ///
    /// out: receives a JSON string: see mcplink_json_str; NULL on failure. The caller owns it and
    /// frees it with mcplink_json_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected.
    fn mcplink_client_activity() -> out: mcplink_json_t {
        Document::of(&client.client()?.activity().to_string().into())?
    }
}
