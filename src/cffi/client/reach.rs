//! Saying what a client connects to.

use std::ffi::{CStr, OsStr, OsString, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use super::Shared;
use super::endpoint::{Endpoint, Inherits, Variable, duplicate, mcplink_stderr};
use super::options::{invalid, mcplink_client_options_t, mcplink_token_t, span};
#[cfg(feature = "http-client")]
use crate::cffi::auth::Made;
use crate::cffi::auth::mcplink_oauth_t;
use crate::cffi::entry::{Outcome, need};
use crate::cffi::handle::enter;
use crate::cffi::refusal::{set, taken};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, filled_measured, mcplink_str_t, missing, name};
use crate::cffi::transport::mcplink_transport_t;
use crate::cffi::user::{Hook, UserData, mcplink_destroy_fn};
use crate::transport::Stream;

/// Takes a line that a child wrote to its standard error, without its newline; valid until it returns.
pub type mcplink_line_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, line: mcplink_str_t)>;

/// Gives the token for one request, with mcplink_token_set, and returns MCPLINK_OK; anything else fails the request with MCPLINK_E_AUTH, and it
/// is not sent. Runs on the thread that sends, several at once, and should not wait for the server.
pub type mcplink_bearer_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, token: *mut mcplink_token_t) -> mcplink_status_t,
>;

/// Bytes as the system takes them.
///
/// # Safety
///
/// `ptr` is NULL or ends in NUL.
unsafe fn system_text(ptr: *const c_char, what: &str) -> Outcome<OsString> {
    if ptr.is_null() {
        return Err(missing(what).into());
    }
    // SAFETY: the caller says that it ends in NUL.
    let bytes = unsafe { CStr::from_ptr(ptr) }.to_bytes();
    Ok(OsStr::from_bytes(bytes).to_owned())
}

/// Connects to a server that is started as a child process, and ended with the client: messages on its standard input and output.
///
/// options: the options.
/// argv: the program and its arguments, NULL behind the last one, copied. No shell is involved. A name without a slash is looked for in PATH.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when there is no program. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_command(
    options: *mut mcplink_client_options_t,
    argv: *const *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and texts with NULL behind the last one.
    unsafe {
        set(options, "mcplink_client_options_set_command", |options| {
            let mut words = argv;
            need(words, "argv")?;
            let mut command = Vec::new();
            while !(*words).is_null() {
                command.push(system_text(*words, "argv")?);
                words = words.add(1);
            }
            if command.first().is_none_or(|program| program.is_empty()) {
                return Err(invalid("argv names no program").into());
            }
            options.endpoint.reach(
                "command",
                Some(move |endpoint: &Endpoint, shared: &Arc<Shared>| {
                    endpoint.command(&command, shared)
                }),
            );
            Ok(())
        })
    }
}

/// Sets an environment variable of the child, beside those that it inherits: see mcplink_client_options_inherit_env.
///
/// options: the options.
/// variable: its name.
/// variable_value: NULL keeps it from being inherited.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_env(
    options: *mut mcplink_client_options_t,
    variable: *const c_char,
    variable_value: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and texts that end in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_env", |options| {
            let variable = variable_name(variable)?;
            let value = if variable_value.is_null() {
                Variable::Removed
            } else {
                Variable::Set(system_text(variable_value, "variable_value")?)
            };
            options.endpoint.env.push((variable, value));
            Ok(())
        })
    }
}

/// Passes an environment variable of this process on to the child, as it is when the child is started. One that is not set then is left out.
///
/// options: the options.
/// variable: its name.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_pass_env(
    options: *mut mcplink_client_options_t,
    variable: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_client_options_pass_env", |options| {
            let variable = variable_name(variable)?;
            options.endpoint.env.push((variable, Variable::Passed));
            Ok(())
        })
    }
}

/// # Safety
///
/// `variable` is NULL or a text that ends in NUL.
unsafe fn variable_name(variable: *const c_char) -> Outcome<OsString> {
    // SAFETY: the caller promises it.
    let variable = unsafe { system_text(variable, "variable")? };
    if variable.is_empty() || variable.as_bytes().contains(&b'=') {
        return Err(invalid("an environment variable has a name without '='").into());
    }
    Ok(variable)
}

