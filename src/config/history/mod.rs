//! The history of the configuration file: every change of it, whoever made it, and what undoes it. Secrets are never on disk here; what a
//! change took away of them a daemon remembers while it runs.

mod approval_changes;
mod author;
mod difference;
mod store;
mod text_mark;
mod token_changes;
mod undoing;
mod way_back;

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(super) use self::difference::changed_values;
pub use self::{
    approval_changes::GivenApprovals,
    author::{ChangeAuthor, ChangeWay},
    difference::ChangedValue,
    store::NotedApprovals,
    text_mark::TextMark,
};
use self::{
    store::{StoredChange, TextStep},
    way_back::WayBack,
};
use super::{
    Document, EditError, NotUndone, after_restart,
    document::{self, SERVERS},
    read_text,
};
use crate::{runtime::sync::Guarded, text::moment};

/// Changes whose secrets are remembered while a daemon runs.
const REMEMBERED: usize = 100;

/// Limit: bytes that are kept to bring back; a larger change cannot be undone.
const LARGEST_WAY_BACK: usize = 256 << 10;

/// Notes changes of one file. Cheap to clone.
#[derive(Clone)]
pub struct History(Arc<Parts>);

struct Parts {
    file: Option<PathBuf>,
    state: Guarded<State>,
}

#[derive(Default)]
struct State {
    /// What the configuration said when somebody last looked; nothing where nobody has.
    text: Option<String>,
    /// Ways back that bring a secret.
    remembered: VecDeque<(u64, WayBack)>,
}

/// One change of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryEntry {
    /// The number of the change.
    pub id: u64,
    /// The time (RFC 3339).
    pub at: String,
    /// Who made it, and how.
    #[serde(flatten)]
    pub author: ChangeAuthor,
    /// The changed values; empty if only comments changed, or if the earlier text is unknown.
    pub changes: Vec<ChangedValue>,
    /// What the change needed to take effect.
    pub needs: Needs,
    /// The number of the change that it undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The number of the change that undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<u64>,
}

/// A change that is to be undone.
#[derive(Debug, Clone)]
pub struct ChangeToUndo(StoredChange);

/// What has to be undone.
#[derive(Debug)]
pub enum UndoTarget {
    /// A change of the file.
    File,
    /// This token was issued.
    Token(ChangedValue),
    /// These were given, some with a change of the file.
    Approvals(GivenApprovals),
}

impl ChangeToUndo {
    /// Its number.
    pub fn id(&self) -> u64 {
        self.0.entry.id
    }

    /// What has to be undone, or why it cannot be.
    pub fn target(&self) -> Result<UndoTarget, NotUndone> {
        if let Some(noted) = &self.0.approvals {
            return self.0.given(noted).map(UndoTarget::Approvals);
        }
        let issued = self.0.issued()?.cloned();
        Ok(issued.map_or(UndoTarget::File, UndoTarget::Token))
    }
}

/// Whose change it is that is written.
#[derive(Debug, Clone)]
pub struct ChangeOf {
    /// Who makes it.
    pub author: ChangeAuthor,
    note: ChangeNote,
}

/// What is known of a change only when it is written.
#[derive(Debug, Clone, Default)]
pub struct ChangeNote(Arc<Guarded<Noted>>);

#[derive(Debug, Clone, Default)]
struct Noted {
    undoes: Option<u64>,
    id: Option<u64>,
    approvals: Option<(NotedApprovals, Vec<ChangedValue>)>,
}

impl ChangeNote {
    /// Says which change it undoes.
    pub fn undoes(&self, id: Option<u64>) {
        self.0.lock().undoes = id;
    }

    /// Its number in the history, once it is there.
    pub fn id(&self) -> Option<u64> {
        self.0.lock().id
    }
}

impl ChangeOf {
    /// Of the task that runs.
    pub fn this_task() -> Self {
        Self::of(ChangeAuthor::of_this_task())
    }

    /// What becomes known of it.
    pub fn note(&self) -> ChangeNote {
        self.note.clone()
    }

    fn of(author: ChangeAuthor) -> Self {
        Self {
            author,
            note: ChangeNote::default(),
        }
    }

    fn a_stranger() -> Self {
        Self::of(ChangeAuthor::operator(ChangeWay::File))
    }
}

