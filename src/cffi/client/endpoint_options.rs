//! Endpoint options: the server that a client connects to.

use std::ffi::{CStr, OsString, c_char};
use std::sync::Arc;

#[cfg(feature = "http-client")]
use super::endpoint::fetched;
use super::endpoint::{Endpoint, Inherits, Variable, duplicate, mcplink_stderr};
use super::options::mcplink_client_options_t;
use super::shared::Shared;
use crate::cffi::arg;
use crate::cffi::arg::{invalid, span};
#[cfg(feature = "http-client")]
use crate::cffi::auth::Made;
use crate::cffi::auth::mcplink_bearer_fn;
use crate::cffi::auth::mcplink_oauth_t;
use crate::cffi::entry::{Outcome, descriptor};
use crate::cffi::event::mcplink_line_fn;
use crate::cffi::fetch::mcplink_fetch_fn;
use crate::cffi::handle::enter;
use crate::cffi::refusal::{set, taken};
use crate::cffi::text::{filled, filled_measured, missing, name};
use crate::cffi::transport::mcplink_transport_t;
use crate::cffi::user::Hook;
use crate::transport::Stream;
use crate::transport::sys::command::text_from_c;

/// Reads text that ends in NUL as a string in the encoding of the system.
///
/// # Safety
///
/// `ptr` is NULL or ends in NUL.
unsafe fn system_text(ptr: *const c_char, what: &str) -> Outcome<OsString> {
    if ptr.is_null() {
        return Err(missing(what).into());
    }
    // SAFETY: the caller guarantees that `ptr` ends in NUL.
    let bytes = unsafe { CStr::from_ptr(ptr) }.to_bytes();
    text_from_c(bytes).ok_or_else(|| invalid(format!("{what} is no UTF-8")).into())
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the command that starts the server as a child process. Messages use the standard input
    /// and output of the child. The child is ended when the client is closed.
    ///
    /// argv: the program and its arguments, terminated by NULL. They are copied. No shell is
    /// involved. A program name without a slash is searched in PATH. The texts are UTF-8 on
    /// Windows, and bytes on other systems.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when argv is empty.
    fn mcplink_client_options_set_command(argv: *const *const c_char) {
        let mut words = argv;
        if words.is_null() {
            return Err(missing("argv").into());
        }
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
    }

    /// Sets an environment variable of the child, for example an API key, in addition to the
    /// variables that the child inherits: see mcplink_client_options_inherit_env.
    ///
    /// variable: the name of the variable, in UTF-8 on Windows.
    /// value: the value of the variable, in UTF-8 on Windows. With NULL the child does not inherit
    /// the variable.
    fn mcplink_client_options_set_env(variable: *const c_char, value: *const c_char) {
        let variable = variable_name(variable)?;
        let value = if value.is_null() {
            Variable::Removed
        } else {
            Variable::Set(system_text(value, "value")?)
        };
        options.endpoint.env.push((variable, value));
    }

    /// Sets that the child gets an environment variable of this process. The child gets the value
    /// that the variable has when the child is started. If the variable is not set at that time,
    /// the child does not get the variable.
    ///
    /// variable: the name of the variable.
    fn mcplink_client_options_pass_env(variable: *const c_char) {
        let variable = variable_name(variable)?;
        options.endpoint.env.push((variable, Variable::Passed));
    }
}

