//! Replaces the text of the file only if it is still the text that was read. Editors take no lock, so another program may save the file
//! between our reading and our writing; its text must not be lost.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::file::{folder_of, read_text};
use crate::storage::{if_there, make_like, private, read, take_reserve};

/// The result of replacing the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    /// The file has the new text.
    Done,
    /// The file had another text than expected, and still has it.
    Changed,
}

/// Replaces the text `before` by `after` in one step, and keeps the file's mode; nothing is the text of a file that does not exist. The
/// caller holds the lock, so nobody else uses the temporary name. On a full disk a reserve in the folder `reserve` is used, if one is
/// given.
pub(super) fn replace(
    file: &Path,
    before: Option<&str>,
    after: &str,
    reserve: Option<&Path>,
) -> io::Result<Replaced> {
    let temporary = neighbour(file, ".new");
    if_there(fs::remove_file(&temporary))?;
    let written = write_new(&temporary, file, after).or_else(|error| {
        take_reserve(error, reserve, &temporary)?;
        let over = OpenOptions::new().write(true).open(&temporary)?;
        write_into(over, file, after)
    });
    let moved = written.and_then(|()| exchange(&temporary, file, before));
    let replaced = match moved {
        Ok(Moved::Over) => {
            put_back(&temporary, file, after)?;
            Ok(Replaced::Changed)
        }
        Ok(Moved::Done) => Ok(Replaced::Done),
        Ok(Moved::Not) => Ok(Replaced::Changed),
        Err(error) => Err(error),
    };
    // A failure to remove it is not reported: the next write overwrites it.
    let _ = fs::remove_file(&temporary);
    replaced
}

/// Where the new text is after the exchange.
enum Moved {
    /// In the file.
    Done,
    /// In the file, but the temporary file has a text that another program saved meanwhile.
    Over,
    /// Still in the temporary file.
    Not,
}

/// The path of a hidden file beside the file.
pub(super) fn neighbour(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}{ending}"))
}

fn write_new(temporary: &Path, like: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    write_into(private(&mut options).open(temporary)?, like, text)
}

fn write_into(mut out: File, like: &Path, text: &str) -> io::Result<()> {
    make_like(&out, like)?;
    out.write_all(text.as_bytes())?;
    out.set_len(u64::try_from(text.len()).unwrap_or(u64::MAX))?;
    out.sync_all()
}

/// Whether a file has this text. One that cannot be read has another.
fn says(file: &Path, text: Option<&str>) -> bool {
    if_there(read_text(file)).is_ok_and(|found| found.as_deref() == text)
}

/// Exchanges the two files, and checks that the old one had the expected text.
fn exchange(temporary: &Path, file: &Path, before: Option<&str>) -> io::Result<Moved> {
    if !says(file, before) {
        return Ok(Moved::Not);
    }
    let moved = match before {
        Some(_) => swap::exchange(temporary, file),
        None => swap::put_new(temporary, file),
    };
    // A crash could undo the rename until the folder is on disk.
    let sync = || sync_folder(folder_of(file));
    match moved {
        Ok(()) if before.is_none() => sync(),
        Ok(()) => {
            let is_same = says(temporary, before);
            sync();
            // A program that had the old file open may have written to it since.
            if !is_same || !says(temporary, before) {
                return Ok(Moved::Over);
            }
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            fs::rename(temporary, file)?;
            sync();
        }
        // The file was created or removed meanwhile.
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

/// Puts the text in `temporary`, which another program saved, back into the file; and so the text of a later save, until none comes.
fn put_back(temporary: &Path, file: &Path, ours: &str) -> io::Result<()> {
    let mut given = ours.as_bytes().to_vec();
    loop {
        let save = read(temporary, u64::MAX).unwrap_or_default();
        match swap::exchange(temporary, file) {
            Ok(()) => (),
            // The file was removed meanwhile.
            Err(_) => return fs::rename(temporary, file),
        }
        if read(temporary, u64::MAX).is_ok_and(|out| out == given) {
            return Ok(());
        }
        given = save;
    }
}

/// Writes the entries of a folder to the disk. Some file systems cannot; the text itself is already on the disk.
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

    /// Exchanges two files.
    pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<()> {
        moved(one, other, RenameFlags::EXCHANGE)
    }

    /// Renames a file to a name that is free.
    pub(super) fn put_new(from: &Path, to: &Path) -> io::Result<()> {
        moved(from, to, RenameFlags::NOREPLACE)
    }

    fn moved(from: &Path, to: &Path, how: RenameFlags) -> io::Result<()> {
        renameat_with(CWD, from, CWD, to, how).map_err(|error| match error {
            // The file system cannot do this.
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
