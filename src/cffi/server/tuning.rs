//! Settings of a server that most leave as they are.

use std::ffi::{c_char, c_void};
use std::num::NonZeroUsize;
use std::time::Duration;

use super::definition::typed;
use super::settings::mcplink_server_options_t;
use crate::cffi::limit;
use crate::cffi::refusal::set;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, bytes};
use crate::cffi::threads::mcplink_thread_fn;
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind};
use crate::protocol::KeepAlive;
use crate::schema::{CacheHint, CacheScope, JsonObject};
use crate::server::{List, MemoryStateStore, StateKey, TaskOptions};

/// Sets an upper bound of each connection.
///
/// options: the settings.
/// which: one of enum mcplink_limit.
/// bound: the most there may be.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_limit(
    options: *mut mcplink_server_options_t,
    which: i32,
    bound: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_limit", |options| {
            limit::set(&mut options.limits, which, bound)?;
            Ok(())
        })
    }
}

/// Sets how many handlers may run at once on threads of the library: 64 without this. The same as MCPLINK_LIMIT_WORKERS.
///
/// options: the settings.
/// workers: at least 1.
/// Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_workers(
    options: *mut mcplink_server_options_t,
    workers: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_workers", |options| {
            options.limits.max_workers = workers.max(1);
            Ok(())
        })
    }
}

/// Sets how many items each page of a list has.
///
/// options: the settings.
/// items: 0 for all of them on one page, as it is without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_page_size(
    options: *mut mcplink_server_options_t,
    items: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_page_size", |options| {
            options.page_size = NonZeroUsize::new(items);
            Ok(())
        })
    }
}

/// Sets how long calls in hand may go on when a client has gone: 5 seconds without this.
///
/// options: the settings.
/// drain_ms: in milliseconds.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_drain_ms(
    options: *mut mcplink_server_options_t,
    drain_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_drain_ms", |options| {
            options.drain = Duration::from_millis(drain_ms.into());
            Ok(())
        })
    }
}

/// Sets from when on a handler runs long, which the log hook is told: 30 seconds without this.
///
/// options: the settings.
/// slow_handler_ms: in milliseconds.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_slow_handler_ms(
    options: *mut mcplink_server_options_t,
    slow_handler_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_slow_handler_ms",
            |options| {
                options.slow_handler = Duration::from_millis(slow_handler_ms.into());
                Ok(())
            },
        )
    }
}

/// Has clients of revisions before 2026-07-28 pinged that have said nothing for a while; who does not answer three times is given up.
///
/// options: the settings.
/// interval_ms: after so many milliseconds of silence; 0 for no pings, as it is without this.
/// timeout_ms: how long a client may take to answer, in milliseconds.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_keep_alive_ms(
    options: *mut mcplink_server_options_t,
    interval_ms: u32,
    timeout_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_keep_alive_ms",
            |options| {
                let interval = Duration::from_millis(interval_ms.into());
                let keep_alive =
                    KeepAlive::every(interval).timeout(Duration::from_millis(timeout_ms.into()));
                options.keep_alive = (interval_ms > 0).then_some(keep_alive);
                Ok(())
            },
        )
    }
}

/// Adds a key that seals what calls know between their rounds: the first one seals, all of them open. Replicas that serve the same clients need the same keys; without any, each server makes its own.
///
/// options: the settings.
/// key, len: 32 secret random bytes.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_add_state_key(
    options: *mut mcplink_server_options_t,
    key: *const u8,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and bytes with their length.
    unsafe {
        set(options, "mcplink_server_options_add_state_key", |options| {
            let key = bytes(key.cast(), len, "key")?;
            let key = <[u8; 32]>::try_from(key).map_err(|_| {
                let text = format!("a state key has 32 bytes, not {}", key.len());
                Error::new(ErrorKind::Invalid, text)
            })?;
            options.state_keys.push(StateKey::new(key));
            Ok(())
        })
    }
}

/// Sets how long a client may take to answer what a call asks, since 2026-07-28: 10 minutes without this.
///
/// options: the settings.
/// lifetime_ms: in milliseconds, not 0.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_state_lifetime_ms(
    options: *mut mcplink_server_options_t,
    lifetime_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_state_lifetime_ms",
            |options| {
                if lifetime_ms == 0 {
                    let text = "a client needs time to answer: lifetime_ms is 0";
                    return Err(Error::new(ErrorKind::Invalid, text).into());
                }
                options.state_lifetime = Duration::from_millis(lifetime_ms.into());
                Ok(())
            },
        )
    }
}

