//! The file of the history: one line of JSON for each change, the oldest first.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{HistoryEntry, reverse_edit::ReverseEdit, text_mark::TextMark};
use crate::storage;

/// Limit: bytes of the file; when it is larger, the older half of the changes is removed.
const LARGEST: u64 = 8 << 20;

/// Limit: bytes of a line; the values of a longer change are left out, so that it does not displace other changes.
const LONGEST: usize = 1 << 20;

/// Limit: paths that are kept of a change without its values.
const MOST_PLACES: usize = 1000;

/// A change as it is stored, with what is needed to undo it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredChange {
    #[serde(flatten)]
    pub(super) entry: HistoryEntry,
    /// The change of the file's text; nothing where only approvals or tokens changed.
    #[serde(flatten)]
    pub(super) text: Option<TextStep>,
    /// The approvals that it gave or withdrew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approvals: Option<NotedApprovals>,
}

/// A change of the text of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TextStep {
    /// The text before it; nothing where mcpproxy did not read that text.
    #[serde(rename = "text_before", skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<TextMark>,
    /// The text after it.
    #[serde(rename = "text_after")]
    pub(super) after: TextMark,
    /// Turns the text after into the text before; nothing where that would restore a secret, or is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<ReverseEdit>,
}

/// The approvals of a change as they are stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotedApprovals {
    /// The server.
    pub server: String,
    /// A text of `trust::approvals` that withdraws them; nothing where the change withdrew approvals, or the text is too long.
    #[serde(rename = "back", default, skip_serializing_if = "Option::is_none")]
    pub withdrawal: Option<String>,
    /// The entry as the reviewer saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}

impl StoredChange {
    /// Removes the values of the change, and keeps their paths and the reverse edit.
    fn leave_out_values(&mut self) {
        self.entry.changes.truncate(MOST_PLACES);
        for value in &mut self.entry.changes {
            (value.before, value.after, value.partly) = (None, None, true);
        }
    }
}

/// The numbers in a line. Most lines need not be read further.
#[derive(Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
    pub(super) undoes: Option<u64>,
}

/// The text of the file; an empty one where there is no file.
pub(super) fn text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let opened = storage::open_to_read(file);
    let read = opened.and_then(|file| file.take(2 * LARGEST).read_to_string(&mut text));
    storage::if_there(read).map_err(storage::of_file(file))?;
    Ok(text)
}

/// The changes in the file; lines that cannot be read are skipped.
pub(super) fn read(file: &Path) -> io::Result<Vec<StoredChange>> {
    let text = text(file)?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.collect())
}

/// Adds the change that `change` makes for the next number, and gives this number.
pub(super) fn append(file: &Path, change: impl FnOnce(u64) -> StoredChange) -> io::Result<u64> {
    if let Some(folder) = file.parent() {
        storage::create_private_dir(folder)?;
    }
    let mut out =
        storage::open_private_file(file, File::options().read(true).append(true).create(true))?;
    let end = End::of(&mut out)?;
    let id = end.last + 1;
    let mut change = change(id);
    let mut line = line(&change)?;
    if line.len() > LONGEST {
        change.leave_out_values();
        line = self::line(&change)?;
    }
    if end.size + line.len() as u64 <= LARGEST {
        if !end.is_whole {
            // The last line was cut off by a crash; it must not merge with the new one.
            line.insert(0, '\n');
        }
        out.write_all(line.as_bytes())?;
        return Ok(id);
    }
    let mut known = read(file)?;
    known.drain(..known.len() / 2);
    known.push(change);
    let lines: io::Result<String> = known.iter().map(self::line).collect();
    storage::write_atomically(file, lines?.as_bytes())?;
    Ok(id)
}

/// How the file ends.
struct End {
    size: u64,
    is_whole: bool,
    /// The number of the last change.
    last: u64,
}

