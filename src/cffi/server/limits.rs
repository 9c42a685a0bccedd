//! Options of a server that most hosts leave at their defaults.

use std::ffi::{c_char, c_void};
use std::num::NonZeroUsize;
use std::time::Duration;

use super::settings::mcplink_server_options_t;
use super::state_store::STATE_STORE;
use crate::cffi::json::typed;
use crate::cffi::refusal::set;
use crate::cffi::text::{self, bytes};
use crate::cffi::threads::mcplink_thread_fn;
use crate::cffi::validator::{
    mcplink_schema_check_fn, mcplink_schema_compile_fn, mcplink_schema_free_fn,
};
use crate::cffi::{arg, limit, validator};
use crate::error::{Error, ErrorKind};
use crate::schema::{CacheHint, CacheScope, JsonObject};
use crate::server::{List, MemoryStateStore, ServerBuilder, StateKey, TaskOptions};

actions! {
    set(options: mcplink_server_options_t);

    /// Sets a limit that applies to each connection, so that no client can exhaust the memory or
    /// the threads of the server.
    ///
    /// limit: the limit.
    /// value: the new value of the limit.
    fn mcplink_server_options_set_limit(limit: arg::mcplink_limit, value: usize) {
        limit::set(&mut options.limits, limit, value)?;
    }

    /// Sets the maximum number of items on a page of a list, so that long lists come in messages of
    /// moderate size.
    ///
    /// items: the maximum number; 0, the default, for all items on one page.
    fn mcplink_server_options_set_page_size(items: usize) {
        let size = NonZeroUsize::new(items);
        options.set("page_size", size, ServerBuilder::page_size);
    }

    /// Sets the drain time: how long calls in flight may continue after a client has disconnected,
    /// so that work is not cut off half-way. Default: 5 s. Requests without an answer are then
    /// answered with an error (-32603), and their handlers are cancelled.
    ///
    /// milliseconds: the drain time, in milliseconds.
    fn mcplink_server_options_set_drain_ms(milliseconds: u32) {
        let drain = Duration::from_millis(milliseconds.into());
        options.set("drain", Some(drain), ServerBuilder::drain);
    }

    /// Sets the time after which a running handler is logged as slow, because it occupies a thread
    /// that other calls may wait for. Default: 30 s.
    ///
    /// milliseconds: the time, in milliseconds.
    fn mcplink_server_options_set_slow_handler_ms(milliseconds: u32) {
        let time = Duration::from_millis(milliseconds.into());
        options.set("slow_handler", Some(time), ServerBuilder::slow_handler);
    }

    /// Sets that the server pings a client after a silence, and disconnects a client that does not
    /// answer, so that clients that are gone without a word free what they occupy. Only clients of
    /// revisions before 2026-07-28 are pinged. Default: no pings.
    ///
    /// interval_ms: the length of the silence, in milliseconds.
    /// timeout_ms: how long an answer may take, in milliseconds, for example 30000.
    /// max_failures: the number of unanswered pings in a row after which the connection ends, for
    /// example 3.
    fn mcplink_server_options_set_keep_alive(interval_ms: u32, timeout_ms: u32, max_failures: u32) {
        let keep_alive = limit::keep_alive(interval_ms, timeout_ms, max_failures)?;
        options.set("keep_alive", Some(keep_alive), ServerBuilder::keep_alive);
    }

    /// Adds a key for request states. A request state is the state of a call while the client
    /// answers an input request. The client stores the request state, which is encrypted and
    /// authenticated. The first key encrypts; all keys decrypt. Replicas that serve the same
    /// clients need the same keys. Default: each server generates a random key.
    ///
    /// key, len: 32 secret random bytes.
    fn mcplink_server_options_add_state_key(key: *const c_void, len: usize) {
        let key = bytes(key, len, "key")?;
        let key = <[u8; 32]>::try_from(key).map_err(|_| {
            let text = format!("a state key has 32 bytes, not {}", key.len());
            Error::new(ErrorKind::Invalid, text)
        })?;
        options.state_keys.push(StateKey::new(key));
    }

    /// Sets how long a client of a revision since 2026-07-28 may take to answer an input request. A
    /// later answer is refused. Default: 10 minutes.
    ///
    /// milliseconds: the time, in milliseconds, not 0.
    fn mcplink_server_options_set_state_lifetime_ms(milliseconds: u32) {
        if milliseconds == 0 {
            let text = "a client needs time to answer: milliseconds is 0";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        let lifetime = Duration::from_millis(milliseconds.into());
        options.set(
            "state_lifetime",
            Some(lifetime),
            ServerBuilder::state_lifetime,
        );
    }

    /// Sets whether each request state is accepted only once (replay protection). With true, a
    /// client that sends a request state twice cannot repeat the side effects of the handler.
    /// Default: false.
    ///
    /// enabled: true to accept each request state only once. Used states are stored in the memory
    /// of this process, so the protection does not work across replicas: see
    /// mcplink_server_options_set_state_store, whose store is replaced. False for no store.
    fn mcplink_server_options_set_single_use_state(enabled: bool) {
        options.set(STATE_STORE, enabled.then_some(()), |builder, ()| {
            builder.state_store(MemoryStateStore::default())
        });
    }

    /// Sets whether handlers may send log messages to clients. With true, the server declares the
    /// capability "logging". Default: false.
    ///
    /// enabled: true to enable log messages.
    fn mcplink_server_options_set_logging(enabled: bool) {
        options.set("enabled", Some(enabled), ServerBuilder::logging);
    }

    /// Sets whether clients may subscribe to changes of single resources; false for resources that
    /// never change. Default: true.
    ///
    /// enabled: true to allow these subscriptions.
    fn mcplink_server_options_set_resource_updates(enabled: bool) {
        options.set(
            "resource_updates",
            Some(enabled),
            ServerBuilder::resource_updates,
        );
    }

    /// Sets whether clients are notified when a list of tools, prompts or resources changes
    /// (listChanged); false for lists that never change, which saves clients a subscription.
    /// Default: true.
    ///
    /// enabled: true to notify clients. With false, entries can still be added and removed.
    fn mcplink_server_options_set_list_changes(enabled: bool) {
        options.set("list_changes", Some(enabled), ServerBuilder::list_changes);
    }

    /// Sets whether results for clients of revisions since 2026-07-28 contain the name and version
    /// of the server; false for shorter results, and for servers that do not want to show their
    /// version. Default: true.
    ///
    /// enabled: true to include the name and version.
    fn mcplink_server_options_set_send_server_info(enabled: bool) {
        options.set(
            "send_server_info",
            Some(enabled),
            ServerBuilder::send_server_info,
        );
    }

    /// Disables the validation of arguments and of structured results of tools against their JSON
    /// Schemas, for handlers that check their arguments themselves. A build for which
    /// mcplink_has_feature("validation") returns false checks only the keywords that
    /// mcplink_tool_add_param_schema names. The validator that was set with
    /// mcplink_server_options_set_validator is removed.
    fn mcplink_server_options_clear_validation() {
        options.set("validation", Some(()), |builder, ()| {
            builder.validator(None)
        });
    }

    /// Sets a validator of the host, which checks arguments and structured results of tools against
    /// their JSON Schemas instead of the library, for example with a schema library that the host
    /// has anyway. Both schemas of a tool are compiled when the tool is added: if a schema can't be
    /// used, the tool is refused. If arguments do not fit, the handler does not run, and the model
    /// reads the reason. If a result does not fit, the client gets an internal error.
    ///
    /// compile, check, free: see mcplink_schema_compile_fn, mcplink_schema_check_fn and
    /// mcplink_schema_free_fn. NULL is refused for each of them: see
    /// mcplink_server_options_clear_validation.
    /// user, destroy: passed to the functions; destroy runs when the validator is replaced or
    /// cleared, or when the options and all servers made with them are freed.
    fn mcplink_server_options_set_validator(
        compile: mcplink_schema_compile_fn,
        check: mcplink_schema_check_fn,
        free: mcplink_schema_free_fn; user
    ) {
        let hook = validator::hook(compile, check, free, user)?;
        options.unset("validation");
        options.add_for("validation", move |builder, owner| {
            builder.validator(validator::validator(&hook, owner))
        });
    }

    /// Sets whether standard output is reserved for the protocol while mcplink_server_serve_stdio
    /// runs, so that a stray printf can't break the connection. Default: true.
    ///
    /// enabled: true to reserve standard output. With false, other output of this process to
    /// standard output corrupts the protocol.
    fn mcplink_server_options_set_claim_stdio(enabled: bool) {
        options.claims_stdio = enabled
    }
}

enumeration! {
    /// A list that a server offers to clients.
    #[repr(C)]
    pub enum mcplink_list {
        /// The list of tools: tools/list.
        MCPLINK_LIST_TOOLS = 1001,
        /// The list of prompts: prompts/list.
        MCPLINK_LIST_PROMPTS = 1002,
        /// The list of resources: resources/list.
        MCPLINK_LIST_RESOURCES = 1003,
        /// The list of resource templates: resources/templates/list.
        MCPLINK_LIST_TEMPLATES = 1004,
    }
}

pub(in crate::cffi) fn list_of(list: i32) -> crate::error::Result<List> {
    use mcplink_list as Name;
    Ok(match Name::read(list, "list")? {
        Name::MCPLINK_LIST_TOOLS => List::Tools,
        Name::MCPLINK_LIST_PROMPTS => List::Prompts,
        Name::MCPLINK_LIST_RESOURCES => List::Resources,
        Name::MCPLINK_LIST_TEMPLATES => List::ResourceTemplates,
    })
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets that the server declares the capability for a list even if the list has no entries yet.
    /// Clients that connect early then know that entries may be added later.
    ///
    /// list: the list.
    fn mcplink_server_options_declare_capability(list: arg::mcplink_list) {
        let list = list_of(list)?;
        options.add("offer", move |builder| builder.declare_capability(list));
    }

    /// Sets how long clients of revisions since 2026-07-28 may cache the pages of a list, which
    /// saves requests for lists that rarely change. Default: pages are not cached.
    ///
    /// list: the list.
    /// ttl_ms: the time, in milliseconds.
    /// is_public: true if shared caches may store the pages and return them to other clients.
    fn mcplink_server_options_set_cache(list: arg::mcplink_list, ttl_ms: u64, is_public: bool) {
        let hint = CacheHint {
            ttl_ms: Some(ttl_ms),
            cache_scope: Some(if is_public {
                CacheScope::Public
            } else {
                CacheScope::Private
            }),
        };
        let list = list_of(list)?;
        options.add("cache", move |builder| {
            builder.cache_list(list, hint.clone())
        });
    }

    /// Enables tasks, for tools that support tasks (see mcplink_tool_set_task_support): a long call
    /// survives a lost connection, and its client need not wait for it. If a call becomes a task,
    /// the client receives the task at once, and fetches the result when the task has ended.
    ///
    /// max_tasks: the maximum number of stored tasks; 0, the default, to disable tasks. At the
    /// limit, a finished task is removed to make space. If all tasks are running, the next call is
    /// refused as busy, or runs without a task. Some tasks are reserved for clients with few tasks:
    /// see MCPLINK_LIMIT_RESERVE_PERCENT.
    /// lifetime_ms: the time from the creation of a task to its removal, in milliseconds. It
    /// applies if the client requests no other time.
    fn mcplink_server_options_set_tasks(max_tasks: usize, lifetime_ms: u64) {
        let lifetime = Duration::from_millis(lifetime_ms);
        let tasks = NonZeroUsize::new(max_tasks)
            .map(|max| TaskOptions::default().max_tasks(max).lifetime(lifetime));
        options.set("tasks", tasks, ServerBuilder::tasks);
    }

    /// Adds an extension of the protocol, which the server declares to clients. The methods of the
    /// extension are handled with mcplink_server_options_on_method.
    ///
    /// id: the id of the extension, for example "com.example/maps".
    /// settings, len: a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
    /// settings.
    fn mcplink_server_options_add_extension(
        id: *const c_char,
        settings: *const c_char,
        len: usize,
    ) {
        let settings = typed::<JsonObject>(settings, len, "settings")?;
        let (id, settings) = (text::name(id, "id")?, settings);
        let settings = settings.unwrap_or_default();
        let id = id.to_owned();
        options.add("extension", move |builder| {
            builder.extension(&*id, settings.clone())
        });
    }

    /// Declares a capability that this library does not know, for example of a draft of the
    /// protocol. Its methods are handled with mcplink_server_options_on_method. A feature that will
    /// not become a part of the protocol should be an extension.
    ///
    /// name: the name of the capability, such as "events"; or "experimental". The other names of
    /// the specification are refused, because the server declares these capabilities by what it
    /// offers.
    /// settings, len: a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
    /// settings.
    fn mcplink_server_options_add_capability(
        name: *const c_char,
        settings: *const c_char,
        len: usize,
    ) {
        let settings = typed::<JsonObject>(settings, len, "settings")?.unwrap_or_default();
        let name = text::name(name, "name")?.to_owned();
        options.add("capability", move |builder| {
            builder.capability(&*name, settings.clone())
        });
    }

    /// Sets the stack size of the server's threads that may run code of the host: larger for
    /// handlers that recurse deeply, smaller for a host that is short of address space. Default: 8
    /// MiB, or 2 MiB on a 32-bit system. A stack reserves address space, and uses memory only for
    /// the pages that were written to.
    ///
    /// bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds the size up to whole pages.
    /// If the system lacks the memory, starting a thread fails.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size.
    fn mcplink_server_options_set_thread_stack_size(bytes: usize) {
        options.threads.set_stack_size(bytes)?;
    }

    /// Sets the prefix of the names of the server's threads, by which debuggers and profilers show
    /// whose threads they are. Default: "mcplink". A name consists of the prefix, a dash and the
    /// role of the thread, such as "mcplink-worker". Linux shows only the first 15 bytes of a name.
    ///
    /// prefix: 1 to 15 bytes, without control characters.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix.
    fn mcplink_server_options_set_thread_prefix(prefix: *const c_char) {
        let prefix = text::name(prefix, "prefix")?;
        options.threads.set_prefix(prefix)?;
    }

    /// Sets hooks that run at the start and at the end of each thread that the library starts for
    /// the server. These hooks are needed by profilers, and by virtual machines that must attach
    /// each thread.
    ///
    /// If start was called, stop is called before the thread ends. When mcplink_server_free has
    /// returned, all threads have ended, except threads whose callback does not return. If
    /// mcplink_server_free is called in a callback of the server, the threads end after that
    /// callback.
    ///
    /// Threads with these hooks have the stack size that is set with
    /// mcplink_server_options_set_thread_stack_size. The hooks do not run on threads of the host
    /// itself, such as a thread that dispatches a pump.
    ///
    /// start: called before any other callback on the thread; NULL for no hook.
    /// stop: called after all other callbacks on the thread; NULL for no hook.
    /// user, destroy: passed to both hooks. destroy runs when other hooks are set. Otherwise
    /// destroy runs when the options, all servers made with them and all responders of these
    /// servers are freed. The threads of these servers have ended by then.
    fn mcplink_server_options_on_thread(start: mcplink_thread_fn, stop: mcplink_thread_fn; user) {
        options.threads.set_hook(start, stop, user);
    }
}
