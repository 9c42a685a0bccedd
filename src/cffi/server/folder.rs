//! Folders whose files are resources.

use std::ffi::c_char;

use super::mcplink_server_t;
use crate::cffi::handle::enter;
use crate::cffi::text::{filled, name};
use crate::server::Folder;

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Adds the files of a folder as resources with "file:" URIs. The library reads the files
    /// itself, on its own threads, also with a pump. The client gets text for files in UTF-8, and
    /// bytes for others.
    ///
    /// No file outside of the folder can be read: URIs with "..", and symbolic links that lead out
    /// of the folder, are "not found". But a hard link to a file outside can't be told from a file
    /// of the folder. So don't serve a folder in which untrusted users can create hard links.
    ///
    /// path: the path of the folder, which must exist. On Windows the path is UTF-8.
    /// template_name: the name of the resource template that matches the files.
    /// max_bytes: the maximum size of a file that can be read; 0 for the default of 8 MiB.
    /// Returns: MCPLINK_OK; MCPLINK_E_IO when the folder can't be opened; MCPLINK_E_INVALID when
    /// path is blank or no folder, or when the folder was added before.
    /// Threads: any, also while the server serves: clients are notified. Blocks: for the file
    /// system.
    fn mcplink_server_add_folder(
        path: *const c_char,
        template_name: *const c_char,
        max_bytes: u64,
    ) {
        // A blank path could be a variable that is not set. It must not be the working directory.
        let path = filled(path, "path")?;
        let template_name = name(template_name, "template_name")?;
        let mut folder = Folder::new(path)?;
        if max_bytes > 0 {
            folder = folder.max_bytes(max_bytes);
        }
        let template = folder.template(template_name);
        server
            .server
            .add_template(template, move |read, _| folder.read(read))?;
    }
}
