//! Text and bytes that functions of the host provide.

use std::ffi::c_void;

use super::actions::actions;
use super::entry::needing_mut;
use super::handle::{Kind as ObjectKind, Object, Tagged};
use super::text::measured;

/// An output parameter: receives text or bytes from a function of the host. See mcplink_output_set.
pub struct mcplink_output_t {
    bytes: Option<Vec<u8>>,
}

impl Object for mcplink_output_t {
    const KIND: ObjectKind = ObjectKind::Output;
}

impl mcplink_output_t {
    /// Makes an output parameter that C may borrow.
    pub(super) fn new() -> Tagged<Self> {
        Tagged::new(Self { bytes: None })
    }

    /// Takes the bytes that the host has set.
    #[cfg(feature = "auth")]
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        self.bytes.take()
    }

    /// Takes the text that the host has set; `None` if the host has set no text, or a blank one.
    /// Bytes that are not UTF-8 are replaced.
    pub(super) fn take_text(&mut self) -> Option<String> {
        let bytes = self.bytes.take()?;
        let text = String::from_utf8_lossy(bytes.trim_ascii());
        (!text.is_empty()).then(|| text.into_owned())
    }
}

actions! {
    needing_mut(output: mcplink_output_t);

    /// Sets the text or bytes that a function of the host provides: see for example
    /// mcplink_schema_check_fn. A later call replaces them.
    ///
    /// output: the output parameter of the function of the host; valid until that function returns.
    /// bytes, len: the text or bytes, which are copied; len may be MCPLINK_NUL for text that ends
    /// in NUL.
    /// Threads: the thread that runs the function.
    fn mcplink_output_set(bytes: *const c_void, len: usize) {
        output.bytes = Some(measured(bytes.cast(), len, "bytes")?.to_vec());
    }
}
