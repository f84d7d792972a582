//! A log file that rotates, written in the background: adding lines never waits for the disk.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::log_line::gap_notice;
use crate::{
    runtime::sync::Guarded,
    storage::{self, rotate, set_aside},
    telemetry::log_throttle::LogThrottle,
};

/// The size at which a file is set aside.
const ROTATE_AT: u64 = 5 * 1024 * 1024;

/// How many files are kept that were set aside: `NAME.1` is the newest.
const KEPT: u32 = 2;

/// Limit: bytes of lines that wait for the disk. Further lines are dropped and counted.
const WAITING: usize = 1024 * 1024;

/// A handle to the file; clones are the same file.
#[derive(Clone)]
pub(super) struct LogFile(Arc<LogFileShared>);

#[derive(Default)]
struct LogFileShared {
    path: PathBuf,
    queue: Guarded<Queue>,
    /// Writes that failed.
    failures: LogThrottle,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<u8>,
    dropped: u64,
    /// Whether the files are to be removed before anything else is written.
    removed: bool,
    /// Invariant: a writer is running exactly while this is set, so there is never more than one.
    writing: bool,
}

/// One step of the writer.
enum DiskStep {
    /// Removes the file and those that were set aside.
    Remove,
    Append(Vec<u8>),
}

impl LogFile {
    /// Nothing is opened before the first line.
    pub(super) fn new(path: PathBuf) -> Self {
        let shared = LogFileShared {
            path,
            ..LogFileShared::default()
        };
        Self(Arc::new(shared))
    }

    /// Queues the lines for the disk. Must be called within a tokio runtime.
    pub(super) fn append(&self, lines: &[String]) {
        let mut queue = self.0.queue.lock();
        for line in lines {
            if queue.waiting.len() + line.len() >= WAITING {
                queue.dropped += 1;
                continue;
            }
            queue.waiting.extend_from_slice(line.as_bytes());
            queue.waiting.push(b'\n');
        }
        if !lines.is_empty() {
            self.write_later(&mut queue);
        }
    }

    /// Removes the file and those that were set aside, and drops what waits. Must be called within a tokio runtime.
    pub(super) fn remove(&self) {
        let mut queue = self.0.queue.lock();
        queue.waiting.clear();
        (queue.dropped, queue.removed) = (0, true);
        self.write_later(&mut queue);
    }

    fn write_later(&self, queue: &mut Queue) {
        if !queue.writing {
            queue.writing = true;
            let shared = Arc::clone(&self.0);
            tokio::task::spawn_blocking(move || shared.write_out());
        }
    }
}

impl LogFileShared {
    /// Writes until nothing waits any more.
    fn write_out(&self) {
        while let Some(step) = self.next_step() {
            match step {
                DiskStep::Remove => remove_all(&self.path),
                DiskStep::Append(batch) => {
                    if let Err(error) = append_rotating(&self.path, &batch, ROTATE_AT)
                        && let Some(times) = self.failures.due()
                    {
                        tracing::warn!(path = %self.path.display(), error = %storage::in_words(&error), times, "lines of a server's log were lost");
                    }
                }
            }
        }
    }

    /// What the writer does next; nothing ends it.
    fn next_step(&self) -> Option<DiskStep> {
        let mut queue = self.queue.lock();
        if std::mem::take(&mut queue.removed) {
            return Some(DiskStep::Remove);
        }
        let mut batch = std::mem::take(&mut queue.waiting);
        let dropped = std::mem::take(&mut queue.dropped);
        if dropped > 0 {
            batch.extend_from_slice(gap_notice(dropped).as_bytes());
            batch.push(b'\n');
        }
        queue.writing = !batch.is_empty();
        queue.writing.then_some(DiskStep::Append(batch))
    }
}

/// Opened anew each time, so that a file which somebody moved away or deleted is made again.
fn append_rotating(path: &Path, batch: &[u8], rotate_at: u64) -> io::Result<()> {
    let mut file = open(path)?;
    let size = file.metadata()?.len();
    if size > 0 && size + batch.len() as u64 > rotate_at {
        rotate(path, KEPT)?;
        file = open(path)?;
    }
    file.write_all(batch)
}

/// Removes a log file and those that were set aside.
pub(super) fn remove_all(path: &Path) {
    let older = (1..=KEPT).map(|number| set_aside(path, number));
    for file in older.chain([path.to_owned()]) {
        if let Err(error) = storage::if_there(fs::remove_file(&file)) {
            tracing::warn!(path = %file.display(), error = %storage::in_words(&error), "the log of a removed server stays");
        }
    }
}

/// Readable by the owner alone: servers print what they please.
fn open(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        storage::create_private_subfolder(folder)?;
    }
    storage::append_to_private_file(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{append_rotating, set_aside};

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_appended_to() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (victim, path) = (
            folder.path().join("victim"),
            folder.path().join("server-a.log"),
        );
        fs::write(&victim, "whole").expect("writable");
        std::os::unix::fs::symlink(&victim, &path).expect("a link");
        assert!(append_rotating(&path, b"line\n", 8).is_err());
        assert_eq!(fs::read(&victim).expect("readable"), b"whole");
    }

    #[test]
    fn a_full_file_is_set_aside_and_two_of_them_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("logs").join("server-a.log");
        for batch in ["1111\n", "2222\n", "3333\n", "4444\n", "5\n"] {
            append_rotating(&path, batch.as_bytes(), 8).expect("writable");
        }
        let read = |path| fs::read_to_string(path).expect("a file");
        assert_eq!(read(path.clone()), "4444\n5\n");
        assert_eq!(read(set_aside(&path, 1)), "3333\n");
        assert_eq!(read(set_aside(&path, 2)), "2222\n");
        assert!(!set_aside(&path, 3).exists());
    }
}