/// Has the child inherit every environment variable of this process. Defaults to the usual ones only: HOME, LANG, LC_*, LOGNAME, PATH, SHELL,
/// TERM, TMPDIR and USER. The others may be secrets of this process, such as keys. Takes the place of mcplink_client_options_clear_env.
///
/// options: the options.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_inherit_env(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_inherit_env", |options| {
            options.endpoint.inherits = Inherits::All;
            Ok(())
        })
    }
}

/// Has the system kill the child (SIGKILL) when this process ends, however it ends: a host that is killed leaves no child then. Defaults to
/// no: the child finds the end of its standard input, and may go on all the same.
///
/// Only the child is killed; what it has started finds the end of its standard input. The system binds the child to the thread that starts
/// it, so a thread of the client does that, and stays until the child has ended. Linux only: elsewhere opening fails with
/// MCPLINK_E_UNSUPPORTED.
///
/// options: the options.
/// dies: whether.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_die_with_parent(
    options: *mut mcplink_client_options_t,
    dies: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_die_with_parent",
            |options| {
                options.endpoint.dies_with_parent = dies;
                Ok(())
            },
        )
    }
}

/// Has the child inherit no environment variable; those that are set or passed on, before or after, it gets. Takes the place of
/// mcplink_client_options_inherit_env.
///
/// options: the options.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_clear_env(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_clear_env", |options| {
            options.endpoint.inherits = Inherits::Nothing;
            Ok(())
        })
    }
}

/// Starts the child in a directory. Defaults to the working directory of this process.
///
/// options: the options.
/// directory: a path; NULL for the default.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_cwd(
    options: *mut mcplink_client_options_t,
    directory: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_cwd", |options| {
            options.endpoint.directory = if directory.is_null() {
                None
            } else {
                Some(system_text(directory, "directory")?)
            };
            Ok(())
        })
    }
}

/// Says whether the child's standard input and output are pipes. Defaults to no: they are sockets. Only a program that opens /dev/stdin or
/// /dev/stdout by name needs pipes.
///
/// options: the options.
/// pipes: whether.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_pipes(
    options: *mut mcplink_client_options_t,
    pipes: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_pipes", |options| {
            options.endpoint.pipes = pipes;
            Ok(())
        })
    }
}

/// Says what becomes of the child's standard error.
///
/// options: the options.
/// mode: one of enum mcplink_stderr.
/// callback: with MCPLINK_STDERR_CAPTURE, takes each line; NULL for none. Runs where the callbacks of the client run. When 1024 lines wait, more
/// of them are only in mcplink_client_stderr_tail.
/// user, destroy: passed to callback, and ended when another one is set, or when options and clients that have it are freed.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is no such mode, or a callback with another one. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_stderr(
    options: *mut mcplink_client_options_t,
    mode: i32,
    callback: mcplink_line_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    use mcplink_stderr as Mode;
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_stderr", |options| {
            let modes = [
                Mode::MCPLINK_STDERR_CAPTURE,
                Mode::MCPLINK_STDERR_INHERIT,
                Mode::MCPLINK_STDERR_DISCARD,
            ];
            let Some(mode) = modes.into_iter().find(|known| *known as i32 == mode) else {
                return Err(invalid(format!("there is no mode {mode} of standard error")).into());
            };
            if callback.is_some() && mode != Mode::MCPLINK_STDERR_CAPTURE {
                let text =
                    "only standard error that is captured comes as lines (MCPLINK_STDERR_CAPTURE)";
                return Err(invalid(text).into());
            }
            options.endpoint.stderr = mode;
            options.hooks.stderr = Hook::new(callback, user);
            Ok(())
        })
    }
}

/// Says how long closing may take: how long a child may take to leave after its standard input was closed, and once more after SIGTERM, before
/// it is killed (2 s); how long a server over HTTP may take to hear that the session has ended (1 s).
///
/// options: the options.
/// milliseconds: more than an hour is an hour.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_close_ms(
    options: *mut mcplink_client_options_t,
    milliseconds: u32,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_close_ms", |options| {
            options.endpoint.close = Some(span(milliseconds.min(3_600_000)));
            Ok(())
        })
    }
}

