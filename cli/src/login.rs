//! Logging in to a server, in the browser.

use std::path::{Path, PathBuf};

use mcplink::auth::{Browser, FileStore, Login, OAuth};

use crate::failure::Failure;
use crate::print::note;

/// Returns an authorizer that logs in when the server requires it, and stores the tokens for the
/// next run. `roots` are the trusted certificate authorities.
pub(crate) fn authorizer(
    folder: Option<&Path>,
    authorities: Option<&[u8]>,
) -> Result<OAuth, Failure> {
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => usual_folder()?,
    };
    let failed = |error: mcplink::Error| Failure::usage(error.to_string());
    let mut oauth = OAuth::login(Browser::new().show(show));
    if let Some(pem) = authorities {
        oauth = oauth.root_certificates(pem);
    }
    oauth
        .client_name("mcplink")
        .proxy_from_environment()
        .store(FileStore::new(folder).map_err(failed)?)
        .on_log(|line| note(&format!("mcplink: {line}")))
        .build()
        .map_err(failed)
}

fn show(login: &Login<'_>) {
    let (server, place) = (login.server(), login.authorization_server());
    note(&format!(
        "mcplink: {server} wants you to log in, at {place}"
    ));
    let scopes: Vec<&str> = login.scopes().collect();
    if !scopes.is_empty() {
        note(&format!("mcplink: it asks for: {}", scopes.join(", ")));
    }
    note(&format!(
        "mcplink: if no browser comes up, open {}",
        login.url()
    ));
}

fn usual_folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let folder = state.or_else(home).ok_or_else(|| {
        Failure::usage("--login needs --tokens FOLDER where there is no home directory".to_owned())
    })?;
    Ok(folder.join("mcplink"))
}
