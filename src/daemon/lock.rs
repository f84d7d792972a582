//! One daemon per data folder. The lock ends with the process, however that ends.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::{ServeError, serve_error::ServeErrorKind};
use crate::{
    management::DaemonLocation,
    storage::{self, DataFile, FileIdentity},
};

const LOCK: DataFile = DataFile::Lock;
const ADDRESS: DataFile = DataFile::Address;

/// How long a holder may take to write who it is, which it does before it serves.
const NOTE_DEADLINE: Duration = Duration::from_secs(5);
const NOTE_RETRY: Duration = Duration::from_millis(10);

/// A child that a killed daemon has just forked holds the daemon's lock until it runs its own program. That takes less than this.
const FORKED: Duration = Duration::from_millis(250);

/// Held as long as the daemon runs.
pub(super) struct DataLock {
    file: File,
    data_dir: PathBuf,
    /// The address in it. There is none without TCP.
    url: Option<String>,
}

/// What has become of the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    /// It is still held.
    Held,
    /// It was removed, and is ours again.
    TakenAgain,
    /// It was removed, and another daemon has it.
    Lost,
}

impl DataLock {
    /// Takes the folder, or says who has it.
    pub(super) fn take(data_dir: &Path) -> Result<Self, ServeError> {
        let path = LOCK.within(data_dir);
        let cannot = |error: io::Error| {
            let what = format!("the lock {} cannot be taken", path.display());
            ServeError::in_folder(&what, &path, &error)
        };
        let mut file = storage::open_to_change(&path).map_err(cannot)?;
        let patience = Instant::now() + FORKED;
        let locked = loop {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < patience => {
                    thread::sleep(NOTE_RETRY);
                }
                locked => break locked,
            }
        };
        match locked {
            Ok(()) => {
                // One that was killed is the holder no more.
                file.set_len(0).map_err(cannot)?;
                Ok(Self {
                    file,
                    data_dir: data_dir.to_owned(),
                    url: None,
                })
            }
            Err(TryLockError::WouldBlock) => {
                let (mut holder, deadline) = (String::new(), Instant::now() + NOTE_DEADLINE);
                // The text is a courtesy; the lock is what counts.
                while file.read_to_string(&mut holder).is_ok_and(|read| read == 0)
                    && Instant::now() < deadline
                {
                    thread::sleep(NOTE_RETRY);
                }
                let holder = match holder.trim() {
                    "" => String::new(),
                    holder => format!(" ({holder})"),
                };
                let folder = data_dir.display();
                Err(ServeError::new(
                    ServeErrorKind::Taken,
                    format!("another daemon{holder} uses the data folder {folder}"),
                    "use that one, or stop it first: `mcpproxy stop`",
                ))
            }
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }

    /// The folder.
    pub(super) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Writes down who serves.
    pub(super) fn note_address(&mut self, location: &DaemonLocation) {
        self.url.clone_from(&location.url);
        if let Err(error) = self.write_note().and_then(|()| self.write_address()) {
            tracing::warn!(%error, "the address could not be written to the data folder");
        }
    }

    fn write_note(&mut self) -> io::Result<()> {
        let pid = std::process::id();
        let url = self.url.iter().map(|url| format!(", {url}"));
        let text = format!("pid {pid}{}", url.collect::<String>());
        let emptied = self.file.set_len(0).and_then(|()| self.file.rewind());
        let written = emptied.and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(storage::of_file(&LOCK.within(&self.data_dir)))
    }

    fn write_address(&self) -> io::Result<()> {
        let file = ADDRESS.within(&self.data_dir);
        match &self.url {
            Some(url) => storage::write_atomically(&file, format!("{url}\n").as_bytes()),
            // One of a daemon that was killed would lead astray.
            None => storage::remove(&file),
        }
    }