/// Connects to a server over HTTP.
///
/// options: the options.
/// url: http://host:port/path, or https. What is wrong with it is found out when the client is opened.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_url(
    options: *mut mcplink_client_options_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_url", |options| {
            let url = name(url, "url")?.to_owned();
            options.endpoint.reach(
                "url",
                Some(move |endpoint: &Endpoint, shared: &Arc<Shared>| endpoint.http(&url, shared)),
            );
            Ok(())
        })
    }
}

/// Sends a header field with every request over HTTP. Its value appears in no error and no log.
///
/// options: the options.
/// field: its name. What the library writes itself is refused when the client is opened.
/// field_value: its value.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_header(
    options: *mut mcplink_client_options_t,
    field: *const c_char,
    field_value: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and texts that end in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_header", |options| {
            let (field, value) = (name(field, "field")?, name(field_value, "field_value")?);
            let headers = &mut options.endpoint.headers;
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(field));
            headers.push((field.to_owned(), value.to_owned()));
            Ok(())
        })
    }
}

/// Sends a token with every request over HTTP (Authorization: Bearer). It appears in no error and no log. It takes the place of
/// mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth.
///
/// options: the options.
/// token: NULL and text without anything are refused: see mcplink_client_options_clear_authorization.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_bearer(
    options: *mut mcplink_client_options_t,
    token: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_bearer", |options| {
            options.endpoint.bearer = Some(filled(token, "token")?.to_owned());
            (options.hooks.bearer, options.hooks.oauth) = (None, None);
            Ok(())
        })
    }
}

/// Asks for a token before every request over HTTP, instead of one that stays the same. It takes the place of mcplink_client_options_set_bearer
/// and mcplink_client_options_set_oauth.
///
/// options: the options.
/// callback: see mcplink_bearer_fn. NULL is refused: see mcplink_client_options_clear_authorization.
/// user, destroy: passed to callback, and ended when another one is set, when it is refused or cleared, or when options and clients that have it
/// are freed.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_bearer_hook(
    options: *mut mcplink_client_options_t,
    callback: mcplink_bearer_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_bearer_hook",
            |options| {
                let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
                options.hooks.bearer = Some(hook);
                (options.endpoint.bearer, options.hooks.oauth) = (None, None);
                Ok(())
            },
        )
    }
}

/// Comes by tokens for a server over HTTP as OAuth has it, and keeps them good. It takes the place of a token or of a function that gives one.
///
/// A call that needs a login waits for it, mcplink_client_open too; see mcplink_oauth_set_login_timeout_ms. Calls that need the same wait for one
/// login, each can be cancelled, and when nobody waits any more the login is over. What went wrong is MCPLINK_E_AUTH, with the text saying at
/// which step, with whom and why, and mcplink_error_oauth_code what the authorization server said.
///
/// options: the options.
/// oauth: the settings, which may be given to any number of options: clients with the same share tokens. They stay the caller's. NULL, and
/// settings of which a setter was refused, are refused: see mcplink_client_options_clear_authorization. What else is wrong with them is found out
/// when the client is opened, which fails with MCPLINK_E_UNSUPPORTED in a build without OAuth.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or what the setter was refused with. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_oauth(
    options: *mut mcplink_client_options_t,
    oauth: *const mcplink_oauth_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options and settings of ours.
    unsafe {
        set(options, "mcplink_client_options_set_oauth", |options| {
            options.hooks.oauth = Some(taken(oauth, "oauth")?.made());
            #[cfg(feature = "http-client")]
            {
                options.endpoint.authorize = Some(Made::authorize);
            }
            (options.endpoint.bearer, options.hooks.bearer) = (None, None);
            Ok(())
        })
    }
}

/// Sends no tokens, as without mcplink_client_options_set_bearer, mcplink_client_options_set_bearer_hook and mcplink_client_options_set_oauth: what
/// they were given is taken away.
///
/// options: the options.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_clear_authorization(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_clear_authorization",
            |options| {
                options.endpoint.bearer = None;
                (options.hooks.bearer, options.hooks.oauth) = (None, None);
                Ok(())
            },
        )
    }
}

