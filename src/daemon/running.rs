//! The parts of a running daemon, put together and taken apart in order.

use std::{path::PathBuf, time::Duration};

use tokio::{net::TcpListener, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    Running, ServeError, guard,
    http::{self, LocalSocket},
    lock::DataLock,
};
use crate::{
    api::{Api, Standing},
    catalog::Catalog,
    config::{Keeper, KeeperTask},
    inbound::{Inbound, Sessions},
    management::Management,
    router::Router,
    upstream::{
        Ground, Supervisor,
        process::{Ledger, LoginPath},
    },
};

/// How long calls in flight may take to end after the first signal.
const DRAIN: Duration = Duration::from_secs(10);

/// What is killed in a hurry is gone after this.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How often silent sessions are looked for.
const HOUSEKEEPING: Duration = Duration::from_mins(10);

/// What is there before anything runs.
pub(super) struct Beginning {
    pub(super) keeper: Keeper,
    pub(super) keeper_task: KeeperTask,
    pub(super) data_dir: PathBuf,
    pub(super) login_path: LoginPath,
    pub(super) lock: DataLock,
    pub(super) listeners: Vec<TcpListener>,
    /// The command line's socket.
    pub(super) local: Option<LocalSocket>,
}

/// What has to be ended.
pub(super) struct Parts {
    /// No new connections, and streams that only listen end.
    closing: CancellationToken,
    /// Everything else ends.
    ending: CancellationToken,
    /// No more grace for anything.
    hurry: CancellationToken,
    faces: JoinSet<()>,
    tasks: JoinSet<()>,
    /// Freed last: the data folder is ours until the last child is gone.
    _lock: DataLock,
}

/// Puts everything together and serves.
pub(super) fn begin(beginning: Beginning) -> Result<Running, ServeError> {
    let Beginning {
        keeper,
        keeper_task,
        data_dir,
        login_path,
        mut lock,
        listeners,
        local,
    } = beginning;
    let (closing, ending, hurry) = (
        CancellationToken::new(),
        CancellationToken::new(),
        CancellationToken::new(),
    );
    let settings = keeper.settings();
    let ledger = Ledger::open(&data_dir)
        .map_err(|error| ServeError::failed("the ledger cannot be opened", &error))?;
    let ground = Ground {
        data_dir: data_dir.clone(),
        ledger: ledger.clone(),
        login_path: login_path.clone(),
    };

    let known: Vec<_> = settings
        .servers
        .values()
        .map(|e| (e.name.clone(), e.fingerprint.clone()))
        .collect();
    let (catalog, catalog_task) = Catalog::new(data_dir.clone(), &known);
    let (upstreams, mut supervisor) =
        Supervisor::new(keeper.subscribe(), catalog.clone(), ground, hurry.clone());
    let router = Router::new(keeper.subscribe(), catalog.clone(), upstreams.clone());
    let management = Management::new(keeper.clone(), catalog, upstreams);
    let sessions = Sessions::default();
    let inbound = Inbound::new(router.clone(), sessions.clone(), closing.clone());

    let addresses: Vec<_> = listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
        .collect();
    let url = addresses
        .first()
        .map(|address| format!("http://{address}/mcp"))
        .unwrap_or_default();
    let standing = Standing {
        data_dir: data_dir.clone(),
        listen: addresses.iter().map(ToString::to_string).collect(),
        url: url.clone(),
    };
    let counted = sessions.clone();
    let api = Api::new(management, router, standing, move || counted.count());

    let mut tasks = JoinSet::new();
    // What a daemon that was killed left behind goes first; new children may start meanwhile.
    tasks.spawn(sweep(ledger));
    tasks.spawn(async move { drop(login_path.get().await) });
    tasks.spawn(keeper_task.run(ending.clone()));
    tasks.spawn(catalog_task.run(ending.clone()));
    supervisor.begin();
    tasks.spawn(supervisor.run(ending.clone()));
    tasks.spawn(inbound.clone().announce_changes());
    tasks.spawn(housekeeping(sessions, ending.clone()));

    let guarded =
        inbound
            .routes()
            .merge(api.health_routes())
            .layer(axum::middleware::from_fn_with_state(
                keeper.subscribe(),
                guard::check,
            ));
    let mut faces = JoinSet::new();
    for listener in listeners {
        faces.spawn(http::serve(
            listener,
            guarded.clone(),
            closing.clone(),
            DRAIN,
        ));
    }
    if let Some(socket) = local {
        faces.spawn(http::serve(socket, api.routes(), closing.clone(), DRAIN));
    }
    lock.note_address(&url);
    let parts = Parts {
        closing,
        ending,
        hurry,
        faces,
        tasks,
        _lock: lock,
    };
    Ok(Running {
        addresses,
        data_dir,
        parts,
    })
}

async fn sweep(ledger: Ledger) {
    match tokio::task::spawn_blocking(move || ledger.sweep()).await {
        Ok(swept) => {
            for (server, groups) in swept {
                tracing::warn!(%server, groups, "processes that an earlier daemon left behind were ended");
            }
        }
        Err(error) => {
            tracing::warn!(%error, "looking for processes of an earlier daemon was cut short");
        }
    }
}

async fn housekeeping(sessions: Sessions, ending: CancellationToken) {
    loop {
        tokio::select! {
            () = ending.cancelled() => return,
            () = tokio::time::sleep(HOUSEKEEPING) => sessions.forget_silent(),
        }
    }
}

impl Parts {
    /// Faces first, then what is behind them.
    pub(super) async fn shutdown(mut self) {
        self.closing.cancel();
        tokio::select! {
            () = all(&mut self.faces) => (),
            () = self.hurry.cancelled() => self.faces.abort_all(),
        }
        self.ending.cancel();
        let hurried = async {
            self.hurry.cancelled().await;
            tokio::time::sleep(LAST_MOMENT).await;
        };
        tokio::select! {
            () = all(&mut self.tasks) => (),
            () = hurried => self.tasks.abort_all(),
        }
    }
}

/// Waits for every task. One that panicked has said so on its way down.
async fn all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(%error, "a task of the daemon ended with a fault");
        }
    }
}

/// Serves until SIGTERM or SIGINT, then ends in order; a second signal ends at once.
pub(super) async fn until_signalled(running: Running) -> Result<(), ServeError> {
    let mut signals = signals::Signals::new()
        .map_err(|error| ServeError::failed("signals cannot be heard", &error))?;
    tell_service_manager(Stage::Ready);
    signals.next().await;
    tracing::info!("ending: calls in flight may finish; a second signal ends at once");
    tell_service_manager(Stage::Stopping);
    let hurry = running.parts.hurry.clone();
    let shutdown = running.shutdown();
    tokio::pin!(shutdown);
    tokio::select! {
        () = &mut shutdown => return Ok(()),
        () = signals.next() => tracing::warn!("ending at once"),
    }
    hurry.cancel();
    shutdown.await;
    Ok(())
}

#[derive(Clone, Copy)]
enum Stage {
    Ready,
    Stopping,
}

#[cfg(unix)]
fn tell_service_manager(stage: Stage) {
    let told = match stage {
        Stage::Ready => sd_notify::NotifyState::Ready,
        Stage::Stopping => sd_notify::NotifyState::Stopping,
    };
    // Not started by systemd: nobody listens, and nothing is wrong.
    if let Err(error) = sd_notify::notify(&[told]) {
        tracing::debug!(%error, "the service manager could not be told");
    }
}

#[cfg(not(unix))]
fn tell_service_manager(_: Stage) {}

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
