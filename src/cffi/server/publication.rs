//! Servers that are published to other programs of the same user.

use std::ffi::c_char;
use std::sync::Arc;

use serde_json::{Value, json};

use super::mcplink_server_t;
use super::serving::{Served, Serving};
use crate::cffi::arg::set_given;
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw, visit};
use crate::cffi::text::{filled, optional};
use crate::cffi::user::is_inside;
use crate::server::{Publication, Publish};

/// A published server, to which other programs of the same user can connect.
pub struct mcplink_publication_t {
    gate: Gate,
    publication: Arc<Publication>,
    serving: Arc<Serving>,
    /// The number that [`Serving::enter`] returned for the publication.
    number: u64,
}

impl Served for Publication {
    fn close(&self) {
        self.close();
    }

    fn stats(&self) -> Value {
        let instance = self.instance();
        json!({
            "kind": "publication",
            "id": instance.id,
            "name": instance.name,
            "title": instance.title,
            "clients": self.clients(),
        })
    }
}

handle!(mcplink_publication_t is Publication);

impl Handled for mcplink_publication_t {
    /// Returns whether this thread is inside the publication or its server. A handler of the server
    /// counts as inside, because closing the publication would wait for the handler's call.
    fn is_inside(&self) -> bool {
        self.serving.is_inside() || is_inside(self.gate.number())
    }

    fn close(&self) {
        let _inside = self.serving.inside();
        self.publication.close();
        self.serving.leave(self.number);
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Publishes a server under a name, so that other programs of the same user find it with
    /// mcplink_instances and connect to it. The tool mcplink connects hosts of MCP servers to it:
    /// "mcplink attach NAME". No port is opened. Neither another user nor a web page can connect.
    ///
    /// Up to 64 clients are served at once. Each has a session, which events report.
    ///
    /// name: the name of the program, such as "blender": 1 to 64 ASCII letters, digits, '.', '-'
    /// and '_', beginning with a letter or digit. Any number of programs can have one name.
    /// title: what the program has open, such as the name of a document. A person tells instances
    /// of one program apart by it. At most 4 KiB; NULL for no title.
    /// folder: the folder that the program works in. At most 4 KiB; NULL for none.
    /// out: receives the publication, NULL on failure. The caller owns it and frees it with
    /// mcplink_publication_free, before or after the server.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for another name, or when other users may use the
    /// folder of the published servers; MCPLINK_E_IO when its files can't be made;
    /// MCPLINK_E_CLOSED when the server was stopped.
    fn mcplink_server_publish(
        name: *const c_char,
        title: *const c_char,
        folder: *const c_char,
    ) -> out: mcplink_publication_t {
        let name = filled(name, "name")?;
        server.check_open()?;
        let mut options = Publish::new();
        options = set_given(options, optional(title, "title")?, Publish::title);
        options = set_given(options, optional(folder, "folder")?, Publish::folder);
        if let Some(wrap) = server.tap.clone() {
            let number = server.gate.number();
            options = options.wrap(Arc::new(move |transport| wrap(transport, number)));
        }
        let publication = Arc::new(server.server.publish(name, options)?);
        let number = server.serving.enter(Arc::clone(&publication) as _)?;
        into_raw(mcplink_publication_t {
            gate: Gate::new(),
            publication,
            serving: Arc::clone(&server.serving),
            number,
        })
    }
}

fallible! {
    enter(publication: *mut mcplink_publication_t);

    /// Replaces the title of a published server, for example when the user opens another document.
    ///
    /// title: see mcplink_server_publish; not NULL.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for a title that is too long; MCPLINK_E_IO when the
    /// file of the published server can't be written; MCPLINK_E_CLOSED when the publication is
    /// closed.
    fn mcplink_publication_set_title(title: *const c_char) {
        publication.publication.set_title(filled(title, "title")?)?;
    }
}

getters! {
    visit(publication: mcplink_publication_t);

    /// Returns the number of connected clients of a published server.
    ///
    /// Returns: the number.
    fn mcplink_publication_clients() -> usize {
        publication.publication.clients()
    }
}

actions! {
    entering(publication: mcplink_publication_t);

    /// Closes a publication: other programs no longer find the server, calls in flight may continue
    /// for the drain time of the server, and sessions end. A handler should not call this function,
    /// because the function would wait for the handler's own call. A handler can free the
    /// publication or stop the server instead.
    ///
    /// Returns: MCPLINK_OK, also when the publication is closed already.
    /// Blocks: for the drain time and a few seconds at most.
    fn mcplink_publication_close() {
        publication.close();
    }
}

/// Closes a publication and frees it. If a callback of the server calls this function, the function
/// returns at once, and another thread closes the publication. So a handler that frees the
/// publication can still answer.
///
/// Blocks: as mcplink_publication_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_publication_free(publication: *mut mcplink_publication_t) {
    // SAFETY: the header requires a publication of this library, freed once.
    unsafe { free_handle(publication) }
}
