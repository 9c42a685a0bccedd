//! How a server is made.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::definition::typed;
use super::settings::mcplink_server_options_t;
use crate::cffi::entry::free;
use crate::cffi::handle::enter;
use crate::cffi::log::{Hook, mcplink_log_fn};
use crate::cffi::pump::mcplink_pump_t;
use crate::cffi::refusal::{constructed, set};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, optional};
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::schema::{Icon, ProtocolVersion};

/// Describes a server by its name and version. All settings have defaults that suit most servers.
///
/// name: the name, for programs.
/// version: its version.
/// Returns: the settings, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_new(
    name: *const c_char,
    version: *const c_char,
) -> *mut mcplink_server_options_t {
    constructed("mcplink_server_options_new", "server", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let (name, version) =
            unsafe { (text::name(name, "name")?, text::name(version, "version")?) };
        Ok(Box::into_raw(Box::new(mcplink_server_options_t::new(
            name, version,
        ))))
    })
}

/// Frees settings. Servers that were made with them keep theirs.
///
/// options: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_free(options: *mut mcplink_server_options_t) {
    // SAFETY: the header says that they are options of ours, freed once.
    unsafe { free(options) }
}

/// Says how to use the server, for models.
///
/// options: the settings.
/// instructions: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_instructions(
    options: *mut mcplink_server_options_t,
    instructions: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_instructions",
            |options| {
                let instructions = optional(instructions, "instructions")?;
                options.instructions = instructions.map(str::to_owned);
                Ok(())
            },
        )
    }
}

/// Sets what people see as its name.
///
/// options: the settings.
/// title: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_title(
    options: *mut mcplink_server_options_t,
    title: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_server_options_set_title", |options| {
            let title = optional(title, "title")?;
            options.info.title = title.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says what it is for.
///
/// options: the settings.
/// description: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_description(
    options: *mut mcplink_server_options_t,
    description: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(
            options,
            "mcplink_server_options_set_description",
            |options| {
                let description = optional(description, "description")?;
                options.info.description = description.map(str::to_owned);
                Ok(())
            },
        )
    }
}

/// Sets the address of its home page.
///
/// options: the settings.
/// website: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_website(
    options: *mut mcplink_server_options_t,
    website: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_server_options_set_website", |options| {
            let website = optional(website, "website")?;
            options.info.website_url = website.map(str::to_owned);
            Ok(())
        })
    }
}

/// Sets its icons.
///
/// options: the settings.
/// icons, len: a JSON array of objects with "src"; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_icons(
    options: *mut mcplink_server_options_t,
    icons: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text with its length.
    unsafe {
        set(options, "mcplink_server_options_set_icons", |options| {
            let icons = typed::<Vec<Icon>>(icons, len, "icons")?;
            options.info.icons = icons;
            Ok(())
        })
    }
}

/// Sets the revisions of the protocol that are served: all of them without this.
///
/// options: the settings.
/// revisions: for example "2025-11-25 2026-07-28"; NULL for all.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_UNSUPPORTED for one that this library does not know. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_revisions(
    options: *mut mcplink_server_options_t,
    revisions: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and text that ends in NUL.
    unsafe {
        set(options, "mcplink_server_options_set_revisions", |options| {
            let revisions = optional(revisions, "revisions")?;
            options.revisions = revisions
                .map(|revisions| {
                    let each = revisions
                        .split_whitespace()
                        .map(str::parse::<ProtocolVersion>);
                    each.collect::<Result<Vec<_>, _>>()
                })
                .transpose()?;
            Ok(())
        })
    }
}

/// Has all callbacks of the server run where the host dispatches a pump.
///
/// options: the settings.
/// pump: the pump, which has to outlive the server; NULL for threads of the library.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_pump(
    options: *mut mcplink_server_options_t,
    pump: *mut mcplink_pump_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options and a pump of ours.
    unsafe {
        set(options, "mcplink_server_options_set_pump", |options| {
            options.pump = if pump.is_null() {
                None
            } else {
                Some(Arc::clone(enter(pump, "pump")?.queue()))
            };
            Ok(())
        })
    }
}

/// Has a function called for what the library has to say of the server, instead of that of mcplink_set_log.
///
/// options: the settings.
/// level: the least severe level that is wanted, one of enum mcplink_log_level.
/// callback: called on any thread, also with a pump; it has to be quick. NULL for none.
/// user, destroy: passed to callback; ended when another function is set, or when the settings and all servers made with them have ended.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_options_set_log(
    options: *mut mcplink_server_options_t,
    level: i32,
    callback: mcplink_log_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are options of ours.
    unsafe {
        set(options, "mcplink_server_options_set_log", |options| {
            options.log = Hook::new(level, callback, user)?;
            Ok(())
        })
    }
}
