//! The process that created an object. Windows has no fork, so it is always the current process.

/// The process in which an object was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin;

impl Origin {
    pub(crate) fn here() -> Self {
        Self
    }

    /// Whether the current process is the one in which the object was created: always true.
    pub(crate) fn is_here(self) -> bool {
        true
    }
}
