//! Options of a server: its description, revisions, pump and log.

use std::ffi::c_char;
use std::sync::Arc;

use super::settings::mcplink_server_options_t;
use crate::cffi::arg;
use crate::cffi::entry::{free, own};
use crate::cffi::handle::enter;
use crate::cffi::json::typed;
use crate::cffi::log::{Hook, mcplink_log_fn};
use crate::cffi::pump::mcplink_pump_t;
use crate::cffi::refusal::{constructed, set};
use crate::cffi::text::{self, optional};
use crate::schema::ProtocolVersion;
use crate::server::{ServerBuilder, replica_name};

/// Makes server options with the name and the version of the server. All other options have
/// defaults that suit most servers.
///
/// name: the name of the server, for programs.
/// version: the version of the server.
/// Returns: the options. The caller owns them and frees them with mcplink_server_options_free. NULL
/// for an invalid argument; functions that take options refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_new(
    name: *const c_char,
    version: *const c_char,
) -> *mut mcplink_server_options_t {
    constructed("mcplink_server_options_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let (name, version) =
            unsafe { (text::name(name, "name")?, text::name(version, "version")?) };
        Ok(own(mcplink_server_options_t::new(name, version)))
    })
}

/// Frees server options. Servers that were made with them keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_free(options: *mut mcplink_server_options_t) {
    // SAFETY: the header requires options of this library, freed once.
    unsafe { free(options) }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets instructions that tell models how to use the server.
    ///
    /// instructions: the instructions; NULL for no instructions.
    fn mcplink_server_options_set_instructions(instructions: *const c_char) {
        let instructions = optional(instructions, "instructions")?.map(str::to_owned);
        options.set("instructions", instructions, ServerBuilder::instructions);
    }

    /// Sets the display name of the server, which hosts show to their users.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_server_options_set_title(title: *const c_char) {
        options.info.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the description of the server.
    ///
    /// description: the description; NULL for no description.
    fn mcplink_server_options_set_description(description: *const c_char) {
        options.info.description = optional(description, "description")?.map(str::to_owned);
    }

    /// Sets the URL of the server's website.
    ///
    /// website: the URL; NULL for no URL.
    fn mcplink_server_options_set_website(website: *const c_char) {
        options.info.website_url = optional(website, "website")?.map(str::to_owned);
    }

    /// Sets the icons of the server.
    ///
    /// icons, len: a JSON array of objects with "src"; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no icons.
    fn mcplink_server_options_set_icons(icons: *const c_char, len: usize) {
        options.info.icons = typed(icons, len, "icons")?;
    }

    /// Sets the protocol revisions that the server supports. Default: all revisions that the
    /// library supports.
    ///
    /// revisions: the dates, separated by spaces, for example "2025-11-25 2026-07-28"; NULL for
    /// all.
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_UNSUPPORTED for a revision that this
    /// library does not know.
    fn mcplink_server_options_set_revisions(revisions: *const c_char) {
        let revisions = optional(revisions, "revisions")?;
        let revisions = revisions
            .map(|revisions| {
                let each = revisions
                    .split_whitespace()
                    .map(str::parse::<ProtocolVersion>);
                each.collect::<Result<Vec<_>, _>>()
            })
            .transpose()?;
        options.set("revisions", revisions, |builder, revisions| {
            builder.revisions(&revisions)
        });
    }

    /// Sets the name of this process, for servers that several processes serve. The ids of HTTP
    /// sessions and of tasks then begin with the name and a dot, for example "r1.", by which a
    /// proxy finds the process. Default: no name. docs/scale.md has configurations of proxies.
    ///
    /// name: 1 to 32 ASCII letters, digits, '-' and '_', which clients see; NULL for no name.
    fn mcplink_server_options_set_replica(name: *const c_char) {
        let name = optional(name, "name")?;
        let name = name.map(replica_name).transpose()?;
        options.set("replica", name, ServerBuilder::replica);
    }

    /// Sets the pump of the server. The thread that dispatches the pump then runs all callbacks of
    /// the server, except log hooks and thread hooks.
    ///
    /// pump: the pump, which must outlive the server. NULL, the default, to run callbacks on
    /// threads of the library.
    fn mcplink_server_options_set_pump(pump: *mut mcplink_pump_t) {
        options.pump = if pump.is_null() {
            None
        } else {
            Some(Arc::clone(enter(pump, "pump")?.queue()))
        };
    }

    /// Sets the log hook of the server. For this server, the hook replaces the process-wide hook
    /// that was set with mcplink_set_log.
    ///
    /// level: the least severe level to report.
    /// callback: the log hook. It is called on any thread, also with a pump, and must be quick.
    /// NULL, the default, for the process-wide hook.
    /// user, destroy: passed to callback; destroy runs when another hook is set, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_on_log(
        level: arg::mcplink_log_level,
        callback: mcplink_log_fn; user
    ) {
        options.log = Hook::new(level, callback, user)?;
    }
}
