//! Tokens in the history: issued and revoked beside the configuration file, and noted where its changes are. What a token is known by is
//! never here, so that one that was revoked does not come back.

use std::time::SystemTime;

use serde_json::Value;

use super::{
    ChangeOf, ChangedValue, History, HistoryEntry, Needs, store, store::StoredChange, undoing,
};
use crate::{config::not_undone::NotUndone, text::moment};

impl StoredChange {
    /// The token that it issued or revoked, if it is of one.
    pub(super) fn token(&self) -> Option<(&str, &ChangedValue)> {
        let [change] = &self.entry.changes[..] else {
            return None;
        };
        // It has no text of the file.
        let name = change.path.last().filter(|_| self.after.is_empty())?;
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
        let file = self.0.file.as_deref()?;
        let change = StoredChange {
            entry: HistoryEntry {
                id: 0,
                at: moment::utc(SystemTime::now()),
                author: by.author.clone(),
                changes: vec![ChangedValue {
                    path: vec!["tokens".to_owned(), name.to_owned()],
                    before,
                    after,
                    partly: false,
                }],
                needs: Needs::Nothing,
                undoes: by.note.0.lock().undoes,
                undone_by: None,
            },
            before: None,
            after: String::new(),
            back: None,
        };
        // Nobody notes another change meanwhile.
        let state = self.0.state.lock();
        let added = store::append(file, change);
        drop(state);
        added
            .inspect_err(|error| tracing::warn!(%error, "change of a token not in the history"))
            .ok()
    }

    /// The change that is to be undone, if it issued a token: its number, and that token as it was. Nothing if it is one of the file. Blocks.
    pub fn issued_by(&self, id: Option<u64>) -> Result<Option<(u64, ChangedValue)>, NotUndone> {
        let stored = self.stored().map_err(|_| NotUndone::Unreadable)?;
        let meant = undoing::meant(&stored, id)?;
        let id = meant.entry.id;
        match meant.token() {
            None => Ok(None),
            Some((_, change)) if change.after.is_some() => Ok(Some((id, change.clone()))),
            Some((name, _)) => Err(NotUndone::Revoked {
                id,
                name: name.to_owned(),
            }),
        }
    }
}
