//! Changes of values of the configuration: checked, shown before they are made, written, noted in the history, and undone.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    Backing, Management,
    writing::{blocking, not_written},
};
use crate::{
    config::{
        ChangeNote, ChangeOf, ChangeToUndo, ChangedValue, Document, EditError, EditedFile, History,
        HistoryEntry, IssuedTokens, Needs, NotUndone, SettingEdit, Surroundings, TextChange,
        TextMark, UndoTarget, WantedValue, Warning, judged, keys_of_path, with_edits,
    },
    failure::{ErrorCode, Failure, NextStep, Result},
    runtime::sync::Guarded,
    storage::in_words,
};

/// Limit: values of one change. Each is checked and shown.
const MOST_EDITS: usize = 100;

/// A change of the configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigPatch {
    /// The values to change, all or none.
    pub changes: Vec<ConfigEdit>,
    /// Whether to show the change and write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The `seen` of a dry run; the change is refused if the file has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// A value to change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigEdit {
    /// The keys that lead to it: `"activity.max_age"`, or `["activity", "max_age"]`.
    pub path: EditPath,
    /// The new value; null removes the key.
    #[serde(
        default,
        deserialize_with = "given",
        skip_serializing_if = "Option::is_none"
    )]
    pub value: Option<Value>,
    /// The new value as text, in place of `value`: JSON where the key takes JSON, else the text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
}

/// The keys that lead to a value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a string or a list of strings")]
#[schemars(inline)]
pub enum EditPath {
    /// The keys, separated by dots.
    Dotted(String),
    /// The keys as a list.
    Keys(Vec<String>),
}

/// The change to undo.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// The number of the change in the history; by default the latest that has not been undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Whether to show the change and write nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// A change of the configuration, made or planned.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// The changed values, secrets as `***`.
    pub changes: Vec<ChangedValue>,
    /// What the change needs to take effect.
    pub needs: Needs,
    /// The warnings about the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The clients that the change shuts out, because they send no token.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shut_out: Vec<ShutOut>,
    /// The number of the change in the history; absent if nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The change that it undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The mark of the file before the change; a later request can repeat it as `seen`.
    pub seen: String,
}

/// A client that sends no token.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShutOut {
    /// The title of the client, or the name that it gives in its open session.
    pub name: String,
    /// The name of the client in commands and paths; absent for an open session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// The history of the configuration, of tokens and of approvals.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigHistory {
    /// Every known change, latest first.
    pub entries: Vec<HistoryEntry>,
}

/// A change of the file that keeps what it comes to, also in a dry run.
struct ShownChange {
    wanted: Wanted,
    /// The issued tokens, which are not in the configuration file.
    issued: IssuedTokens,
    dry_run: bool,
    note: ChangeNote,
    /// What it came to when it was last made of the file's text.
    decided: Arc<Guarded<Option<ConfigChange>>>,
}

enum Wanted {
    Patch(ConfigPatch),
    Undo(History, Box<ChangeToUndo>),
}

impl TextChange for ShownChange {
    fn edited(
        &self,
        before: &Document<'_>,
        surroundings: &Surroundings<'_>,
    ) -> Result<String, EditError> {
        let text = before.written();
        match &self.wanted {
            Wanted::Undo(history, meant) => history.undo(text, meant),
            Wanted::Patch(patch) => {
                let seen = patch.seen.as_ref();
                if seen.is_some_and(|seen| seen != TextMark::of(text).as_str()) {
                    let error = "nothing was changed: `seen` does not match the configuration, which may have changed since";
                    let hint = "Preview the change again with `dry_run`, and send the `seen` of that answer.";
                    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
                    return Err(EditError::Refused(Box::new(failure)));
                }
                with_edits(before, &patch.edits(text), surroundings)
            }
        }
    }

