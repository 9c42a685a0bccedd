//! What of a server's results was left out since it does not fit: told to the log, each kind of it once.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use serde::de::DeserializeOwned;

use crate::protocol::{LogLevel, Peer};
use crate::schema::{Misfit, tree};
use crate::sync::Mutex;

/// So many are told to the log of one result, the others counted.
const MAX_LINES: usize = 8;
/// So many kinds are told apart. Further ones are not told to the log.
const MAX_KINDS: usize = 1024;

/// The misfits that the log was told of, as hashes of what they are.
#[derive(Debug, Default)]
pub(super) struct Told {
    kinds: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl Told {
    /// Tells the log of those that it was not told of before.
    pub(super) fn tell(&self, peer: &Peer, server: &str, method: &str, misfits: &[Misfit]) {
        if misfits.is_empty() {
            return;
        }
        let mut kinds = self.kinds.lock();
        let new: Vec<Misfit> = misfits
            .iter()
            .filter(|misfit| {
                let kind = self
                    .hasher
                    .hash_one((method, &misfit.name, kind_of(&misfit.path)));
                kinds.len() < MAX_KINDS && kinds.insert(kind)
            })
            .cloned()
            .collect();
        drop(kinds);
        log(peer, server, method, &new);
    }
}

/// A path without the places in lists: those may be others the next time.
fn kind_of(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|step| !step.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// Tells the log what was left out of a result.
pub(super) fn log(peer: &Peer, server: &str, method: &str, misfits: &[Misfit]) {
    if misfits.is_empty() {
        return;
    }
    peer.core().log_as("client", LogLevel::Warning, || {
        let told: Vec<_> = misfits
            .iter()
            .take(MAX_LINES)
            .map(ToString::to_string)
            .collect();
        let more = misfits.len() - told.len();
        let more = if more > 0 {
            format!("; {more} more")
        } else {
            String::new()
        };
        let told = told.join("; ");
        format!("not all of the result of {method} of '{server}' fits: {told}{more}")
    });
}

/// Reads a result by which a conversation is opened.
pub(super) fn read<R: DeserializeOwned>(
    peer: &Peer,
    method: &str,
    text: &str,
) -> serde_json::Result<R> {
    if peer.core().is_strict() {
        return tree::read_strictly(text);
    }
    let (result, misfits) = tree::read_entries(text)?;
    log(peer, &peer.name(), method, &misfits);
    Ok(result)
}
