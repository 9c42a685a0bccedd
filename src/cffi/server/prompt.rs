//! Definitions of prompts.

use std::ffi::c_char;

use super::definition::required;
use crate::cffi::arg;
use crate::cffi::entry::{free, own};
use crate::cffi::json::typed;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{self, optional};
use crate::schema::{Prompt, PromptArgument};

/// The definition of a prompt: messages that a user selects by name. One thread at a time may use a
/// definition. A server copies the definitions that are added to it.
pub struct mcplink_prompt_t(pub(super) Prompt, Refusal);

object!(mcplink_prompt_t is Prompt);

impl Settings for mcplink_prompt_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_prompt_new");

    fn refusal(&self) -> &Refusal {
        &self.1
    }

    fn label(&self) -> Option<String> {
        Some(format!("prompt '{}'", self.0.name))
    }
}

/// Makes the definition of a prompt.
///
/// name: the name of the prompt, for programs.
/// description: the purpose of the prompt; NULL for no description.
/// Returns: the definition. The caller owns it and frees it with mcplink_prompt_free. NULL for an
/// invalid argument; functions that take a definition refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_new(
    name: *const c_char,
    description: *const c_char,
) -> *mut mcplink_prompt_t {
    constructed("mcplink_prompt_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let (name, description) = unsafe {
            (
                text::name(name, "name")?,
                optional(description, "description")?,
            )
        };
        let mut prompt = Prompt::new(name);
        prompt.description = description.map(str::to_owned);
        Ok(own(mcplink_prompt_t(prompt, Refusal::default())))
    })
}

actions! {
    set(prompt: mcplink_prompt_t);

    /// Adds an argument to the prompt. The value of an argument is always text. A prompt without
    /// declared arguments accepts any arguments.
    ///
    /// argument: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// description: the meaning of the argument; NULL for no description.
    fn mcplink_prompt_add_argument(
        argument: *const c_char,
        flag: arg::mcplink_param_flag,
        description: *const c_char,
    ) {
        let (argument, description) = (
            text::name(argument, "argument")?,
            optional(description, "description")?,
        );
        let mut argument = PromptArgument::new(argument).required(required(flag)?);
        argument.description = description.map(str::to_owned);
        let arguments = prompt.0.arguments.get_or_insert_default();
        arguments.push(argument);
    }

    /// Sets the display name of the prompt.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_prompt_set_title(title: *const c_char) {
        prompt.0.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the icons of the prompt: an array of objects with "src".
    ///
    /// icons, len: the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no icons.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_prompt_set_icons(icons: *const c_char, len: usize) {
        prompt.0.icons = typed(icons, len, "icons")?;
    }

    /// Sets the metadata ("_meta") of the prompt: an object.
    ///
    /// meta, len: the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no metadata.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_prompt_set_meta(meta: *const c_char, len: usize) {
        prompt.0.meta = typed(meta, len, "meta")?;
    }
}

/// Frees the definition of a prompt. Servers to which it was added keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_prompt_free(prompt: *mut mcplink_prompt_t) {
    // SAFETY: the header requires a prompt of this library, freed once.
    unsafe { free(prompt) }
}