    fn is_written(&self, outcome: &EditedFile<'_>) -> Result<bool, EditError> {
        let mut warnings = Vec::new();
        let undoes = match &self.wanted {
            Wanted::Undo(_, meant) => outcome.check().map(|()| Some(meant.id()))?,
            Wanted::Patch(patch) => {
                let edits = patch.edits(outcome.before.written());
                let judged = judged(outcome, &edits, &self.issued);
                if !judged.problems.is_empty() {
                    let error = format!("nothing was changed: {}", judged.problems.join("; "));
                    let hint = "Correct that, then try again.";
                    let failure = Failure::new(ErrorCode::InvalidArguments, error, hint);
                    let failure = failure.with_step(NextStep::DescribeConfig);
                    return Err(EditError::Refused(Box::new(failure)));
                }
                warnings = judged.warnings;
                None
            }
        };
        self.note.undoes(undoes);
        *self.decided.lock() = Some(ConfigChange {
            changes: outcome.changes.to_vec(),
            needs: Needs::of(outcome.changes),
            warnings,
            shut_out: Vec::new(),
            id: None,
            undoes,
            seen: TextMark::of(outcome.before.written()).as_str().to_owned(),
        });
        Ok(!self.dry_run)
    }
}

impl<B: Backing> Management<B> {
    /// Changes values of the configuration, or says what would change.
    pub async fn change_config(&self, patch: ConfigPatch) -> Result<ConfigChange> {
        if patch.changes.is_empty() || patch.changes.len() > MOST_EDITS {
            let error =
                format!("nothing was changed: `changes` must have 1 to {MOST_EDITS} values");
            let hint = "GET /api/v1/openapi.json describes this request.";
            return Err(Failure::new(ErrorCode::InvalidArguments, error, hint));
        }
        for edit in &patch.changes {
            let has = match (&edit.value, &edit.typed) {
                (None, None) => "has neither `value` nor `typed`",
                (Some(value), Some(_)) if !value.is_null() => "has both `value` and `typed`",
                _ => continue,
            };
            let error = format!("nothing was changed: {:?} {has}", edit.path.shown());
            let hint = "Send one of them; null as `value` removes the key.";
            return Err(Failure::new(ErrorCode::InvalidArguments, error, hint));
        }
        let names = patch.changes.iter().map(|edit| edit.path.shown());
        let detail = names.collect::<Vec<_>>().join(", ");
        let dry_run = patch.dry_run;
        let by = ChangeOf::this_task();
        self.replace("set", detail, dry_run, by, Wanted::Patch(patch))
            .await
    }

    /// Undoes a change of the configuration, or says what that would change.
    pub async fn undo_config(&self, request: UndoRequest) -> Result<ConfigChange> {
        let UndoRequest { id, dry_run } = request;
        let refused = |error: NotUndone| not_written(&EditError::from(error).into());
        let history = self.0.history().clone();
        let meant = blocking(move || history.change_to_undo(id)).await?;
        let meant = meant.map_err(refused)?;
        let target = meant.target().map_err(refused)?;
        if id.is_none() {
            self.is_meant(meant.id(), &target)?;
        }
        match target {
            UndoTarget::File => {
                let by = ChangeOf::this_task();
                self.undo_in_file(meant, dry_run, by).await
            }
            UndoTarget::Token(issued) => {
                let id = meant.id();
                let undone = self.token_undone(id, issued).await?;
                let number = if dry_run {
                    None
                } else {
                    self.undo_token(id, &undone).await?
                };
                Ok(ConfigChange::beside_the_file(vec![undone], number, id))
            }
            UndoTarget::Approvals(given) => self.undo_approvals(given, meant, dry_run).await,
        }
    }

    /// Refuses to undo the latest change without its number if it is not of the file but the file is wrong: then the file is probably
    /// meant.
    fn is_meant(&self, id: u64, target: &UndoTarget) -> Result {
        let what = match target {
            UndoTarget::File => return Ok(()),
            UndoTarget::Token(_) => "issued a token",
            UndoTarget::Approvals(_) => "approved definitions",
        };
        let Some(failure) = self.config_error() else {
            return Ok(());
        };
        let error = format!(
            "nothing was undone: {}; the last change, {id}, did not cause that: it {what}",
            failure.error
        );
        Err(Failure { error, ..failure })
    }

