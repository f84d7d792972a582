//! The log file of a daemon without a terminal: of bounded size, with one older file beside it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::storage::{self, FileIdentity};

/// The size in bytes at which the file is renamed to `NAME.1`.
const ROTATE_AT: u64 = 5 << 20;

/// The file, open for appending.
pub(super) struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    rotate_at: u64,
    is_stderr: bool,
}

impl Rotating {
    /// Opens the file and makes it the stderr of the process, so that it also gets what does not go through the log, such as panics.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut opened = Self::open_with(path, ROTATE_AT)?;
        become_stderr(&opened.file)?;
        opened.is_stderr = true;
        Ok(opened)
    }

    fn open_with(path: &Path, rotate_at: u64) -> io::Result<Self> {
        // A bare name has an empty parent. A folder that exists is left as it is: it may be shared, as `/var/log` is.
        let is_missing = |folder: &&Path| {
            let found = fs::symlink_metadata(folder);
            !folder.as_os_str().is_empty() && !found.is_ok_and(|found| found.is_dir())
        };
        if let Some(folder) = path.parent().filter(is_missing) {
            storage::create_private_subfolder(folder)?;
        }
        let file = storage::append_to_private_file(path)?;
        let size = file.metadata()?.len();
        Ok(Self {
            path: path.to_owned(),
            file,
            size,
            rotate_at,
            is_stderr: false,
        })
    }

    fn reopen(&mut self) -> io::Result<()> {
        let next = Self::open_with(&self.path, self.rotate_at)?;
        (self.file, self.size) = (next.file, next.size);
        if self.is_stderr {
            become_stderr(&self.file)?;
        }
        Ok(())
    }
}

/// Whether the file was moved or removed, as `logrotate` does. If its folder is gone, no new file is wanted.
fn is_moved(path: &Path, file: &File) -> bool {
    let has_folder = |folder: &Path| folder.as_os_str().is_empty() || folder.is_dir();
    FileIdentity::of(file).is_ok_and(|own| !own.is_at(path))
        && path.parent().is_some_and(has_folder)
}

impl Write for Rotating {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        if is_moved(&self.path, &self.file) {
            // If that fails the lines go to the moved file, which is better than losing them.
            let _ = self.reopen();
        }
        if self.size > 0 && self.size + lines.len() as u64 > self.rotate_at {
            // If that fails the file grows beyond its size, which is better than losing lines.
            let _ = storage::rotate(&self.path, 1).and_then(|()| self.reopen());
        }
        let written = self.file.write(lines)?;
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(unix)]
fn become_stderr(file: &File) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stderr(file)?)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the unix sibling can fail")]
fn become_stderr(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::Rotating;

    #[cfg(unix)]
    #[test]
    fn the_folder_of_a_log_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let shared = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), shared).expect("ours");
        Rotating::open_with(&folder.path().join("x.log"), 8).expect("writable");
        let mode = fs::metadata(folder.path()).expect("a folder").permissions();
        assert_eq!(mode.mode() & 0o777, 0o755);
    }

    #[test]
    fn a_full_file_is_renamed_and_one_of_them_is_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("logs").join("daemon.log");
        let read = |name| fs::read_to_string(folder.path().join("logs").join(name));
        let open = || Rotating::open_with(&path, 8).expect("writable");
        let mut log = open();
        for line in ["111\n", "222\n", "333\n", "444\n"] {
            log.write_all(line.as_bytes()).expect("writable");
        }
        assert_eq!(read("daemon.log").expect("a file"), "333\n444\n");
        assert_eq!(read("daemon.log.1").expect("a file"), "111\n222\n");
        // What is there counts when it is opened again.
        open().write_all(b"5\n").expect("writable");
        assert_eq!(read("daemon.log").expect("a file"), "5\n");
        assert_eq!(read("daemon.log.1").expect("a file"), "333\n444\n");
    }

    #[test]
    fn a_file_that_was_moved_away_is_followed_by_a_new_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("daemon.log");
        let mut log = Rotating::open_with(&path, 8).expect("writable");
        log.write_all(b"1111\n").expect("writable");
        fs::remove_file(&path).expect("a file");
        log.write_all(b"2222\n").expect("writable");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "2222\n");
        fs::rename(&path, folder.path().join("daemon.log.1")).expect("a file");
        fs::write(&path, "").expect("writable");
        log.write_all(b"3333\n").expect("writable");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "3333\n");
    }
}
