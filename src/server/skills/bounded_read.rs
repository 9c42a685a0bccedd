//! Reads files of folders that other programs may change.

use std::io::{self, Read};
use std::path::Path;

use crate::transport::sys::private::open_no_link;

/// Reads a file of at most `max` bytes. Fails if a segment of the absolute path is a symbolic link.
/// Does not wait for a named pipe.
pub(super) fn read_at_most(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = open_no_link(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let text = format!("it has more than {max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}
