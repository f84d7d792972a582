//! The ledger: the children of a daemon, on disk, so that the next daemon finds those that a killed one left behind.
//!
//! Each child has a file, named after the mark in its environment. One line is written before the start, with the server and the daemon,
//! and one after it, with the process. Lines are only ever appended, so a daemon killed at any point leaves a file that can be read.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use http::HeaderValue;
use serde::{Deserialize, Deserializer, Serialize};

use super::process_table;
use crate::{storage, text::names::ServerName, wire::instance::InstanceId};

/// The variable that every child carries. Its value is the name of the child's file in the ledger.
pub(super) const MARK: &str = "MCPPROXY_CHILD";

/// The mark in the environment of this process: there if a daemon started it, directly or through another program.
pub fn own_mark() -> Option<HeaderValue> {
    HeaderValue::try_from(std::env::var(MARK).ok()?).ok()
}

/// The ledger of one daemon. Clones are the same ledger.
#[derive(Debug, Clone)]
pub struct ChildLedger {
    pub(super) shared: Arc<LedgerShared>,
}

#[derive(Debug)]
pub(super) struct LedgerShared {
    pub(super) folder: PathBuf,
    /// The id of the daemon's run, with which the names of its files begin.
    pub(super) run: InstanceId,
    pub(super) daemon: DaemonRecord,
    next: AtomicU64,
}

/// Which daemon wrote an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DaemonRecord {
    /// The space of process numbers in which `pid` is valid.
    pub(super) numbering: String,
    pub(super) pid: u32,
    pub(super) start: Option<String>,
}

/// The first line of an entry. Fields are only ever added: the file may be another version's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Announced {
    #[serde(deserialize_with = "server_name")]
    pub(super) server: ServerName,
    pub(super) daemon: DaemonRecord,
    /// The program that runs its container, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) container_runtime: Option<PathBuf>,
}

/// The second line of an entry.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) pid: u32,
    pub(super) group: u32,
    pub(super) start: Option<String>,
}

impl ChildLedger {
    /// Opens the ledger in the data folder and makes its folder if need be. Reads nothing yet.
    pub fn open(data_dir: &Path) -> io::Result<Self> {
        storage::create_private_subfolder(&storage::DataFile::Children.within(data_dir))?;
        Self::existing(data_dir)
    }

    /// The same where the folder may be there. Changes nothing.
    pub(super) fn existing(data_dir: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let daemon = DaemonRecord {
            numbering: process_table::pid_namespace(),
            pid,
            start: process_table::start_of(pid),
        };
        Self::existing_as(data_dir, daemon)
    }

    pub(super) fn existing_as(data_dir: &Path, daemon: DaemonRecord) -> io::Result<Self> {
        let folder = storage::DataFile::Children.within(data_dir);
        storage::refuse_link(&folder)?;
        Ok(Self {
            shared: Arc::new(LedgerShared {
                folder,
                run: InstanceId::new(uuid::Uuid::new_v4()),
                daemon,
                next: AtomicU64::new(0),
            }),
        })
    }

    /// The id of the daemon whose ledger it is, with which the marks of its children begin.
    pub fn instance(&self) -> &InstanceId {
        &self.shared.run
    }

    /// Enters a child that is about to start. A ledger that cannot be written does not stop servers from starting: the entry
    /// then protects from nothing, and the log says so.
    pub(super) fn announce(&self, server: &ServerName, container_runtime: Option<&Path>) -> Entry {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let name = self.shared.run.mark(number);
        let path = self.shared.folder.join(&name);
        let announced = Announced {
            server: server.clone(),
            daemon: self.shared.daemon.clone(),
            container_runtime: container_runtime.map(Path::to_owned),
        };
        let mut options = File::options();
        options.append(true).create_new(true);
        let written = storage::open_private_file(&path, &mut options).and_then(|mut file| {
            append(&mut file, &announced)?;
            Ok(file)
        });
        if let Err(error) = &written {
            tracing::warn!(%server, path = %path.display(), error = %storage::in_words(error), "the ledger of child processes cannot be written");
        }
        Entry {
            name,
            path,
            file: written.ok(),
        }
    }
}

/// A child's place in the ledger. It stays on disk until it is cleared, even if this value is lost.
pub(super) struct Entry {
    name: String,
    path: PathBuf,
    file: Option<File>,
}

impl Entry {
    /// The value of [`MARK`] for this child.
    pub(super) fn mark(&self) -> &str {
        &self.name
    }

    /// Adds the process that was started. It leads its group.
    pub(super) fn record(&mut self, pid: u32) {
        let started = Started {
            pid,
            group: pid,
            start: process_table::start_of(pid),
        };
        if let Some(Err(error)) = self.file.as_mut().map(|file| append(file, &started)) {
            tracing::warn!(pid, path = %self.path.display(), error = %storage::in_words(&error), "the ledger of child processes cannot be written");
        }
        self.file = None;
    }

    /// Removes the entry: the child's group is gone, or the child never started.
    pub(super) fn clear(self) {
        remove(&self.path);
    }
}

/// Removes an entry's file.
pub(super) fn remove(path: &Path) {
    if let Err(error) = storage::if_there(fs::remove_file(path)) {
        tracing::warn!(path = %path.display(), error = %storage::in_words(&error), "an entry of the ledger of child processes cannot be removed");
    }
}

/// Reads an entry; nothing if not even its first line is whole.
pub(super) fn parse(text: &str) -> Option<(Announced, Option<Started>)> {
    let mut lines = text.lines();
    let announced = serde_json::from_str(lines.next()?).ok()?;
    let started = lines
        .next()
        .and_then(|line| serde_json::from_str(line).ok());
    Some((announced, started))
}

fn server_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ServerName, D::Error> {
    let text = String::deserialize(deserializer)?;
    ServerName::parse(&text).map_err(serde::de::Error::custom)
}

/// One line in one write, so that being killed does not cut it.
fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

/// Reads an entry that is ours; another user's could name any process.
pub(super) fn read(path: &Path) -> io::Result<String> {
    storage::open_private_file(path, File::options().read(true)).and_then(io::read_to_string)
}