/// Has each round of a call that asks taken once only, so that what happens there does not happen again when a client repeats it.
///
/// options: the settings.
/// single_use: whether so; false without this. Remembered in the memory of this process: not for replicas.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_single_use_state(
    options: *mut mcplink_server_options_t,
    single_use: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_single_use_state",
            |options| {
                options.unset("single_use_state");
                if single_use {
                    options.add("single_use_state", |builder| {
                        builder.state_store(MemoryStateStore::default())
                    });
                }
                Ok(())
            },
        )
    }
}

/// Lets handlers send log messages to clients.
///
/// options: the settings.
/// logging: whether so; false without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_logging(
    options: *mut mcplink_server_options_t,
    logging: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_logging", |options| {
            options.logging = logging;
            Ok(())
        })
    }
}

/// Lets clients subscribe to changes of single resources.
///
/// options: the settings.
/// updates: whether so; true without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_resource_updates(
    options: *mut mcplink_server_options_t,
    updates: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_resource_updates",
            |options| {
                options.resource_updates = updates;
                Ok(())
            },
        )
    }
}

/// Says whether the lists of tools, prompts and resources may change while the server runs.
///
/// options: the settings.
/// changes: true without this: clients are told of each change (listChanged). With false they are
/// told of none; what is added or removed later is served all the same.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_list_changes(
    options: *mut mcplink_server_options_t,
    changes: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_list_changes",
            |options| {
                options.list_changes = changes;
                Ok(())
            },
        )
    }
}

/// Has results name the server, since 2026-07-28.
///
/// options: the settings.
/// names_itself: whether so; true without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_names_itself(
    options: *mut mcplink_server_options_t,
    names_itself: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_names_itself",
            |options| {
                options.names_itself = names_itself;
                Ok(())
            },
        )
    }
}

/// Has arguments and structured results of tools checked against their JSON Schemas, where the build can (mcplink_has_feature("validation")).
///
/// options: the settings.
/// validation: whether so; true without this.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_validation(
    options: *mut mcplink_server_options_t,
    validation: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_validation",
            |options| {
                options.validation = validation;
                Ok(())
            },
        )
    }
}

/// Has standard output taken for the protocol while mcplink_server_serve_stdio runs.
///
/// options: the settings.
/// claim: true without this. With false, whatever else this process prints there corrupts the protocol.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_claim_stdio(
    options: *mut mcplink_server_options_t,
    claim: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_claim_stdio",
            |options| {
                options.claims_stdio = claim;
                Ok(())
            },
        )
    }
}

/// A list that a server gives.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_list {
    /// tools/list.
    MCPLINK_LIST_TOOLS = 1,
    /// prompts/list.
    MCPLINK_LIST_PROMPTS = 2,
    /// resources/list.
    MCPLINK_LIST_RESOURCES = 3,
    /// resources/templates/list.
    MCPLINK_LIST_TEMPLATES = 4,
}

fn list_of(list: i32) -> crate::error::Result<List> {
    use mcplink_list as Name;
    let known = [
        (Name::MCPLINK_LIST_TOOLS, List::Tools),
        (Name::MCPLINK_LIST_PROMPTS, List::Prompts),
        (Name::MCPLINK_LIST_RESOURCES, List::Resources),
        (Name::MCPLINK_LIST_TEMPLATES, List::ResourceTemplates),
    ];
    let found = known.into_iter().find(|(known, _)| *known as i32 == list);
    found.map(|(_, list)| list).ok_or_else(|| {
        let text = format!("there is no list {list}: use one of enum mcplink_list");
        Error::new(ErrorKind::Invalid, text)
    })
}

/// Says that the server has such things although none is there yet, so that clients that connect before the first one is added know that some may come.
///
/// options: the settings.
/// list: one of enum mcplink_list.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_add_offer(
    options: *mut mcplink_server_options_t,
    list: i32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_add_offer", |options| {
            let list = list_of(list)?;
            options.add("offer", move |builder| builder.offers(list));
            Ok(())
        })
    }
}

