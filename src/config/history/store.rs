//! The history on disk: a line of JSON for each change, the oldest first.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{ChangeOf, ChangedValue, HistoryEntry, Needs, difference::WayBack};
use crate::{storage, text::moment};

/// The file in the data folder.
pub(super) const FILE: &str = "config-history.jsonl";

/// Bytes of the file; the older half goes when it is larger.
const LARGEST: u64 = 8 << 20;

/// A change with what undoes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredChange {
    #[serde(flatten)]
    pub(super) entry: HistoryEntry,
    /// What the text before it is known by.
    #[serde(rename = "text_before", skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<String>,
    /// The same of the text after it.
    #[serde(rename = "text_after")]
    pub(super) after: String,
    /// What turns the second into the first, where it brings back no secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) back: Option<WayBack>,
    /// What of it is about approvals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approvals: Option<NotedApprovals>,
}

/// What is kept of approvals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotedApprovals {
    /// The server.
    pub server: String,
    /// What withdraws them; nothing where they were withdrawn.
    #[serde(rename = "back", default, skip_serializing_if = "Option::is_none")]
    pub withdrawal: Option<String>,
    /// What a reviewer saw of the entry, as it was kept until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
}

impl StoredChange {
    /// One beside the file, made now. It gets its number when it is added.
    pub(super) fn now(by: &ChangeOf, needs: Needs, changes: Vec<ChangedValue>) -> Self {
        Self {
            entry: HistoryEntry {
                id: 0,
                at: moment::utc(SystemTime::now()),
                author: by.author.clone(),
                changes,
                needs,
                undoes: None,
                undone_by: None,
            },
            before: None,
            after: String::new(),
            back: None,
            approvals: None,
        }
    }

    /// Whether the file changed, and not only what is decided beside it, which has no text.
    pub(super) fn is_of_file(&self) -> bool {
        !self.after.is_empty()
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

/// Adds a change under the next number.
pub(super) fn append(file: &Path, mut change: StoredChange) -> io::Result<u64> {
    if let Some(folder) = file.parent() {
        storage::create_private_dir(folder)?;
    }
    let mut out =
        storage::open_private_file(file, File::options().read(true).append(true).create(true))?;
    let end = End::of(&mut out)?;
    let id = end.last + 1;
    change.entry.id = id;
    let line = line(&change)?;
    if end.size + line.len() as u64 <= LARGEST {
        // What a crash cut off stays a line of its own.
        let line = if end.is_whole {
            line
        } else {
            format!("\n{line}")
        };
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
    /// A line is shorter than this.
    const LONGEST_LINE: u64 = 1 << 20;

    fn of(file: &mut File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(Self::LONGEST_LINE)))?;
        let mut end = Vec::new();
        file.read_to_end(&mut end)?;
        let mut lines = end.split(|byte| *byte == b'\n').rev();
        let last = lines.find_map(|line| serde_json::from_slice::<Numbered>(line).ok());
        Ok(Self {
            size,
            is_whole: end.last().is_none_or(|byte| *byte == b'\n'),
            last: last.map_or(0, |last| last.id),
        })
    }
}

fn line(change: &StoredChange) -> io::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(change)?))
}
