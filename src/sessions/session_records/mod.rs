//! What is kept on disk of clients' sessions, so that they outlive the daemon: which ids must not be continued, and small contents of
//! those that have more to remember than their id says. Knows ids by digests only, and nothing of what the contents mean.

mod ended;
mod files;
mod kept;
mod queue;
mod task;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::time::timeout;

pub use self::task::SessionRecordsTask;
use self::{
    ended::EndedIds,
    files::RecordFiles,
    kept::KeptIndex,
    queue::{SessionAction, SessionCommands},
};
use crate::runtime::sync::Guarded;

/// How long anybody waits for the disk. What was commanded is still done.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(2);

/// For how long a session can be continued after its id was given, in seconds: a week, so that a holiday of a few days is no reason to
/// begin anew, and what is kept does not pile up.
pub const LIFETIME: u32 = 7 * 24 * 60 * 60;

/// An id as it is known here: nobody can use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionDigest([u8; 16]);

impl SessionDigest {
    /// Of this id.
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

/// An id, and until when it would be worth something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedSession {
    /// The id.
    pub digest: SessionDigest,
    /// In seconds since 1970.
    pub expires: u32,
}

/// What is to be kept of a session when its turn comes; `None` if nothing is. Does not block.
pub type Content = Box<dyn FnOnce() -> Option<Vec<u8>> + Send>;

/// What is kept of sessions. Cheap to clone; without a data folder it remembers what has ended, and nothing more.
#[derive(Clone, Default)]
pub struct SessionRecords(Arc<Shared>);

#[derive(Default)]
struct Shared {
    data_dir: Option<PathBuf>,
    origin: [u8; 8],
    ended: Guarded<EndedIds>,
    kept: Guarded<KeptIndex>,
    /// Without a data folder there are none.
    commands: Option<Arc<SessionCommands>>,
}

impl SessionRecords {
    /// Opens what is in this data folder. What is damaged is set aside.
    pub fn open(data_dir: &Path) -> io::Result<(Self, SessionRecordsTask)> {
        let (files, ended, kept) = RecordFiles::open(&folder(data_dir), now())?;
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

    /// Marks this data folder.
    pub fn origin(&self) -> [u8; 8] {
        self.0.origin
    }

    /// Whether an id must not be continued: it has ended here, or one that lasted as long may have.
    pub fn has_ended(&self, session: RecordedSession) -> bool {
        self.0.ended.lock().contains(session)
    }

    /// From this call on the id must not be continued, and when the future is done not after a restart either.
    pub fn end(&self, session: RecordedSession) -> impl Future<Output = ()> + Send + use<> {
        let is_news = self.0.ended.lock().insert(session);
        let ending = is_news.then(|| self.send(session, SessionAction::End));
        async move {
            if let Some(ending) = ending {
                ending.await;
            }
        }
    }

    /// Keeps what there is to be kept of a session, in place of what was kept before. It is on disk when this returns. What cannot be
    /// kept ends the id: a session must not be continued with half of what it agreed on.
    pub async fn keep(&self, session: RecordedSession, content: Content) {
        if !self.has_ended(session) {
            self.send(session, SessionAction::Keep(content)).await;
        }
    }

    /// What is kept of a session, if anything is. An error where it cannot be read; it was set aside then.
    pub async fn kept(&self, session: RecordedSession) -> io::Result<Option<Vec<u8>>> {
        let is_kept = self.0.kept.lock().has(session.digest);
        let Some(data_dir) = self.0.data_dir.as_deref().filter(|_| is_kept) else {
            return Ok(None);
        };
        let file = kept::file(&folder(data_dir), session);
        let read = tokio::task::spawn_blocking(move || kept::read(&file));
        read.await.map_err(io::Error::other)?.map(Some)
    }

    /// What is kept of this session makes no sense.
    pub async fn set_aside(&self, session: RecordedSession) {
        if let Some(data_dir) = self.0.data_dir.as_deref() {
            let file = kept::file(&folder(data_dir), session);
            let aside = tokio::task::spawn_blocking(move || kept::set_aside(&file));
            // It logged itself what it did.
            let _ = aside.await;
        }
        self.0.kept.lock().remove(session.digest);
    }

    /// Sends a command; the future waits for it.
    fn send(
        &self,
        of: RecordedSession,
        action: SessionAction,
    ) -> impl Future<Output = ()> + Send + use<> {
        let commands = self.0.commands.as_ref();
        let sent = commands.map(|commands| commands.add(of, action));
        async move {
            let Some(done) = sent else { return };
            // Its sender is dropped when the command is carried out, and where nobody carries out any.
            if timeout(CONFIRM_TIMEOUT, done).await.is_err() {
                tracing::warn!("disk is slow; session data waits");
            }
        }
    }
}

/// Now, in seconds since 1970.
pub fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("sessions")
}
