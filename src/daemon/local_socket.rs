//! The socket in the data folder, for the command line: a process that may open it is the operator's. Where somebody removes it, or the
//! folder, it is made again.

use std::{io, path::Path};
#[cfg(unix)]
use std::{path::PathBuf, sync::Arc, time::Duration};

#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use super::ServeError;
#[cfg(unix)]
use super::http::Accept;
#[cfg(unix)]
use crate::{
    access::Peer,
    config::LONGEST_SOCKET_PATH,
    daemon_client::DaemonError,
    runtime::sync::Guarded,
    storage::{self, DataFile},
    telemetry::log_throttle::LogThrottle,
};

/// How often it is looked whether it is still there.
#[cfg(unix)]
const LOOK: Duration = Duration::from_secs(5);

/// The socket, open.
#[cfg(unix)]
pub(super) struct LocalSocket {
    data_dir: PathBuf,
    listener: Guarded<Arc<UnixListener>>,
    removals: LogThrottle,
}

/// There is none yet on this platform.
#[cfg(not(unix))]
pub(super) type LocalSocket = tokio::net::TcpListener;

/// Refuses a data folder whose path is too long for the socket, before anything is written there.
#[cfg(unix)]
pub(super) fn check_path(data_dir: &Path) -> Result<(), ServeError> {
    let path = DataFile::Socket.within(data_dir);
    if path.as_os_str().len() <= LONGEST_SOCKET_PATH {
        return Ok(());
    }
    let step = "choose a --data-dir with a shorter path";
    let what = DaemonError::TooLong(path).to_string();
    Err(ServeError::failed(what, step))
}

/// Opens the socket in the data folder. We hold the folder's lock, so a socket that is there belongs to a daemon that is gone.
#[cfg(unix)]
pub(super) fn bind_locally(data_dir: &Path) -> Result<Option<LocalSocket>, ServeError> {
    let listener = open(data_dir).map_err(|error| {
        let path = DataFile::Socket.within(data_dir);
        let step = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "let your user write to the folder, or name another one with --data-dir"
            }
            _ => "name another folder with --data-dir",
        };
        let why = storage::in_words(&error);
        let what = format!("failed to open the socket {}: {why}", path.display());
        ServeError::failed(what, step)
    })?;
    Ok(Some(LocalSocket {
        data_dir: data_dir.to_owned(),
        listener: Guarded::new(Arc::new(listener)),
        removals: LogThrottle::default(),
    }))
}

/// Opens nothing.
#[cfg(not(unix))]
pub(super) fn bind_locally(_: &Path) -> Result<Option<LocalSocket>, ServeError> {
    tracing::warn!("the command line cannot speak to the daemon on this platform yet");
    Ok(None)
}

#[cfg(unix)]
fn open(data_dir: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;

    let path = DataFile::Socket.within(data_dir);
    if let Err(error) = std::fs::remove_file(&path)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let socket = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(socket)
}

#[cfg(unix)]
impl LocalSocket {
    /// Makes it again if it is gone.
    fn look(&self) {
        if DataFile::Socket.within(&self.data_dir).exists() {
            return;
        }
        let made = storage::create_private_dir(&self.data_dir).and_then(|()| open(&self.data_dir));
        let due = self.removals.due();
        let data_dir = self.data_dir.display();
        match made {
            Ok(listener) => {
                *self.listener.lock() = Arc::new(listener);
                if let Some(times) = due {
                    let next = "restart the daemon if the data folder was emptied";
                    tracing::warn!(%data_dir, times, next, "the local socket was removed; mcpproxy made it again");
                }
            }
            Err(error) => {
                if let Some(times) = due {
                    tracing::warn!(%data_dir, error = %storage::in_words(&error), times, "the local socket was removed and cannot be made again");
                }
            }
        }
    }
}

#[cfg(unix)]
impl Accept for LocalSocket {
    type Io = UnixStream;

    /// Passes over whom the socket's mode should have kept out: between its making and its closing to others lies a moment.
    async fn accept(&self) -> io::Result<(Self::Io, Peer)> {
        loop {
            let listener = self.listener.lock().clone();
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = tokio::time::sleep(LOOK) => {
                    self.look();
                    continue;
                }
            };
            let (stream, _) = accepted?;
            let user = stream.peer_cred()?.uid();
            if user == rustix::process::geteuid().as_raw() || user == 0 {
                return Ok((stream, Peer::LocalSocket));
            }
            tracing::warn!(user, "another user refused at the local socket");
        }
    }
}
