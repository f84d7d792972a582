//! When a daemon ends, and how: a signal, or nobody there to serve any more. A second signal ends at once.

use std::{net::SocketAddr, path::Path, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

use super::{RunningDaemon, ServeError};
use crate::{daemon_client::DaemonClient, storage::in_words};

/// The signals that end a daemon. Heard from the making on: one that comes before they are waited for is not lost, and does not end
/// the process on the spot.
pub struct Signals(signals::Signals);

impl Signals {
    /// From now on they are ours.
    pub fn hear() -> Result<Self, ServeError> {
        let heard = signals::Signals::new();
        heard.map(Self).map_err(|error| {
            let what = format!("cannot receive signals: {}", in_words(&error));
            ServeError::failed(
                what,
                "check the limits that the system sets for this process",
            )
        })
    }

    /// The next one. Cancel-safe.
    pub async fn next(&mut self) {
        self.0.next().await;
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
    let watchdog = watchdog(&running);
    tokio::select! {
        () = signals.next() => {
            tracing::info!("stopping: waits for running calls; a second signal stops at once");
        }
        why = over => tracing::info!("stopping: {why}"),
        () = lost.cancelled() => tracing::error!("stopping: {LOST}"),
        () = watchdog => (),
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
        return Err(ServeError::ended(LOST, LOST_STEP));
    }
    Ok(())
}

/// Two would write the same files.
const LOST: &str = "another daemon has taken the data folder after its lock was removed";
const LOST_STEP: &str =
    "use that one, or give --data-dir; exclude the folder from cleaning programs";

#[derive(Clone, Copy)]
enum Stage {
    Ready,
    Alive,
    Stopping,
}

/// Tells the service manager that we are alive, where it wants to hear that. Never ends.
async fn watchdog(running: &RunningDaemon) {
    let Some(limit) = watchdog_limit() else {
        return std::future::pending().await;
    };
    let answers = async || answers(&running.data_dir, &running.addresses).await;
    tell_while(limit, answers, || tell_service_manager(Stage::Alive)).await;
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

    /// The signals that end a daemon.
    pub(super) struct Signals {
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

        /// The next one.
        pub(super) async fn next(&mut self) {
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
    pub(super) struct Signals;

    impl Signals {
        pub(super) fn new() -> std::io::Result<Self> {
            Ok(Self)
        }

        /// The next one.
        pub(super) async fn next(&mut self) {
            // Without a way to hear it, the daemon runs until it is killed.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

// The service manager's watchdog: gets a sign of life as long as requests are answered, and not longer.

/// Asks again and again whether `answers`, and says each time that it does. Between two times there is a third of what the manager
/// waits, so that one lost answer ends nothing. Cancel-safe.
pub(super) async fn tell_while(
    limit: Duration,
    answers: impl AsyncFn() -> bool,
    mut tell: impl FnMut(),
) {
    // A manager that wants more signs of life than that gets fewer.
    let pause = (limit / 3).max(Duration::from_millis(10));
    let mut ticks = interval_at(Instant::now(), pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match timeout(pause, answers()).await {
            Ok(true) => tell(),
            Ok(false) => tracing::warn!("daemon stuck; service manager not notified"),
            Err(_) => tracing::warn!(
                seconds = pause.as_secs(),
                "daemon slow; service manager not notified"
            ),
        }
    }
}

/// Whether the daemon answers a request, as its clients ask it: on the local socket, or where somebody took that away, on TCP.
pub(super) async fn answers(data_dir: &Path, addresses: &[SocketAddr]) -> bool {
    if DaemonClient::connect(data_dir).await.is_ok() {
        return true;
    }
    match addresses.first() {
        Some(address) => answers_over_tcp(*address).await.unwrap_or(false),
        None => false,
    }
}

async fn answers_over_tcp(address: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await?;
    let mut begins = [0; 5];
    stream.read_exact(&mut begins).await?;
    Ok(&begins == b"HTTP/")
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, time::Duration};

    use super::tell_while;

    /// How often the manager is told within a minute.
    async fn told(answers: impl AsyncFn() -> bool) -> usize {
        let count = Cell::new(0);
        let telling = tell_while(Duration::from_secs(30), answers, || {
            count.set(count.get() + 1);
        });
        let minute = tokio::time::timeout(Duration::from_secs(59), telling).await;
        assert!(minute.is_err(), "it never ends");
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn the_manager_is_told_only_while_requests_are_answered() {
        assert_eq!(told(async || true).await, 6);
        assert_eq!(told(async || false).await, 0);
        assert_eq!(told(async || std::future::pending().await).await, 0);
    }
}