/// Reads the name of an environment variable.
///
/// # Safety
///
/// `variable` is NULL or a text that ends in NUL.
unsafe fn variable_name(variable: *const c_char) -> Outcome<OsString> {
    // SAFETY: the safety contract of this function.
    let variable = unsafe { system_text(variable, "variable")? };
    if variable.is_empty() || variable.as_encoded_bytes().contains(&b'=') {
        return Err(invalid("an environment variable has a name without '='").into());
    }
    Ok(variable)
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets that the child inherits all environment variables of this process. By default the child
    /// inherits only HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TERM, TMPDIR and USER, because other
    /// variables may contain secrets of this process, such as keys. This setting replaces
    /// mcplink_client_options_clear_env.
    fn mcplink_client_options_inherit_env() {
        options.endpoint.inherits = Inherits::All
    }

    /// Sets whether the system kills the child (SIGKILL) when this process ends, even if this
    /// process is killed. Default: false. With false the child sees the end of its standard input
    /// when this process ends, and may continue.
    ///
    /// Processes that the child has started are not killed. The system kills the child when the
    /// thread that started the child ends. So the client starts the child on a thread of its own,
    /// which waits until the child has ended. Linux only: on other systems opening the client fails
    /// with MCPLINK_E_UNSUPPORTED.
    ///
    /// enabled: true to kill the child.
    fn mcplink_client_options_set_die_with_parent(enabled: bool) {
        options.endpoint.dies_with_parent = enabled;
    }

    /// Sets that the child inherits no environment variables. The child still gets variables that
    /// were set with mcplink_client_options_set_env or mcplink_client_options_pass_env. This
    /// setting replaces mcplink_client_options_inherit_env.
    fn mcplink_client_options_clear_env() {
        options.endpoint.inherits = Inherits::Nothing
    }

    /// Sets the working directory of the child, which many servers take for the project to work on.
    /// Default: the working directory of this process.
    ///
    /// directory: a path, in UTF-8 on Windows; NULL for the default.
    fn mcplink_client_options_set_cwd(directory: *const c_char) {
        options.endpoint.directory = if directory.is_null() {
            None
        } else {
            Some(system_text(directory, "directory")?)
        };
    }

    /// Sets whether the child's standard input and output are pipes. Default: false, which means
    /// sockets. Only a program that opens /dev/stdin or /dev/stdout by name needs pipes.
    ///
    /// enabled: true for pipes.
    fn mcplink_client_options_set_pipes(enabled: bool) {
        options.endpoint.pipes = enabled
    }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets how long each step of closing the client may take, so that a server that does not end
    /// can't hold up the end of the host. A child process has this time to exit after its standard
    /// input was closed, and the same time again after SIGTERM. Then the child is killed. So
    /// closing may take twice this time. For a child process the default is 2 s. Over HTTP, ending
    /// the session may take this time, and the default is 1 s.
    ///
    /// milliseconds: the time; more than an hour counts as an hour.
    fn mcplink_client_options_set_close_timeout_ms(milliseconds: u32) {
        options.endpoint.close = Some(span(milliseconds.min(3_600_000)));
    }

    /// Sets the URL of the server to connect to over HTTP.
    ///
    /// url: http://host:port/path or https://host:port/path. For a server on a Unix socket,
    /// http+unix:// with the percent-encoded path of the socket, then the path of the endpoint, as
    /// in http+unix://%2Frun%2Fshop.sock/mcp. An invalid URL is reported when the client is opened.
    fn mcplink_client_options_set_url(url: *const c_char) {
        let url = name(url, "url")?.to_owned();
        options.endpoint.reach(
            "url",
            Some(move |endpoint: &Endpoint, shared: &Arc<Shared>| endpoint.http(&url, shared)),
        );
    }

    /// Adds a header field that is sent with every request over HTTP, for example the key of a
    /// gateway. The value of the field does not appear in errors or logs.
    ///
    /// field: the name of the header field. A field that the library writes itself is refused when
    /// the client is opened.
    /// value: the value of the field.
    fn mcplink_client_options_set_header(field: *const c_char, value: *const c_char) {
        let (field, value) = (name(field, "field")?, name(value, "value")?);
        let headers = &mut options.endpoint.headers;
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(field));
        headers.push((field.to_owned(), value.to_owned()));
    }

    /// Sets the token for every request over HTTP (Authorization: Bearer). The token does not
    /// appear in errors or logs. This setting replaces mcplink_client_options_set_bearer_hook and
    /// mcplink_client_options_set_oauth.
    ///
    /// token: the token. NULL and blank text are refused: see
    /// mcplink_client_options_clear_authorization.
    fn mcplink_client_options_set_bearer(token: *const c_char) {
        options.endpoint.bearer = Some(filled(token, "token")?.to_owned());
        (options.hooks.bearer, options.hooks.oauth) = (None, None);
    }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the OAuth settings with which the client obtains and renews access tokens for a server
    /// over HTTP. This setting replaces mcplink_client_options_set_bearer and
    /// mcplink_client_options_set_bearer_hook.
    ///
    /// A call that needs a login waits for the login; mcplink_client_open may wait too. See
    /// mcplink_oauth_set_login_timeout_ms. Concurrent calls share one login, and each call can be
    /// cancelled. When no call waits any more, the login is abandoned. If authorization fails, the
    /// call fails with MCPLINK_E_AUTH: the error message contains the step, the server and the
    /// reason. mcplink_error_oauth_code returns the error code of the authorization server.
    ///
    /// oauth: the settings, which remain the caller's. They may be passed to several options:
    /// clients with the same settings object share tokens. NULL is refused: see
    /// mcplink_client_options_clear_authorization. If a setter of the settings was refused, the
    /// settings are refused too. Other faults are reported when the client is opened. In a build
    /// without OAuth, opening fails with MCPLINK_E_UNSUPPORTED.
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or the status with which the setter was refused.
    fn mcplink_client_options_set_oauth(oauth: *const mcplink_oauth_t) {
        options.hooks.oauth = Some(taken(oauth, "oauth")?.made());
        #[cfg(feature = "http-client")]
        {
            options.endpoint.authorize = Some(Made::authorize);
        }
        (options.endpoint.bearer, options.hooks.bearer) = (None, None);
    }

    /// Sets the HTTP client of the host, which sends all requests to a server over HTTP instead of
    /// the library, for hosts with their own proxies, certificates or sandbox. The client decides
    /// how servers are reached, and which servers are trusted. So opening fails with
    /// MCPLINK_E_INVALID if a proxy, root certificates or a client certificate are set, too. Logins
    /// have their own setting: mcplink_oauth_set_http_client.
    ///
    /// callback: see mcplink_fetch_fn. NULL is refused.
    /// user, destroy: passed to callback; destroy runs when the client is replaced, or when the
    /// options and all clients that use callback are freed.
    fn mcplink_client_options_set_http_client(callback: mcplink_fetch_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        options.hooks.fetch = Some(hook);
        #[cfg(feature = "http-client")]
        {
            options.endpoint.fetches = Some(fetched);
        }
    }

    /// Undoes mcplink_client_options_set_bearer, mcplink_client_options_set_bearer_hook and
    /// mcplink_client_options_set_oauth: the client sends no tokens.
    fn mcplink_client_options_clear_authorization() {
        options.endpoint.bearer = None;
        (options.hooks.bearer, options.hooks.oauth) = (None, None);
    }

    /// Sets the proxy through which the client connects to the server. Default: no proxy,
    /// regardless of the environment.
    ///
    /// url: http://, https://, socks4://, socks4a://, socks5:// or socks5h:// with host name and
    /// port; "environment" for the proxy that the environment names. NULL is refused: see
    /// mcplink_client_options_clear_proxy. With socks4 and socks5 the client resolves the server's
    /// name; with the other schemes the proxy resolves that name. In the environment, HTTP_PROXY is
    /// for http, HTTPS_PROXY for https, ALL_PROXY for both. NO_PROXY contains host names, domains
    /// and networks to which the client connects directly. Lower-case names take precedence. An
    /// invalid proxy is reported when the client is opened, with MCPLINK_E_INVALID.
    fn mcplink_client_options_set_proxy(url: *const c_char) {
        let url = filled(url, "url")?;
        options.endpoint.proxy_from_environment = url == "environment";
        options.endpoint.proxy = Some(url)
            .filter(|url| *url != "environment")
            .map(str::to_owned);
    }

    /// Undoes mcplink_client_options_set_proxy: the client connects without a proxy.
    fn mcplink_client_options_clear_proxy() {
        options.endpoint.proxy_from_environment = false;
        options.endpoint.proxy = None;
    }

    /// Sets the certificate authorities that are trusted for servers over HTTPS, for example those
    /// of a company. No other authorities are trusted. Default: Mozilla's list. For requests to
    /// authorization servers see mcplink_oauth_set_root_certificates.
    ///
    /// pem, len: PEM text with one or more certificates, which is copied; other contents are
    /// skipped. len may be MCPLINK_NUL for text that ends in NUL. The text replaces earlier
    /// certificates. NULL and blank text are refused: see mcplink_client_options_use_default_roots.
    /// Text without a valid certificate is reported when the client is opened, with
    /// MCPLINK_E_INVALID. In a build without HTTPS (feature tls) opening fails with
    /// MCPLINK_E_UNSUPPORTED.
    fn mcplink_client_options_set_root_certificates(pem: *const c_char, len: usize) {
        options.endpoint.roots = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
    }

    /// Undoes mcplink_client_options_set_root_certificates: Mozilla's list of certificate
    /// authorities is trusted.
    fn mcplink_client_options_use_default_roots() {
        options.endpoint.roots = None
    }

    /// Sets the certificate that the client presents to servers over HTTPS that request one.
    /// Default: none.
    ///
    /// pem, len: PEM text, which is copied: the certificate, then the certificates that lead to an
    /// authority that the server knows, and the private key of the certificate, unencrypted
    /// (PKCS #8, PKCS #1 or SEC 1). The key appears in no error and no log. len may be MCPLINK_NUL
    /// for text that ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for NULL and blank text. Text without a valid
    /// certificate or key is reported when the client is opened, with MCPLINK_E_INVALID. In a build
    /// without HTTPS (feature tls) opening fails with MCPLINK_E_UNSUPPORTED.
    fn mcplink_client_options_set_client_certificate(pem: *const c_char, len: usize) {
        options.endpoint.certificate = Some(filled_measured(pem, len, "the PEM text")?.to_vec());
    }

    /// Sets whether the client follows HTTP redirects that keep the method (307, 308). The client
    /// follows at most five redirects in a row, and only to the same origin. Default: true. A
    /// redirect to another origin is always an error, and the error message names the origin.
    ///
    /// enabled: true to follow redirects.
    fn mcplink_client_options_set_follow_redirects(enabled: bool) {
        options.endpoint.follows_redirects = Some(enabled);
    }

    /// Sets the two file descriptors over which the client connects, for a server that the host has
    /// started or reached itself: pipes, sockets or terminals. Each message is a line.
    ///
    /// input, output: the descriptors to read from and to write to; for a socket they may be equal.
    /// The descriptors must stay open until the client is opened. Opening duplicates the
    /// descriptors, and the originals remain the caller's. The server sees the end of the
    /// connection only when the caller has closed the originals too.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a number that is no descriptor.
    fn mcplink_client_options_set_fds(input: isize, output: isize) {
        let (input, output) = (descriptor(input, "input")?, descriptor(output, "output")?);
        let way = move |_: &Endpoint, _: &Arc<Shared>| {
            let stream = Stream::given(duplicate(input)?, duplicate(output)?);
            Ok(stream.into())
        };
        options.endpoint.reach("fds", Some(way));
    }

    /// Sets the transport of the host over which the client connects: see mcplink_transport_new.
    ///
    /// transport: the transport, which serves one client. The transport remains the caller's; free
    /// the transport after the client. NULL for no transport.
    fn mcplink_client_options_set_transport(transport: *mut mcplink_transport_t) {
        let connector = if transport.is_null() {
            None
        } else {
            Some(enter(transport, "transport")?.connector())
        };
        let way = connector.map(|connector| {
            move |_: &Endpoint, shared: &Arc<Shared>| {
                _ = shared.transport.set(connector.number());
                Ok(connector.connect()?.into())
            }
        });
        options.endpoint.reach("transport", way);
    }

    /// Sets what happens to the child's standard error.
    ///
    /// mode: what happens to the output.
    /// callback: with MCPLINK_STDERR_CAPTURE, receives each line; NULL for no function. The
    /// function runs on the thread that runs the client's callbacks. At most 1024 lines wait for
    /// the function. Further lines are only available from mcplink_client_stderr_tail.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all clients that use callback are freed.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for an unknown mode, or a callback with another mode.
    fn mcplink_client_options_set_stderr(
        mode: arg::mcplink_stderr,
        callback: mcplink_line_fn; user
    ) {
        use mcplink_stderr as Mode;
        let mode = Mode::read(mode, "mode of standard error")?;
        if callback.is_some() && mode != Mode::MCPLINK_STDERR_CAPTURE {
            let text =
                "only standard error that is captured comes as lines (MCPLINK_STDERR_CAPTURE)";
            return Err(invalid(text).into());
        }
        options.endpoint.stderr = mode;
        options.hooks.stderr = Hook::new(callback, user);
    }

    /// Sets a function that provides the token for each request over HTTP. This setting replaces
    /// mcplink_client_options_set_bearer and mcplink_client_options_set_oauth.
    ///
    /// callback: see mcplink_bearer_fn. NULL is refused: see
    /// mcplink_client_options_clear_authorization.
    /// user, destroy: passed to callback; destroy runs when the function is replaced, refused or
    /// cleared, or when the options and all clients that use callback are freed.
    fn mcplink_client_options_set_bearer_hook(callback: mcplink_bearer_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        options.hooks.bearer = Some(hook);
        (options.endpoint.bearer, options.hooks.oauth) = (None, None);
    }
}