/// Goes through a proxy. Defaults to none, whatever the environment says.
///
/// options: the options.
/// url: http://, https://, socks4://, socks4a://, socks5:// or socks5h:// with host and port;
/// "environment" for the proxy that the environment names. NULL is refused: see
/// mcplink_client_options_clear_proxy. With socks4 and socks5
/// the server's name is looked up here, with the others by the proxy. In the environment HTTP_PROXY
/// holds for http, HTTPS_PROXY for https, ALL_PROXY for either; NO_PROXY lists the hosts, domains
/// and networks that are reached without. Names in lower case go first. What can't be read fails
/// the opening of the client with MCPLINK_E_INVALID.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_proxy(
    options: *mut mcplink_client_options_t,
    url: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_client_options_set_proxy", |options| {
            let url = filled(url, "url")?;
            options.endpoint.proxy_from_environment = url == "environment";
            options.endpoint.proxy = Some(url)
                .filter(|url| *url != "environment")
                .map(str::to_owned);
            Ok(())
        })
    }
}

/// Goes through no proxy, as without mcplink_client_options_set_proxy.
///
/// options: the options.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_clear_proxy(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_clear_proxy", |options| {
            options.endpoint.proxy_from_environment = false;
            options.endpoint.proxy = None;
            Ok(())
        })
    }
}

/// Trusts the servers over HTTPS whose certificates these authorities issued, and no others: a company's own, for example. Mozilla's list without
/// this. Authorization servers are often somebody else's: they are trusted by mcplink_oauth_set_root_certificates, not by this.
///
/// options: the options.
/// pem, len: PEM text with all of them, one or more; other things in it are skipped. MCPLINK_NUL measures it. It is copied, and has the place of
/// what was set before. NULL and text without anything are refused: see mcplink_client_options_use_default_roots. That there is no certificate in it, or one that can't be read, is found out when the client is
/// opened, with MCPLINK_E_INVALID; in a build without HTTPS (feature tls) that fails with MCPLINK_E_UNSUPPORTED.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_root_certificates(
    options: *mut mcplink_client_options_t,
    pem: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text with its length.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_root_certificates",
            |options| {
                options.endpoint.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
                Ok(())
            },
        )
    }
}

/// Trusts Mozilla's list of authorities, as without mcplink_client_options_set_root_certificates.
///
/// options: the options.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_use_default_roots(
    options: *mut mcplink_client_options_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_use_default_roots",
            |options| {
                options.endpoint.roots = None;
                Ok(())
            },
        )
    }
}

/// Follows redirects over HTTP to the same origin that keep the method (307, 308), at most five in
/// a row. Defaults to yes. One to another origin is an error that names it, always.
///
/// options: the options.
/// follows: whether.
/// Returns: MCPLINK_OK. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_follow_redirects(
    options: *mut mcplink_client_options_t,
    follows: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(
            options,
            "mcplink_client_options_set_follow_redirects",
            |options| {
                options.endpoint.follows_redirects = Some(follows);
                Ok(())
            },
        )
    }
}

/// Connects over two descriptors: pipes, sockets, terminals. Messages are lines.
///
/// options: the options.
/// input, output: read from and written to; the same one for a socket. They have to stay open until the client is opened, which duplicates them;
/// they stay the caller's, and a peer sees the end of the connection only when the caller has closed them too.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_fds(
    options: *mut mcplink_client_options_t,
    input: isize,
    output: isize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_client_options_set_fds", |options| {
            let fd = |number: isize| {
                let fd = i32::try_from(number).ok().filter(|fd| *fd >= 0);
                fd.ok_or_else(|| invalid(format!("{number} is no descriptor")))
            };
            let (input, output) = (fd(input)?, fd(output)?);
            let way = move |_: &Endpoint, _: &Arc<Shared>| {
                let stream = Stream::fds(duplicate(input)?, duplicate(output)?);
                Ok(stream.into())
            };
            options.endpoint.reach("fds", Some(way));
            Ok(())
        })
    }
}

/// Connects over a way of the host's own: see mcplink_transport_new.
///
/// options: the options.
/// transport: serves one client; it stays the caller's, to be freed when the client is. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_set_transport(
    options: *mut mcplink_client_options_t,
    transport: *mut mcplink_transport_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options and a transport of ours.
    unsafe {
        set(options, "mcplink_client_options_set_transport", |options| {
            let connector = if transport.is_null() {
                None
            } else {
                Some(enter(transport, "transport")?.connector())
            };
            let way = connector.map(|connector| {
                move |_: &Endpoint, _: &Arc<Shared>| Ok(connector.connect()?.into())
            });
            options.endpoint.reach("transport", way);
            Ok(())
        })
    }
}
