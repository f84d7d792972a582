//! Approvals as changes in the history, and their undoing: what the approval released is held again.

use serde_json::Value;

use super::{
    Backing, ConfigChange, Management, entry_review,
    writing::{blocking, error_of, not_written},
};
use crate::{
    activity::OperatorChange,
    catalog::ApprovalWithdrawal,
    config::{
        ChangeOf, ChangeToUndo, ChangedValue, EditError, GivenApprovals, NotUndone, NotedApprovals,
    },
    failure::Result,
    text::{names::ServerName, secret::Secrets},
    trust::approvals::{ApprovalStep, SteppedThing, ThingKind},
};

/// Limit: definitions of one approval that the history names. Of more it has only the number.
const NAMED: usize = 50;

/// An approval as a change for the history, with the kept review of the entry. Texts with a secret in them are left out.
pub(super) fn change_of(step: ApprovalStep, secrets: &Secrets, review: Option<String>) -> ChangeOf {
    let step = step.without_texts(|text| secrets.redacted(text) != text);
    let change = ChangeOf::this_task();
    let noted = NotedApprovals {
        server: step.server().to_string(),
        // An empty text cannot be undone, and an undo says so.
        withdrawal: Some(step.to_text().unwrap_or_default()),
        review,
    };
    change.note().approves(noted, values(&step));
    change
}

/// The approved definitions, each with its state before and after.
fn values(step: &ApprovalStep) -> Vec<ChangedValue> {
    let things = step.things();
    let server = step.server().to_string();
    let changed = |path, before, after| ChangedValue {
        path,
        before,
        after,
        partly: false,
    };
    if things.len() > NAMED {
        let number = |of: fn(&SteppedThing<'_>) -> bool| {
            Some(Value::from(things.iter().filter(|thing| of(thing)).count()))
        };
        let before = number(|thing| thing.was == Some("approved"));
        let after = number(|thing| thing.is == Some("approved"));
        return vec![changed(vec![server], before, after)];
    }
    let value = |thing: SteppedThing<'_>| {
        let mut path = vec![server.clone()];
        if thing.kind != ThingKind::Tool {
            path.push(thing.kind.as_str().to_owned());
        }
        path.extend(Some(thing.name.to_owned()).filter(|name| !name.is_empty()));
        changed(path, thing.was.map(Value::from), thing.is.map(Value::from))
    };
    things.into_iter().map(value).collect()
}

/// The value of a change that undoes another.
fn reversed(value: ChangedValue) -> ChangedValue {
    ChangedValue {
        before: value.after,
        after: value.before,
        ..value
    }
}

impl<B: Backing> Management<B> {
    /// Notes in the history an approval that did not change the file.
    pub(super) async fn note_approvals(&self, change: ChangeOf) {
        let history = self.0.history().clone();
        // A failure is logged there.
        let _ = blocking(move || history.note_approvals(&change)).await;
    }

    /// Undoes an approval: the definitions, and the server if it was quarantined, are held again.
    pub(super) async fn undo_approvals(
        &self,
        given: GivenApprovals,
        meant: ChangeToUndo,
        dry_run: bool,
    ) -> Result<ConfigChange> {
        let id = given.id;
        let refused = |error: NotUndone| not_written(&EditError::from(error).into());
        let server = ServerName::parse(&given.server).ok();
        let step = server.and_then(|server| ApprovalStep::parse(&server, &given.withdrawal));
        let step = step.ok_or_else(|| refused(NotUndone::NotKept(id)))?;
        let lists = self.view()?.lists;
        let pins = lists.pins.get(step.server());
        // A server that was never listed has no pins.
        if pins.is_some_and(|pins| step.undone(&pins.ledger).is_none()) {
            let path = format!("approvals.{}", given.server);
            let later = None;
            return Err(refused(NotUndone::ChangedSince { id, path, later }));
        }
        let values: Vec<ChangedValue> = given.values.into_iter().map(reversed).collect();
        let change = ChangeOf::this_task();
        let note = change.note();
        note.undoes(Some(id));
        let taken_back = NotedApprovals {
            server: given.server.clone(),
            withdrawal: None,
            review: None,
        };
        let noted = values.iter().cloned().map(|mut value| {
            value.path.remove(0);
            value
        });
        note.approves(taken_back, noted.collect());
        let withdrawal = ApprovalWithdrawal {
            step,
            is_quarantined: given.is_of_file,
        };
        if given.is_of_file {
            // The quarantine comes first, so that the server is not used in between.
            let undone = self.undo_in_file(meant, dry_run, change).await?;
            if !dry_run {
                if let Some(review) = &given.review {
                    entry_review::bring_back(self.data_dir(), &given.server, review);
                }
                self.withdraw(withdrawal).await?;
            }
            let changes = undone.changes.into_iter().chain(values).collect();
            return Ok(ConfigChange { changes, ..undone });
        }
        if !dry_run {
            self.withdraw(withdrawal).await?;
            self.note_approvals(change).await;
        }
        Ok(ConfigChange::beside_the_file(values, note.id(), id))
    }

    /// Takes approvals back, and records that.
    pub(super) async fn withdraw(&self, withdrawal: ApprovalWithdrawal) -> Result {
        let server = withdrawal.step.server().clone();
        let withdrawn = self.0.withdraw(withdrawal).await;
        self.0.note(OperatorChange {
            error: error_of(&withdrawn),
            ..OperatorChange::by_operator("withdraw_approval", server.as_str())
        });
        withdrawn
    }
}
