//! Text and bytes that functions of the host provide.

use std::ffi::c_void;

use super::entry::needing_mut;
use super::handle::Tagged;
use super::text::{measured, payload};

/// An output parameter: receives text or bytes from a function of the host. See mcplink_output_set.
pub struct mcplink_output_t {
    /// The text or bytes that the host has set. UTF-8 if `is_text`.
    bytes: Option<Vec<u8>>,
    /// Whether only text is accepted.
    is_text: bool,
}

object!(mcplink_output_t is Output);

impl mcplink_output_t {
    /// Makes an output parameter for text, which C may borrow.
    pub(super) fn text() -> Tagged<Self> {
        Tagged::new(Self {
            bytes: None,
            is_text: true,
        })
    }

    /// Makes an output parameter for bytes, which C may borrow.
    #[cfg(feature = "auth")]
    pub(super) fn bytes() -> Tagged<Self> {
        Tagged::new(Self {
            bytes: None,
            is_text: false,
        })
    }

    /// Takes the text that the host has set.
    ///
    /// # Panics
    ///
    /// Panics if this is an output parameter for bytes.
    pub(super) fn take_text(&mut self) -> Option<String> {
        assert!(self.is_text, "bytes need not be UTF-8");
        let bytes = self.bytes.take()?;
        Some(String::from_utf8(bytes).expect("checked when it was set"))
    }

    /// Takes the bytes that the host has set.
    #[cfg(feature = "auth")]
    pub(super) fn take_bytes(&mut self) -> Option<Vec<u8>> {
        self.bytes.take()
    }
}

actions! {
    needing_mut(output: mcplink_output_t);

    /// Sets the text or bytes that a function of the host provides: see for example
    /// mcplink_bearer_fn. A later call replaces them.
    ///
    /// output: the output parameter of the function of the host; valid until that function returns.
    /// bytes, len: the text or bytes, which are copied; len may be MCPLINK_NUL for text that ends
    /// in NUL.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID, also for text that is not UTF-8.
    /// Threads: the thread that runs the function.
    fn mcplink_output_set(bytes: *const c_void, len: usize) {
        output.bytes = Some(match output.is_text {
            true => payload(bytes.cast(), len, "bytes")?.as_bytes().to_vec(),
            false => measured(bytes.cast(), len, "bytes")?.to_vec(),
        });
    }
}
