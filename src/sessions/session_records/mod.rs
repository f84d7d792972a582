//! Records of clients' sessions on disk, so that sessions outlive the daemon: which ids must not be continued, and a small content for each
//! session that needs more than its id holds. Knows ids by their digests only, and does not interpret contents.

mod ended;
mod files;
mod kept;
mod queue;
mod task;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::timeout;

pub use self::task::SessionRecordsTask;
use self::{
    ended::EndedIds,
    files::RecordFiles,
    kept::KeptIndex,
    queue::{SessionAction, SessionCommands},
};
use crate::{runtime::sync::Guarded, storage::DataFile, text::moment};

const FOLDER: DataFile = DataFile::Sessions;

/// How long a caller waits for the disk. The command is carried out all the same.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a session can be continued after its id was given, in seconds: a week, so that sessions survive a few days off, and records do
/// not pile up.
pub const LIFETIME: u32 = 7 * 24 * 60 * 60;

/// The digest of a session id, which cannot be used in place of the id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionDigest([u8; 16]);

impl SessionDigest {
    /// The digest of this id.
    pub fn of(id: &str) -> Self {
        let hash = blake3::hash(id.as_bytes());
        let first = hash.as_bytes().first_chunk();
        Self(*first.expect("a hash is longer"))
    }
}

impl fmt::Display for SessionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SessionDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A session id and its expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedSession {
    /// The digest of the id.
    pub digest: SessionDigest,
    /// In seconds since 1970.
    pub expires: u32,
}

/// Gives the content to store for a session when it is written; `None` if there is nothing to store. Must not block.
pub type Content = Box<dyn FnOnce() -> Option<Vec<u8>> + Send>;

/// The records of sessions. Cheap to clone. Without a data folder it only remembers which sessions ended.
#[derive(Clone, Default)]
pub struct SessionRecords(Arc<Shared>);

#[derive(Default)]
struct Shared {
    data_dir: Option<PathBuf>,
    origin: [u8; 8],
    ended: Guarded<EndedIds>,
    kept: Guarded<KeptIndex>,
    /// To the task that writes; `None` without a data folder.
    commands: Option<Arc<SessionCommands>>,
}

impl SessionRecords {
    /// Opens the records in this data folder. Damaged files are set aside.
    pub fn open(data_dir: &Path) -> io::Result<(Self, SessionRecordsTask)> {
        let (files, ended, kept) = RecordFiles::open(&FOLDER.within(data_dir), now())?;
        let commands = Arc::new(SessionCommands::default());
        let records = Self(Arc::new(Shared {
            data_dir: Some(data_dir.to_owned()),
            origin: files.origin(),
            ended: Guarded::new(ended),
            kept: Guarded::new(kept),
            commands: Some(commands.clone()),
        }));
        let task = SessionRecordsTask::new(records.clone(), files, commands);
        Ok((records, task))
    }

    /// Identifies this data folder.
    pub fn origin(&self) -> [u8; 8] {
        self.0.origin
    }

    /// Whether a session must not be continued: it has ended, or its record may be lost.
    pub fn has_ended(&self, session: RecordedSession) -> bool {
        self.0.ended.lock().contains(session)
    }

    /// Ends a session: at once for this daemon, and when the future is done also after a restart.
    pub fn end(&self, session: RecordedSession) -> impl Future<Output = ()> + Send + use<> {
        let is_news = self.0.ended.lock().insert(session);
        let ending = is_news.then(|| self.send(session, SessionAction::End));
        async move {
            if let Some(ending) = ending {
                ending.await;
            }
        }
    }

    /// Stores the content of a session in place of the one before. It is on disk when this returns. If it cannot be stored the id is recorded
    /// as ended: a session must not be continued with half of what was agreed.
    pub async fn keep(&self, session: RecordedSession, content: Content) {
        if !self.has_ended(session) {
            self.send(session, SessionAction::Keep(content)).await;
        }
    }

    /// The stored content of a session, if there is one. An error if it cannot be read.
    pub async fn kept(&self, session: RecordedSession) -> io::Result<Option<Vec<u8>>> {
        let is_kept = self.0.kept.lock().has(session.digest);
        let Some(data_dir) = self.0.data_dir.as_deref().filter(|_| is_kept) else {
            return Ok(None);
        };
        let file = kept::file(&FOLDER.within(data_dir), session);
        let read = tokio::task::spawn_blocking(move || kept::read(&file));
        read.await.map_err(io::Error::other)?.map(Some)
    }

    /// Sets aside the content of a session, because it makes no sense.
    pub async fn set_aside(&self, session: RecordedSession) {
        if let Some(data_dir) = self.0.data_dir.as_deref() {
            let file = kept::file(&FOLDER.within(data_dir), session);
            let aside = tokio::task::spawn_blocking(move || kept::set_aside(&file));
            // It logs its outcome itself.
            let _ = aside.await;
        }
        self.0.kept.lock().remove(session.digest);
    }

    /// Queues a command. The future waits until it is carried out, within bounds.
    fn send(
        &self,
        of: RecordedSession,
        action: SessionAction,
    ) -> impl Future<Output = ()> + Send + use<> {
        let commands = self.0.commands.as_ref();
        let sent = commands.map(|commands| commands.add(of, action));
        async move {
            let Some(done) = sent else { return };
            // Its sender is dropped when the command is carried out, or when the task has ended.
            if timeout(CONFIRM_TIMEOUT, done).await.is_err() {
                tracing::warn!("disk is slow; session data waits");
            }
        }
    }
}

/// Now, in seconds since 1970.
pub fn now() -> u32 {
    let seconds = moment::millis(SystemTime::now()) / 1_000;
    u32::try_from(seconds).unwrap_or(u32::MAX)
}
