//! Objects that several clients share: caches of responses, and the remembered eras of servers.
//! Also the callback that sees the messages of a client.

use std::ffi::c_char;

use serde_json::{Map, Value};

use super::options::{mcplink_client_options_t, mcplink_era};
use crate::cffi::arg;
use crate::cffi::entry::value;
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw, visit};
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::refusal::set;
use crate::cffi::tap::{mcplink_message_fn, wrap};
use crate::cffi::text::{name, optional_filled};
use crate::cffi::user::Hook;
use crate::client::{Era, EraMemory, ResponseCache};
use crate::transport::Limits;

/// A cache of responses that several clients share: see mcplink_client_options_set_cache. Without
/// it, each client has a cache of its own.
pub struct mcplink_cache_t {
    gate: Gate,
    cache: ResponseCache,
}

handle!(mcplink_cache_t is Cache);

impl Handled for mcplink_cache_t {
    /// Does nothing: the clients that share the cache keep it.
    fn close(&self) {}
}

/// The eras of servers, by their addresses: see mcplink_client_options_set_era_memory.
pub struct mcplink_era_memory_t {
    gate: Gate,
    memory: EraMemory,
}

handle!(mcplink_era_memory_t is EraMemory);

impl Handled for mcplink_era_memory_t {
    /// Does nothing: the clients that use the memory keep it.
    fn close(&self) {}
}

/// Makes an empty cache of responses. Above its limits the least recently used response is removed.
///
/// max_responses: the maximum number of responses; 0 for the default of
/// MCPLINK_LIMIT_CACHED_RESPONSES.
/// max_bytes: the maximum size of all responses, in bytes; 0 for the default of
/// MCPLINK_LIMIT_CACHED_BYTES.
/// Returns: the cache. The caller owns it and frees it with mcplink_cache_free. NULL after an
/// internal error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_cache_new(
    max_responses: usize,
    max_bytes: usize,
) -> *mut mcplink_cache_t {
    value(std::ptr::null_mut(), || {
        let mut limits = Limits::default();
        if max_responses > 0 {
            limits.max_cached_responses = max_responses;
        }
        if max_bytes > 0 {
            limits.max_cached_bytes = max_bytes;
        }
        into_raw(mcplink_cache_t {
            gate: Gate::new(),
            cache: ResponseCache::new(&limits),
        })
    })
}

actions! {
    entering(cache: mcplink_cache_t);

    /// Removes all responses from a cache, those of all servers and principals.
    fn mcplink_cache_clear() {
        cache.cache.clear();
    }
}

/// Frees a cache. Clients that share the cache keep it until they are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_cache_free(cache: *mut mcplink_cache_t) {
    // SAFETY: the header requires a cache of this library, freed once.
    unsafe { free_handle(cache) }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the cache of responses that the client shares with other clients, which saves requests
    /// when several clients use one server. Default: a cache of its own.
    ///
    /// A public response is used by all clients of one server at one address. A private response is
    /// used only by clients with the same principal and capabilities. Child processes count as one
    /// server if their command lines and working directories are equal. If environment variables
    /// make them different servers, give each its own cache.
    ///
    /// cache: the cache, which may be freed before the options. NULL for a cache of its own.
    /// principal: a name for the user of the client, for example a digest of the token. NULL if
    /// private responses are not shared.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID also when principal is blank.
    fn mcplink_client_options_set_cache(cache: *mut mcplink_cache_t, principal: *const c_char) {
        let cache = match cache.is_null() {
            true => None,
            false => Some(enter(cache, "cache")?.cache.clone()),
        };
        // A blank name may be a user who is not known. All of them would share.
        let principal = optional_filled(principal, "principal")?;
        options.cache = match (cache, principal) {
            (Some(cache), Some(principal)) => Some(cache.for_principal(principal)),
            (cache, _) => cache,
        };
    }
}

/// Makes an empty memory of the eras of servers.
///
/// Returns: the memory. The caller owns it and frees it with mcplink_era_memory_free. NULL after an
/// internal error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_era_memory_new() -> *mut mcplink_era_memory_t {
    value(std::ptr::null_mut(), || {
        into_raw(mcplink_era_memory_t {
            gate: Gate::new(),
            memory: EraMemory::new(),
        })
    })
}

getters! {
    visit(memory: mcplink_era_memory_t);

    /// Returns the remembered era of a server.
    ///
    /// address: the address, as a key of mcplink_era_memory_entries.
    /// Returns: the era; MCPLINK_ERA_UNKNOWN if no era is remembered.
    fn mcplink_era_memory_recall(address: *const c_char) -> arg::mcplink_era {
        let known = memory.memory.recall(name(address, "address").ok()?)?;
        mcplink_era::from(known) as i32
    }
}

actions! {
    entering(memory: mcplink_era_memory_t);

    /// Remembers the era of a server, for example one that the host has stored.
    ///
    /// address: the address, as a key of mcplink_era_memory_entries.
    /// era: the era; MCPLINK_ERA_UNKNOWN forgets the era.
    fn mcplink_era_memory_remember(address: *const c_char, era: arg::mcplink_era) {
        let address = name(address, "address")?;
        match mcplink_era::known(era)? {
            Some(era) => memory.memory.remember(address, era),
            None => memory.memory.forget(address),
        }
    }
}

fallible! {
    enter(memory: *const mcplink_era_memory_t);

    /// Returns all remembered eras, so that the host can store them.
    ///
    /// out: receives an object: {"https://a.example":"modern", "server --stdio":"legacy"}; NULL on
    /// failure. The caller owns the object and frees it with mcplink_json_free.
    fn mcplink_era_memory_entries() -> out: mcplink_json_t {
        let era = |era| match era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        };
        let entries = memory.memory.entries().into_iter();
        let entries: Map<String, Value> = entries
            .map(|(address, known)| (address, era(known).into()))
            .collect();
        Document::of(&entries.into())?
    }
}

/// Frees a memory of eras. Clients that use the memory keep it until they are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_era_memory_free(memory: *mut mcplink_era_memory_t) {
    // SAFETY: the header requires a memory of this library, freed once.
    unsafe { free_handle(memory) }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the memory in which the client remembers the era of its server. The next connection to
    /// this server then skips the detection, which costs a request. Default: no memory.
    ///
    /// memory: the memory, which several clients may share, and which may be freed before the
    /// options. NULL changes nothing.
    fn mcplink_client_options_set_era_memory(memory: *mut mcplink_era_memory_t) {
        if memory.is_null() {
            return Ok(());
        }
        let memory = enter(memory, "memory")?.memory.clone();
        options.build(|builder| builder.era_memory(&memory));
    }

    /// Sets the function that sees each message of the client, unchanged: for logs and traces. It
    /// works with every kind of endpoint, also after a restart of the server.
    ///
    /// callback: see mcplink_message_fn. NULL for no function.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all clients opened with them are freed.
    fn mcplink_client_options_on_message(callback: mcplink_message_fn; user) {
        options.tap = Hook::new(callback, user).map(wrap);
    }
}