/// What a change needs to take effect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Needs {
    /// Takes effect at once.
    Nothing,
    /// mcpproxy reconnects servers by itself.
    Reload,
    /// Takes effect after a restart of the daemon.
    Restart,
}

/// Whether tokens would be required no more: that counts after a restart alone, so that access control does not fall away by an accident.
fn opens_up(change: &ChangedValue) -> bool {
    match change.path.get(1..) {
        Some([]) => change.after.is_none(),
        Some([key]) if key == "required" => change.before == Some(Value::Bool(true)),
        _ => false,
    }
}

impl Needs {
    /// What changes of these values need.
    pub fn of(changes: &[ChangedValue]) -> Self {
        let needs = changes
            .iter()
            .map(|change| match change.path.first().map(String::as_str) {
                Some(key) if after_restart::keys().any(|fixed| fixed == key) => Self::Restart,
                Some(SERVERS | "environment" | "docker_isolation") => Self::Reload,
                Some("serverAuth") if opens_up(change) => Self::Restart,
                _ => Self::Nothing,
            });
        needs.max().unwrap_or(Self::Nothing)
    }
}

impl History {
    /// Of changes that are noted in this data folder; without one they are not. `text` is what the configuration says.
    pub fn new(data_dir: Option<&Path>, text: Option<&str>) -> Self {
        let state = State {
            text: text.map(str::to_owned),
            ..State::default()
        };
        Self(Arc::new(Parts {
            file: data_dir.map(|folder| folder.join(store::FILE)),
            state: Guarded::new(state),
        }))
    }

