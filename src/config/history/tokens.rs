//! Tokens in the history: issued and revoked beside the configuration file, and noted where its changes are. What a token is known by is
//! never here, so that one that was revoked does not come back.

use serde_json::Value;

use super::{ChangeOf, ChangedValue, History, MeantChange, store::StoredChange};
use crate::config::not_undone::NotUndone;

impl StoredChange {
    /// The token that it issued or revoked, if it is of one.
    pub(super) fn token(&self) -> Option<(&str, &ChangedValue)> {
        let [change] = &self.entry.changes[..] else {
            return None;
        };
        let is_token = !self.is_of_file() && self.approvals.is_none();
        let name = change.path.last().filter(|_| is_token)?;
        Some((name, change))
    }
}

impl History {
    /// Notes that a token became another: issued where it was none, revoked where it is none. Its number. Blocks.
    pub fn note_token(
        &self,
        name: &str,
        before: Option<Value>,
        after: Option<Value>,
        by: &ChangeOf,
    ) -> Option<u64> {
        let change = ChangedValue {
            path: vec!["tokens".to_owned(), name.to_owned()],
            before,
            after,
            partly: false,
        };
        self.note_beside(vec![change], by)
    }
}

impl MeantChange {
    /// The token that it issued, as it was. Nothing if it is no change of one.
    pub fn issued(&self) -> Result<Option<ChangedValue>, NotUndone> {
        let id = self.id();
        match self.0.token() {
            None => Ok(None),
            Some((_, change)) if change.after.is_some() => Ok(Some(change.clone())),
            Some((name, _)) => Err(NotUndone::Revoked {
                id,
                name: name.to_owned(),
            }),
        }
    }
}
