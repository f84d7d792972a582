//! What servers wrote to their stderr, from the files: they outlive daemons and entries.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Limit: what is read of a file's end. 500 lines of the longest kind have 8 MB.
const READ: u64 = 8 * 1024 * 1024;

/// The last lines of a log file, at most `n`, oldest first; where it has fewer, also of the one that was set aside before it. No file
/// has no lines. Blocks.
pub fn last_lines(file: &Path, n: usize) -> io::Result<Vec<String>> {
    last_lines_before(file, n, u64::MAX)
}

/// [`last_lines`] of the first `length` bytes: for whoever reads on from there.
pub fn last_lines_before(file: &Path, n: usize, length: u64) -> io::Result<Vec<String>> {
    let mut lines = end_of(file, n, length)?;
    if lines.len() < n {
        let mut older = end_of(&set_aside(file), n - lines.len(), u64::MAX)?;
        older.append(&mut lines);
        lines = older;
    }
    Ok(lines)
}

fn end_of(file: &Path, n: usize, length: u64) -> io::Result<Vec<String>> {
    let mut file = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
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

fn set_aside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_come_from_both_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("server-a.log");
        let read = |n| last_lines(&file, n).expect("readable");
        assert_eq!(read(5), [] as [String; 0]);
        std::fs::write(&file, "three\n\nfive\n").expect("written");
        assert_eq!(read(2), ["", "five"]);
        std::fs::write(set_aside(&file), "one\ntwo\n").expect("written");
        assert_eq!(read(4), ["two", "three", "", "five"]);
        assert_eq!(read(9).len(), 5);
        let before = last_lines_before(&file, 2, 7).expect("readable");
        assert_eq!(before, ["three", ""]);
    }
}
