//! How long a client waits, how much it takes, and what it does when its server is lost.

use std::ffi::{c_char, c_void};

use super::options::{invalid, mcplink_client_options_t, span};
use crate::cffi::limit;
use crate::cffi::refusal::set;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::name;
use crate::cffi::threads::mcplink_thread_fn;
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::client::Restart;
use crate::protocol::KeepAlive;

/// Says how long connecting may take in all. Defaults to 60 s.
///
/// options: the options.
/// milliseconds: MCPLINK_FOREVER for no end.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_connect_timeout_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_connect_timeout_ms",
            |options| {
                options.build(|builder| builder.connect_timeout(span(milliseconds)));
                Ok(())
            },
        )
    }
}

/// Says how long a server may take to answer the first question before it is taken for a legacy one. Defaults to 5 s.
///
/// options: the options.
/// milliseconds: not over HTTP, where silence says nothing.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_probe_timeout_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_probe_timeout_ms",
            |options| {
                options.build(|builder| builder.probe_timeout(span(milliseconds)));
                Ok(())
            },
        )
    }
}

/// Says how long a call waits by default for its result, or for progress, which starts the time anew. Defaults to 60 s.
///
/// options: the options.
/// milliseconds: MCPLINK_FOREVER for no end.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_timeout_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_timeout_ms",
            |options| {
                options.timeouts.timeout = Some(span(milliseconds));
                Ok(())
            },
        )
    }
}

/// Says how long a call waits by default in all, however much progress there is. Defaults to 10 minutes.
///
/// options: the options.
/// milliseconds: MCPLINK_FOREVER for no end.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_max_timeout_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_max_timeout_ms",
            |options| {
                options.timeouts.max_timeout = Some(span(milliseconds));
                Ok(())
            },
        )
    }
}

/// Says how long a message may be that is accepted. Defaults to 16 MiB. The same as MCPLINK_LIMIT_MESSAGE_BYTES.
///
/// options: the options.
/// bytes: how many.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_max_message(
    options: *mut mcplink_client_options_t,
    bytes: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_max_message",
            |options| {
                options.limits.max_message_bytes = bytes;
                Ok(())
            },
        )
    }
}

/// Sets an upper bound of the connection.
///
/// options: the options.
/// number: one of enum mcplink_limit.
/// limit_value: the bound.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no such limit. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_limit(
    options: *mut mcplink_client_options_t,
    number: i32,
    limit_value: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_limit", |options| {
            limit::set(&mut options.limits, number, limit_value)?;
            Ok(())
        })
    }
}

/// Says how many started calls may go on at once, each of which has a thread. Defaults to 256; the next one fails with MCPLINK_E_BUSY.
///
/// options: the options.
/// count: at least 1.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for 0. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_max_started(
    options: *mut mcplink_client_options_t,
    count: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_max_started",
            |options| {
                if count == 0 {
                    return Err(invalid("at least one call has to be possible").into());
                }
                options.max_started = count;
                Ok(())
            },
        )
    }
}

/// Has the server started again when it was lost. Defaults to not at all. Needs a command or another way that can be made again.
///
/// Calls that are in flight then fail with MCPLINK_E_CLOSED; calls that were not sent yet wait for the new server, within their deadline.
///
/// options: the options.
/// max_attempts: how often to try in a row, for example 10; 0 for not at all.
/// first_delay_ms, max_delay_ms: how long to wait before the first attempt, and at most; in between the time doubles. For example 250 and 30000.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_restart(
    options: *mut mcplink_client_options_t,
    max_attempts: u32,
    first_delay_ms: u32,
    max_delay_ms: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_restart", |options| {
            let restart = Restart::new()
                .max_attempts(max_attempts)
                .first_delay(span(first_delay_ms))
                .max_delay(span(max_delay_ms));
            options.restart = Some(restart).filter(|_| max_attempts > 0);
            Ok(())
        })
    }
}

/// Has calls that a lost server may have begun sent again by themselves, when doing them twice does no harm: reading, listing, and tools that
/// say so of themselves, as far as they were listed. Defaults to no. Only with mcplink_client_options_set_restart.
///
/// options: the options.
/// resends: whether.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_resend_harmless(
    options: *mut mcplink_client_options_t,
    resends: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_resend_harmless",
            |options| {
                options.resends = resends;
                Ok(())
            },
        )
    }
}

