//! Definitions of resources.

use std::ffi::c_char;

use super::definition::typed;
use crate::cffi::entry::{free, own};
use crate::cffi::handle::{Kind as ObjectKind, Object};
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, optional};
use crate::schema::{Annotations, Icon, MetaObject, Resource};

/// The definition of a resource: contents that can be read at a URI. One thread at a time may use a
/// definition. A server copies the definitions that are added to it.
pub struct mcplink_resource_t(pub(super) Resource, Refusal);

impl Object for mcplink_resource_t {
    const KIND: ObjectKind = ObjectKind::Resource;
}

impl Settings for mcplink_resource_t {
    const NAME: &'static str = "resource";
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_resource_new");

    fn refusal(&self) -> &Refusal {
        &self.1
    }

    fn label(&self) -> Option<&str> {
        Some(&self.0.uri)
    }
}

/// Makes the definition of a resource.
///
/// uri: the URI of the resource (RFC 3986). The scheme names the kind of resource; use a custom
/// scheme if no standard scheme fits.
/// name: the name of the resource, for programs.
/// Returns: the definition. The caller owns it and frees it with mcplink_resource_free. NULL for an
/// invalid argument; functions that take a definition refuse NULL. Threads: any. Since 0.1.
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

/// Sets the display name of the resource.
///
/// resource: the resource.
/// title: the title; NULL for no title.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_title(
    resource: *mut mcplink_resource_t,
    title: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_title", |resource| {
            let title = optional(title, "title")?;
            resource.0.title = title.map(str::to_owned);
            Ok(())
        })
    }
}

/// Sets the description of the resource, for models.
///
/// resource: the resource.
/// description: the description; NULL for no description.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_description(
    resource: *mut mcplink_resource_t,
    description: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_description", |resource| {
            let description = optional(description, "description")?;
            resource.0.description = description.map(str::to_owned);
            Ok(())
        })
    }
}

/// Sets the MIME type of the resource. It is also the default MIME type of the handler's answers.
///
/// resource: the resource.
/// mime_type: the MIME type; NULL for no MIME type.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_mime_type(
    resource: *mut mcplink_resource_t,
    mime_type: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_mime_type", |resource| {
            let mime_type = optional(mime_type, "mime_type")?;
            resource.0.mime_type = mime_type.map(str::to_owned);
            Ok(())
        })
    }
}

/// Sets the size of the resource.
///
/// resource: the resource.
/// size: the size in bytes, before any encoding.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_size(
    resource: *mut mcplink_resource_t,
    size: u64,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library.
    unsafe {
        set(resource, "mcplink_resource_set_size", |resource| {
            resource.0.size = Some(size);
            Ok(())
        })
    }
}

/// Sets the annotations of the resource: an object with "audience", "priority" and "lastModified".
///
/// resource: the resource.
/// annotations, len: the annotations, as JSON; len may be MCPLINK_NUL for text that ends in NUL.
/// NULL for no annotations.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol. Threads:
/// one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_annotations(
    resource: *mut mcplink_resource_t,
    annotations: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_annotations", |resource| {
            let annotations = typed::<Annotations>(annotations, len, "annotations")?;
            resource.0.annotations = annotations;
            Ok(())
        })
    }
}

/// Sets the icons of the resource: an array of objects with "src".
///
/// resource: the resource.
/// icons, len: the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
/// icons.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol. Threads:
/// one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_icons(
    resource: *mut mcplink_resource_t,
    icons: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_icons", |resource| {
            let icons = typed::<Vec<Icon>>(icons, len, "icons")?;
            resource.0.icons = icons;
            Ok(())
        })
    }
}

/// Sets the metadata ("_meta") of the resource: an object.
///
/// resource: the resource.
/// meta, len: the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
/// metadata.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol. Threads:
/// one at a time. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_meta(
    resource: *mut mcplink_resource_t,
    meta: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires a resource of this library and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_meta", |resource| {
            let meta = typed::<MetaObject>(meta, len, "meta")?;
            resource.0.meta = meta;
            Ok(())
        })
    }
}

/// Frees the definition of a resource. Servers to which it was added keep a copy.
///
/// resource: the resource; may be NULL. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_free(resource: *mut mcplink_resource_t) {
    // SAFETY: the header requires a resource of this library, freed once.
    unsafe { free(resource) }
}
