//! Turns errors of the crate `redis` into errors of the library, without secrets.

use mcplink::{Error, ErrorKind};
use redis::{ErrorKind as RedisErrorKind, RedisError, ServerErrorKind};

/// Returns the error of a failed command or connection.
///
/// The text has at most the first word of an answer of Redis: an answer may repeat the command, and
/// with it a password.
pub(crate) fn failed(error: &RedisError) -> Error {
    let (kind, cause) = match error.kind() {
        RedisErrorKind::Io if error.is_timeout() => {
            (ErrorKind::Timeout, "it does not answer in time".to_owned())
        }
        // The text of the operating system or of TLS.
        RedisErrorKind::Io => (ErrorKind::Io, error.to_string()),
        RedisErrorKind::AuthenticationFailed => (ErrorKind::Auth, error.category().to_owned()),
        RedisErrorKind::InvalidClientConfig => return unusable(error),
        RedisErrorKind::Server(_) | RedisErrorKind::Extension => {
            let code = error.code().unwrap_or("an error");
            let kind = match code {
                "NOAUTH" | "NOPERM" | "WRONGPASS" => ErrorKind::Auth,
                _ => ErrorKind::Io,
            };
            (kind, format!("it answered {code}"))
        }
        _ => (ErrorKind::Io, error.category().to_owned()),
    };
    Error::new(kind, format!("Redis failed: {cause}"))
}

/// Returns the error of a URL that can't be used.
pub(crate) fn unusable(error: &RedisError) -> Error {
    // A detail may repeat a part of the URL.
    let text = match error.detail() {
        None => error.to_string(),
        Some(_) => error.category().to_owned(),
    };
    Error::new(
        ErrorKind::Invalid,
        format!("the URL of Redis can't be used: {text}"),
    )
}

/// Returns whether an error means that the connection can't be used any more, and whether the next
/// commands are likely to fail, too. An answer about the command itself means neither.
pub(crate) fn is_failure(error: &RedisError) -> bool {
    match error.kind() {
        // A server that is starting, or one that is no longer the master.
        RedisErrorKind::Server(kind) => matches!(
            kind,
            ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown | ServerErrorKind::ReadOnly
        ),
        RedisErrorKind::Extension | RedisErrorKind::UnexpectedReturnType => false,
        _ => true,
    }
}
