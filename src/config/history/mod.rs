//! The history of the configuration file: every change, by mcpproxy or another program, and how to undo it. The file of the history
//! contains no secrets. A daemon keeps in memory how to undo changes that removed secrets, while it runs.

mod approval_changes;
mod author;
mod difference;
mod reverse_edit;
mod store;
mod text_mark;
mod token_changes;
mod undoing;

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
    reverse_edit::ReverseEdit,
    store::{StoredChange, TextStep},
};
use super::{
    Document, EditError, NotUndone, after_restart,
    document::{self, SERVERS},
    read_text,
    replace::Replaced,
};
use crate::{runtime::sync::Guarded, storage, text::moment};

/// How many reverse edits with secrets a daemon keeps in memory.
const REMEMBERED: usize = 100;

/// Limit: bytes of a reverse edit; a change that removed more cannot be undone.
const LARGEST_REVERSE_EDIT: usize = 256 << 10;

/// The history of one file. Cheap to clone.
#[derive(Clone)]
pub struct History(Arc<Parts>);

struct Parts {
    /// The file of the history; nothing without a data folder.
    file: Option<PathBuf>,
    /// Locked before a [`ChangeNote`].
    state: Guarded<State>,
}

#[derive(Default)]
struct State {
    /// The text of the configuration when it was last read; nothing before the first reading.
    text: Option<String>,
    /// Reverse edits that restore a secret, by the number of the change.
    remembered: VecDeque<(u64, ReverseEdit)>,
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
    /// Whether it created the configuration file, without values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created_file: bool,
    /// What the change needed to take effect.
    pub needs: Needs,
    /// The number of the change that it undid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<u64>,
    /// The number of the change that undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<u64>,
}

/// A change to undo.
#[derive(Debug, Clone)]
pub struct ChangeToUndo(StoredChange);

/// What undoing a change has to restore.
#[derive(Debug)]
pub enum UndoTarget {
    /// The text of the file.
    File,
    /// The change issued this token.
    Token(ChangedValue),
    /// The change gave these approvals, some together with a change of the file.
    Approvals(GivenApprovals),
}

impl ChangeToUndo {
    /// Its number.
    pub fn id(&self) -> u64 {
        self.0.entry.id
    }

    /// What has to be restored, or why the change cannot be undone.
    pub fn target(&self) -> Result<UndoTarget, NotUndone> {
        if let Some(noted) = &self.0.approvals {
            return self.0.given(noted).map(UndoTarget::Approvals);
        }
        let issued = self.0.issued()?.cloned();
        Ok(issued.map_or(UndoTarget::File, UndoTarget::Token))
    }
}

/// The author of a change, and what becomes known about it while it is written.
#[derive(Debug, Clone)]
pub struct ChangeOf {
    /// Who makes it.
    pub author: ChangeAuthor,
    note: ChangeNote,
}

/// What becomes known about a change while it is written. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChangeNote(Arc<Guarded<ChangeDetails>>);

#[derive(Debug, Clone, Default)]
struct ChangeDetails {
    /// The number of the change that it undoes.
    undoes: Option<u64>,
    /// The number of the change itself.
    id: Option<u64>,
    /// The approvals that it gives or withdraws.
    approvals: Option<(NotedApprovals, Vec<ChangedValue>)>,
}

impl ChangeNote {
    /// Notes which change this one undoes.
    pub fn undoes(&self, id: Option<u64>) {
        self.0.lock().undoes = id;
    }

    /// The number of the change in the history, once it is written.
    pub fn id(&self) -> Option<u64> {
        self.0.lock().id
    }
}

impl ChangeOf {
    /// A change by the author of the current task.
    pub fn this_task() -> Self {
        Self::of(ChangeAuthor::of_this_task())
    }

    /// The note of this change, to add to it or to read it later.
    pub fn note(&self) -> ChangeNote {
        self.note.clone()
    }

    fn of(author: ChangeAuthor) -> Self {
        Self {
            author,
            note: ChangeNote::default(),
        }
    }