    /// Takes the lock again if its file was removed, unless another daemon has it by now, and writes removed files again. Blocks.
    pub(super) fn look(&mut self) -> io::Result<LockState> {
        let mut state = LockState::Held;
        if !self.is_there() {
            storage::create_private_dir(&self.data_dir)?;
            let file = storage::open_to_change(&LOCK.within(&self.data_dir))?;
            match file.try_lock() {
                Ok(()) => (),
                Err(TryLockError::WouldBlock) => return Ok(LockState::Lost),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            self.file = file;
            self.write_note()?;
            state = LockState::TakenAgain;
        }
        if self.url.is_some() && !ADDRESS.within(&self.data_dir).exists() {
            self.write_address()?;
        }
        Ok(state)
    }

    /// Whether the file that we hold is the one in the folder.
    fn is_there(&self) -> bool {
        let held = FileIdentity::of(&self.file);
        held.is_ok_and(|held| held.is_at(&LOCK.within(&self.data_dir)))
    }
}

/// Whether a daemon has the folder. One that does not listen is starting or stopping.
pub fn is_taken(data_dir: &Path) -> bool {
    let file = storage::open_to_read(&LOCK.within(data_dir));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Drop for DataLock {
    fn drop(&mut self) {
        // What another daemon has put into a folder that was removed under us is its own.
        if self.is_there() {
            // Gone already, or left for the next daemon to overwrite. The socket is opened under this lock.
            for file in [ADDRESS, DataFile::Socket].map(|file| file.within(&self.data_dir)) {
                let _ = std::fs::remove_file(file);
            }
        }
        let _ = self.file.set_len(0);
        // Closing is not enough: a child that has not begun its own program yet shares the open file.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_free_at_once_whoever_still_holds_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let take = || DataLock::take(folder.path());
        let mut held = take().expect("the folder is free");
        let copy = held.file.try_clone().expect("an open file");
        // The rival waits for the name of one that has not written it yet.
        let rival = thread::scope(|threads| {
            let rival = threads.spawn(take);
            held.note_address(&DaemonLocation::default());
            rival.join().expect("it ends")
        });
        let taken = rival.err().expect("it is taken").to_string();
        let holder = format!("another daemon (pid {})", std::process::id());
        assert!(taken.contains(&holder), "{taken}");
        assert!(is_taken(folder.path()));
        drop(held);
        assert!(!is_taken(folder.path()));
        assert!(take().is_ok(), "it is free again");
        drop(copy);
    }

    #[test]
    fn what_is_removed_is_written_again_and_what_is_anothers_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data_dir = folder.path().join("data");
        storage::create_private_dir(&data_dir).expect("a folder of ours");
        let take = || DataLock::take(&data_dir);
        let mut held = take().expect("the folder is free");
        held.note_address(&DaemonLocation {
            url: Some("http://127.0.0.1:1".to_owned()),
            ..DaemonLocation::default()
        });
        let state = |held: &mut DataLock| held.look().expect("a folder of ours");
        assert_eq!(state(&mut held), LockState::Held);
        let read = |name: &str| std::fs::read_to_string(data_dir.join(name)).expect("it is there");
        let (lock, address) = (read("lock"), read("address"));
        std::fs::remove_dir_all(&data_dir).expect("it is ours");
        assert_eq!(state(&mut held), LockState::TakenAgain);
        assert_eq!((read("lock"), read("address")), (lock, address.clone()));
        assert!(take().is_err(), "it is taken");
        std::fs::remove_file(data_dir.join("address")).expect("it is there");
        assert_eq!(state(&mut held), LockState::Held);
        assert_eq!(read("address"), address);

        std::fs::remove_dir_all(&data_dir).expect("it is ours");
        storage::create_private_dir(&data_dir).expect("a folder of ours");
        let mut other = take().expect("a new folder is free");
        other.note_address(&DaemonLocation::default());
        std::fs::write(data_dir.join("address"), "another's").expect("writable");
        assert_eq!(state(&mut held), LockState::Lost);
        drop(held);
        assert_eq!(read("address"), "another's");
        assert!(take().is_err(), "it is the other's");
    }
}
