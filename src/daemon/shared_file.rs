//! Says in the log that another daemon uses the same configuration file: then each of its servers runs twice. Nothing is refused, because
//! several may share a file on purpose. A lock on the file itself says so; it ends with the process.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::storage::{FileIdentity, open_to_read};

/// How often the lock is checked: a change of the file replaces it.
const LOOK: Duration = Duration::from_secs(5);

/// How long a command that writes the file may have its lock.
const WRITTEN_WITHIN: Duration = Duration::from_millis(500);

/// Looks after the lock until `ending`.
pub(super) async fn keep(file: PathBuf, ending: CancellationToken) {
    let file: Arc<Path> = file.into();
    let (mut held, mut contested) = (None, 0_u32);
    loop {
        let looked = Arc::clone(&file);
        // It ends with a fault only if we have one, which the next look may not meet.
        let found = tokio::task::spawn_blocking(move || hold(held, &looked)).await;
        let is_contested = matches!(found, Ok(Held::Elsewhere));
        held = match found {
            Ok(Held::Here(file)) => Some(file),
            _ => None,
        };
        contested = if is_contested {
            contested.saturating_add(1)
        } else {
            0
        };
        if contested == 2 {
            let file = file.display();
            let effect = "each server runs twice";
            tracing::warn!(%file, effect, "another daemon uses this configuration");
        }
        let pause = if contested == 1 { WRITTEN_WITHIN } else { LOOK };
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(pause) => (),
        }
    }
}

enum Held {
    Here(File),
    /// By another daemon.
    Elsewhere,
    /// There is no file, or it cannot be locked here.
    Nowhere,
}

fn hold(held: Option<File>, path: &Path) -> Held {
    // On Windows nobody else could read a file that is locked.
    if !cfg!(unix) {
        return Held::Nowhere;
    }
    let Ok(path) = path.canonicalize() else {
        return Held::Nowhere;
    };
    let is_there = |file: &File| FileIdentity::of(file).is_ok_and(|held| held.is_at(&path));
    if let Some(file) = held.filter(is_there) {
        return Held::Here(file);
    }
    let Ok(file) = open_to_read(&path) else {
        return Held::Nowhere;
    };
    match file.try_lock() {
        Ok(()) => Held::Here(file),
        Err(TryLockError::WouldBlock) => Held::Elsewhere,
        Err(TryLockError::Error(_)) => Held::Nowhere,
    }
}
