//! Writing the configuration file: under one lock that every mcpproxy process takes, atomically, through symbolic links.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Blank, ChangeOf, ChangeWay, EditError, EditedFile, History, Surroundings, TextChange, document,
    file::{LARGEST_FILE, folder_of, link_chain},
    history::changed_values,
    process_environment, read_text,
    replace::{Replaced, neighbour, owner_of, replace},
};
use crate::storage::{DiskFault, copy_owner, create_private_dir, private, too_large};

/// Why the file was not written. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The change cannot be made to this text.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// Another process holds the lock and does not let go.
    #[error("another process is writing {}", .0.display())]
    Locked(PathBuf),
    /// It says nothing, and said something before: nobody knows what is missing.
    #[error("nothing was changed: the configuration {} is gone or empty", .0.display())]
    Accident(PathBuf),
    /// Somebody else saves it all the time.
    #[error("another program is changing the configuration {}", .0.display())]
    Contested(PathBuf),
    /// The disk said no.
    #[error(transparent)]
    Disk(#[from] DiskFault),
}

/// Edits take milliseconds, so whoever holds the lock for longer, and writes nothing, hangs.
const LOCK_DEADLINE: Duration = Duration::from_secs(5);

/// How long others may write one after another. Shorter than commands wait for the daemon's answer.
const TURN_DEADLINE: Duration = Duration::from_secs(20);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// How often a change is planned anew because somebody else saves the file meanwhile.
const MOST_TRIES: usize = 10;

/// Reads, changes and writes the file under its lock; the change sees the text that it replaces, and is made again over another one that
/// somebody saves meanwhile. A missing file has no text. A text that no daemon would take is not written; one that is written is in the
/// history. Says whether the text changed. Blocks.
pub fn rewrite(
    file: &Path,
    blank: Blank,
    history: &History,
    by: &ChangeOf,
    change: &impl TextChange,
) -> Result<bool, WriteError> {
    let chain = link_chain(file);
    let real = chain.last().map_or(file, PathBuf::as_path);
    let folder = folder_of(real);
    // One that is there is the user's own affair, whoever else may write to it.
    if !folder.is_dir() {
        create_private_dir(folder).map_err(failed("create the folder", folder))?;
    }
    let _lock = lock(real)?;
    let is_readable = read_text(real).is_ok();
    if is_readable && fs::metadata(real).is_ok_and(|found| found.permissions().readonly()) {
        // Replacing it would work, but somebody does not want that.
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(failed("write", real)(error));
    }
    let variables = process_environment();
    let surroundings = Surroundings {
        lookup: &*variables,
        folder,
    };
    // Of a person, who may have to switch something off.
    let reserve = history
        .folder()
        .filter(|_| by.author.way != ChangeWay::Agent);
    for _ in 0..MOST_TRIES {
        let before = match read_text(real) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", real)(error)),
        };
        if blank.is_accident(before.as_deref()) {
            return Err(WriteError::Accident(file.to_owned()));
        }
        let parse = |text| document::read(text).map_err(EditError::Unreadable);
        let known = parse(before.as_deref().unwrap_or_default())?;
        let after = change.edited(&known, &surroundings)?;
        let new = parse(&after)?;
        let changes = changed_values(&known, &new);
        let outcome = EditedFile {
            before: &known,
            after: &new,
            changes: &changes,
            surroundings: &surroundings,
        };
        if !change.is_written(&outcome)? || before.as_ref() == Some(&after) {
            return Ok(false);
        }
        if after.len() as u64 > LARGEST_FILE {
            // It could not be read again.
            return Err(failed("write", real)(too_large(LARGEST_FILE)));
        }
        let replaced = history.note_writing((&known, &new), changes, by, || {
            replace(real, before.as_deref(), &after, reserve)
        });
        if replaced.map_err(failed("write", real))? == Replaced::Done {
            return Ok(true);
        }
    }
    Err(WriteError::Contested(file.to_owned()))
}

fn failed(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let failed = DiskFault::of(doing, file);
    move |reason| failed(reason).into()
}

/// Takes the lock; it is let go with the returned file, also when the process dies.
fn lock(file: &Path) -> Result<File, WriteError> {
    let path = neighbour(file, ".lock");
    let lock = open_lock(&path, file).map_err(failed("open", &path))?;
    let written = || fs::metadata(file).and_then(|found| found.modified()).ok();
    let began = Instant::now();
    let (mut seen, mut since) = (written(), began);
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) => {
                let now = written();
                if now != seen {
                    (seen, since) = (now, Instant::now());
                }
                if since.elapsed() > LOCK_DEADLINE || began.elapsed() > TURN_DEADLINE {
                    return Err(WriteError::Locked(file.to_owned()));
                }
                std::thread::sleep(LOCK_RETRY);
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
    }
}

fn open_lock(path: &Path, of: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let made = private(options.write(true).create_new(true)).open(path);
    match made {
        Ok(made) => copy_owner(owner_of(of), &made).map(|()| made),
        // Whose that is stays as it is: it may be a link that another user has put there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut options = OpenOptions::new();
            private(options.write(true).create(true).truncate(false)).open(path)
        }
        Err(error) => Err(error),
    }
}
