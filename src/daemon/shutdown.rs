//! When a daemon ends, and how: a signal, or nobody there to serve any more. A second signal ends at once.

use std::time::Duration;

pub use self::signals::Signals;
use super::{RunningDaemon, ServeError, serve_error::ServeErrorKind, watchdog};
use crate::storage::in_words;

impl Signals {
    /// From now on they are ours.
    pub fn hear() -> Result<Self, ServeError> {
        Self::new().map_err(|error| {
            let what = format!("cannot receive signals: {}", in_words(&error));
            ServeError::failed(
                what,
                "check the limits that the system sets for this process",
            )
        })
    }
}

/// Serves until `over`, SIGTERM or SIGINT, or until another daemon has the data folder, then ends in order; a signal after that ends at
/// once.
pub(super) async fn until(
    over: impl Future<Output = &'static str>,
    running: RunningDaemon,
    mut signals: Signals,
) -> Result<(), ServeError> {
    let lost = running.core.files.lost();
    tell_service_manager(Stage::Ready);
    let watched = tell_while_alive(&running);
    tokio::select! {
        () = signals.next() => {
            tracing::info!("stopping: waits for running calls; a second signal stops at once");
        }
        why = over => tracing::info!("stopping: {why}"),
        () = lost.cancelled() => tracing::error!("stopping: {LOST}"),
        () = watched => (),
    }
    tell_service_manager(Stage::Stopping);
    let hurry = running.tasks.ends.hurry.clone();
    let shutdown = running.shutdown();
    tokio::pin!(shutdown);
    tokio::select! {
        () = &mut shutdown => (),
        () = signals.next() => {
            tracing::warn!("stopping at once");
            hurry.cancel();
            shutdown.await;
        }
    }
    if lost.is_cancelled() {
        return Err(ServeError::new(ServeErrorKind::Ended, LOST, LOST_STEP));
    }
    Ok(())
}

/// Two would write the same files.
const LOST: &str = "another daemon has taken the data folder after its lock was removed";
const LOST_STEP: &str = "use that daemon, or choose another data folder with --data-dir";

#[derive(Clone, Copy)]
enum Stage {
    Ready,
    Alive,
    Stopping,
}

/// Tells the service manager that we are alive, where it wants to hear that. Never ends.
async fn tell_while_alive(running: &RunningDaemon) {
    let Some(limit) = watchdog_limit() else {
        return std::future::pending().await;
    };
    let answers = async || watchdog::answers(&running.data_dir, &running.addresses).await;
    watchdog::tell_while(limit, answers, || tell_service_manager(Stage::Alive)).await;
}

#[cfg(unix)]
fn tell_service_manager(stage: Stage) {
    let states = match stage {
        Stage::Ready => &[sd_notify::NotifyState::Ready][..],
        Stage::Alive => &[sd_notify::NotifyState::Watchdog],
        // While it ends it answers nobody, and has its own time for that.
        Stage::Stopping => &[
            sd_notify::NotifyState::Stopping,
            sd_notify::NotifyState::Watchdog,
        ],
    };
    // Not started by systemd: nobody listens, and nothing is wrong.
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager could not be notified");
    }
}

#[cfg(not(unix))]
fn tell_service_manager(_: Stage) {}

/// How long the service manager waits for a sign of life.
#[cfg(unix)]
fn watchdog_limit() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero())
}

#[cfg(not(unix))]
fn watchdog_limit() -> Option<Duration> {
    None
}

#[cfg(unix)]
mod signals {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// The signals that end a daemon. Heard from the making on: one that comes before they are waited for is not lost, and does not end
    /// the process on the spot.
    pub struct Signals {
        terminate: Signal,
        interrupt: Signal,
    }

    impl Signals {
        pub(super) fn new() -> std::io::Result<Self> {
            // A file that must not grow further is an error for its writer, and no end of the daemon.
            let too_large = rustix::process::Signal::XFSZ.as_raw();
            drop(signal(SignalKind::from_raw(too_large))?);
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        }

        /// The next one. Cancel-safe.
        pub async fn next(&mut self) {
            tokio::select! {
                _ = self.terminate.recv() => (),
                _ = self.interrupt.recv() => (),
            }
        }
    }
}

#[cfg(not(unix))]
mod signals {
    /// The signals that end a daemon.
    pub struct Signals;

    impl Signals {
        pub(super) fn new() -> std::io::Result<Self> {
            Ok(Self)
        }

        /// The next one. Cancel-safe.
        pub async fn next(&mut self) {
            // Without a way to hear it, the daemon runs until it is killed.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
