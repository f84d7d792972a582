//! The history on disk: a line of JSON for each change, the oldest first.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{HistoryEntry, text_mark::TextMark, way_back::WayBack};
use crate::storage;

/// The file in the data folder.
pub(super) const FILE: &str = "config-history.jsonl";

/// Limit: bytes of the file; the older half goes when it is larger.
const LARGEST: u64 = 8 << 20;

/// Limit: bytes of a change with its values; a longer one is kept without them, so that it does not push others out.
const LONGEST: usize = 1 << 20;

/// Limit: places that are kept of a change without its values.
const MOST_PLACES: usize = 1000;

/// A change with what undoes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredChange {
    #[serde(flatten)]
    pub(super) entry: HistoryEntry,
    /// What happened to the text of the file; nothing where the change was made beside it.
    #[serde(flatten)]
    pub(super) text: Option<TextStep>,
    /// What of it is about approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approvals: Option<NotedApprovals>,
}

/// A change of the text of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TextStep {
    /// The text before it; nothing where nobody saw that.
    #[serde(rename = "text_before", skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<TextMark>,
    /// The text after it.
    #[serde(rename = "text_after")]
    pub(super) after: TextMark,
    /// What turns the second into the first, where it brings back no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<WayBack>,
}

/// What is kept of approvals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotedApprovals {
    /// The server.
    pub server: String,
    /// What withdraws them; nothing where they were withdrawn, or where it is too long.
    #[serde(rename = "back", default, skip_serializing_if = "Option::is_none")]
    pub withdrawal: Option<String>,
    /// What a reviewer saw of the entry, as it was kept until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}

impl StoredChange {
    /// Keeps which places were changed, beside what undoes the whole.
    fn leave_out_values(&mut self) {
        self.entry.changes.truncate(MOST_PLACES);
        for value in &mut self.entry.changes {
            (value.before, value.after, value.partly) = (None, None, true);
        }
    }
}

/// Which change a line is of: all that has to be read of most of them.
#[derive(Deserialize)]
pub(super) struct Numbered {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) undoes: Option<u64>,
}

/// The text of the file. No file has none.
pub(super) fn text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    match File::open(file) {
        Ok(file) => file.take(2 * LARGEST).read_to_string(&mut text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(text),
        Err(error) => return Err(error),
    };
    Ok(text)
}

/// Every change in the file; lines that cannot be read are left out.
pub(super) fn read(file: &Path) -> io::Result<Vec<StoredChange>> {
    let text = text(file)?;
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.collect())
}

/// Adds the change that is made of the next number.
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
            // What a crash cut off stays a line of its own.
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
    /// Looks at as much of the file as it takes to see a whole line: earlier versions wrote some of any length.
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

    #[test]
    fn numbers_go_on_behind_a_line_of_any_length() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let long = "x".repeat(2 << 20);
        let line = |id: u64, more: &str| format!("{}\n", json!({"id": id, "more": more}));
        let written = line(7, "") + &line(8, &long);
        fs::write(folder.path().join(FILE), written).expect("the folder is ours");
        let history = History::new(Some(folder.path()), None);
        let next = || history.note_token("ci", None, Some(true.into()), &ChangeOf::this_task());
        assert_eq!((next(), next()), (Some(9), Some(10)));
    }

    #[test]
    fn a_change_of_many_values_keeps_its_places_and_the_way_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("mcp_config.json");
        let history = History::new(Some(folder.path()), Some("{}"));
        let long = "x".repeat(8000);
        let servers = (0..300).map(|n| (format!("s{n}"), json!({"command": long})));
        let servers: serde_json::Map<String, serde_json::Value> = servers.collect();
        let text = json!({"mcpServers": servers}).to_string();
        fs::write(&file, &text).expect("the folder is ours");
        history.look(&file);
        let size = fs::metadata(folder.path().join(FILE)).expect("it is there");
        assert!(size.len() < LONGEST as u64, "{size:?}");
        let entries = history.entries().expect("it can be read");
        assert_eq!(entries[0].author.way, ChangeWay::File);
        assert_eq!(entries[0].changes.len(), 300);
        assert_eq!(entries[0].changes[0].path, ["mcpServers", "s0"]);
        let meant = history.meant(None).expect("it was noted");
        let undone = history.undone(&text, &meant);
        assert_eq!(undone.expect("its text stands"), "{}");
        let error = history.undone(&format!("{text} "), &meant);
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
        fs::write(folder.path().join(FILE), &text).expect("the folder is ours");
        let known = read(&folder.path().join(FILE)).expect("it can be read");
        let text = known[0].text.as_ref().expect("it is one of the file");
        assert_eq!(text.after.as_str(), "bb");
        assert_eq!(line(&known[0]).expect("JSON"), format!("{of_file}\n"));
        let history = History::new(Some(folder.path()), None);
        let target = history.meant(Some(2)).expect("it was noted").target();
        assert!(matches!(target, Ok(UndoTarget::Token(_))), "{target:?}");
    }
}
