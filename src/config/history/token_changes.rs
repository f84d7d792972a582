//! Tokens in the history: that they were issued or revoked. The history does not contain their digests, so that undoing cannot restore a
//! revoked token.

use serde_json::Value;

use super::{ChangeOf, ChangedValue, History, store::StoredChange};
use crate::config::not_undone::NotUndone;

/// The first key of the path of such a change. The configuration file has no such key.
const TOKENS: &str = "tokens";

impl History {
    /// Notes a change of a token: it was issued if `before` is nothing, and revoked if `after` is nothing. Gives the change's number.
    /// Blocks.
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
    /// The token that this change issued; nothing if it is not about a token.
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
            history.change_to_undo(id).expect("it was noted").target()
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
