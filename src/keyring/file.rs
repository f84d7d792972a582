//! The private file of secrets, for machines without a keyring: a JSON object in the data folder that only its owner can read (0600).

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;

use super::error::KeyringError;
use crate::{storage, text::secret::Secret};

/// The only version of the format so far.
const VERSION: u32 = 1;

/// How long to wait for the lock: a change takes milliseconds, so its holder hangs.
const LOCK_DEADLINE: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// Limit: bytes of the file; more are not read.
const LARGEST: u64 = 16 << 20;

/// The file of one data folder. It need not exist.
#[derive(Clone)]
pub(super) struct SecretsFile {
    folder: PathBuf,
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Written {
    version: u32,
    secrets: BTreeMap<String, String>,
}

impl SecretsFile {
    pub(super) fn in_folder(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.to_owned(),
            path: storage::DataFile::Secrets.within(data_dir),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all secrets.
    pub(super) fn read(&self) -> Result<BTreeMap<String, Secret>, KeyringError> {
        let read = storage::read_private_file(&self.path, LARGEST);
        let text = match read.map(String::from_utf8) {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return Err(self.damaged("is damaged: it is not text")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(self.failed("read", &error)),
        };
        // Only the place: the parser's error could contain a part of a secret.
        let written: Written =
            serde_json::from_str(&text).map_err(|error| match error.classify() {
                Category::Syntax => {
                    let place = match (error.line(), error.column()) {
                        // A string goes beyond its line.
                        (line, 0) => format!("the end of line {}", line.saturating_sub(1)),
                        (line, column) => format!("line {line}, column {column}"),
                    };
                    self.damaged(&format!("is damaged: no valid JSON at {place}"))
                }
                Category::Eof => self.damaged("is damaged: it ends too early"),
                Category::Data | Category::Io => {
                    self.damaged("is damaged: it does not have the form that mcpproxy writes")
                }
            })?;
        if written.version != VERSION {
            let (version, file) = (written.version, self.path.display());
            let what = format!(
                "the secrets in {file} cannot be read: a newer mcpproxy wrote them (version {version})"
            );
            let step = format!("update mcpproxy, or move {file} away and store each secret again");
            return Err(KeyringError::Disk(what, step));
        }
        let secrets = written.secrets.into_iter();
        Ok(secrets
            .map(|(name, value)| (name, Secret::new(value)))
            .collect())
    }

    /// Removes a secret, and says whether it was there.
    pub(super) fn remove(&self, name: &str) -> Result<bool, KeyringError> {
        if !self.path.exists() {
            let removed = storage::remove(&self.path);
            return removed
                .map(|()| false)
                .map_err(|error| self.failed("write", &error));
        }
        self.change(|secrets| secrets.remove(name).is_some())
    }

    /// Changes the secrets under the lock. The file is replaced as a whole or not at all.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, Secret>) -> T,
    ) -> Result<T, KeyringError> {
        let io_failed = |error: io::Error| self.failed("write", &error);
        storage::create_private_dir(&self.folder).map_err(io_failed)?;
        let _lock = self.lock().map_err(io_failed)?;
        let mut secrets = self.read()?;
        let changed = change(&mut secrets);
        let plain = secrets.iter();
        let written = Written {
            version: VERSION,
            secrets: plain
                .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
                .collect(),
        };
        let text = serde_json::to_string_pretty(&written)
            .map_err(|error| self.failed("write", &error.into()))?;
        storage::write_atomically(&self.path, text.as_bytes()).map_err(io_failed)?;
        Ok(changed)
    }

    fn lock(&self) -> io::Result<File> {
        let file = storage::open_to_change(&storage::DataFile::SecretsLock.within(&self.folder))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if begun.elapsed() > LOCK_DEADLINE => {
                    let why = "another process is writing to it";
                    return Err(io::Error::new(io::ErrorKind::WouldBlock, why));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY),
            }
        }
    }

    fn failed(&self, doing: &str, error: &io::Error) -> KeyringError {
        let (file, why) = (self.path.display(), storage::in_words(error));
        let what = format!("failed to {doing} {file}: {why}");
        let step = match error.kind() {
            io::ErrorKind::WouldBlock => format!(
                "end the process that locks {}, then try again",
                storage::DataFile::SecretsLock
                    .within(&self.folder)
                    .display()
            ),
            _ => storage::disk_step(&self.path, error),
        };
        KeyringError::Disk(what, step)
    }

    fn damaged(&self, why: &str) -> KeyringError {
        let file = self.path.display();
        KeyringError::Damaged(format!(
            "the secrets in {file} cannot be read: the file {why}"
        ))
    }
}
