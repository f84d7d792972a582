//! Following a log file: its last lines, and then what is added, also after the file was set aside for a new one.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::server_logs::last_lines_before;

/// What is read of the file at once.
const CHUNK: u64 = 1024 * 1024;

/// Limit: bytes of a line that has no end yet. A longer one is given in parts.
const LONGEST_LINE: usize = 1024 * 1024;

/// A log that somebody follows. Its methods block.
#[derive(Debug)]
pub struct FollowedLog {
    path: PathBuf,
    file: Option<File>,
    unfinished: Vec<u8>,
}

impl FollowedLog {
    /// Follows a file from its end on; its last lines, at most `n`. It need not be there yet.
    pub fn open(path: &Path, n: usize) -> io::Result<(Self, Vec<String>)> {
        let mut file = open(path)?;
        // What is added from here on is not among the last lines.
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

    /// Whole lines that were added since the last look, with the ends of theirs; nothing where there are none.
    pub fn added(&mut self) -> io::Result<String> {
        let current = open(&self.path)?;
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

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The whole lines up to where the file ends, or up to the limit.
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

/// What was set aside is larger than what took its place.
#[cfg(not(unix))]
fn is_same(a: &File, b: &File) -> io::Result<bool> {
    Ok(a.metadata()?.len() <= b.metadata()?.len())
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

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
