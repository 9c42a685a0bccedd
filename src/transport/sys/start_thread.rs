//! The way in which this layer starts a thread for a stream.

use std::thread::JoinHandle;

use crate::error::Result;

/// Starts a thread with the settings of the host. On Unix, no stream needs a thread.
pub(crate) type StartThread<'a> = &'a dyn Fn(Box<dyn FnOnce() + Send>) -> Result<JoinHandle<()>>;
