//! The log of misfits: parts of a server's results that were dropped because they are invalid. Each
//! kind of misfit is logged once.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use serde::de::DeserializeOwned;

use crate::jsonrpc::surrogates;
use crate::protocol::{LogLevel, Peer};
use crate::schema::{Misfit, tree};
use crate::sync::Mutex;

/// The maximum number of dropped parts of one result that are logged one by one. The log only
/// counts further parts.
const MAX_LINES: usize = 8;
/// The maximum number of kinds of misfits that are logged. Misfits of further kinds are not logged.
const MAX_KINDS: usize = 1024;

/// The kinds of misfits that were logged, as hashes. A misfit is a member of a server's result that
/// does not match the specification and is dropped. The set ensures that each kind is logged once.
#[derive(Debug, Default)]
pub(super) struct ReportedMisfits {
    kinds: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl ReportedMisfits {
    /// Logs the parts of a result that were dropped as invalid, unless a part of the same kind was
    /// logged before.
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

/// Returns the steps of a path without the list indexes. So the kind of a misfit does not change
/// when the list entry gets another index.
fn kind_of(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|step| !step.bytes().all(|byte| byte.is_ascii_digit()))
        .collect()
}

/// Logs that the params of a request of the server have halves of surrogate pairs, which were
/// replaced.
pub(super) fn log_halves(peer: &Peer, method: &str, params: &str) {
    if let Some((_, count, first)) = surrogates::replaced(params) {
        let misfit = Misfit::of_halves(params, count, first);
        peer.core().log_as("client", LogLevel::Warning, || {
            let server = peer.name();
            format!("not all of the params of {method} of '{server}' fit: {misfit}")
        });
    }
}

/// Logs the parts of a result that were dropped as invalid.
pub(super) fn log(peer: &Peer, server: &str, method: &str, misfits: &[Misfit]) {
    if misfits.is_empty() {
        return;
    }
    peer.core().log_as("client", LogLevel::Warning, || {
        let listed: Vec<_> = misfits
            .iter()
            .take(MAX_LINES)
            .map(ToString::to_string)
            .collect();
        let more = misfits.len() - listed.len();
        let more = if more > 0 {
            format!("; {more} more")
        } else {
            String::new()
        };
        let listed = listed.join("; ");
        format!("not all of the result of {method} of '{server}' fits: {listed}{more}")
    });
}

/// Parses the result of an opening request, such as `initialize`, and logs the parts that were
/// dropped as invalid.
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
