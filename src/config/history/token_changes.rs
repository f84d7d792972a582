//! Tokens in the history: issued and revoked beside the configuration file. What a token is known by is never noted, so a revoked one cannot
//! come back.

use serde_json::Value;

use super::{ChangeOf, ChangedValue, History, store::StoredChange};
use crate::config::not_undone::NotUndone;

/// The first key of a change of a token; the file has no such key.
const TOKENS: &str = "tokens";

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
            path: vec![TOKENS.to_owned(), name.to_owned()],
            before,
            after,
            partly: false,
        };
        self.note_beside(vec![change], by)
    }
}

impl StoredChange {
    /// The token that it issued. Nothing if it is no change of a token.
    pub(super) fn issued(&self) -> Result<Option<&ChangedValue>, NotUndone> {
        match &self.entry.changes[..] {
            [change] if self.text.is_none() => match &change.path[..] {
                [key, _] if key == TOKENS && change.after.is_some() => Ok(Some(change)),
                [key, name] if key == TOKENS => Err(NotUndone::Revoked {
                    id: self.entry.id,
                    name: name.clone(),
                }),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::UndoTarget, *};

    #[test]
    fn an_issued_token_can_be_undone_and_a_revoked_one_cannot() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let history = History::new(Some(folder.path()), None);
        let note = |before, after| {
            let by = ChangeOf::this_task();
            let id = history.note_token("ci", before, after, &by);
            history.meant(id).expect("it was noted").target()
        };
        let token = || Some(json!({"subject": "ada"}));
        let issued = note(None, token()).expect("it can be undone");
        assert!(
            matches!(&issued, UndoTarget::Token(issued) if issued.after == token()),
            "{issued:?}"
        );
        let name = "ci".to_owned();
        let revoked = note(token(), None).expect_err("it cannot be undone");
        assert_eq!(revoked, NotUndone::Revoked { id: 2, name });
    }
}
