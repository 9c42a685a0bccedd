//! Requests about tasks of other processes, which are answered from their records.

use std::sync::Arc;

use super::super::subscriptions::Followed;
use super::record::TaskRecord;
use super::records::Versioned;
use super::sharing::{Sharing, key_of};
use crate::error::RpcError;
use crate::schema::{DetailedTask, InputResponses};

impl Sharing {
    /// Changes the record of a task, if there is one and it belongs to this principal.
    fn change_of(
        &self,
        id: &str,
        principal: Option<&str>,
        mut edit: impl FnMut(&mut TaskRecord) -> Result<bool, RpcError>,
    ) -> Result<Option<Versioned<TaskRecord>>, RpcError> {
        let mut is_theirs = false;
        let record = self.change(&key_of(id), |record| {
            is_theirs = record.principal.as_deref() == principal;
            Ok(is_theirs && edit(record)?)
        })?;
        Ok(record.filter(|_| is_theirs))
    }

    /// Returns the state of a task.
    pub(super) fn get(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<Option<DetailedTask>, RpcError> {
        let record = self.change_of(id, principal, |_| Ok(false))?;
        Ok(record.map(|(_, record)| record.shown()))
    }

    /// Cancels a task, unless it has ended. Returns `None` if there is no such task.
    pub(super) fn cancel(&self, id: &str, principal: Option<&str>) -> Result<Option<()>, RpcError> {
        let record = self.change_of(id, principal, |record| {
            let goes_on = !record.is_over();
            if goes_on {
                record.end(None);
            }
            Ok(goes_on)
        })?;
        Ok(record.map(drop))
    }

    /// Passes a client's answers to a task. Returns `None` if there is no such task.
    pub(super) fn answer(
        &self,
        id: &str,
        principal: Option<&str>,
        responses: &InputResponses,
    ) -> Result<Option<()>, RpcError> {
        let record = self.change_of(id, principal, |record| record.answer(responses))?;
        Ok(record.map(drop))
    }

    /// Follows a task of another process, if there is one and it belongs to this principal.
    pub(super) fn follow(
        self: &Arc<Self>,
        id: &str,
        principal: Option<&str>,
    ) -> Option<Arc<dyn Followed>> {
        let read = self.change_of(id, principal, |_| Ok(false)).ok()??;
        let task = self.watch_followed(&key_of(id), id, read);
        Some(task.ok()?)
    }
}