    fn another_program() -> Self {
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

/// Whether clients would no longer need a token. That takes effect only after a restart, so that nobody removes access control by accident.
fn opens_up(change: &ChangedValue) -> bool {
    match change.path.get(1..) {
        Some([]) => change.after.is_none(),
        Some([key]) if key == "required" => change.before == Some(Value::Bool(true)),
        _ => false,
    }
}

impl Needs {
    /// What changes of these values need to take effect.
    pub fn of(changes: &[ChangedValue]) -> Self {
        let needs = changes
            .iter()
            .map(|change| match change.path.first().map(String::as_str) {
                Some(key) if after_restart::KEYS.contains(&key) => Self::Restart,
                Some(SERVERS | "environment" | "docker_isolation") => Self::Reload,
                Some("serverAuth") if opens_up(change) => Self::Restart,
                _ => Self::Nothing,
            });
        needs.max().unwrap_or(Self::Nothing)
    }
}

impl History {
    /// The history in this data folder; without a folder, changes are not noted. `text` is the text of the configuration.
    pub fn new(data_dir: Option<&Path>, text: Option<&str>) -> Self {
        let state = State {
            text: text.map(str::to_owned),
            ..State::default()
        };
        Self(Arc::new(Parts {
            file: data_dir.map(|folder| storage::DataFile::History.within(folder)),
            state: Guarded::new(state),
        }))
    }

    /// The data folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.0.file.as_deref()?.parent()
    }

    /// The step after an error of its file, which the error names.
    pub fn step_after(error: &io::Error) -> String {
        let remedy = storage::disk_remedy(Path::new(storage::DataFile::History.name()), error);
        remedy.unwrap_or_else(|| "let your user read the data folder".to_owned())
    }

    /// All changes, the latest last. Blocks.
    pub fn entries(&self) -> io::Result<Vec<HistoryEntry>> {
        let stored = self.stored()?.into_iter();
        let mut entries: Vec<HistoryEntry> = stored.map(|change| change.entry).collect();
        let mut rest = entries.as_mut_slice();
        // From the last one up: what is itself undone undoes nothing.
        while let Some((last, earlier)) = rest.split_last_mut() {
            if let Some(undone) = last.undoes.filter(|_| last.undone_by.is_none())
                && let Some(entry) = earlier.iter_mut().find(|entry| entry.id == undone)
            {
                entry.undone_by = Some(last.id);
            }
            rest = earlier;
        }
        Ok(entries)
    }

    fn stored(&self) -> io::Result<Vec<StoredChange>> {
        self.0.file.as_deref().map_or(Ok(Vec::new()), store::read)
    }

    /// Reads the file, and notes what another program changed in it. Blocks.
    pub(super) fn note_file(&self, file: &Path) {
        let mut state = self.0.state.lock();
        if let Ok(text) = read_text(file) {
            self.note_other_program(&mut state, &text);
        }
    }

    /// Writes the file with `write`, and notes the change if it was written. No other change is noted meanwhile. Blocks.
    pub(super) fn note_writing(
        &self,
        (before, after): (&Document<'_>, &Document<'_>),
        changes: Vec<ChangedValue>,
        by: &ChangeOf,
        write: impl FnOnce() -> io::Result<Replaced>,
    ) -> io::Result<Replaced> {
        let mut state = self.0.state.lock();
        let replaced = write()?;
        if replaced == Replaced::Done {
            self.note_other_program(&mut state, before.written);
            self.note(&mut state, Some(before), after, changes, by);
        }
        Ok(replaced)
    }

    /// Notes what another program changed up to this text. A text that is empty or not JSON is skipped, since a save may be half done: the
    /// next text is compared with the one before it.
    fn note_other_program(&self, state: &mut State, text: &str) {
        // The most frequent case: nothing changed.
        if state.text.as_deref() == Some(text) {
            return;
        }
        let Ok(found) = document::read(text) else {
            return;
        };
        let by = ChangeOf::another_program();
        if let Some(known) = state.text.clone() {
            if found.root.is_some() {
                let known = document::read(&known).unwrap_or_default();
                let changes = changed_values(&known, &found);
                self.note(state, Some(&known), &found, changes, &by);
            }
            return;
        }
        // The first reading of this process: the last text is known only by its mark in the history.
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
        let back = before.map(|before| ReverseEdit::between(before.written, after.written));
        let back = back.filter(|back| back.len() <= LARGEST_REVERSE_EDIT);
        let has_secrets = |(back, before): (&ReverseEdit, _)| back.has_secrets(before);
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
                tracing::warn!(error = %storage::in_words(&error), file = %file.display(), "configuration change not in the history");
            }
        }
    }

    /// Adds a change to the file of the history, with its note, and puts its number into the note.
    fn append(
        file: &Path,
        text: Option<TextStep>,
        mut changes: Vec<ChangedValue>,
        by: &ChangeOf,
    ) -> io::Result<u64> {
        let mut noted = by.note.0.lock();
        let (approvals, values) = noted.approvals.clone().unzip();
        changes.extend(values.into_iter().flatten());
        let before = text.as_ref().and_then(|text| text.before.as_ref());
        let created_file = changes.is_empty() && before == Some(&TextMark::of(""));
        let added = store::append(file, |id| StoredChange {
            entry: HistoryEntry {
                id,
                at: moment::utc(SystemTime::now()),
                author: by.author.clone(),
                needs: Needs::of(&changes),
                changes,
                created_file,
                undoes: noted.undoes,
                undone_by: None,
            },
            text,
            approvals,
        });
        noted.id = added.as_ref().ok().copied();
        added
    }

    /// Notes a change of approvals or tokens, which are not in the configuration file, and gives its number. Blocks.
    fn note_beside(&self, changes: Vec<ChangedValue>, by: &ChangeOf) -> Option<u64> {
        let file = self.0.file.as_deref()?;
        // Nobody notes another change meanwhile.
        let state = self.0.state.lock();
        let added = Self::append(file, None, changes, by);
        drop(state);
        added
            .inspect_err(|error| tracing::warn!(error = %storage::in_words(error), file = %file.display(), "change not in the history"))
            .ok()
    }

    /// The text with this change undone.
    pub fn undo(&self, text: &str, change: &ChangeToUndo) -> Result<String, EditError> {
        let change = &change.0;
        let state = self.0.state.lock();
        let mut remembered = state.remembered.iter();
        let remembered = remembered.find(|(known, _)| *known == change.entry.id);
        let kept = change.text.as_ref().and_then(|text| text.back.as_ref());
        let back = kept.or(remembered.map(|(_, back)| back));
        undoing::undo(text, change, back).map_err(|mut error| {
            if let EditError::NotUndone(NotUndone::ChangedSince { id, path, later }) = &mut error {
                *later = self.last_of(path).filter(|last| *last > *id);
            }
            error
        })
    }

    /// The last change of a value, or of what is around or inside it.
    fn last_of(&self, path: &str) -> Option<u64> {
        let is_about = |one: &ChangedValue| {
            let changed = one.path.join(".");
            changed.starts_with(path) || path.starts_with(&changed)
        };
        let entries = self.entries().unwrap_or_default();
        let mut last = entries.iter().rev();
        let last =
            last.find(|entry| entry.undone_by.is_none() && entry.changes.iter().any(is_about));
        Some(last?.id)
    }

    /// The change of this number, or the latest that is not undone yet and does not undo another. Blocks.
    pub fn change_to_undo(&self, id: Option<u64>) -> Result<ChangeToUndo, NotUndone> {
        let file = self.0.file.as_deref();
        let text = file.map_or(Ok(String::new()), store::text);
        let text = text.map_err(|error| NotUndone::Unreadable {
            why: storage::in_words(&error),
            step: Self::step_after(&error),
        })?;
        undoing::find(&text, id).map(ChangeToUndo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_text_without_values_is_the_creation_of_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = History::new(Some(folder.path()), Some(""));
        let texts = ["", "{}"].map(|text| document::read(text).expect("a good document"));
        let by = ChangeOf::another_program();
        let noted = history.note_writing((&texts[0], &texts[1]), Vec::new(), &by, || {
            Ok(Replaced::Done)
        });
        noted.expect("a history");
        assert!(history.entries().expect("a history")[0].created_file);
        let change = history.change_to_undo(None).expect("a change");
        let undone = history.undo("{}", &change);
        assert!(matches!(
            undone,
            Err(EditError::NotUndone(NotUndone::Begin(1)))
        ));
    }

    #[test]
    fn a_value_that_was_changed_again_names_the_change_to_undo_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let texts = [r#"{"top_k": 1}"#, r#"{"top_k": 2}"#, r#"{"top_k": 3}"#];
        let history = History::new(Some(folder.path()), Some(texts[0]));
        for step in texts.windows(2) {
            let [before, after] =
                [step[0], step[1]].map(|text| document::read(text).expect("a good document"));
            let changes = changed_values(&before, &after);
            let by = ChangeOf::this_task();
            let noted =
                history.note_writing((&before, &after), changes, &by, || Ok(Replaced::Done));
            noted.expect("a history");
        }
        let change = history.change_to_undo(Some(1)).expect("a change");
        let why = history
            .undo(texts[2], &change)
            .expect_err("it was changed again");
        let expected = "`top_k` was changed again after change 1; undo change 2 first";
        assert!(why.to_string().ends_with(expected), "{why}");
    }

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
