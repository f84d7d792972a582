//! Approvals in the history: given or withdrawn alone, or together with the change of the file that ends a server's quarantine.

use super::{
    ChangeNote, ChangeOf, ChangedValue, History, LARGEST_REVERSE_EDIT, NotedApprovals, StoredChange,
};
use crate::config::NotUndone;

/// The first key of the paths of approvals.
const APPROVALS: &str = "approvals";

/// Approvals that can be withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenApprovals {
    /// The number of the change that gave them.
    pub id: u64,
    /// The server.
    pub server: String,
    /// A text of `trust::approvals` that withdraws them.
    pub withdrawal: String,
    /// The entry as the reviewer saw it.
    pub review: Option<String>,
    /// The approvals as changed values.
    pub values: Vec<ChangedValue>,
    /// Whether the file was changed with them.
    pub is_of_file: bool,
}

impl ChangeNote {
    /// Notes which approvals the change gives or withdraws; texts that are too long are left out. The paths of `values` begin with the
    /// server.
    pub fn approves(&self, approvals: NotedApprovals, values: Vec<ChangedValue>) {
        let is_kept = |text: &String| text.len() <= LARGEST_REVERSE_EDIT;
        let approvals = NotedApprovals {
            withdrawal: approvals.withdrawal.filter(is_kept),
            review: approvals.review.filter(is_kept),
            ..approvals
        };
        let values = values.into_iter().map(|mut value| {
            value.path.insert(0, APPROVALS.to_owned());
            value
        });
        self.0.lock().approvals = Some((approvals, values.collect()));
    }
}

impl History {
    /// Notes approvals that did not change the file, and gives the change's number. Blocks.
    pub fn note_approvals(&self, by: &ChangeOf) -> Option<u64> {
        self.note_beside(Vec::new(), by)
    }
}

impl StoredChange {
    /// The changed values that are in the configuration file.
    pub(super) fn of_file(&self) -> impl Iterator<Item = &ChangedValue> {
        let values = self.entry.changes.iter();
        values.filter(|value| !self.is_approval(value))
    }

    fn is_approval(&self, value: &ChangedValue) -> bool {
        self.approvals.is_some() && value.path.first().is_some_and(|key| key == APPROVALS)
    }

    /// The approvals that this change gave, as they were noted.
    pub(super) fn given(&self, noted: &NotedApprovals) -> Result<GivenApprovals, NotUndone> {
        let id = self.entry.id;
        let server = noted.server.clone();
        if self.entry.undoes.is_some() {
            return Err(NotUndone::Withdrawn { id, server });
        }
        let withdrawal = noted.withdrawal.clone();
        let values = self.entry.changes.iter();
        let values = values.filter(|value| self.is_approval(value)).cloned();
        Ok(GivenApprovals {
            withdrawal: withdrawal.ok_or(NotUndone::NotKept(id))?,
            review: noted.review.clone(),
            values: values.collect(),
            is_of_file: self.text.is_some(),
            id,
            server,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::UndoTarget, *};

    fn tool(path: &[&str]) -> ChangedValue {
        ChangedValue {
            path: path.iter().map(ToString::to_string).collect(),
            before: Some(json!("held")),
            after: Some(json!("approved")),
            partly: false,
        }
    }

    /// Notes approvals, and says what undoes them.
    fn noted(withdrawal: Option<&str>, undoes: Option<u64>) -> Result<GivenApprovals, NotUndone> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let history = History::new(Some(folder.path()), None);
        let by = ChangeOf::this_task();
        let approvals = NotedApprovals {
            server: "github".to_owned(),
            withdrawal: withdrawal.map(str::to_owned),
            review: None,
        };
        by.note()
            .approves(approvals, vec![tool(&["github", "search"])]);
        by.note().undoes(undoes);
        let id = history.note_approvals(&by);
        assert!(id.is_some() && by.note().id() == id);
        match history.change_to_undo(id)?.target()? {
            UndoTarget::Approvals(given) => Ok(given),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn approvals_are_withdrawn_by_what_was_noted_of_them() {
        let given = noted(Some("text"), None).expect("it can be undone");
        let values = vec![tool(&["approvals", "github", "search"])];
        assert_eq!((given.withdrawal.as_str(), given.values), ("text", values));
        assert!(!given.is_of_file);
    }

    #[test]
    fn what_is_withdrawn_or_was_too_long_is_not_undone() {
        let server = "github".to_owned();
        let withdrawn = NotUndone::Withdrawn { id: 1, server };
        assert_eq!(noted(None, Some(7)), Err(withdrawn));
        assert_eq!(noted(None, None), Err(NotUndone::NotKept(1)));
        let long = "x".repeat(LARGEST_REVERSE_EDIT + 1);
        assert_eq!(noted(Some(&long), None), Err(NotUndone::NotKept(1)));
    }
}