    /// The data folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.0.file.as_deref()?.parent()
    }

    /// Every change that is known, the latest last. Blocks.
    pub fn entries(&self) -> io::Result<Vec<HistoryEntry>> {
        let stored = self.stored()?;
        let mut entries: Vec<HistoryEntry> = Vec::with_capacity(stored.len());
        for change in stored {
            if let Some(undone) = change.entry.undoes
                && let Some(entry) = entries.iter_mut().find(|entry| entry.id == undone)
            {
                entry.undone_by = Some(change.entry.id);
            }
            entries.push(change.entry);
        }
        Ok(entries)
    }

    fn stored(&self) -> io::Result<Vec<StoredChange>> {
        self.0.file.as_deref().map_or(Ok(Vec::new()), store::read)
    }

    /// Looks at the file, and notes what another program wrote there. Blocks.
    pub(super) fn look(&self, file: &Path) {
        let mut state = self.0.state.lock();
        if let Ok(text) = read_text(file) {
            self.note_stranger(&mut state, &text);
        }
    }

    /// Replaces the text of the file by `write`, which says what it did, and notes that. Nobody looks meanwhile. Blocks.
    pub(super) fn writing<T, E>(
        &self,
        (before, after): (&Document<'_>, &Document<'_>),
        changes: Vec<ChangedValue>,
        by: &ChangeOf,
        write: impl FnOnce() -> Result<T, E>,
        is_written: impl FnOnce(&T) -> bool,
    ) -> Result<T, E> {
        let mut state = self.0.state.lock();
        let written = write()?;
        if is_written(&written) {
            self.note_stranger(&mut state, before.written);
            self.note(&mut state, Some(before), after, changes, by);
        }
        Ok(written)
    }

    /// A text that is none, or no longer one, is not the last word: what comes next is held against the one before it.
    fn note_stranger(&self, state: &mut State, text: &str) {
        // Most often, and cheap where the file is long.
        if state.text.as_deref() == Some(text) {
            return;
        }
        let Ok(found) = document::read(text) else {
            return;
        };
        let by = ChangeOf::a_stranger();
        if let Some(known) = state.text.clone() {
            if found.root.is_some() {
                let known = document::read(&known).unwrap_or_default();
                let changes = changed_values(&known, &found);
                self.note(state, Some(&known), &found, changes, &by);
            }
            return;
        }
        // Nobody has looked since the last process that did.
        let stored = self.stored().unwrap_or_default();
        let mut of_file = stored.iter().filter_map(|change| change.text.as_ref());
        let last = of_file.next_back();
        if last.is_some_and(|last| last.after != TextMark::of(text)) {
            self.note(state, None, &found, Vec::new(), &by);
        }
        state.text = Some(text.to_owned());
    }

    fn note(
        &self,
        state: &mut State,
        before: Option<&Document<'_>>,
        after: &Document<'_>,
        changes: Vec<ChangedValue>,
        by: &ChangeOf,
    ) {
        state.text = Some(after.written.to_owned());
        let Some(file) = self.0.file.as_deref() else {
            return;
        };
        let back = before.map(|before| WayBack::between(before.written, after.written));
        let back = back.filter(|back| back.len() <= LARGEST_WAY_BACK);
        let has_secrets = |(back, before): (&WayBack, _)| back.has_secrets(before);
        let (stored, remembered) = if back.as_ref().zip(before).is_some_and(has_secrets) {
            (None, back)
        } else {
            (back, None)
        };
        let step = TextStep {
            before: before.map(|before| TextMark::of(before.written)),
            after: TextMark::of(after.written),
            back: stored,
        };
        match Self::append(file, Some(step), changes, by) {
            Ok(id) => {
                state.remembered.extend(remembered.map(|back| (id, back)));
                while state.remembered.len() > REMEMBERED {
                    state.remembered.pop_front();
                }
            }
            Err(error) => {
                tracing::warn!(%error, file = %file.display(), "configuration change not in the history");
            }
        }
    }

    /// Adds a change with what is known of it otherwise, and notes its number.
    fn append(
        file: &Path,
        text: Option<TextStep>,
        mut changes: Vec<ChangedValue>,
        by: &ChangeOf,
    ) -> io::Result<u64> {
        let mut noted = by.note.0.lock();
        let (approvals, values) = noted.approvals.clone().unzip();
        changes.extend(values.into_iter().flatten());
        let added = store::append(file, |id| StoredChange {
            entry: HistoryEntry {
                id,
                at: moment::utc(SystemTime::now()),
                author: by.author.clone(),
                needs: Needs::of(&changes),
                changes,
                undoes: noted.undoes,
                undone_by: None,
            },
            text,
            approvals,
        });
        noted.id = added.as_ref().ok().copied();
        added
    }

    /// Notes a change of something beside the file. Its number. Blocks.
    fn note_beside(&self, changes: Vec<ChangedValue>, by: &ChangeOf) -> Option<u64> {
        let file = self.0.file.as_deref()?;
        // Nobody notes another change meanwhile.
        let state = self.0.state.lock();
        let added = Self::append(file, None, changes, by);
        drop(state);
        added
            .inspect_err(|error| tracing::warn!(%error, "change not in the history"))
            .ok()
    }

    /// The text with this change undone.
    pub fn undone(&self, text: &str, meant: &ChangeToUndo) -> Result<String, EditError> {
        let change = &meant.0;
        let state = self.0.state.lock();
        let mut remembered = state.remembered.iter();
        let remembered = remembered.find(|(known, _)| *known == change.entry.id);
        let kept = change.text.as_ref().and_then(|text| text.back.as_ref());
        let back = kept.or(remembered.map(|(_, back)| back));
        undoing::undo(text, change, back)
    }

    /// The change that is to be undone: the given one, or the latest that is not undone yet. Blocks.
    pub fn meant(&self, id: Option<u64>) -> Result<ChangeToUndo, NotUndone> {
        let file = self.0.file.as_deref();
        let text = file.map_or(Ok(String::new()), store::text);
        let text = text.map_err(|_| NotUndone::Unreadable)?;
        undoing::meant(&text, id).map(ChangeToUndo)
    }
}

#[cfg(test)]
mod tests {
    use super::{Needs, changed_values, document};

    #[test]
    fn what_changes_need_is_said_before_they_are_made() {
        let required = r#"{"serverAuth": {"required": true}}"#;
        for (before, after, needs) in [
            ("{}", r#"{"top_k": 3}"#, Needs::Nothing),
            (
                "{}",
                r#"{"mcpServers": {"a": {"command": "x"}}}"#,
                Needs::Reload,
            ),
            ("{}", r#"{"data_dir": "/x"}"#, Needs::Restart),
            ("{}", required, Needs::Nothing),
            (
                required,
                r#"{"serverAuth": {"required": false}}"#,
                Needs::Restart,
            ),
            (required, "{}", Needs::Restart),
        ] {
            let read = |text| document::read(text).expect("a good document");
            let changes = changed_values(&read(before), &read(after));
            assert_eq!(Needs::of(&changes), needs, "{before} to {after}");
        }
    }
}
