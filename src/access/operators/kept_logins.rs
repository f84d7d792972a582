//! Sessions of the page on disk, by their hashes, so that a restart of the daemon ends none of them. Links are never saved.

use std::{
    io,
    path::Path,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::{config::TokenHash, storage, text::moment};

/// Limit: the largest file, in bytes.
const LARGEST: u64 = 64 << 10;

/// A session on disk: when it began and was last used, in milliseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PageLogin {
    pub(super) hash: TokenHash,
    begun: u64,
    used: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    sessions: Vec<PageLogin>,
}

impl PageLogin {
    pub(super) fn of(hash: TokenHash, begun: SystemTime, used: SystemTime) -> Self {
        let [begun, used] = [begun, used].map(moment::millis);
        Self { hash, begun, used }
    }

    /// When it began and was last used; nothing if that lies in the future, because the clock was wrong.
    pub(super) fn times(&self, now: SystemTime) -> Option<(SystemTime, SystemTime)> {
        let at = |millis| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
        let (begun, used) = (at(self.begun)?, at(self.used)?);
        (begun <= used && used <= now).then_some((begun, used))
    }
}

/// The sessions in this data folder; none if the file is missing or cannot be read. Blocks.
pub(super) fn read(data_dir: &Path) -> Vec<PageLogin> {
    let text = storage::read_text(&storage::DataFile::PageLogins.within(data_dir), LARGEST)
        .unwrap_or_default();
    let stored = serde_json::from_str::<Stored>(&text).ok();
    let stored = stored.filter(|stored| stored.version == 1);
    stored.map_or_else(Vec::new, |stored| stored.sessions)
}

/// Replaces the sessions in this data folder. Blocks.
pub(super) fn write(data_dir: &Path, sessions: Vec<PageLogin>) -> io::Result<()> {
    let stored = Stored {
        version: 1,
        sessions,
    };
    storage::write_atomically(
        &storage::DataFile::PageLogins.within(data_dir),
        &serde_json::to_vec(&stored)?,
    )
}
