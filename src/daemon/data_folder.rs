//! Creates and checks the data folder, and keeps the files in it by which a running daemon is found: the lock, the address and the keys.
//! They are written again if somebody removes them or the folder. The socket restores itself (`local_socket`).

use std::{io, path::Path, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::lock::{DataLock, LockState};
use crate::{
    management::DaemonLocation,
    runtime::sync::Guarded,
    sessions::sealing::KeptKey,
    storage::{self, DataFile},
    telemetry::log_throttle::LogThrottle,
};

/// How often the files are checked.
const LOOK: Duration = Duration::from_secs(5);

/// Makes the folder. One in which a subfolder leads elsewhere is refused, before anything is read or written there.
pub(super) fn prepare(data_dir: &Path) -> io::Result<()> {
    storage::create_private_dir(data_dir)?;
    let mut folders = DataFile::FOLDERS.iter();
    folders.try_for_each(|folder| storage::refuse_link(&folder.within(data_dir)))
}

/// The lock, the address and the keys. Cheap to clone.
#[derive(Clone)]
pub(super) struct FolderFiles(Arc<Parts>);

struct Parts {
    lock: Guarded<DataLock>,
    /// Without those that the settings have.
    keys: Vec<KeptKey>,
    lines: LogThrottle,
    lost: CancellationToken,
}

impl FolderFiles {
    pub(super) fn new(lock: DataLock, keys: Vec<KeptKey>) -> Self {
        Self(Arc::new(Parts {
            lock: Guarded::new(lock),
            keys,
            lines: LogThrottle::default(),
            lost: CancellationToken::new(),
        }))
    }

    /// Writes down who serves, and where.
    pub(super) fn note_address(&self, location: &DaemonLocation) {
        self.0.lock.lock().note_address(location);
    }

    /// Cancelled when another daemon has the folder.
    pub(super) fn lost(&self) -> CancellationToken {
        self.0.lost.clone()
    }

    /// Removes files that a killed daemon had not finished, then checks its own until `ending`, or until another daemon has the folder.
    pub(super) async fn keep(self, ending: CancellationToken) {
        let files = self.clone();
        // It ends with a fault only if we have one.
        let first = move || {
            files.remove_unfinished();
            files.look_after();
        };
        let _ = tokio::task::spawn_blocking(first).await;
        while !self.0.lost.is_cancelled() {
            tokio::select! {
                () = ending.cancelled() => return,
                () = tokio::time::sleep(LOOK) => (),
            }
            let files = self.clone();
            // It ends with a fault only if we have one, which the next look may not meet.
            let _ = tokio::task::spawn_blocking(move || files.look_after()).await;
        }
    }

    fn remove_unfinished(&self) {
        let data_dir = self.0.lock.lock().data_dir().to_owned();
        let folders = DataFile::FOLDERS.iter();
        let inside = folders.map(|folder| folder.within(&data_dir));
        let inside = inside.filter(|folder| folder.is_dir());
        for folder in inside.chain([data_dir.clone()]) {
            if let Err(error) = storage::remove_unfinished(&folder) {
                let next = storage::disk_step(&folder, &error);
                tracing::warn!(%error, %next, "unfinished file of an earlier daemon was not removed");
            }
        }
    }

    /// Keeps room for writing, and writes again what was removed.
    fn look_after(&self) {
        storage::keep_reserves(self.0.lock.lock().data_dir());
        match self.restore() {
            Ok(LockState::Held) => (),
            Ok(LockState::Lost) => self.0.lost.cancel(),
            Ok(LockState::TakenAgain) => {
                if let Some(times) = self.0.lines.due() {
                    tracing::warn!(times, "data folder's lock was removed; taken again");
                }
            }
            Err(error) => {
                if let Some(times) = self.0.lines.due() {
                    let next = storage::disk_step(self.0.lock.lock().data_dir(), &error);
                    tracing::warn!(%error, %next, times, "file of data folder not restored");
                }
            }
        }
    }

    fn restore(&self) -> io::Result<LockState> {
        let state = self.0.lock.lock().look()?;
        if state != LockState::Lost {
            self.0.keys.iter().try_for_each(KeptKey::write_again)?;
        }
        Ok(state)
    }
}
