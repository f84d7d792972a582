//! The data folder: made, and looked at before anything is done in it. What others find a running daemon by is kept there: the lock, the
//! address, and its keys. Where somebody removes them, or the folder, they are written again; the socket sees to itself.

use std::{io, path::Path, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::lock::{DataLock, LockState};
use crate::{log_limit::LogLimit, sealing::KeptKey, storage, sync::Guarded};

/// How often it is looked whether they are still there.
const LOOK: Duration = Duration::from_secs(5);

/// Our own folders in it.
const FOLDERS: &[&str] = &[
    "approvals",
    "catalog",
    "children",
    "logins",
    "logs",
    "reviews",
    "sessions",
];

/// Makes the folder. One in which a folder of ours leads elsewhere is refused, before anything is read or written there.
pub(super) fn prepare(data_dir: &Path) -> io::Result<()> {
    storage::create_private_dir(data_dir)?;
    let mut folders = FOLDERS.iter().map(|name| data_dir.join(name));
    folders.try_for_each(|folder| storage::refuse_link(&folder))
}

/// The files. Cheap to clone.
#[derive(Clone)]
pub(super) struct FolderFiles(Arc<Parts>);

struct Parts {
    lock: Guarded<DataLock>,
    /// Without those that the settings have.
    keys: Vec<KeptKey>,
    lines: LogLimit,
}

impl FolderFiles {
    pub(super) fn new(lock: DataLock, keys: Vec<KeptKey>) -> Self {
        Self(Arc::new(Parts {
            lock: Guarded::new(lock),
            keys,
            lines: LogLimit::default(),
        }))
    }

    /// Sees to them until `ending`.
    pub(super) async fn keep(self, ending: CancellationToken) {
        loop {
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(LOOK) => (),
            }
            let files = self.clone();
            // It ends with a fault only if we have one, which the next look may not meet.
            let _ = tokio::task::spawn_blocking(move || files.look()).await;
        }
    }

    fn look(&self) {
        let seen = self.written_again();
        if matches!(seen, Ok(LockState::Held)) {
            return;
        }
        let Some(times) = self.0.lines.due() else {
            return;
        };
        match seen {
            Ok(LockState::Held) => (),
            Ok(LockState::TakenAgain) => tracing::warn!(
                times,
                "the lock of the data folder was removed while the daemon runs; it is taken again"
            ),
            Ok(LockState::Lost) => tracing::error!(
                times,
                "the data folder was removed while the daemon runs, and another daemon has taken it since; end one of them"
            ),
            Err(error) => tracing::warn!(
                %error, times,
                "what was removed from the data folder while the daemon runs cannot be written again"
            ),
        }
    }

    fn written_again(&self) -> io::Result<LockState> {
        let state = self.0.lock.lock().look()?;
        if state != LockState::Lost {
            self.0.keys.iter().try_for_each(KeptKey::write_again)?;
        }
        Ok(state)
    }
}
