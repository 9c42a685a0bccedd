//! Options of a client: timeouts, limits, restarts, threads.

use std::ffi::c_char;

use super::options::mcplink_client_options_t;
use crate::cffi::arg::{invalid, span};
use crate::cffi::refusal::set;
use crate::cffi::text::name;
use crate::cffi::threads::mcplink_thread_fn;
use crate::cffi::validator::{
    mcplink_schema_check_fn, mcplink_schema_compile_fn, mcplink_schema_free_fn,
};
use crate::cffi::{arg, limit, validator};
use crate::client::Restart;

actions! {
    set(options: mcplink_client_options_t);

    /// Sets how long connecting may take in total, so that a server that never answers does not
    /// keep the host waiting. Default: 60 s. After this time, connecting fails with
    /// MCPLINK_E_TIMEOUT.
    ///
    /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
    fn mcplink_client_options_set_connect_timeout_ms(milliseconds: u32) {
        options.build(|builder| builder.connect_timeout(span(milliseconds)));
    }

    /// Sets how long a server may take to answer the first request. A server that takes longer is
    /// treated as a legacy server, because some of these do not answer a request that they don't
    /// know. Default: 5 s.
    ///
    /// milliseconds: the timeout. The timeout is not used over HTTP, where a missing answer does
    /// not indicate the era.
    fn mcplink_client_options_set_probe_timeout_ms(milliseconds: u32) {
        options.build(|builder| builder.probe_timeout(span(milliseconds)));
    }

    /// Sets the default timeout of calls: how long a call waits for its result, so that a server
    /// that hangs does not hang the host. Progress restarts the timeout. Default: 60 s.
    ///
    /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
    fn mcplink_client_options_set_timeout_ms(milliseconds: u32) {
        options.timeouts.timeout = span(milliseconds);
    }

    /// Sets the default total timeout of calls, which ends calls whose progress never ends.
    /// Progress does not restart the total timeout. Default: 10 minutes.
    ///
    /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
    fn mcplink_client_options_set_max_timeout_ms(milliseconds: u32) {
        options.timeouts.max_timeout = span(milliseconds);
    }

    /// Sets a limit of the connection.
    ///
    /// limit: the limit.
    /// value: the new value of the limit.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for an unknown limit.
    fn mcplink_client_options_set_limit(limit: arg::mcplink_limit, value: usize) {
        limit::set(&mut options.limits, limit, value)?;
    }

    /// Sets the maximum number of started calls that have not ended, so that a slow server can't
    /// occupy any amount of memory. Default: 256. At the limit, starting another call fails with
    /// MCPLINK_E_BUSY.
    ///
    /// A call has no thread while the server works on its first request. If more is to be done, a
    /// thread continues the call: further pages of a list, input requests of the server. A call has
    /// a thread from its start if it waits for a task or calls a tool as a task, and if it is
    /// started before the client is connected. The calls that run in order (see
    /// mcplink_client_listen_start) share one thread.
    ///
    /// count: the maximum number, at least 1.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for 0.
    fn mcplink_client_options_set_max_started(count: usize) {
        if count == 0 {
            return Err(invalid("at least one call has to be possible").into());
        }
        options.max_started = count;
    }

    /// Sets how the server is restarted automatically when the connection is lost, so that a crash
    /// costs no more than the calls in flight. Default: no restart. The endpoint must be a command,
    /// or another endpoint that can be connected again.
    ///
    /// When the connection is lost, calls in flight fail with MCPLINK_E_CLOSED. Calls that were not
    /// sent yet wait for the new connection until their deadline.
    ///
    /// max_attempts: the number of attempts in a row, for example 10; 0 for no restart.
    /// first_delay_ms, max_delay_ms: the delay before the first attempt, and the longest delay, in
    /// milliseconds. The delay doubles from attempt to attempt (back-off). Common values are 250
    /// and 30000.
    fn mcplink_client_options_set_restart(
        max_attempts: u32,
        first_delay_ms: u32,
        max_delay_ms: u32,
    ) {
        let restart = Restart::new()
            .max_attempts(max_attempts)
            .first_delay(span(first_delay_ms))
            .max_delay(span(max_delay_ms));
        options.restart = Some(restart).filter(|_| max_attempts > 0);
    }

    /// Sets whether idempotent calls are retried after a restart, though the server may have
    /// executed them before the connection was lost. Idempotent calls are reads, lists, and calls
    /// of listed tools that declare themselves idempotent or read-only. Default: false. The setting
    /// has no effect without mcplink_client_options_set_restart.
    ///
    /// enabled: true to retry idempotent calls.
    fn mcplink_client_options_set_retry_idempotent_calls(enabled: bool) {
        options.resends = enabled
    }

    /// Sets that the client pings the server after a silence, and ends the connection when the
    /// server does not answer. So a server that hangs, or a network that is gone without a word, is
    /// noticed before the next call. Default: no pings.
    ///
    /// interval_ms: the length of the silence, in milliseconds.
    /// timeout_ms: how long an answer may take, in milliseconds, for example 30000.
    /// max_failures: the number of unanswered pings in a row after which the connection ends, for
    /// example 3.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when a time is 0.
    fn mcplink_client_options_set_keep_alive(interval_ms: u32, timeout_ms: u32, max_failures: u32) {
        let keep_alive = limit::keep_alive(interval_ms, timeout_ms, max_failures)?;
        options.build(|builder| builder.keep_alive(keep_alive));
    }

    /// Sets the maximum number of pages and of items in a list, so that a list without an end can't
    /// fill the memory. Default: 10 000 pages and 100 000 items. Reading a longer list fails with
    /// MCPLINK_E_LIMIT.
    ///
    /// pages, items: the maximum number of pages and the maximum number of items.
    fn mcplink_client_options_set_max_list(pages: usize, items: usize) {
        options.build(|builder| builder.max_list_pages(pages).max_list_items(items));
    }

    /// Sets whether answers of the server that violate the specification are refused, for tests of
    /// servers. Default: false. With false, unambiguous violations are accepted, and invalid
    /// entries are left out of lists (see mcplink_result_misfits).
    ///
    /// With true, an invalid request of the server (elicitation, sampling, roots) reaches no
    /// callback: the request is refused, or the call to which the request belongs fails.
    /// docs/compatibility.md lists the violations that are accepted.
    ///
    /// enabled: true to refuse invalid answers: a call with an invalid answer fails with
    /// MCPLINK_E_PROTOCOL.
    fn mcplink_client_options_set_strict(enabled: bool) {
        options.build(|builder| builder.strict(enabled));
    }

    /// Sets whether the client names itself to servers of revisions since 2026-07-28, with each
    /// request. A host that does not want to be recognised sets false. Earlier revisions require
    /// the name. Default: true.
    ///
    /// enabled: false to send no name, for privacy.
    fn mcplink_client_options_set_send_client_info(enabled: bool) {
        options.build(|builder| builder.send_client_info(enabled));
    }

    /// Sets whether a call is sent although the server did not declare the required capability.
    /// Default: false, which means that such a call fails at once with MCPLINK_E_UNSUPPORTED. Use
    /// true for a server that has tools, for example, but does not declare the capability.
    ///
    /// enabled: true to send the call.
    fn mcplink_client_options_set_assume_capabilities(enabled: bool) {
        options.build(|builder| builder.assume_capabilities(enabled));
    }

    /// Sets the time after which a running handler of the host is logged as slow: all other
    /// callbacks of the client wait for it. Default: 30 s.
    ///
    /// milliseconds: the time; MCPLINK_FOREVER to log no handler as slow.
    fn mcplink_client_options_set_slow_handler_ms(milliseconds: u32) {
        options.build(|builder| builder.slow_handler(span(milliseconds)));
    }

    /// Disables the validation of structured tool results against the listed output schemas, which
    /// saves their time where the server is trusted. A build without the feature "validation"
    /// validates these results only with a validator that was set with
    /// mcplink_client_options_set_validator, and this function removes that validator.
    fn mcplink_client_options_clear_validation() {
        options.validator = None;
        options.build(|builder| builder.validator(None));
    }

    /// Sets a validator of the host, which checks structured tool results against the listed output
    /// schemas instead of the library. If a result does not fit, its call fails with
    /// MCPLINK_E_PROTOCOL. If a schema can't be used, a call of its tool fails before it is sent.
    ///
    /// compile, check, free: see mcplink_schema_compile_fn, mcplink_schema_check_fn and
    /// mcplink_schema_free_fn. NULL is refused for each of them: see
    /// mcplink_client_options_clear_validation.
    /// user, destroy: passed to the functions; destroy runs when the validator is replaced or
    /// cleared, or when the options and all clients that use the validator are freed.
    fn mcplink_client_options_set_validator(
        compile: mcplink_schema_compile_fn,
        check: mcplink_schema_check_fn,
        free: mcplink_schema_free_fn; user
    ) {
        let hook = validator::hook(compile, check, free, user)?;
        options.validator = Some(Box::new(move |owner| validator::validator(&hook, owner)));
    }

    /// Sets the stack size of the client's threads that may run code of the host: larger for
    /// callbacks that recurse deeply, smaller for a host with many clients. Default: 8 MiB, or 2
    /// MiB on a 32-bit system. A stack reserves address space, and uses memory only for the pages
    /// that were written to.
    ///
    /// bytes: 262144 (256 KiB) to 1073741824 (1 GiB); the system rounds the size up to whole pages.
    /// If the system lacks the memory, starting a thread fails.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another size.
    fn mcplink_client_options_set_thread_stack_size(bytes: usize) {
        options.threads.set_stack_size(bytes)?;
    }

    /// Sets the prefix of the names of the client's threads, by which debuggers and profilers show
    /// whose threads they are. Default: "mcplink". A name consists of the prefix, a dash and the
    /// role of the thread, such as "mcplink-call". Linux shows only the first 15 bytes of a name.
    ///
    /// prefix: 1 to 15 bytes, without control characters.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for another prefix.
    fn mcplink_client_options_set_thread_prefix(prefix: *const c_char) {
        options.threads.set_prefix(name(prefix, "prefix")?)?;
    }

    /// Sets hooks that run at the start and at the end of each thread that the library starts for
    /// the client. These hooks are needed by profilers, and by virtual machines that must attach
    /// each thread.
    ///
    /// If start was called, stop is called before the thread ends. When mcplink_client_free has
    /// returned, all threads have ended, except threads whose callback does not return. If
    /// mcplink_client_free is called in a callback of the client, the threads end after that
    /// callback. A thread that connects or logs in may end slightly later, if it can't be
    /// interrupted.
    ///
    /// Threads with these hooks have the stack size that is set with
    /// mcplink_client_options_set_thread_stack_size. The hooks do not run on threads of the host
    /// itself, such as a thread that dispatches a pump.
    ///
    /// start: called before any other callback on the thread; NULL for no hook.
    /// stop: called after all other callbacks on the thread; NULL for no hook.
    /// user, destroy: passed to both hooks. destroy runs when other hooks are set. Otherwise
    /// destroy runs when the options, their clients and the responders that were kept are freed,
    /// and all threads have ended.
    fn mcplink_client_options_on_thread(start: mcplink_thread_fn, stop: mcplink_thread_fn; user) {
        options.threads.set_hook(start, stop, user);
    }
}
