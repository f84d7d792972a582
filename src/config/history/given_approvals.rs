//! Approvals in the history: what a person approved of a server, alone or with the change of the file that lifts its quarantine. What takes
//! one back is a text that only whoever noted it reads.

use serde_json::Value;

use super::{
    ChangeNote, ChangeOf, ChangedValue, History, LARGEST_WAY_BACK, MeantChange,
    store::{NotedApprovals, StoredChange},
};
use crate::config::not_undone::NotUndone;

/// The first key of values that are approvals, in a change that has some.
const APPROVALS: &str = "approvals";

/// Approvals that are to be taken back.
#[derive(Debug, Clone)]
pub struct GivenApprovals {
    /// The change that gave them.
    pub id: u64,
    /// The server.
    pub server: String,
    /// What takes them back.
    pub back: String,
    /// What a reviewer saw of the entry.
    pub review: Option<String>,
    /// Their values in that change.
    pub values: Vec<ChangedValue>,
    /// Whether the file was changed with them.
    pub is_of_file: bool,
}

impl ChangeNote {
    /// Says what it approves, or takes back. `values` are keys after `approvals`, what was and what is.
    pub fn approves(&self, approvals: NotedApprovals, values: Vec<ChangedValue>) {
        let values = values.into_iter().map(|mut value| {
            value.path.insert(0, APPROVALS.to_owned());
            value
        });
        self.0.lock().approvals = Some((approvals, values.collect()));
    }
}

impl StoredChange {
    /// The values of the file that it changed.
    pub(super) fn of_file(&self) -> impl Iterator<Item = &ChangedValue> {
        let values = self.entry.changes.iter();
        values.filter(|value| !self.is_approval(value))
    }

    fn is_approval(&self, value: &ChangedValue) -> bool {
        self.approvals.is_some() && value.path.first().is_some_and(|key| key == APPROVALS)
    }
}

impl History {
    /// Notes approvals with which the file was not changed. Its number. Blocks.
    pub fn note_approvals(&self, by: &ChangeOf) -> Option<u64> {
        self.note_beside(Vec::new(), by)
    }
}

impl MeantChange {
    /// What it approved. Nothing if it approved nothing.
    pub fn approvals(&self) -> Result<Option<GivenApprovals>, NotUndone> {
        let meant = &self.0;
        let id = meant.entry.id;
        let Some(noted) = &meant.approvals else {
            return Ok(None);
        };
        let server = noted.server.clone();
        if meant.entry.undoes.is_some() {
            return Err(NotUndone::Withdrawn { id, server });
        }
        let back = noted.back.clone();
        let back = back.filter(|back| back.len() <= LARGEST_WAY_BACK);
        let values = meant.entry.changes.iter();
        let values = values.filter(|value| meant.is_approval(value)).cloned();
        Ok(Some(GivenApprovals {
            back: back.ok_or(NotUndone::NotKept(id))?,
            review: noted.review.clone(),
            values: values.collect(),
            is_of_file: meant.is_of_file(),
            id,
            server,
        }))
    }
}

// Tokens in the history: issued and revoked beside the configuration file, and noted where its changes are. What a token is known by is
// never here, so that one that was revoked does not come back.

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
