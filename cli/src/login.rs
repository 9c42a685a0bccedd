//! Logging in to a server, in the browser; the actions `tokens` and `logout`.

use std::fs;
use std::path::{Path, PathBuf};

use mcplink::auth::{Browser, FileStore, Login, OAuth, RegisteredClient, Secret, Store};
use mcplink::transport::http::CredentialWait;
use serde_json::json;

use crate::args::{Options, Place};
use crate::configs;
use crate::failure::{Failure, REFUSED};
use crate::print::{self, note};

/// The file that names the servers that a login is kept for.
const INDEX: &str = "servers.txt";
/// The library keeps the tokens for a server under a name that begins so, followed by the URL.
const TOKENS: &str = "tokens ";

/// A store of tokens that also keeps a list of the servers: the names of the files are hashes.
struct Listed {
    store: FileStore,
    index: PathBuf,
}

impl Listed {
    fn new(folder: &Path) -> mcplink::Result<Self> {
        Ok(Self {
            store: FileStore::new(folder)?,
            index: folder.join(INDEX),
        })
    }

    fn names(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.index).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Adds a name to the list. A list that can't be written only makes `tokens` incomplete.
    fn note(&self, name: &str) {
        let mut names = self.names();
        if name.starts_with(TOKENS) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
            _ = fs::write(&self.index, names.join("\n") + "\n");
        }
    }
}

impl Store for Listed {
    fn load(&self, name: &str) -> mcplink::Result<Option<Secret>> {
        self.store.load(name)
    }

    fn save(&self, name: &str, content: &Secret) -> mcplink::Result<()> {
        self.store.save(name, content)?;
        self.note(name);
        Ok(())
    }

    fn remove(&self, name: &str) -> mcplink::Result<()> {
        self.store.remove(name)
    }

    fn lock(&self, name: &str, waiting: &CredentialWait) -> mcplink::Result<Box<dyn Send>> {
        self.store.lock(name, waiting)
    }
}

fn failed(error: mcplink::Error) -> Failure {
    Failure::usage(error.to_string())
}

/// Returns an authorizer that logs in when the server requires it, and stores the tokens for the
/// next run. `authorities` are the trusted certificate authorities.
pub(crate) fn authorizer(place: &Place, authorities: Option<&[u8]>) -> Result<OAuth, Failure> {
    let mut browser = Browser::new().show(show);
    if let Some(port) = place.callback_port {
        browser = browser.port(port);
    }
    let mut oauth = OAuth::login(browser);
    if let Some(pem) = authorities {
        oauth = oauth.root_certificates(pem);
    }
    if let Some(client_id) = &place.client_id {
        let mut client = RegisteredClient::of_first_issuer(client_id);
        if let Some(secret) = client_secret(place)? {
            client = client.secret(secret);
        }
        oauth = oauth.registered(client);
    }
    if !place.scopes.is_empty() {
        let scopes = place.scopes.iter();
        oauth = oauth.scopes(scopes.flat_map(|scopes| scopes.split_whitespace()));
    }
    oauth
        .client_name("mcplink")
        .proxy_from_environment()
        .store(Listed::new(&folder_of(place.tokens.as_deref())?).map_err(failed)?)
        .on_log(|line| note(&format!("mcplink: {line}")))
        .build()
        .map_err(failed)
}

/// Returns the secret of the client: of the command line, of a file, or of the environment.
fn client_secret(place: &Place) -> Result<Option<Secret>, Failure> {
    let Some(given) = &place.client_secret else {
        let secret = std::env::var("MCPLINK_CLIENT_SECRET").ok();
        return Ok(secret.filter(|secret| !secret.is_empty()).map(Secret::new));
    };
    let Some(file) = given.strip_prefix('@') else {
        return Ok(Some(Secret::new(given.clone())));
    };
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--client-secret @{file}: {error}")))?;
    Ok(Some(Secret::new(text.trim_end_matches(['\r', '\n']))))
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

fn folder_of(given: Option<&Path>) -> Result<PathBuf, Failure> {
    match given {
        Some(folder) => Ok(folder.to_owned()),
        None => state_folder().ok_or_else(|| {
            Failure::usage(
                "logins need --tokens FOLDER where there is no home directory".to_owned(),
            )
        }),
    }
}

/// Returns the folder for files that the program keeps between runs.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if cfg!(windows) {
        return Some(PathBuf::from(variable("LOCALAPPDATA")?).join("mcplink"));
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    Some(state.or_else(home)?.join("mcplink"))
}

/// The action `tokens`.
pub(crate) fn list(options: &Options) -> Result<(), Failure> {
    let folder = folder_of(options.place.tokens.as_deref())?;
    let mut servers = Vec::new();
    // A folder that is not there is not made.
    if folder.exists() {
        let store = Listed::new(&folder).map_err(failed)?;
        for name in store.names() {
            if store.load(&name).map_err(failed)?.is_some() {
                servers.extend(name.strip_prefix(TOKENS).map(str::to_owned));
            }
        }
    }
    if options.json {
        return Ok(print::json(&json!({ "servers": servers }))?);
    }
    if servers.is_empty() {
        note(&format!(
            "mcplink: no login is kept in {}",
            folder.display()
        ));
    }
    for server in servers {
        print::line(&server)?;
    }
    Ok(())
}

/// The action `logout`.
pub(crate) fn forget(options: &Options) -> Result<(), Failure> {
    let place = &options.place;
    let url = match (&place.url, &place.server) {
        (Some(url), _) => url.clone(),
        (None, Some(name)) => {
            let server = configs::find(name, place)?;
            let url = server.url().map(str::to_owned);
            url.ok_or_else(|| Failure::usage(format!("the server '{name}' has no URL")))?
        }
        (None, None) => {
            let text = "logout takes the server whose login is to be forgotten: --url URL";
            return Err(Failure::usage(text.to_owned()));
        }
    };
    let folder = folder_of(place.tokens.as_deref())?;
    let count = |store: &Listed| -> mcplink::Result<usize> {
        let names = store.names().into_iter();
        let kept = names.map(|name| Ok(usize::from(store.load(&name)?.is_some())));
        kept.sum()
    };
    let nothing = || Failure::new(REFUSED, format!("no login to {url} is kept"));
    if !folder.exists() {
        return Err(nothing());
    }
    let store = Listed::new(&folder).map_err(failed)?;
    let before = count(&store).map_err(failed)?;
    let oauth = authorizer(place, None)?;
    oauth.forget(&url).map_err(failed)?;
    if count(&store).map_err(failed)? == before {
        return Err(nothing());
    }
    Ok(print::line(&format!("the login to {url} is forgotten"))?)
}
