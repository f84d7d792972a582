//! Changes of single values of the configuration: checked, shown before they are made, written, noted in the history, and undone.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Backing, Management, writing::not_written};
use crate::{
    activity::OperatorChange,
    config::{
        ChangeOf, ChangedValue, EditError, HistoryEntry, Needs, PlannedText, SettingEdit,
        Surroundings, WantedValue, changed_values, keys_of_path, plan_edits, process_environment,
        text_mark,
    },
    failure::error_code::{ErrorCode, Failure},
    runtime::sync::Guarded,
};

/// Limit: values that one change is about.
const MOST_EDITS: usize = 100;

/// What is to become of the configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigPatch {
    /// The values to change, all or none.
    pub changes: Vec<ConfigEdit>,
    /// Show what would change, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The `seen` of an earlier answer: another text than that one is not changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

/// A value that is to become another one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigEdit {
    /// The keys that lead to it: `"activity.max_age"`, or `["activity", "max_age"]`.
    pub path: EditPath,
    /// The new value; null takes the key out.
    #[serde(default)]
    pub value: Value,
    /// The same as somebody typed it, in place of `value`: JSON where the key takes that, else the text itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
}

/// The keys that lead to a value.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum EditPath {
    /// With dots between them.
    Dotted(String),
    /// One by one.
    Keys(Vec<String>),
}

/// Which change is to be undone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UndoRequest {
    /// Its number in the history; the latest that is not undone yet if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Show what would change, and write nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What changed of the configuration, or would.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigChange {
    /// The values that differ, secrets as `***`.
    pub changes: Vec<ChangedValue>,
    /// What it takes for them to count.
    pub needs: Needs,
    /// What the configuration says of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Its number in the history; none where nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The change that it undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// What the text is known by over which this was decided.
    pub seen: String,
}

/// The history of the configuration, of tokens and of approvals.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ConfigHistory {
    /// Every change that is known, the latest first.
    pub entries: Vec<HistoryEntry>,
}

/// A change as it was decided over the text that it replaces.
struct Decided {
    before: String,
    after: PlannedText,
    undoes: Option<u64>,
}

impl<B: Backing> Management<B> {
    /// Changes values of the configuration, or says what would change.
    pub async fn change_config(&self, patch: ConfigPatch) -> Result<ConfigChange, Failure> {
        let wrong = |error: String| {
            Failure::new(ErrorCode::InvalidArguments, error, "Correct the request.")
        };
        if patch.changes.is_empty() || patch.changes.len() > MOST_EDITS {
            let error = format!("`changes` has to have 1 to {MOST_EDITS} values");
            return Err(wrong(error));
        }
        let names = patch.changes.iter().map(|edit| edit.path.shown());
        let detail = names.collect::<Vec<_>>().join(", ");
        let folder = self.config_file().parent().map(ToOwned::to_owned);
        let decide = move |text: &str| {
            if patch
                .seen
                .as_ref()
                .is_some_and(|seen| *seen != text_mark(text))
            {
                return Err(EditError::Refused(Box::new(changed_meanwhile())));
            }
            let edits: Vec<SettingEdit> =
                patch.changes.iter().map(|edit| edit.over(text)).collect();
            let variables = process_environment();
            let surroundings = Surroundings {
                lookup: &*variables,
                folder: folder.as_deref().unwrap_or_else(|| ".".as_ref()),
            };
            let after = plan_edits(text, &edits, &surroundings)?;
            if after.problems.is_empty() {
                return Ok((after, None));
            }
            let error = after.problems.join("; ");
            let failure = Failure::new(ErrorCode::InvalidArguments, error, "Nothing was changed.");
            Err(EditError::Refused(Box::new(failure)))
        };
        let by = ChangeOf::this_task();
        self.replace("set", detail, patch.dry_run, by, decide).await
    }

