//! Writing the configuration file: under one lock that every mcpproxy process takes, atomically, through symbolic links.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::edit::{Change, EditError, edit_all};
use crate::storage::{belongs_as, create_private_dir, private};

/// Why the file was not written. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The change cannot be made to this text.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// Another process holds the lock and does not let go.
    #[error("another process is writing {}", .0.display())]
    Locked(PathBuf),
    /// The disk said no.
    #[error("failed to {doing} {}: {reason}", file.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// With which file.
        file: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

/// Limit: edits take milliseconds, so whoever holds the lock for longer hangs.
const LOCK_DEADLINE: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// Limit: a configuration is text that people write.
pub(super) const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// Limit: as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Makes the changes, all or none. A missing file starts as a small object. Says whether the text changed. Blocks.
pub fn write(file: &Path, changes: &[Change]) -> Result<bool, WriteError> {
    rewrite(file, |text| edit_all(text, changes))
}

/// Reads, changes and writes the file under its lock; the change sees the text that it replaces. Says whether the text
/// changed. Blocks.
pub fn rewrite(
    file: &Path,
    change: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<bool, WriteError> {
    let chain = link_chain(file);
    let real = chain.last().map_or(file, PathBuf::as_path);
    let folder = folder_of(real);
    // One that is there is the user's own affair, whoever else may write to it.
    if !folder.is_dir() {
        create_private_dir(folder).map_err(failed("create the folder", folder))?;
    }
    let _lock = lock(real)?;
    if fs::metadata(real).is_ok_and(|metadata| metadata.permissions().readonly()) {
        // Replacing it would work, but somebody does not want that.
        let error = io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only");
        return Err(failed("write", real)(error));
    }
    let before = match read_text(real) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", real)(error)),
    };
    let after = change(before.as_deref().unwrap_or_default())?;
    if before.as_ref() == Some(&after) {
        return Ok(false);
    }
    if after.len() as u64 > LARGEST_FILE {
        // It could not be read again.
        return Err(failed("write", real)(too_large()));
    }
    replace(real, &after).map_err(failed("write", real))?;
    Ok(true)
}

/// The text of a file, if it has a sane size. What is no file is refused: it is read more than once, and a pipe gives its text only
/// once, or makes its reader wait.
pub(super) fn read_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe would wait for its writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let opened = options.open(file)?;
    if !opened.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file; write the configuration into one and name that",
        ));
    }
    opened.take(LARGEST_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(too_large());
    }
    Ok(text)
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the file is larger than 16 MiB",
    )
}

/// The path, and every path its symbolic links lead to; the last one is no link, or does not exist.
pub(super) fn link_chain(file: &Path) -> Vec<PathBuf> {
    let mut chain = vec![file.to_owned()];
    for _ in 0..MOST_LINKS {
        let Some(link) = chain.last() else { break };
        let Ok(target) = fs::read_link(link) else {
            break;
        };
        chain.push(folder_of(link).join(target));
    }
    chain
}

/// The folder a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn failed(doing: &'static str, file: &Path) -> impl FnOnce(io::Error) -> WriteError {
    let file = file.to_owned();
    move |reason| WriteError::Io {
        doing,
        file,
        reason,
    }
}

/// A hidden neighbour of the file.
fn neighbour(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}{ending}"))
}

/// Takes the lock; it is let go with the returned file, also when the process dies.
fn lock(file: &Path) -> Result<File, WriteError> {
    let path = neighbour(file, ".lock");
    let lock = open_lock(&path, file).map_err(failed("open", &path))?;
    let deadline = Instant::now() + LOCK_DEADLINE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_RETRY);
            }
            Err(TryLockError::WouldBlock) => return Err(WriteError::Locked(file.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
    }
}

fn open_lock(path: &Path, of: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let made = private(options.write(true).create_new(true)).open(path);
    match made {
        Ok(made) => belongs_as(&made, owner_of(of)).map(|()| made),
        // Whose that is stays as it is: it may be a link that another user has put there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut options = OpenOptions::new();
            private(options.write(true).create(true).truncate(false)).open(path)
        }
        Err(error) => Err(error),
    }
}

/// What belongs to whoever is to have the file: it, or its folder where there is none yet.
fn owner_of(file: &Path) -> &Path {
    if file.exists() { file } else { folder_of(file) }
}

/// Puts the text where the file is in one step, with the file's mode. The caller holds the lock, so nobody else uses the
/// temporary name; one left behind by a crash is overwritten.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let temporary = neighbour(file, ".new");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write_new(&temporary, file, text).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        // The first failure is the one worth reporting.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_folder(folder_of(file));
    Ok(())
}

fn write_new(temporary: &Path, like: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    let mut out = private(&mut options).open(temporary)?;
    belongs_as(&out, owner_of(like))?;
    if let Ok(metadata) = fs::metadata(like) {
        out.set_permissions(metadata.permissions())?;
    }
    out.write_all(text.as_bytes())?;
    out.sync_all()
}

/// The rename lasts only once the folder is on disk. Some file systems cannot say so; the text is safe either way.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}
