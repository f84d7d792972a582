//! Log files: their last lines, and the lines that are added. They outlive daemons and entries. The command line, REST and the tool for
//! agents show the same number of lines.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    failure::{ErrorCode, Failure},
    storage::{disk_step, if_there, in_words, open_to_read, set_aside},
};

/// The last lines of a log.
#[derive(Debug, Clone, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LogLines {
    /// The last lines, oldest first.
    pub lines: Vec<String>,
    /// The log file.
    pub file: PathBuf,
    /// Why the server does not run or wrote nothing, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The next step in the words of a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
}

/// The failure of reading a log.
pub fn unreadable_log(file: &Path, error: &io::Error) -> Failure {
    let what = format!("the log cannot be read: {}", in_words(error));
    Failure::new(ErrorCode::Internal, what, disk_step(file, error))
}

impl LogLines {
    /// The accepted numbers of lines. Limit: lines are held in memory; whoever wants more can read the file.
    pub const RANGE: RangeInclusive<usize> = 1..=500;

    /// The number of lines by default.
    pub const USUAL: usize = 50;

    /// The last lines of a file, at most `n`. Blocks.
    pub fn of(file: PathBuf, n: usize) -> io::Result<Self> {
        Ok(Self {
            lines: last_lines(&file, n)?,
            file,
            unusable: None,
            next_step: None,
        })
    }

    /// The number of lines to show; the error names the accepted range.
    pub fn count(asked: Option<usize>) -> Result<usize, String> {
        let lines = asked.unwrap_or(Self::USUAL);
        if Self::RANGE.contains(&lines) {
            return Ok(lines);
        }
        let (least, most) = (Self::RANGE.start(), Self::RANGE.end());
        Err(format!("`lines` must be {least} to {most}, not {lines}"))
    }
}

/// Limit: bytes that are read at the end of a file. 500 of the longest lines have 8 MB.
const READ: u64 = 8 * 1024 * 1024;

/// The last lines of a log file, at most `n`, oldest first; where it has fewer, also of the one that was set aside before it. No file
/// has no lines. Blocks.
pub(super) fn last_lines(file: &Path, n: usize) -> io::Result<Vec<String>> {
    last_lines_before(file, n, u64::MAX)
}

/// [`last_lines`] of the first `length` bytes of a file, for a reader that goes on from there.
fn last_lines_before(file: &Path, n: usize, length: u64) -> io::Result<Vec<String>> {
    let mut lines = end_of(file, n, length)?;
    if lines.len() < n {
        let mut older = end_of(&set_aside(file, 1), n - lines.len(), u64::MAX)?;
        older.append(&mut lines);
        lines = older;
    }
    Ok(lines)
}

fn end_of(file: &Path, n: usize, length: u64) -> io::Result<Vec<String>> {
    let Some(mut file) = if_there(open_to_read(file))? else {
        return Ok(Vec::new());
    };
    let length = file.metadata()?.len().min(length);
    let start = length.saturating_sub(READ);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length - start).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<&str> = text.lines().collect();
    if start > 0 && !lines.is_empty() {
        // The first one is cut.
        lines.remove(0);
    }
    let skipped = lines.len().saturating_sub(n);
    Ok(lines.into_iter().skip(skipped).map(str::to_owned).collect())
}

/// Bytes of the file that are read at once.
const CHUNK: u64 = 1024 * 1024;

/// Limit: bytes of a line that has no end yet. A longer one is given in parts.
const LONGEST_LINE: usize = 1024 * 1024;

/// A log file that is followed as it grows. Its methods block.
#[derive(Debug)]
pub struct FollowedLog {
    path: PathBuf,
    file: Option<File>,
    unfinished: Vec<u8>,
}

impl FollowedLog {
    /// Follows a file from its end on. Gives its last lines, too, at most `n`. The file need not exist yet.
    pub fn open(path: &Path, n: usize) -> io::Result<(Self, Vec<String>)> {
        let mut file = if_there(open_to_read(path))?;
        // Lines that are added from here on are not among the last lines.
        let end = match &mut file {
            Some(file) => file.seek(SeekFrom::End(0))?,
            None => 0,
        };
        let last = last_lines_before(path, n, end)?;
        let log = Self {
            path: path.to_owned(),
            file,
            unfinished: Vec::new(),
        };
        Ok((log, last))
    }

