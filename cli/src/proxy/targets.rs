//! The servers of a proxy, as the command line names them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;

use crate::args::{Options, Place, ProxyRequest};
use crate::configs;
use crate::failure::Failure;
use crate::shell;

/// A server of the proxy.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) place: Place,
}

/// Returns the servers that the command line names: those of configuration files, those with a name
/// of their own, and the one that `--server`, `--url` or `--` name as for other actions.
pub(super) fn read(request: &ProxyRequest, options: &Options) -> Result<Vec<Target>, Failure> {
    let given = &options.place;
    let bare = Place {
        url: None,
        server: None,
        command: Vec::new(),
        ..given.clone()
    };
    let mut targets = Vec::new();
    for word in &request.servers {
        targets.push(target(word, &bare)?);
    }
    if request.all {
        let names = configs::names(given)?.into_iter();
        let new: Vec<_> = names
            .filter(|name| !targets.iter().any(|target| target.name == *name))
            .collect();
        targets.extend(new.into_iter().map(|name| configured(&name, &bare)));
    }
    if let Some(name) = &given.server {
        targets.push(configured(name, &bare));
    } else if given.url.is_some() || !given.command.is_empty() {
        targets.push(Target {
            name: name_of(given),
            place: given.clone(),
        });
    }
    if targets.is_empty() {
        return Err(Failure::usage(
            "the servers are missing: name some of the configuration files, or give NAME=URL, \
             NAME='COMMAND ...' or a command behind --"
                .to_owned(),
        ));
    }
    let mut names = HashSet::new();
    if let Some(twice) = targets.iter().find(|target| !names.insert(&*target.name)) {
        let text = format!("two servers have the name '{}'", twice.name);
        return Err(Failure::usage(text));
    }
    if targets.len() > 1 {
        refuse_options_of_one(given)?;
    }
    Ok(targets)
}

/// Refuses the options that would give what belongs to one server to all of them.
fn refuse_options_of_one(place: &Place) -> Result<(), Failure> {
    let options = [
        ("--header", !place.headers.is_empty()),
        ("--env", !place.env.is_empty()),
        ("--inherit-env", place.inherits_env),
        ("--cwd", place.cwd.is_some()),
        ("--client-id", place.client_id.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::usage(format!(
            "{option} would reach each of the servers: with several servers, set it in a \
             configuration file"
        ))),
    }
}

fn configured(name: &str, bare: &Place) -> Target {
    Target {
        name: name.to_owned(),
        place: Place {
            server: Some(name.to_owned()),
            ..bare.clone()
        },
    }
}

/// Reads `NAME`, `NAME=URL` or `NAME=COMMAND ...`.
fn target(word: &str, bare: &Place) -> Result<Target, Failure> {
    let Some((name, server)) = word.split_once('=') else {
        return Ok(configured(word, bare));
    };
    let mut place = bare.clone();
    let schemes = ["http://", "https://", "http+unix://"];
    if schemes.iter().any(|scheme| server.starts_with(scheme)) {
        place.url = Some(server.to_owned());
    } else {
        let words = shell::words(server);
        let words = words.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        place.command = words.into_iter().map(OsString::from).collect();
    }
    if name.is_empty() || (place.url.is_none() && place.command.is_empty()) {
        let text = format!("'{word}': expected NAME, NAME=URL or NAME='COMMAND ...'");
        return Err(Failure::usage(text));
    }
    Ok(Target {
        name: name.to_owned(),
        place,
    })
}

/// Returns the name of a server without one: that of its program or host.
fn name_of(place: &Place) -> String {
    let name = match (&place.url, place.command.first()) {
        (Some(url), _) => {
            let host = url.split("://").nth(1).unwrap_or(url);
            let host = host.split(['/', ':', '?']).next();
            // Of the path of a Unix socket, the last part is the name.
            host.and_then(|host| host.rsplit("%2F").next())
                .map(|host| host.strip_suffix(".sock").unwrap_or(host).to_owned())
        }
        (None, Some(program)) => {
            let stem = Path::new(program).file_stem();
            stem.map(|stem| stem.to_string_lossy().into_owned())
        }
        (None, None) => None,
    };
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "server".to_owned())
}
