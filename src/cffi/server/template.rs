//! Definitions of resource templates.

use std::ffi::c_char;

use crate::cffi::entry::{free, own};
use crate::cffi::json::typed;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{self, optional};
use crate::schema::ResourceTemplate;

/// The definition of a resource template: resources whose URIs follow a pattern (RFC 6570).
/// Supported expressions are {var}, {+path}, {/var}, {.ext} and, at the end, {?a,b}. One thread at
/// a time may use a definition. A server copies the definitions that are added to it.
pub struct mcplink_template_t(pub(super) ResourceTemplate, Refusal);

object!(mcplink_template_t is Template);

impl Settings for mcplink_template_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_template_new");

    fn refusal(&self) -> &Refusal {
        &self.1
    }

    fn label(&self) -> Option<String> {
        Some(format!("template '{}'", self.0.uri_template))
    }
}

/// Makes the definition of a resource template.
///
/// uri_template: the URI template, for example "users://{id}".
/// name: the name of the template, for programs.
/// Returns: the definition. The caller owns it and frees it with mcplink_template_free. NULL for an
/// invalid argument; functions that take a definition refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_template_new(
    uri_template: *const c_char,
    name: *const c_char,
) -> *mut mcplink_template_t {
    constructed("mcplink_template_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let (uri_template, name) = unsafe {
            (
                text::name(uri_template, "uri_template")?,
                text::name(name, "name")?,
            )
        };
        let template = ResourceTemplate::new(uri_template, name);
        Ok(own(mcplink_template_t(template, Refusal::default())))
    })
}

actions! {
    set(template: mcplink_template_t);

    /// Sets the display name of the template.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_template_set_title(title: *const c_char) {
        template.0.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the description of the template, for models.
    ///
    /// description: the description; NULL for no description.
    fn mcplink_template_set_description(description: *const c_char) {
        template.0.description = optional(description, "description")?.map(str::to_owned);
    }

    /// Sets the MIME type of the template's resources. It is also the default MIME type of the
    /// handler's answers.
    ///
    /// mime_type: the MIME type; NULL for no MIME type.
    fn mcplink_template_set_mime_type(mime_type: *const c_char) {
        template.0.mime_type = optional(mime_type, "mime_type")?.map(str::to_owned);
    }

    /// Sets the annotations of the template: an object with "audience", "priority" and
    /// "lastModified".
    ///
    /// annotations, len: the annotations, as JSON; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no annotations.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_template_set_annotations(annotations: *const c_char, len: usize) {
        template.0.annotations = typed(annotations, len, "annotations")?;
    }

    /// Sets the icons of the template: an array of objects with "src".
    ///
    /// icons, len: the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no icons.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_template_set_icons(icons: *const c_char, len: usize) {
        template.0.icons = typed(icons, len, "icons")?;
    }

    /// Sets the metadata ("_meta") of the template: an object.
    ///
    /// meta, len: the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no metadata.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_template_set_meta(meta: *const c_char, len: usize) {
        template.0.meta = typed(meta, len, "meta")?;
    }
}

/// Frees the definition of a resource template. Servers to which it was added keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_template_free(template: *mut mcplink_template_t) {
    // SAFETY: the header requires a template of this library, freed once.
    unsafe { free(template) }
}