    /// The whole lines that were added since the last call, with their line ends; empty if there are none.
    pub fn added(&mut self) -> io::Result<String> {
        let current = if_there(open_to_read(&self.path))?;
        let mut added = match &mut self.file {
            Some(file) => read_on(file, &mut self.unfinished)?,
            None => String::new(),
        };
        let is_another = match (&self.file, &current) {
            (Some(followed), Some(current)) => !is_same(followed, current)?,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if is_another && added.is_empty() {
            self.file = current;
            self.unfinished.clear();
            if let Some(file) = &mut self.file {
                added = read_on(file, &mut self.unfinished)?;
            }
        }
        Ok(added)
    }
}

/// The whole lines up to the end of the file, or up to the limit.
fn read_on(file: &mut File, unfinished: &mut Vec<u8>) -> io::Result<String> {
    Read::take(&mut *file, CHUNK).read_to_end(unfinished)?;
    let end = match memchr::memrchr(b'\n', unfinished) {
        Some(end) => end + 1,
        None if unfinished.len() >= LONGEST_LINE => unfinished.len(),
        None => return Ok(String::new()),
    };
    let rest = unfinished.split_off(end);
    let whole = std::mem::replace(unfinished, rest);
    Ok(String::from_utf8_lossy(&whole).into_owned())
}

#[cfg(unix)]
fn is_same(a: &File, b: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.ino() == b.ino() && a.dev() == b.dev())
}

/// Without inodes: a file that was set aside is larger than its successor.
#[cfg(not(unix))]
fn is_same(a: &File, b: &File) -> io::Result<bool> {
    Ok(a.metadata()?.len() <= b.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn a_number_of_lines_outside_of_the_range_is_refused_with_the_range() {
        let check = |asked: Option<usize>, expected: Result<usize, &str>| {
            let count = LogLines::count(asked);
            assert_eq!(count.as_ref().map_err(String::as_str).copied(), expected);
        };
        check(None, Ok(50));
        check(Some(500), Ok(500));
        check(Some(501), Err("`lines` must be 1 to 500, not 501"));
        check(Some(0), Err("`lines` must be 1 to 500, not 0"));
    }

    #[test]
    fn the_last_lines_come_from_both_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("server-a.log");
        let read = |n| last_lines(&file, n).expect("readable");
        assert_eq!(read(5), [] as [String; 0]);
        fs::write(&file, "three\n\nfive\n").expect("written");
        assert_eq!(read(2), ["", "five"]);
        fs::write(set_aside(&file, 1), "one\ntwo\n").expect("written");
        assert_eq!(read(4), ["two", "three", "", "five"]);
        assert_eq!(read(9).len(), 5);
        let before = last_lines_before(&file, 2, 7).expect("readable");
        assert_eq!(before, ["three", ""]);
    }

    #[test]
    fn a_log_that_cannot_be_read_is_named_with_what_helps() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = last_lines(folder.path(), 1).expect_err("it is no file");
        let failure = unreadable_log(folder.path(), &error);
        assert_eq!(failure.error, "the log cannot be read: it is a folder");
        let step = format!("Move {} away.", folder.path().display());
        assert_eq!(failure.hint.for_people(), step);
    }

    #[test]
    fn what_is_added_is_read_once_and_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.log");
        let append = |text: &str| {
            let mut options = File::options();
            let mut file = options.create(true).append(true).open(&path).expect("ours");
            file.write_all(text.as_bytes()).expect("writable");
        };
        let (mut log, last) = FollowedLog::open(&path, 5).expect("it need not be there");
        assert!(last.is_empty());
        let check = |log: &mut FollowedLog, expected: &str| {
            assert_eq!(log.added().expect("readable"), expected);
        };
        check(&mut log, "");
        append("one\ntw");
        check(&mut log, "one\n");
        append("o\nthree\n");
        check(&mut log, "two\nthree\n");
        check(&mut log, "");
        append("four\n");
        fs::rename(&path, folder.path().join("a.log.1")).expect("ours");
        append("five\n");
        check(&mut log, "four\n");
        check(&mut log, "five\n");
        let (mut log, last) = FollowedLog::open(&path, 2).expect("readable");
        assert_eq!(last, ["four", "five"]);
        check(&mut log, "");
    }
}
