//! One binary for all tests through the public API.
#![allow(clippy::unwrap_used, reason = "a test that can't go on may panic")]

mod transport;
