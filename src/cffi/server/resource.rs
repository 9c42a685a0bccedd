//! What a resource is, before a server has it.

use std::ffi::c_char;

use super::definition::typed;
use crate::cffi::entry::free;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, optional};
use crate::schema::{Annotations, Icon, MetaObject, Resource};

/// A resource: something to read, at an address of its own. One thread at a time uses it; a server copies it.
pub struct mcplink_resource_t(pub(super) Resource, Refusal);

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

/// Describes a resource.
///
/// uri: its address (RFC 3986), with a scheme that says what kind of thing it is, one of your own if there is none.
/// name: its name, for programs.
/// Returns: the definition, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_new(
    uri: *const c_char,
    name: *const c_char,
) -> *mut mcplink_resource_t {
    constructed("mcplink_resource_new", "server", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let (uri, name) = unsafe { (text::name(uri, "uri")?, text::name(name, "name")?) };
        let resource = Resource::new(uri, name);
        Ok(Box::into_raw(Box::new(mcplink_resource_t(
            resource,
            Refusal::default(),
        ))))
    })
}

/// Sets what people see as its name.
///
/// resource: the resource.
/// title: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_title(
    resource: *mut mcplink_resource_t,
    title: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_title", |resource| {
            let title = optional(title, "title")?;
            resource.0.title = title.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says what is in it, for models.
///
/// resource: the resource.
/// description: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_description(
    resource: *mut mcplink_resource_t,
    description: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_description", |resource| {
            let description = optional(description, "description")?;
            resource.0.description = description.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says what kind of data it is: what is answered without a MIME type has this one.
///
/// resource: the resource.
/// mime_type: NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_mime_type(
    resource: *mut mcplink_resource_t,
    mime_type: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text that ends in NUL.
    unsafe {
        set(resource, "mcplink_resource_set_mime_type", |resource| {
            let mime_type = optional(mime_type, "mime_type")?;
            resource.0.mime_type = mime_type.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says how many bytes it has.
///
/// resource: the resource.
/// size: in bytes, without any coding.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_size(
    resource: *mut mcplink_resource_t,
    size: u64,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a resource of ours.
    unsafe {
        set(resource, "mcplink_resource_set_size", |resource| {
            resource.0.size = Some(size);
            Ok(())
        })
    }
}

/// Says for whom it is and how important: an object with "audience", "priority", "lastModified".
///
/// resource: the resource.
/// annotations, len: as JSON; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_annotations(
    resource: *mut mcplink_resource_t,
    annotations: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_annotations", |resource| {
            let annotations = typed::<Annotations>(annotations, len, "annotations")?;
            resource.0.annotations = annotations;
            Ok(())
        })
    }
}

/// Sets its icons: an array of objects with "src".
///
/// resource: the resource.
/// icons, len: as JSON; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_icons(
    resource: *mut mcplink_resource_t,
    icons: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_icons", |resource| {
            let icons = typed::<Vec<Icon>>(icons, len, "icons")?;
            resource.0.icons = icons;
            Ok(())
        })
    }
}

/// Sets what travels beside it: an object.
///
/// resource: the resource.
/// meta, len: as JSON; MCPLINK_NUL measures it. NULL for none.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when it is not what the protocol has there. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_set_meta(
    resource: *mut mcplink_resource_t,
    meta: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a resource of ours and text with its length.
    unsafe {
        set(resource, "mcplink_resource_set_meta", |resource| {
            let meta = typed::<MetaObject>(meta, len, "meta")?;
            resource.0.meta = meta;
            Ok(())
        })
    }
}

/// Frees the description of a resource. Servers that have it keep it.
///
/// resource: NULL is fine. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_free(resource: *mut mcplink_resource_t) {
    // SAFETY: the header says that it is a resource of ours, freed once.
    unsafe { free(resource) }
}
