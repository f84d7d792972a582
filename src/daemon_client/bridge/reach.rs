//! The way to the daemon of the data folder: it is started where none runs.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    AbsentDaemon, BridgeHost, Unserved,
    daemon_socket::{DaemonConnection, DaemonSocket, DaemonSocketError},
};

/// How long to try to reach a daemon, starting one included. Of several bridges that start one at the same time all but one wait.
const REACH: Duration = Duration::from_secs(30);

/// How long to wait before trying again, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// A connection to the daemon, started if need be.
pub(super) async fn reach(
    socket: &DaemonSocket,
    host: &impl BridgeHost,
) -> Result<DaemonConnection, AbsentDaemon> {
    let deadline = Instant::now() + REACH;
    let (mut pause, longest) = PAUSE;
    let mut started = false;
    loop {
        match socket.connect().await {
            Ok((connection, version_note)) => {
                host.check_daemon().await?;
                if let Some(note) = version_note {
                    host.note(&note);
                }
                return Ok(connection);
            }
            Err(DaemonSocketError::NotRunning(_)) if Instant::now() < deadline => (),
            Err(error) => {
                return Err(AbsentDaemon {
                    why: error.to_string(),
                    step: error.step(),
                    code: error.code(),
                    unserved: match error {
                        DaemonSocketError::Ourselves => Unserved::StartedByDaemon,
                        DaemonSocketError::Refused { .. } => Unserved::Refused(error.code()),
                        _ => Unserved::NoDaemon,
                    },
                });
            }
        }
        // One that is beginning or ending has the data folder, but no socket.
        if started {
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
        host.start_daemon().await?;
        started = true;
    }
}
