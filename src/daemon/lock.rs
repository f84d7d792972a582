//! One daemon per data folder. The lock ends with the process, however that ends.

use std::{
    fs::File,
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::ServeError;
use crate::{config::duration, daemon_client::SOCKET, management::DaemonLocation, storage};

/// Held as long as the daemon runs.
pub(super) struct DataLock {
    file: File,
    address_file: PathBuf,
    /// The socket that is opened under this lock.
    socket: PathBuf,
}

impl DataLock {
    /// Takes the folder, or says who has it.
    pub(super) fn take(data_dir: &Path) -> Result<Self, ServeError> {
        let path = data_dir.join("lock");
        let cannot = |error: std::io::Error| {
            ServeError::failed(
                &format!("the lock {} cannot be taken", path.display()),
                &error,
            )
        };
        let mut options = File::options();
        options.read(true).write(true).create(true);
        let mut file = storage::open_private_file(&path, &mut options).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Self {
                file,
                address_file: data_dir.join("address"),
                socket: data_dir.join(SOCKET),
            }),
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The text is a courtesy; the lock is what counts.
                let _ = file.read_to_string(&mut holder);
                Err(ServeError::Taken(format!(
                    "another daemon{} serves the data folder {}; connect to that one, end it with `mcpproxy stop`, or give --data-dir",
                    if holder.trim().is_empty() {
                        String::new()
                    } else {
                        format!(" ({})", holder.trim())
                    },
                    data_dir.display()
                )))
            }
            Err(std::fs::TryLockError::Error(error)) => Err(cannot(error)),
        }
    }

    /// Writes down who serves, for people and for programs that look for the address. There is none without TCP.
    pub(super) fn note_address(&mut self, location: &DaemonLocation) {
        let url = location.url.as_deref();
        let pid = Some(format!("pid {}", std::process::id()));
        let until = location.ends_after_idle_seconds.map(Duration::from_secs);
        let until = until.map(|time| {
            let time = duration::show(time);
            format!("in the background for `mcpproxy stdio` until {time} after its last client")
        });
        let log = location.log_file.as_ref();
        let log = log.map(|log| format!("its log is {}", log.display()));
        let parts = [pid, url.map(str::to_owned), until, log]
            .into_iter()
            .flatten();
        let text = parts.collect::<Vec<_>>().join(", ");
        let noted = self
            .file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| match url {
                Some(url) => {
                    storage::write_atomically(&self.address_file, format!("{url}\n").as_bytes())
                }
                // One of a daemon that was killed would lead astray.
                None => std::fs::remove_file(&self.address_file).or_else(|error| {
                    let absent = error.kind() == std::io::ErrorKind::NotFound;
                    if absent { Ok(()) } else { Err(error) }
                }),
            });
        if let Err(error) = noted {
            tracing::warn!(%error, "the address could not be written to the data folder");
        }
    }
}

impl Drop for DataLock {
    fn drop(&mut self) {
        // Gone already, or left for the next daemon to overwrite.
        for file in [&self.address_file, &self.socket] {
            let _ = std::fs::remove_file(file);
        }
        let _ = self.file.set_len(0);
        // Closing is not enough: a child of ours that has not begun its own program yet holds the file with us.
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
        let held = take().expect("the folder is free");
        let copy = held.file.try_clone().expect("an open file");
        assert!(take().is_err(), "it is taken");
        drop(held);
        assert!(take().is_ok(), "it is free again");
        drop(copy);
    }
}
