//! Writes the configuration file: atomically, through symbolic links, and under a lock that every mcpproxy process takes.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Blank, ChangeOf, ChangeWay, ConfigError, EditError, EditedFile, History, TextChange, document,
    file::{LARGEST_FILE, folder_of, link_chain},
    history::changed_values,
    load_error::lost,
    process_environment, read_text,
    replace::{Replaced, neighbour, replace},
    source::surroundings,
};
use crate::storage::{DiskFault, copy_owner, create_private_dir, if_there, private, too_large};

/// Why the file was not written. It is unchanged then.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The change cannot be made to this text.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file has mistakes, or would have them.
    #[error("nothing was changed: the configuration {} cannot be used: {}", .0.display(), .1)]
    Unusable(PathBuf, ConfigError),
    /// It is empty or missing, and was not before: a new text would lack what is lost.
    #[error("nothing was changed: {}", lost(.0))]
    Accident(PathBuf),
    /// Another program saves it again and again, or holds the lock for too long.
    #[error("another program is changing the configuration {}", .0.display())]
    Contested(PathBuf),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskFault),
}

/// How long to wait for the lock while the file does not change: edits take milliseconds, so its holder hangs.
const LOCK_DEADLINE: Duration = Duration::from_secs(5);

/// How long to wait for the lock while other processes write one after another. Commands wait longer than this for the daemon's answer.
const TURN_DEADLINE: Duration = Duration::from_secs(20);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// How often a change is made again because another program saved the file meanwhile.
const MOST_TRIES: usize = 10;

/// Reads, changes and writes the file under its lock. If another program saves the file meanwhile, the change is made again to its text. A
/// text that no daemon could use is not written. A written change is in the history. Says whether the text changed. Blocks.
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
    // An existing folder is the user's: it stays as it is, whoever may write to it.
    if !folder.is_dir() {
        create_private_dir(folder).map_err(failed("create the folder", folder))?;
    }
    let _lock = lock(real)?;
    let is_readable = read_text(real).is_ok();
    if is_readable && fs::metadata(real).is_ok_and(|found| found.permissions().readonly()) {
        // Replacing it would work, but the user does not want it changed.
        let error = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(failed("write", real)(error));
    }
    let variables = process_environment();
    let surroundings = surroundings(real, &variables);
    // On a full disk a person may have to disable a server; an agent's change can wait.
    let reserve = history
        .folder()
        .filter(|_| by.author.way != ChangeWay::Agent);
    for _ in 0..MOST_TRIES {
        let before = if_there(read_text(real)).map_err(failed("read", real))?;
        if blank.is_accident(before.as_deref()) {
            return Err(WriteError::Accident(file.to_owned()));
        }
        let unusable = |why| WriteError::Unusable(file.to_owned(), why);
        let parse = |text| document::read(text).map_err(unusable);
        let refused = |error| match error {
            EditError::Unreadable(why) => unusable(why),
            error => error.into(),
        };
        let known = parse(before.as_deref().unwrap_or_default())?;
        let after = change.edited(&known, &surroundings).map_err(refused)?;
        let new = parse(&after)?;
        let changes = changed_values(&known, &new);
        let outcome = EditedFile {
            before: &known,
            after: &new,
            changes: &changes,
            surroundings: &surroundings,
        };
        let is_written = change.is_written(&outcome).map_err(refused)?;
        if !is_written || before.as_ref() == Some(&after) {
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

/// Takes the lock. It is released when the returned file is dropped, or the process ends.
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
                    return Err(WriteError::Contested(file.to_owned()));
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
        Ok(made) => copy_owner(of, &made).map(|()| made),
        // An existing file keeps its owner: it may be a link that another user has created.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut options = OpenOptions::new();
            private(options.write(true).create(true).truncate(false)).open(path)
        }
        Err(error) => Err(error),
    }
}
