//! What is known of a client and its server.

use std::ffi::c_char;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::options::mcplink_era;
use super::{mcplink_client_t, mcplink_connection_state};
use crate::cffi::entry::{Outcome, giving, value};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::enter;
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{Text, mcplink_str_t, name, view_or_empty};
use crate::client::{Client, Era};
use crate::schema::ProtocolVersion;

/// How it stands with a client.
///
/// client: NULL for MCPLINK_CLIENT_NONE.
/// Returns: one of enum mcplink_connection_state. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_state(client: *const mcplink_client_t) -> i32 {
    value(mcplink_connection_state::MCPLINK_CLIENT_NONE, || {
        // SAFETY: the header says that it is a client of ours.
        let client = unsafe { enter(client, "client") };
        client.map_or(mcplink_connection_state::MCPLINK_CLIENT_NONE, |client| {
            client.shared.state()
        })
    }) as i32
}

/// The revision of the protocol that is spoken, for example "2025-11-25".
///
/// client: NULL for none.
/// Returns: text that is valid for ever; empty before the client is connected. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_revision(client: *const mcplink_client_t) -> mcplink_str_t {
    static ALL: OnceLock<Vec<(ProtocolVersion, Text)>> = OnceLock::new();
    value(mcplink_str_t::EMPTY, || {
        // SAFETY: the header says that it is a client of ours.
        let client = unsafe { enter(client, "client") };
        let spoken = client
            .ok()
            .and_then(|client| Some(client.client().ok()?.revision()));
        let all = ALL.get_or_init(|| {
            let all = ProtocolVersion::ALL.iter();
            all.map(|one| (*one, one.as_str().into())).collect()
        });
        let found = all.iter().find(|(one, _)| Some(*one) == spoken);
        view_or_empty(found.map(|(_, text)| text))
    })
}

/// The era of the server, to be given to mcplink_client_options_set_era next time.
///
/// client: NULL for MCPLINK_ERA_UNKNOWN.
/// Returns: one of enum mcplink_era. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_era(client: *const mcplink_client_t) -> i32 {
    value(mcplink_era::MCPLINK_ERA_UNKNOWN, || {
        // SAFETY: the header says that it is a client of ours.
        let client = unsafe { enter(client, "client") };
        let era = client
            .ok()
            .and_then(|client| Some(client.client().ok()?.era()));
        match era {
            None => mcplink_era::MCPLINK_ERA_UNKNOWN,
            Some(Era::Legacy) => mcplink_era::MCPLINK_ERA_LEGACY,
            Some(Era::Modern) => mcplink_era::MCPLINK_ERA_MODERN,
        }
    }) as i32
}

/// Whether the server can do something.
///
/// client: NULL for false.
/// capability: a path into what it declared: "tools", "tools.listChanged", "extensions.com.example/thing".
/// Returns: true if it declared it. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_has(
    client: *const mcplink_client_t,
    capability: *const c_char,
) -> bool {
    value(false, || {
        // SAFETY: the header says that they are a client of ours and text that ends in NUL.
        let (client, path) = unsafe { (enter(client, "client"), name(capability, "capability")) };
        let (Ok(client), Ok(path)) = (client, path) else {
            return false;
        };
        client.client().is_ok_and(|client| has(client, path))
    })
}

fn has(client: &Client, path: &str) -> bool {
    let Ok(capabilities) = serde_json::to_value(client.capabilities()) else {
        return false;
    };
    let found = match path.strip_prefix("extensions.") {
        // Ids of extensions have dots.
        Some(id) => capabilities.get("extensions").and_then(|all| all.get(id)),
        None => path
            .split('.')
            .try_fold(&capabilities, |node, step| node.get(step)),
    };
    found.is_some_and(|found| !matches!(found, Value::Null | Value::Bool(false)))
}

/// # Safety
///
/// The pointers are NULL, or what the header says of them.
unsafe fn document(
    client: *const mcplink_client_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
    show: impl FnOnce(&mcplink_client_t) -> Outcome<Value>,
) -> mcplink_status_t {
    // SAFETY: the caller promises the same.
    unsafe {
        giving(out, err, || {
            let client = enter(client, "client")?;
            let shown = show(&client)?.to_string();
            Ok(Document::parse(&shown)?.into_raw())
        })
    }
}

/// What the server said of itself.
///
/// client: the client.
/// out: receives {"protocolVersion":"...","serverInfo":{"name":"...","version":"..."},"capabilities":{...},"instructions":"..."}, of which
/// serverInfo and instructions may be missing; NULL after a failure. The caller's to free, with mcplink_json_free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_server_info(
    client: *const mcplink_client_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        document(client, out, err, |client| {
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
            Ok(info)
        })
    }
}

/// What a child wrote to its standard error of late: the last 64 KiB.
///
/// client: the client.
/// out: receives a JSON string, empty when there is nothing or no child; NULL after a failure. See mcplink_json_str. The caller's to free, with
/// mcplink_json_free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_stderr_tail(
    client: *const mcplink_client_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        document(client, out, err, |client| {
            let tail = client.shared.tail.get();
            Ok(tail.map(|tail| tail.text()).unwrap_or_default().into())
        })
    }
}

/// What happened on the connection so far, counted; after a restart on the new one.
///
/// client: the client.
/// out: receives an object of numbers: callsInFlight, requestsInHand, queuedBytes, threads, lateResponses, unknownResponses, noise, malformed,
/// tooLong, refusedBusy, droppedNotifications, mergedProgress, cachedResponses, cachedBytes, cacheHits, cacheMisses; NULL after a failure. The
/// caller's to free, with mcplink_json_free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_stats(
    client: *const mcplink_client_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        document(client, out, err, |client| {
            let stats = client.client()?.stats();
            Ok(json!({
                "callsInFlight": stats.calls_in_flight,
                "requestsInHand": stats.requests_in_hand,
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
            }))
        })
    }
}

/// Who waits for whom at the moment: calls that wait, what of the server's is in hand, who writes. For people; print it when something hangs.
///
/// client: the client.
/// out: receives a JSON string; NULL after a failure. See mcplink_json_str. The caller's to free, with mcplink_json_free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_STATE before the client is connected. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_activity(
    client: *const mcplink_client_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        document(client, out, err, |client| {
            Ok(client.client()?.activity().to_string().into())
        })
    }
}