/// Says how long and by whom the pages of a list may be kept, since 2026-07-28: not at all without this.
///
/// options: the settings.
/// list: one of enum mcplink_list.
/// ttl_ms: in milliseconds.
/// is_public: whether those who stand between may give them to others too.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_cache(
    options: *mut mcplink_server_options_t,
    list: i32,
    ttl_ms: u64,
    is_public: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_cache", |options| {
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
            Ok(())
        })
    }
}

/// Lets calls of tools become tasks, for tools with mcplink_tool_set_task_support: the client gets the task at once, and fetches the result when it is there.
///
/// options: the settings.
/// max_tasks: how many are kept at once; 0 for no tasks, as it is without this. Tasks that are over give way to new ones, so only tasks that
/// still work keep others out, and no client keeps all others out.
/// lifetime_ms: for how long one is kept, in milliseconds, when the client does not say.
/// Returns: MCPLINK_OK. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_tasks(
    options: *mut mcplink_server_options_t,
    max_tasks: usize,
    lifetime_ms: u64,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_tasks", |options| {
            options.unset("tasks");
            if let Some(max) = NonZeroUsize::new(max_tasks) {
                let lifetime = Duration::from_millis(lifetime_ms);
                let tasks = TaskOptions::default().max_tasks(max).lifetime(lifetime);
                options.add("tasks", move |builder| builder.tasks(tasks.clone()));
            }
            Ok(())
        })
    }
}

/// Declares an extension of the protocol; the methods that it adds are handled with mcplink_server_options_on_method.
///
/// options: the settings.
/// id: its id, for example "com.example/maps".
/// settings, len: a JSON object; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_add_extension(
    options: *mut mcplink_server_options_t,
    id: *const c_char,
    settings: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours, text that ends in NUL, and text with its length.
    unsafe {
        set(options, "mcplink_server_options_add_extension", |options| {
            let settings = typed::<JsonObject>(settings, len, "settings")?;
            let (id, settings) = (text::name(id, "id")?, settings);
            let settings = settings.unwrap_or_default();
            let id = id.to_owned();
            options.add("extension", move |builder| {
                builder.extension(&*id, settings.clone())
            });
            Ok(())
        })
    }
}

/// Says how much stack threads of the server have that may run code of the host. Defaults to 8 MiB. It is reserved, not used, until something is
/// put there.
///
/// options: the settings.
/// bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. What it has no room for is found out when a thread starts.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_thread_stack_size(
    options: *mut mcplink_server_options_t,
    bytes: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_thread_stack_size",
            |options| {
                options.threads.set_stack_size(bytes)?;
                Ok(())
            },
        )
    }
}

/// Says what the names of the threads of the server begin with. Defaults to "mcplink". A dash and the role of the thread follow, such as
/// "mcplink-crew"; Linux shows 15 bytes in all.
///
/// options: the settings.
/// prefix: 1 to 15 bytes, without control characters.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_thread_prefix(
    options: *mut mcplink_server_options_t,
    prefix: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_thread_prefix",
            |options| {
                let prefix = text::name(prefix, "prefix")?;
                options.threads.set_prefix(prefix)?;
                Ok(())
            },
        )
    }
}

/// Sets what runs first and last on each thread that the library starts for the server, on that thread: as a virtual machine needs it that
/// has to know the threads which enter it, or a profiler.
///
/// Where start was called, stop is called before the thread ends. When mcplink_server_free has returned, all threads have ended but for those
/// whose callback does not return; called in a callback of the server, it ends them behind that.
///
/// Threads with these callbacks have the stack of those that run code of the host. Threads of the host itself, such as those that dispatch a
/// pump, are not told of.
///
/// options: the settings.
/// start: called before any other callback on the thread; NULL for none.
/// stop: called behind all others; NULL for none.
/// user, destroy: passed to both; ended when others are set, or when the settings, all servers made with them and what was kept of those have
/// been freed, and their threads have ended.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_on_thread(
    options: *mut mcplink_server_options_t,
    start: mcplink_thread_fn,
    stop: mcplink_thread_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_on_thread", |options| {
            options.threads.set_hook(start, stop, user);
            Ok(())
        })
    }
}
