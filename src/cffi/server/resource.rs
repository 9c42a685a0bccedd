//! Definitions of resources.

use std::ffi::c_char;

use crate::cffi::entry::{free, own};
use crate::cffi::json::typed;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{self, optional};
use crate::schema::Resource;

/// The definition of a resource: contents that can be read at a URI. One thread at a time may use a
/// definition. A server copies the definitions that are added to it.
pub struct mcplink_resource_t(pub(super) Resource, Refusal);

object!(mcplink_resource_t is Resource);

impl Settings for mcplink_resource_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_resource_new");

    fn refusal(&self) -> &Refusal {
        &self.1
    }

    fn label(&self) -> Option<String> {
        Some(format!("resource '{}'", self.0.uri))
    }
}

/// Makes the definition of a resource.
///
/// uri: the URI of the resource (RFC 3986). The scheme names the kind of resource; use a custom
/// scheme if no standard scheme fits.
/// name: the name of the resource, for programs.
/// Returns: the definition. The caller owns it and frees it with mcplink_resource_free. NULL for an
/// invalid argument; functions that take a definition refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_new(
    uri: *const c_char,
    name: *const c_char,
) -> *mut mcplink_resource_t {
    constructed("mcplink_resource_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let (uri, name) = unsafe { (text::name(uri, "uri")?, text::name(name, "name")?) };
        let resource = Resource::new(uri, name);
        Ok(own(mcplink_resource_t(resource, Refusal::default())))
    })
}

actions! {
    set(resource: mcplink_resource_t);

    /// Sets the display name of the resource.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_resource_set_title(title: *const c_char) {
        resource.0.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the description of the resource, for models.
    ///
    /// description: the description; NULL for no description.
    fn mcplink_resource_set_description(description: *const c_char) {
        resource.0.description = optional(description, "description")?.map(str::to_owned);
    }

    /// Sets the MIME type of the resource. It is also the default MIME type of the handler's
    /// answers.
    ///
    /// mime_type: the MIME type; NULL for no MIME type.
    fn mcplink_resource_set_mime_type(mime_type: *const c_char) {
        resource.0.mime_type = optional(mime_type, "mime_type")?.map(str::to_owned);
    }

    /// Sets the size of the resource.
    ///
    /// size: the size in bytes, before any encoding.
    fn mcplink_resource_set_size(size: u64) {
        resource.0.size = Some(size)
    }

    /// Sets the annotations of the resource: an object with "audience", "priority" and
    /// "lastModified".
    ///
    /// annotations, len: the annotations, as JSON; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no annotations.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_resource_set_annotations(annotations: *const c_char, len: usize) {
        resource.0.annotations = typed(annotations, len, "annotations")?;
    }

    /// Sets the icons of the resource: an array of objects with "src".
    ///
    /// icons, len: the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no icons.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_resource_set_icons(icons: *const c_char, len: usize) {
        resource.0.icons = typed(icons, len, "icons")?;
    }

    /// Sets the metadata ("_meta") of the resource: an object.
    ///
    /// meta, len: the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no metadata.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_resource_set_meta(meta: *const c_char, len: usize) {
        resource.0.meta = typed(meta, len, "meta")?;
    }
}

/// Frees the definition of a resource. Servers to which it was added keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_free(resource: *mut mcplink_resource_t) {
    // SAFETY: the header requires a resource of this library, freed once.
    unsafe { free(resource) }
}
