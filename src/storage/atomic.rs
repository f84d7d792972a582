//! Atomic writes: a file is written under another name, then renamed. Each file has one such name, so that the next writer overwrites what
//! a killed one left behind.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    DataFile, FileIdentity, data_file::NEW, if_there, of_file, ownership::open_private_file,
};

/// Replaces the content of a private file (0600) as a whole or not at all.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = temporary_of(path);
    let mut file = open_temporary(&temporary).map_err(of_file(path))?;
    let mut write = || {
        // Overwritten and cut, not emptied first: a full disk may not give the freed space again.
        file.write_all(content)?;
        file.set_len(u64::try_from(content.len()).unwrap_or(u64::MAX))?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    };
    let written = write();
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(of_file(path))
}

/// [`write_atomically`] for a file that must be written even on a full disk: it may use the space of a reserve in the file's folder.
pub fn write_despite_full_disk(path: &Path, content: &[u8]) -> io::Result<()> {
    write_atomically(path, content).or_else(|error| {
        take_reserve(error, path.parent(), &temporary_of(path))?;
        write_atomically(path, content)
    })
}

/// The size of a reserve in bytes: most configurations are smaller.
const RESERVED: usize = 64 << 10;

/// Files in the data folder whose space is for what must be written even on a full disk, such as the revocation of a token. There are
/// several, because whoever fills the disk also takes the space that a used reserve frees.
fn reserves(folder: &Path) -> impl Iterator<Item = PathBuf> {
    (1..=8).map(|n| folder.join(format!("{}.{n}", DataFile::Reserve.name())))
}

/// Creates the missing reserves of a folder, as far as there is space for them.
pub fn keep_reserves(folder: &Path) {
    let mut missing = reserves(folder).filter(|reserve| !reserve.exists());
    let mut blanks = Vec::new();
    let _ = missing.try_for_each(|reserve| {
        blanks.resize(RESERVED, b' ');
        write_atomically(&reserve, &blanks)
    });
}

/// Renames a reserve of the folder to this name, to be overwritten, if the error is that of a full disk.
pub fn take_reserve(error: io::Error, folder: Option<&Path>, name: &Path) -> io::Result<()> {
    match (error.kind(), folder) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, Some(folder)) => {
            let is_taken = reserves(folder).any(|reserve| fs::rename(reserve, name).is_ok());
            is_taken.then_some(()).ok_or(error)
        }
        _ => Err(error),
    }
}

/// Removes a file, and its temporary file if a killed writer left one. A missing file is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    [path, &*temporary_of(path)]
        .into_iter()
        .try_for_each(|file| {
            let removed = if_there(fs::remove_file(file));
            removed.map(drop).map_err(of_file(file))
        })
}

/// Removes the temporary files that killed writers left behind in a folder.
pub fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for found in fs::read_dir(folder).map_err(of_file(folder))? {
        let path = found?.path();
        if !path.to_string_lossy().ends_with(NEW) {
            continue;
        }
        // A writer holds the lock of its file. What is not a private file of ours is left alone.
        let opened = open_private_file(&path, File::options().write(true));
        if opened.is_ok_and(|file| file.try_lock().is_ok() && is_still_at(&file, &path)) {
            fs::remove_file(&path).map_err(of_file(&path))?;
        }
    }
    Ok(())
}

fn temporary_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(NEW);
    path.with_file_name(name)
}

/// Opens the temporary file and locks it until it is closed.
fn open_temporary(path: &Path) -> io::Result<File> {
    loop {
        let file = open_private_file(path, File::options().write(true).create(true))?;
        file.lock()?;
        // The writer before may have renamed it meanwhile.
        if is_still_at(&file, path) {
            return Ok(file);
        }
    }
}

fn is_still_at(file: &File, path: &Path) -> bool {
    FileIdentity::of(file).is_ok_and(|identity| identity.is_at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_overwritten_or_removed() {
        let ground = tempfile::tempdir().expect("a folder");
        let path = ground.path().join("file");
        let left = temporary_of(&path);
        let leave = || fs::write(&left, "of one that was killed").expect("writable");
        leave();
        write_atomically(&path, b"whole").expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"whole");
        assert!(!left.exists());
        leave();
        remove(&path).expect("it is there");
        assert!(!path.exists() && !left.exists());
        remove(&path).expect("it is gone");

        leave();
        let other = ground.path().join("file.4711.new");
        fs::write(&other, "").expect("writable");
        fs::write(&path, "").expect("writable");
        let held = open_temporary(&left).expect("nobody has it");
        remove_unfinished(ground.path()).expect("a folder of ours");
        assert!(left.exists() && path.exists() && !other.exists());
        drop(held);
        remove_unfinished(ground.path()).expect("a folder of ours");
        assert!(!left.exists() && path.exists());
    }

    #[test]
    fn on_a_full_disk_a_reserve_is_written_over() {
        let ground = tempfile::tempdir().expect("a folder");
        let folder = ground.path();
        let (path, reserve) = (folder.join("file"), folder.join("reserve.1"));
        write_atomically(&path, b"a whole text").expect("writable");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let take = |error| take_reserve(error, Some(folder), &temporary_of(&path));
        take(full()).expect_err("there is none");
        keep_reserves(folder);
        take(io::ErrorKind::PermissionDenied.into()).expect_err("it would not help");
        let room = FileIdentity::of(&File::open(&reserve).expect("it is there"));
        take(full()).expect("it is there");
        write_atomically(&path, b"shorter").expect("writable");
        assert_eq!(fs::read(&path).expect("readable"), b"shorter");
        assert!(room.expect("a file").is_at(&path) && !reserve.exists());
        keep_reserves(folder);
        assert!(reserve.exists(), "for the next time");
    }

    #[test]
    fn writers_of_one_file_at_once_write_it_whole() {
        let ground = tempfile::tempdir().expect("a folder");
        let path = ground.path().join("file");
        std::thread::scope(|scope| {
            for writer in [b'a', b'b', b'c', b'd'] {
                let path = &path;
                scope.spawn(move || {
                    for length in 1..50 {
                        write_atomically(path, &vec![writer; length]).expect("writable");
                        let found = fs::read(path).expect("readable");
                        assert!(found.iter().all(|byte| *byte == found[0]), "{found:?}");
                    }
                });
            }
        });
    }
}
