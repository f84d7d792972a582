//! Putting a new text in the place of the one that it was made from, and of no other: whoever edits the file takes no lock, and a save
//! between our reading and our writing stays.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::file::{folder_of, read_text};
use crate::storage::{copy_owner, private, take_reserve};

/// What became of the new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    /// It is in the file.
    Done,
    /// Another text was there than the one that it was made from, and is there still.
    Changed,
}

/// Puts `after` where `before` is, in one step, with the file's mode; nothing is the text of a file that is not there. The caller holds
/// the lock, so nobody else uses the temporary name; one left behind by a crash is overwritten. On a full disk the room of the reserve in
/// this folder is taken, if one is given.
pub(super) fn replace(
    file: &Path,
    before: Option<&str>,
    after: &str,
    reserve: Option<&Path>,
) -> io::Result<Replaced> {
    let temporary = neighbour(file, ".new");
    remove(&temporary)?;
    let written = write_new(&temporary, file, after).or_else(|error| {
        take_reserve(error, reserve, &temporary)?;
        let over = OpenOptions::new().write(true).open(&temporary)?;
        write_into(over, file, after)
    });
    let moved = written.and_then(|()| exchange(&temporary, file, before));
    let replaced = match moved {
        Ok(Moved::Over) => put_back(&temporary, file, after).map(|()| Replaced::Changed)?,
        Ok(Moved::Done) => Replaced::Done,
        Ok(Moved::Not) => Replaced::Changed,
        Err(error) => {
            // The first failure is the one worth reporting.
            let _ = remove(&temporary);
            return Err(error);
        }
    };
    // It is overwritten by the next one.
    let _ = remove(&temporary);
    Ok(replaced)
}

/// Where the new text is.
enum Moved {
    /// In the file.
    Done,
    /// In the file, and what came out is what somebody saved.
    Over,
    /// In the temporary file still.
    Not,
}

/// A hidden neighbour of the file.
pub(super) fn neighbour(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}{ending}"))
}

/// What belongs to whoever is to have the file: it, or its folder where there is none yet.
pub(super) fn owner_of(file: &Path) -> &Path {
    if file.exists() { file } else { folder_of(file) }
}

fn remove(temporary: &Path) -> io::Result<()> {
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn write_new(temporary: &Path, like: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    write_into(private(&mut options).open(temporary)?, like, text)
}

fn write_into(mut out: File, like: &Path, text: &str) -> io::Result<()> {
    copy_owner(owner_of(like), &out)?;
    if let Ok(metadata) = fs::metadata(like) {
        out.set_permissions(metadata.permissions())?;
    }
    out.write_all(text.as_bytes())?;
    out.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    out.sync_all()
}

/// Whether a file has this text; one that cannot be read has another.
fn says(file: &Path, text: Option<&str>) -> bool {
    match read_text(file) {
        Ok(found) => text == Some(&*found),
        Err(error) => text.is_none() && error.kind() == io::ErrorKind::NotFound,
    }
}

/// The two files change places, and what comes out is looked at.
fn exchange(temporary: &Path, file: &Path, before: Option<&str>) -> io::Result<Moved> {
    if !says(file, before) {
        return Ok(Moved::Not);
    }
    let moved = match before {
        Some(_) => swap::exchange(temporary, file),
        None => swap::put_new(temporary, file),
    };
    // The rename lasts only once the folder is on disk.
    let sync = || sync_folder(folder_of(file));
    match moved {
        Ok(()) if before.is_none() => sync(),
        Ok(()) => {
            let is_same = says(temporary, before);
            sync();
            // Whoever had it open may have written into it since.
            if !is_same || !says(temporary, before) {
                return Ok(Moved::Over);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            fs::rename(temporary, file)?;
            sync();
        }
        // It has come, or gone.
        Err(error) if is_other_file(&error) => return Ok(Moved::Not),
        Err(error) => return Err(error),
    }
    Ok(Moved::Done)
}

fn is_other_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
    )
}

/// Puts the save in `temporary` back into the file, and so a later one that comes out in its place.
fn put_back(temporary: &Path, file: &Path, ours: &str) -> io::Result<()> {
    let mut given = ours.as_bytes().to_vec();
    loop {
        let save = fs::read(temporary).unwrap_or_default();
        match swap::exchange(temporary, file) {
            Ok(()) => (),
            // The file is gone meanwhile.
            Err(_) => return fs::rename(temporary, file),
        }
        if fs::read(temporary).is_ok_and(|out| out == given) {
            return Ok(());
        }
        given = save;
    }
}

/// Some file systems cannot; the text is safe either way.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod swap {
    use std::{io, path::Path};

    use rustix::{
        fs::{CWD, RenameFlags, renameat_with},
        io::Errno,
    };

    /// Has two files change places.
    pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
        moved(one, other, RenameFlags::EXCHANGE)
    }

    /// Renames a file to a name that is free.
    pub(super) fn put_new(from: &Path, to: &Path) -> io::Result<()> {
        moved(from, to, RenameFlags::NOREPLACE)
    }

    fn moved(from: &Path, to: &Path, how: RenameFlags) -> io::Result<()> {
        renameat_with(CWD, from, CWD, to, how).map_err(|error| match error {
            // The file system knows no such thing.
            Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => io::ErrorKind::Unsupported.into(),
            error => error.into(),
        })
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod swap {
    use std::{io, path::Path};

    pub(super) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn put_new(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