/// Has a server pinged that has said nothing for a while, and given up when it does not answer. Defaults to no pings.
///
/// options: the options.
/// interval_ms: after so much silence.
/// timeout_ms: how long it may take to answer, for example 30000.
/// max_failures: after how many unanswered pings in a row the connection ends, for example 3.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_keep_alive(
    options: *mut mcplink_client_options_t,
    interval_ms: u32,
    timeout_ms: u32,
    max_failures: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_keep_alive",
            |options| {
                if interval_ms == 0 || timeout_ms == 0 {
                    return Err(invalid("pings need an interval and a timeout").into());
                }
                let keep_alive = KeepAlive::every(span(interval_ms))
                    .timeout(span(timeout_ms))
                    .max_failures(max_failures);
                options.build(|builder| builder.keep_alive(keep_alive));
                Ok(())
            },
        )
    }
}

/// Says how long lists may be that are read. Defaults to 10 000 pages and 100 000 items. Longer ones fail with MCPLINK_E_LIMIT.
///
/// options: the options.
/// pages, items: how many at most.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_max_list(
    options: *mut mcplink_client_options_t,
    pages: usize,
    items: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_max_list", |options| {
            options.build(|builder| builder.max_list_pages(pages).max_list_items(items));
            Ok(())
        })
    }
}

/// Says whether answers of the server that differ from the letter of the specification are refused. Defaults to no: what can mean one thing
/// only is understood, and what does not fit into a list is left out of it (mcplink_result_misfits).
///
/// A question of the server (elicitation, sampling, roots) that differs reaches no callback then: its request is refused, or the call that it
/// belongs to fails. docs/compatibility.md lists what is understood.
///
/// options: the options.
/// strict: whether such calls fail, with MCPLINK_E_PROTOCOL.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_strict(
    options: *mut mcplink_client_options_t,
    strict: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_strict", |options| {
            options.build(|builder| builder.strict(strict));
            Ok(())
        })
    }
}

/// Says whether calls are sent that need a capability which the server did not declare. Defaults to no: they fail at once, with
/// MCPLINK_E_UNSUPPORTED. Some servers declare nothing, and have tools all the same.
///
/// options: the options.
/// assume: whether they are sent.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_assume_capabilities(
    options: *mut mcplink_client_options_t,
    assume: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_assume_capabilities",
            |options| {
                options.build(|builder| builder.assume_capabilities(assume));
                Ok(())
            },
        )
    }
}

/// Says from when on a function of the host that answers the server runs long, which is told to the log. Defaults to 30 s.
///
/// options: the options.
/// milliseconds: MCPLINK_FOREVER for never.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_slow_handler_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_slow_handler_ms",
            |options| {
                options.build(|builder| builder.slow_handler(span(milliseconds)));
                Ok(())
            },
        )
    }
}

/// Switches off that structured results of tools are checked against the schemas that were listed. Only a library with the feature
/// "validation" checks them.
///
/// options: the options.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_clear_validation(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_clear_validation",
            |options| {
                options.build(|builder| builder.validator(None));
                Ok(())
            },
        )
    }
}

/// Says how much stack threads of the client have that may run code of the host. Defaults to 8 MiB. It is reserved, not used, until something is
/// put there.
///
/// options: the options.
/// bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds it up to whole pages. What it has no room for is found out when a thread starts.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_thread_stack_size(
    options: *mut mcplink_client_options_t,
    bytes: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_thread_stack_size",
            |options| {
                options.threads.set_stack_size(bytes)?;
                Ok(())
            },
        )
    }
}

/// Says what the names of the threads of the client begin with. Defaults to "mcplink". A dash and the role of the thread follow, such as
/// "mcplink-crew"; Linux shows 15 bytes in all.
///
/// options: the options.
/// prefix: 1 to 15 bytes, without control characters.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_thread_prefix(
    options: *mut mcplink_client_options_t,
    prefix: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_thread_prefix",
            |options| {
                options.threads.set_prefix(name(prefix, "prefix")?)?;
                Ok(())
            },
        )
    }
}

/// Sets what runs first and last on each thread that the library starts for the client, on that thread: as a virtual machine needs it that
/// has to know the threads which enter it, or a profiler.
///
/// Where start was called, stop is called before the thread ends. When mcplink_client_free has returned, all threads have ended but for those
/// whose callback does not return; called in a callback of the client, it ends them behind that. A thread that connects or logs in may be
/// on its way out for a moment longer, where that can't be interrupted.
///
/// Threads with these callbacks have the stack of those that run code of the host. Threads of the host itself, such as those that dispatch a
/// pump, are not told of.
///
/// options: the options.
/// start: called before any other callback on the thread; NULL for none.
/// stop: called behind all others; NULL for none.
/// user, destroy: passed to both; ended when others are set, or when the options, all clients made with them and what was kept of those have
/// been freed, and their threads have ended.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_on_thread(
    options: *mut mcplink_client_options_t,
    start: mcplink_thread_fn,
    stop: mcplink_thread_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_on_thread", |options| {
            options.threads.set_hook(start, stop, user);
            Ok(())
        })
    }
}
