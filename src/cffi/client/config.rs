//! The configuration files of hosts, which name servers.

use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::endpoint::Endpoint;
use super::options::mcplink_client_options_t;
use super::shared::Shared;
use crate::cffi::arg::invalid;
use crate::cffi::entry::{free, giving, need_mut, needing_mut, own};
use crate::cffi::error::{Failure, mcplink_error_t};
use crate::cffi::handle::tagged;
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::refusal::set;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{filled, name, optional};
use crate::client::{Config, ServerConfig};

/// The servers of a configuration file, as hosts write it. One thread at a time may use it.
pub struct mcplink_config_t(Config);

object!(mcplink_config_t is Config);

/// Reads a configuration file. These formats are read: "mcpServers" of .mcp.json and of the files
/// of several hosts, "servers" of .vscode/mcp.json, "mcp" of the settings.json beside it,
/// "context_servers" of Zed, and "projects" of ~/.claude.json for one workspace. Comments and
/// trailing commas are allowed.
///
/// Texts of the file may contain variables, such as ${NAME}, ${NAME:-default}, ${input:ID} and
/// ${workspaceFolder}. They are replaced when a client is opened, so a server without a value does
/// not affect the others. Reading a file starts no program. No error shows a value of the file.
///
/// path: the path of the file. On Windows the path is UTF-8.
/// workspace: the folder that ${workspaceFolder} stands for. NULL for the folder of the file, or
/// the folder above it if the file is in a folder whose name begins with a dot.
/// out: receives the configuration, or NULL on failure. The caller owns it and frees it with
/// mcplink_config_free.
/// Returns: MCPLINK_OK; MCPLINK_E_IO when the file can't be read, MCPLINK_E_LIMIT when it is larger
/// than 16 MiB, MCPLINK_E_INVALID when it has no JSON object with servers.
/// Blocks: for the file system.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_config_read(
    path: *const c_char,
    workspace: *const c_char,
    out: *mut *mut mcplink_config_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires texts that end in NUL and pointers that can be written to.
    unsafe {
        giving(out, err, || {
            let (path, workspace) = (filled(path, "path")?, optional(workspace, "workspace")?);
            let config = match workspace {
                Some(workspace) => Config::read_in(path, Path::new(workspace))?,
                None => Config::read(path)?,
            };
            Ok(own(mcplink_config_t(config)))
        })
    }
}

/// Describes the content of a configuration file: its servers, the values that the user has to
/// enter, and warnings about members that are not applied.
///
/// out: receives {"servers":[{"name":"...","disabled":false,"command":["...","..."],
/// "inputs":["ID"],"extra":{}},{"name":"...","disabled":false,"url":"...","inputs":[],"extra":{}}],
/// "inputs":[{"id":"ID","description":"...","password":true,"default":"...","options":["..."]}],
/// "warnings":["..."]}; NULL on failure. The servers are sorted by name. "extra" has the members
/// that the library does not apply, such as "timeout". The arguments of commands, URLs and "extra"
/// are as written in the file, and may contain secrets. The caller owns the document and frees it
/// with mcplink_json_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_config_describe(
    config: *const mcplink_config_t,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a configuration of this library and pointers that can be written
    // to.
    unsafe {
        giving(out, err, || {
            let config = tagged(config)
                .map_err(|fault| Failure::object::<mcplink_config_t>(fault, "config"))?;
            Ok(Document::of(&described(&config.0))?)
        })
    }
}

fn described(config: &Config) -> Value {
    let servers = config.servers().iter().map(|server| {
        let mut shown = json!({
            "name": server.name(),
            "disabled": server.is_disabled(),
            "inputs": server.inputs(),
            "extra": server.extra(),
        });
        if let Some((program, args)) = server.command() {
            let mut command = vec![program.to_owned()];
            command.extend(args.iter().cloned());
            shown["command"] = command.into();
        }
        if let Some(url) = server.url() {
            shown["url"] = url.into();
        }
        shown
    });
    let inputs = config.inputs().iter().map(|input| {
        json!({
            "id": input.id,
            "description": input.description,
            "password": input.is_password,
            "default": input.default,
            "options": input.options,
        })
    });
    let warnings = config.warnings().iter().map(ToString::to_string);
    json!({
        "servers": servers.collect::<Vec<_>>(),
        "inputs": inputs.collect::<Vec<_>>(),
        "warnings": warnings.collect::<Vec<_>>(),
    })
}

actions! {
    needing_mut(config: mcplink_config_t);

    /// Sets the value of an input, which the user has entered.
    ///
    /// id: the id of the input: see mcplink_config_describe.
    /// value: the value.
    fn mcplink_config_set_input(id: *const c_char, value: *const c_char) {
        let (id, value) = (name(id, "id")?, name(value, "value")?);
        config.0 = config.0.clone().input(id, value);
    }
}

/// Frees a configuration. Options that were set from it keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_config_free(config: *mut mcplink_config_t) {
    // SAFETY: the header requires a configuration of this library, freed once.
    unsafe { free(config) }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the server to which the client connects: one of a configuration file. Other options,
    /// for example mcplink_client_options_set_env and mcplink_client_options_set_header, apply too.
    ///
    /// config: the configuration, whose server is copied with the inputs that are set so far.
    /// name: the name of the server. The client can also connect to a disabled server.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID also when the file has no such server. A variable
    /// without a value is an error of mcplink_client_open.
    fn mcplink_client_options_set_configured(config: *mut mcplink_config_t, name: *const c_char) {
        let config = need_mut(config, "config")?;
        let name = filled(name, "name")?;
        let Some(server) = config.0.server(name) else {
            let text = format!("the configuration has no server '{name}'");
            return Err(invalid(text).into());
        };
        let server: ServerConfig = server.clone();
        let way =
            move |endpoint: &Endpoint, shared: &Arc<Shared>| endpoint.configured(&server, shared);
        options.endpoint.reach("configured", Some(way));
    }
}
