//! The name of one item of a server.

use super::error_map::resource_not_found;
use crate::error::{Excerpt, RpcError};

/// An item that a server offers: a tool, prompt, resource or template.
///
/// # Examples
///
/// ```
/// use mcplink::schema::Resource;
/// use mcplink::server::{Primitive, Server};
///
/// let server = Server::builder("files", "1.0")
///     .resource(Resource::new("files:///plan", "plan"), |_, _| "Rest on Sunday.")
///     .require_scopes(Primitive::Resource("files:///plan"), ["files:read"])
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Primitive<'a> {
    /// A tool, by its name.
    Tool(&'a str),
    /// A prompt, by its name.
    Prompt(&'a str),
    /// A resource, by its URI. The resource is registered under this URI, or read through a
    /// template.
    ///
    /// If the resource is read through a template, the URI is in the client's spelling. A URI may
    /// have several spellings (`%61` for `a`). So compare the values of the template's variables,
    /// or list the allowed URIs instead of the forbidden ones.
    Resource(&'a str),
    /// A template, by its text.
    ResourceTemplate(&'a str),
}

impl Primitive<'_> {
    /// Returns the error that a client gets if this item does not exist.
    pub(super) fn unknown(self) -> RpcError {
        let (noun, name) = match self {
            Self::Tool(name) => ("tool", name),
            Self::Prompt(name) => ("prompt", name),
            Self::ResourceTemplate(template) => ("resource template", template),
            Self::Resource(uri) => return resource_not_found(uri),
        };
        RpcError::invalid_params(format!("unknown {noun}: {}", Excerpt(name)))
    }
}