    /// Undoes a change of the configuration, or says what that would change.
    pub async fn undo_config(&self, request: UndoRequest) -> Result<ConfigChange, Failure> {
        let id = request.id;
        if let Some(issued) = self.token_issued_by(id).await? {
            return self.undo_token(issued, request.dry_run).await;
        }
        if let Some(given) = self.approvals_given_by(id).await? {
            return self.undo_approvals(given, request.dry_run).await;
        }
        let by = ChangeOf::this_task();
        self.undo_in_file(id, request.dry_run, by).await
    }

    /// Undoes what a change made of the file.
    pub(super) async fn undo_in_file(
        &self,
        id: Option<u64>,
        dry_run: bool,
        by: ChangeOf,
    ) -> Result<ConfigChange, Failure> {
        let history = self.backing().history().clone();
        let decide = move |text: &str| {
            let (before, undoes) = history.undone(text, id)?;
            let after = PlannedText {
                text: before,
                problems: Vec::new(),
                warnings: Vec::new(),
            };
            Ok((after, Some(undoes)))
        };
        let detail = id.map_or_else(
            || "the latest change".to_owned(),
            |id| format!("change {id}"),
        );
        self.replace("undo", detail, dry_run, by, decide).await
    }

    /// Every change of the configuration that is known. Blocks.
    pub fn config_history(&self) -> Result<ConfigHistory, Failure> {
        let entries = self.backing().history().entries().map_err(|error| {
            let error = format!("the history of the configuration cannot be read: {error}");
            let hint = "Check that the data folder can be read.";
            Failure::new(ErrorCode::Internal, error, hint)
        });
        let mut entries = entries?;
        entries.reverse();
        Ok(ConfigHistory { entries })
    }

    /// Replaces the text by what is decided over it, and says what that was.
    async fn replace(
        &self,
        action: &'static str,
        detail: String,
        dry_run: bool,
        by: ChangeOf,
        decide: impl Fn(&str) -> Result<(PlannedText, Option<u64>), EditError> + Send + 'static,
    ) -> Result<ConfigChange, Failure> {
        let slot: Arc<Guarded<Option<Decided>>> = Arc::default();
        let decided = slot.clone();
        let note = by.note();
        let noted = note.clone();
        let change = move |text: &str| {
            let (after, undoes) = decide(text)?;
            note.undoes(undoes);
            let edited = if dry_run { text } else { &after.text }.to_owned();
            *decided.lock() = Some(Decided {
                before: text.to_owned(),
                after,
                undoes,
            });
            Ok(edited)
        };
        let written = self.backing().rewrite_as(by, change).await;
        let outcome = if dry_run {
            written.map_err(|error| not_written(&error))
        } else {
            let outcome = self.in_force(written);
            self.backing().note(OperatorChange {
                server: None,
                detail: Some(detail),
                error: outcome.as_ref().err().map(|failure| failure.error.clone()),
                ..OperatorChange::by_operator(action, "")
            });
            outcome
        };
        outcome?;
        let Some(Decided {
            before,
            after,
            undoes,
        }) = slot.lock().take()
        else {
            let error = "the change was not decided";
            return Err(Failure::new(ErrorCode::Internal, error, "Try again."));
        };
        let changes = changed_values(&before, &after.text);
        Ok(ConfigChange {
            needs: Needs::of(&changes),
            changes,
            warnings: after.warnings,
            id: noted.id(),
            undoes,
            seen: text_mark(&before),
        })
    }
}

impl ConfigEdit {
    fn over(&self, text: &str) -> SettingEdit {
        let path = match &self.path {
            EditPath::Keys(keys) => keys.clone(),
            EditPath::Dotted(written) => keys_of_path(written, text),
        };
        let value = match (&self.typed, &self.value) {
            (Some(typed), _) => WantedValue::Typed(typed.clone()),
            (None, Value::Null) => WantedValue::Absent,
            (None, value) => WantedValue::Json(value.clone()),
        };
        SettingEdit { path, value }
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

fn changed_meanwhile() -> Failure {
    let error = "the configuration has changed since you looked at it";
    let hint = "Nothing was changed. Look at the difference again.";
    Failure::new(ErrorCode::InvalidArguments, error, hint)
}