impl End {
    /// Reads the end of the file until there is a whole line in it: earlier versions wrote lines of any length.
    fn of(file: &mut File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        let (mut seen, mut end) = (LONGEST as u64, Vec::new());
        loop {
            let start = size.saturating_sub(seen);
            file.seek(SeekFrom::Start(start))?;
            end.clear();
            file.read_to_end(&mut end)?;
            let mut lines = end.split(|byte| *byte == b'\n').rev();
            let last = lines.find_map(|line| serde_json::from_slice::<Numbered>(line).ok());
            if last.is_some() || start == 0 {
                return Ok(Self {
                    size,
                    is_whole: end.last().is_none_or(|byte| *byte == b'\n'),
                    last: last.map_or(0, |last| last.id),
                });
            }
            seen *= 2;
        }
    }
}

fn line(change: &StoredChange) -> io::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(change)?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::config::{
        ChangeOf, History, NotUndone,
        edit::EditError,
        history::{ChangeWay, UndoTarget},
    };
    use crate::storage::DataFile;

    #[test]
    fn numbers_go_on_behind_a_line_of_any_length() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let long = "x".repeat(2 << 20);
        let line = |id: u64, more: &str| format!("{}\n", json!({"id": id, "more": more}));
        let written = line(7, "") + &line(8, &long);
        fs::write(DataFile::History.within(folder.path()), written).expect("the folder is ours");
        let history = History::new(Some(folder.path()), None);
        let next = || history.note_token("ci", None, Some(true.into()), &ChangeOf::this_task());
        assert_eq!((next(), next()), (Some(9), Some(10)));
    }

    #[test]
    fn a_change_of_many_values_keeps_its_places_and_the_reverse_edit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        let history = History::new(Some(folder.path()), Some("{}"));
        let long = "x".repeat(8000);
        let servers = (0..300).map(|n| (format!("s{n}"), json!({"command": long})));
        let servers: serde_json::Map<String, serde_json::Value> = servers.collect();
        let text = json!({"mcpServers": servers}).to_string();
        fs::write(&file, &text).expect("the folder is ours");
        history.note_file(&file);
        let size = fs::metadata(DataFile::History.within(folder.path())).expect("it is there");
        assert!(size.len() < LONGEST as u64, "{size:?}");
        let entries = history.entries().expect("it can be read");
        assert_eq!(entries[0].author.way, ChangeWay::File);
        assert_eq!(entries[0].changes.len(), 300);
        assert_eq!(entries[0].changes[0].path, ["mcpServers", "s0"]);
        let meant = history.change_to_undo(None).expect("it was noted");
        let undone = history.undo(&text, &meant);
        assert_eq!(undone.expect("its text stands"), "{}");
        let error = history.undo(&format!("{text} "), &meant);
        let not_kept = EditError::from(NotUndone::NotKept(1));
        assert_eq!(
            error.expect_err("no value is known").to_string(),
            not_kept.to_string()
        );
    }

    #[test]
    fn lines_of_earlier_versions_are_read() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let of_file = r#"{"id":1,"at":"2026-01-01T00:00:00Z","by":"operator","way":"terminal","changes":[{"path":["top_k"],"before":4,"after":5}],"needs":"nothing","text_before":"aa","text_after":"bb","back":{"at":10,"remove":1,"insert":"4"}}"#;
        let beside = r#"{"id":2,"at":"2026-01-01T00:00:00Z","by":"operator","way":"page","changes":[{"path":["tokens","ci"],"after":{}}],"needs":"nothing","text_after":""}"#;
        let text = format!("{of_file}\n{beside}\n");
        fs::write(DataFile::History.within(folder.path()), &text).expect("the folder is ours");
        let known = read(&DataFile::History.within(folder.path())).expect("it can be read");
        let text = known[0].text.as_ref().expect("it is one of the file");
        assert_eq!(text.after.as_str(), "bb");
        assert_eq!(line(&known[0]).expect("JSON"), format!("{of_file}\n"));
        let history = History::new(Some(folder.path()), None);
        let target = history
            .change_to_undo(Some(2))
            .expect("it was noted")
            .target();
        assert!(matches!(target, Ok(UndoTarget::Token(_))), "{target:?}");
    }
}
