//! How often servers are called, on disk: one small file, written every few minutes if there is something new, and at the end. Deleting
//! it is safe: servers then sleep a little sooner for an hour.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use crate::{
    storage,
    text::names::ServerName,
    upstream::worker::call_history::{CallHistory, RecordedCalls},
};

/// How often it is written.
const EVERY: Duration = Duration::from_mins(5);

/// Limit: bytes that are read of it. A thousand servers take 300 KB.
const MAX_SIZE: u64 = 4 << 20;

/// The format of the file.
const VERSION: u32 = 1;

/// What is known of every server's calls. Has one owner.
pub(super) struct UsageFile {
    file: PathBuf,
    histories: BTreeMap<ServerName, Arc<CallHistory>>,
    /// What the file says.
    written: Servers,
    due: Instant,
    writing: Option<JoinHandle<io::Result<()>>>,
}

type Servers = BTreeMap<String, RecordedCalls>;

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    servers: Servers,
}

impl UsageFile {
    /// Reads it. Blocks. What cannot be read is begun anew.
    pub(super) fn open(data_dir: &Path) -> Self {
        let file = data_dir.join("usage.json");
        let servers = read(&file).unwrap_or_else(|error| {
            tracing::warn!(file = %file.display(), %error, "how often servers were called cannot be read, and is counted anew");
            Servers::new()
        });
        let (now, wall) = (Instant::now(), wall());
        let histories = servers.iter().filter_map(|(name, recorded)| {
            let history = CallHistory::restored(recorded, now, wall);
            Some((ServerName::parse(name).ok()?, Arc::new(history)))
        });
        Self {
            file,
            histories: histories.collect(),
            written: servers,
            due: now + EVERY,
            writing: None,
        }
    }

    /// The calls of one server.
    pub(super) fn of(&mut self, server: &ServerName) -> Arc<CallHistory> {
        self.histories.entry(server.clone()).or_default().clone()
    }

    /// Forgets all servers but these.
    pub(super) fn keep(&mut self, known: &[ServerName]) {
        self.histories.retain(|name, _| known.contains(name));
    }

    /// Writes what is new, every so often. Never returns; cancel-safe.
    pub(super) async fn keep_written(&mut self) -> Infallible {
        loop {
            tokio::time::sleep_until(self.due.into()).await;
            self.write().await;
            self.due = Instant::now() + EVERY;
        }
    }

    /// Writes what is new. Cancel-safe.
    pub(super) async fn write(&mut self) {
        if self.writing.is_none() {
            let servers = self.recorded(Instant::now(), wall());
            let is_new = self.written.len() != servers.len()
                || servers.iter().any(|(name, now)| {
                    let before = self.written.get(name);
                    before.is_none_or(|before| before.total() != now.total())
                });
            if !is_new {
                return;
            }
            self.written.clone_from(&servers);
            let file = self.file.clone();
            self.writing = Some(tokio::task::spawn_blocking(move || save(&file, servers)));
        }
        let Some(writing) = &mut self.writing else {
            return;
        };
        let written = writing
            .await
            .unwrap_or_else(|panic| Err(io::Error::other(panic)));
        self.writing = None;
        if let Err(error) = written {
            self.written.clear();
            tracing::warn!(file = %self.file.display(), %error, "how often servers are called could not be written");
        }
    }

    /// Servers that were never called need no record.
    fn recorded(&self, now: Instant, wall: u64) -> Servers {
        let all = self.histories.iter();
        all.map(|(name, history)| (name.to_string(), history.recorded(now, wall)))
            .filter(|(_, recorded)| recorded.total() > 0)
            .collect()
    }
}

fn save(file: &Path, servers: Servers) -> io::Result<()> {
    let content = Content {
        version: VERSION,
        servers,
    };
    storage::write_atomically(file, &serde_json::to_vec(&content)?)
}

fn read(file: &Path) -> io::Result<Servers> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Servers::new()),
        opened => opened?,
    };
    let mut text = Vec::new();
    opened.take(MAX_SIZE).read_to_end(&mut text)?;
    let content: Content = serde_json::from_slice(&text)?;
    if content.version == VERSION {
        Ok(content.servers)
    } else {
        Err(io::Error::other("it is of another version of mcpproxy"))
    }
}

fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ServerName {
        ServerName::parse(text).expect("a name")
    }

    fn called(file: &mut UsageFile, server: &str) -> (usize, u64) {
        let frequency = file.of(&name(server)).frequency(Instant::now());
        (frequency.last_hour, frequency.total)
    }

    #[tokio::test]
    async fn calls_are_known_to_the_next_daemon() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = UsageFile::open(folder.path());
        for _ in 0..7 {
            file.of(&name("busy")).note(Instant::now());
        }
        file.of(&name("gone")).note(Instant::now());
        file.of(&name("new"));
        file.write().await;
        let mut next = UsageFile::open(folder.path());
        assert_eq!(called(&mut next, "busy"), (7, 7));
        assert_eq!(called(&mut next, "new"), (0, 0));
        next.keep(&[name("busy")]);
        next.write().await;
        let mut last = UsageFile::open(folder.path());
        assert_eq!(called(&mut last, "busy"), (7, 7));
        assert_eq!(called(&mut last, "gone"), (0, 0));
    }

    #[tokio::test]
    async fn nothing_is_written_where_nothing_is_new() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("usage.json");
        let mut file = UsageFile::open(folder.path());
        file.of(&name("a"));
        file.write().await;
        assert!(!path.exists(), "nobody was called");
        file.of(&name("a")).note(Instant::now());
        file.write().await;
        std::fs::remove_file(&path).expect("it was written");
        file.write().await;
        assert!(!path.exists(), "nobody was called since");
    }

    #[test]
    fn a_file_that_says_nothing_of_use_is_begun_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let texts = [
            "",
            "[]",
            r#"{"version":2,"servers":{}}"#,
            r#"{"version":1,"servers":{"a":{"total":-1,"recent":[]}}}"#,
            r#"{"version":1,"servers":{"no/name":{"total":5,"recent":[1]}}}"#,
        ];
        for text in texts {
            std::fs::write(folder.path().join("usage.json"), text).expect("our folder");
            let mut file = UsageFile::open(folder.path());
            assert_eq!(called(&mut file, "a"), (0, 0), "{text}");
        }
    }
}