    /// Undoes a change of the file.
    pub(super) async fn undo_in_file(
        &self,
        meant: ChangeToUndo,
        dry_run: bool,
        by: ChangeOf,
    ) -> Result<ConfigChange> {
        let detail = format!("change {}", meant.id());
        let wanted = Wanted::Undo(self.0.history().clone(), Box::new(meant));
        self.replace("undo", detail, dry_run, by, wanted).await
    }

    /// Every known change of the configuration. Blocks.
    pub fn config_history(&self) -> Result<ConfigHistory> {
        let entries = self.0.history().entries().map_err(|reason| {
            let why = in_words(&reason);
            let error = format!("the history of the configuration cannot be read: {why}");
            let step = History::step_after(&reason);
            Failure::new(ErrorCode::Internal, error, &step).at_terminal(step)
        });
        let mut entries = entries?;
        entries.reverse();
        Ok(ConfigHistory { entries })
    }

    /// Makes a change of the file, or only shows it, and records it if it is made.
    async fn replace(
        &self,
        action: &'static str,
        detail: String,
        dry_run: bool,
        by: ChangeOf,
        wanted: Wanted,
    ) -> Result<ConfigChange> {
        let (note, decided) = (by.note(), Arc::default());
        let change = ShownChange {
            wanted,
            issued: self
                .settings()
                .map_or_else(|_| IssuedTokens::default(), |now| now.issued.clone()),
            dry_run,
            note: note.clone(),
            decided: Arc::clone(&decided),
        };
        let written = self.0.rewrite(by, change).await;
        if dry_run {
            written.map_err(|error| not_written(&error))?;
        } else {
            let outcome = self.check_in_force(written);
            self.note_outcome(action, detail, &outcome);
            outcome?;
        }
        let decided = decided.lock().take();
        let mut decided = decided.ok_or_else(|| {
            let error = "the change was not decided";
            Failure::new(ErrorCode::Internal, error, "Try again.")
        })?;
        let hidden = self.0.hidden_keys().iter();
        let changes = &decided.changes;
        let hidden = hidden.filter(|(key, _)| changes.iter().any(|one| one.path == [*key]));
        decided.warnings.extend(hidden.map(|(key, which)| {
            Warning::of_key(*key, format!("takes effect after a restart{which}"))
        }));
        let id = note.id();
        Ok(ConfigChange { id, ..decided })
    }
}

/// A value that is present, which may be null.
fn given<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl ConfigChange {
    /// The undoing of a change of something that is not in the file.
    pub(super) fn beside_the_file(
        changes: Vec<ChangedValue>,
        id: Option<u64>,
        undoes: u64,
    ) -> Self {
        Self {
            changes,
            needs: Needs::Nothing,
            warnings: Vec::new(),
            shut_out: Vec::new(),
            id,
            undoes: Some(undoes),
            seen: String::new(),
        }
    }
}

impl ConfigPatch {
    /// The changes, with their paths as this text means them.
    fn edits(&self, text: &str) -> Vec<SettingEdit> {
        let edit = |edit: &ConfigEdit| SettingEdit {
            path: match &edit.path {
                EditPath::Keys(keys) => keys.clone(),
                EditPath::Dotted(written) => keys_of_path(written, text),
            },
            value: match &edit.typed {
                Some(typed) => WantedValue::Typed(typed.clone()),
                None => WantedValue::Json(edit.value.clone().unwrap_or_default()),
            },
        };
        self.changes.iter().map(edit).collect()
    }
}

impl EditPath {
    fn shown(&self) -> String {
        match self {
            Self::Dotted(path) => path.clone(),
            Self::Keys(keys) => keys.join("."),
        }
    }
}
