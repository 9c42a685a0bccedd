//! What a prompt is, before a server has it.

use std::ffi::c_char;

use super::definition::{required, typed};
use crate::cffi::entry::free;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, optional};
use crate::schema::{Icon, MetaObject, Prompt, PromptArgument};

/// A prompt: messages that a user picks by name. One thread at a time uses it; a server copies it.
pub struct mcplink_prompt_t(pub(super) Prompt, Refusal);

impl Settings for mcplink_prompt_t {
    const NAME: &'static str = "prompt";
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_prompt_new");

    fn refusal(&self) -> &Refusal {
        &self.1
    }

    fn label(&self) -> Option<&str> {
        Some(&self.0.name)
    }
}

/// Describes a prompt.
///
/// name: its name, for programs.
/// description: what it is for; NULL for none.
/// Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_new(
    name: *const c_char,
    description: *const c_char,
) -> *mut mcplink_prompt_t {
    constructed("mcplink_prompt_new", "server", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let (name, description) = unsafe {
            (
                text::name(name, "name")?,
                optional(description, "description")?,
            )
        };
        let mut prompt = Prompt::new(name);
        prompt.description = description.map(str::to_owned);
        Ok(Box::into_raw(Box::new(mcplink_prompt_t(
            prompt,
            Refusal::default(),
        ))))
    })
}

/// Adds an argument, which is always text. A prompt without any takes any.
///
/// prompt: the prompt.
/// argument: its name.
/// flags: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
/// description: what it is; NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_add_argument(
    prompt: *mut mcplink_prompt_t,
    argument: *const c_char,
    flags: u32,
    description: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a prompt of ours and texts that end in NUL.
    unsafe {
        set(prompt, "mcplink_prompt_add_argument", |prompt| {
            let (argument, description) = (
                text::name(argument, "argument")?,
                optional(description, "description")?,
            );
            let mut argument = PromptArgument::new(argument).required(required(flags)?);
            argument.description = description.map(str::to_owned);
            let arguments = prompt.0.arguments.get_or_insert_default();
            arguments.push(argument);
            Ok(())
        })
    }
}

/// Sets what people see as its name.
///
/// prompt: the prompt.
/// title: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_set_title(
    prompt: *mut mcplink_prompt_t,
    title: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a prompt of ours and text that ends in NUL.
    unsafe {
        set(prompt, "mcplink_prompt_set_title", |prompt| {
            let title = optional(title, "title")?;
            prompt.0.title = title.map(str::to_owned);
            Ok(())
        })
    }
}

/// Sets its icons: an array of objects with "src".
///
/// prompt: the prompt.
/// icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_set_icons(
    prompt: *mut mcplink_prompt_t,
    icons: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a prompt of ours and text with its length.
    unsafe {
        set(prompt, "mcplink_prompt_set_icons", |prompt| {
            let icons = typed::<Vec<Icon>>(icons, len, "icons")?;
            prompt.0.icons = icons;
            Ok(())
        })
    }
}

/// Sets what travels beside it: an object.
///
/// prompt: the prompt.
/// meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_set_meta(
    prompt: *mut mcplink_prompt_t,
    meta: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a prompt of ours and text with its length.
    unsafe {
        set(prompt, "mcplink_prompt_set_meta", |prompt| {
            let meta = typed::<MetaObject>(meta, len, "meta")?;
            prompt.0.meta = meta;
            Ok(())
        })
    }
}

/// Frees the description of a prompt. Servers that have it keep it.
///
/// prompt: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_free(prompt: *mut mcplink_prompt_t) {
    // SAFETY: the header says that it is a prompt of ours, freed once.
    unsafe { free(prompt) }
}
