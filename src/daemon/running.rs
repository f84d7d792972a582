//! The parts of a running daemon, put together and taken apart in order.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use axum::Router as HttpRouter;
use tokio::{net::TcpListener, task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    ServeError,
    auth_layer::{AuthLayer, Reach},
    background::{end_logins, hide_secrets, housekeeping, sweep, until},
    connections::ClientConnections,
    data_folder::FolderFiles,
    guard::RefusalLines,
    http,
    local_socket::LocalSocket,
    lock::DataLock,
    operator_bodies, shared_file,
    span_export::SpanExport,
    url_of,
};
use crate::{
    access::Access,
    activity::Activity,
    api::{Api, page},
    authorization::Logins,
    call_context::CallIds,
    catalog::{Catalog, CatalogTask, KnownServer},
    code_execution::Scripts,
    config::{Keeper, KeeperTask, Places, Settings},
    gate::{self, Gate},
    inbound::{Inbound, Presence, Sessions},
    management::{DaemonLocation, Management},
    process::{self, ChildLedger, LoginPath},
    router::Router,
    runtime::memory_budget::MemoryBudget,
    sessions::{
        sealing::{API_KEY_FILE, KEY_FILE, KeptKey, SealingKey, SessionIds},
        session_records::{SessionRecords, SessionRecordsTask},
    },
    telemetry::logging,
    trust::approvals::Lock,
    upstream::{ConnectContext, Supervisor, Upstreams},
    wire::instance::InstanceId,
};

/// How long calls in flight may take to end after the first signal.
const DRAIN: Duration = Duration::from_secs(10);

/// What is killed in a hurry is gone after this.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How long the last records may take to be written.
const LAST_RECORDS: Duration = Duration::from_secs(5);

/// What is there before anything runs.
pub(super) struct DaemonParts {
    pub(super) keeper: Keeper,
    pub(super) keeper_task: KeeperTask,
    pub(super) data_dir: PathBuf,
    pub(super) places: Places,
    pub(super) login_path: LoginPath,
    /// The program whose processes run scripts, if it is not this one.
    pub(super) script_program: Option<PathBuf>,
    pub(super) lock: DataLock,
    pub(super) listeners: Vec<TcpListener>,
    /// The command line's socket.
    pub(super) local: Option<LocalSocket>,
    /// What `status` reports of a daemon in the background.
    pub(super) background: DaemonLocation,
    /// What is accepted, where a lock file says so.
    pub(super) lock_file: Option<Lock>,
}

/// What has to be ended.
pub(super) struct DaemonTasks {
    /// No new connections, and streams that only listen end.
    closing: CancellationToken,
    /// Everything else ends.
    ending: CancellationToken,
    /// No more grace for anything.
    pub(super) hurry: CancellationToken,
    faces: JoinSet<()>,
    tasks: JoinSet<()>,
    /// The log of what all these do ends after them.
    recording: CancellationToken,
    records: JoinSet<()>,
    /// The spans of what is in it end last.
    exporting: CancellationToken,
    exports: JoinSet<()>,
    pub(super) access: Access,
    pub(super) inbound: Inbound,
    pub(super) presence: Presence,
    /// Freed last: the data folder is ours until the last child is gone.
    pub(super) files: FolderFiles,
}

fn open_ledger(data_dir: &Path) -> Result<ChildLedger, ServeError> {
    ChildLedger::open(data_dir)
        .map_err(|error| ServeError::in_folder("the ledger cannot be opened", data_dir, &error))
}

/// Puts everything together and serves.
pub(super) fn begin(parts: DaemonParts) -> Result<(Vec<SocketAddr>, DaemonTasks), ServeError> {
    let DaemonParts {
        keeper,
        keeper_task,
        data_dir,
        places,
        login_path,
        script_program,
        lock,
        listeners,
        local,
        background,
        lock_file,
    } = parts;
    let [closing, ending, hurry, recording, exporting] =
        std::array::from_fn(|_| CancellationToken::new());
    let settings = keeper.settings();
    logging::hide(settings.secrets());
    let ledger = open_ledger(&data_dir)?;
    let (activity, activity_task) = Activity::new(data_dir.clone(), keeper.subscribe());
    let logins = Logins::new(&data_dir);
    let (catalog, catalog_task) = open_catalog(&data_dir, &settings, lock_file, &activity);
    let (upstreams, supervisor) = Supervisor::new(
        keeper.subscribe(),
        catalog.clone(),
        ConnectContext {
            data_dir: data_dir.clone(),
            ledger: ledger.clone(),
            login_path: login_path.clone(),
            activity: activity.clone(),
            logins: logins.clone(),
            keeper: Some(keeper.clone()),
        },
        hurry.clone(),
    );
    let management = Management::new(
        keeper.clone(),
        catalog.clone(),
        upstreams.clone(),
        data_dir.clone(),
        activity.clone(),
        logins.clone(),
    );
    let scripts = Scripts::run_by(script_program);
    let router = router_over(&keeper, catalog, upstreams, &activity, &management, scripts);
    let (key, kept_key) = session_key(&settings, &data_dir)?;
    let (sessions, session_records) = sessions(&key, &data_dir, router.memory())?;
    let presence = sessions.presence().clone();
    let (calls, counted) = (CallIds::traced_by(activity.spans()), sessions.clone());
    let api_key = api_key(&data_dir)?;
    let kept_in = Some(data_dir.clone());
    let (access, access_task) = Access::new(keeper.subscribe(), Some(api_key.secret()), kept_in);
    let inbound = inbound_over((&access, &router, &calls), &sessions, &closing);

    let addresses = addresses_of(&listeners, &keeper);
    let location = location_of(background, &data_dir, &addresses);
    let unanswered = router.clone().give_up_unanswered();
    let api = (management, router, access.clone(), calls);
    let config_file = places.config_file.clone();
    let places = (location.clone(), places);
    let starting = (login_path.clone(), ledger.clone());
    let (listed, named) = (sessions.clone(), activity.clone());
    let list = move |most| listed.list(most, named.client_names());
    let api = Api::new(api, places, starting, move || counted.count(), list);

    let mut tasks = JoinSet::new();
    // What a daemon that was killed left behind goes first; new children may start meanwhile.
    tasks.spawn(sweep(ledger.clone()));
    tasks.spawn(async move { drop(login_path.get().await) });
    tasks.spawn(keeper_task.run(ending.clone()));
    tasks.spawn(shared_file::keep(config_file, ending.clone()));
    tasks.spawn(catalog_task.run(ending.clone()));
    tasks.spawn(hide_secrets(keeper.subscribe(), ending.clone()));
    tasks.spawn(end_logins(logins, ending.clone()));
    tasks.spawn(supervisor.run(ending.clone()));
    tasks.spawn(inbound.clone().announce_changes());
    tasks.spawn(housekeeping(sessions, ending.clone()));
    tasks.spawn(session_records.run(ending.clone()));
    tasks.spawn(until(ending.clone(), unanswered));

    let mut records = JoinSet::new();
    records.spawn(activity_task.run(recording.clone()));
    let exports = export_spans(&activity, &keeper, &exporting);
    tasks.spawn(access_task.run(ending.clone()));
    let served = (&access, &inbound, &api, &activity, ledger.instance());
    let faces = open_faces(served, listeners, local, &closing);
    let keys = kept_key.into_iter().chain([api_key]).collect();
    let files = keep_files(lock, &location, keys, (&mut tasks, &ending));
    let running = DaemonTasks {
        closing,
        ending,
        hurry,
        faces,
        tasks,
        recording,
        records,
        exporting,
        exports,
        access,
        inbound,
        presence,
        files,
    };
    Ok((addresses, running))
}

/// Has the spans of what is recorded go to the collector of the settings.
fn export_spans(
    activity: &Activity,
    keeper: &Keeper,
    exporting: &CancellationToken,
) -> JoinSet<()> {
    let export = SpanExport::begin(activity.spans(), keeper.subscribe());
    let mut exports = JoinSet::new();
    exports.spawn(export.run(exporting.clone()));
    exports
}

/// Has the files of the data folder say where the daemon is, and be written again where they are removed.
fn keep_files(
    mut lock: DataLock,
    location: &DaemonLocation,
    keys: Vec<KeptKey>,
    (tasks, ending): (&mut JoinSet<()>, &CancellationToken),
) -> FolderFiles {
    lock.note_address(location);
    let files = FolderFiles::new(lock, keys);
    tasks.spawn(files.clone().keep(ending.clone()));
    files
}

fn router_over(
    keeper: &Keeper,
    catalog: Catalog,
    upstreams: Upstreams,
    activity: &Activity,
    management: &Management,
    scripts: Scripts,
) -> Router {
    Router::new(
        keeper.subscribe(),
        Gate::new(keeper.subscribe(), catalog.clone()),
        catalog,
        upstreams,
        activity.clone(),
        management.clone(),
        scripts,
    )
}

fn inbound_over(
    (access, router, calls): (&Access, &Router, &CallIds),
    sessions: &Sessions,
    closing: &CancellationToken,
) -> Inbound {
    Inbound::new(
        access.clone(),
        router.clone(),
        calls.clone(),
        sessions.clone(),
        closing.clone(),
    )
}

/// The catalog, which reads what is known of these servers.
fn open_catalog(
    data_dir: &Path,
    settings: &Settings,
    lock_file: Option<Lock>,
    activity: &Activity,
) -> (Catalog, CatalogTask) {
    let known = settings.listed_entries().map(|entry| KnownServer {
        name: entry.name.clone(),
        entry: entry.fingerprint.clone(),
        policy: gate::policy(settings, entry),
    });
    let (catalog, task) = Catalog::open(data_dir, known.collect(), lock_file);
    (catalog, task.recording(activity.clone()))
}

/// Where we listen, which the settings have to know: no server may lead there.
fn addresses_of(listeners: &[TcpListener], keeper: &Keeper) -> Vec<SocketAddr> {
    let addresses = listeners.iter().map(TcpListener::local_addr);
    let addresses: Vec<SocketAddr> = addresses.filter_map(Result::ok).collect();
    keeper.listens_at(addresses.iter().map(SocketAddr::port).collect());
    addresses
}

/// Where this daemon is, for those who look for it.
fn location_of(
    background: DaemonLocation,
    data_dir: &Path,
    addresses: &[SocketAddr],
) -> DaemonLocation {
    DaemonLocation {
        data_dir: data_dir.to_owned(),
        listen: addresses.to_vec(),
        url: url_of(addresses),
        ..background
    }
}

/// The key of session ids: that of the settings, or one that is kept in the data folder.
fn session_key(
    settings: &Settings,
    data_dir: &Path,
) -> Result<(SealingKey, Option<KeptKey>), ServeError> {
    if let Some(secret) = &settings.session_key {
        return Ok((SealingKey::of(secret), None));
    }
    let kept = KeptKey::of_folder(data_dir, KEY_FILE).map_err(|error| {
        ServeError::in_folder("the key of session ids cannot be saved", data_dir, &error)
    })?;
    Ok((kept.key(), Some(kept)))
}

/// The key of operators that counts where the settings have none.
fn api_key(data_dir: &Path) -> Result<KeptKey, ServeError> {
    KeptKey::of_folder(data_dir, API_KEY_FILE)
        .map_err(|error| ServeError::in_folder("the API key cannot be saved", data_dir, &error))
}

/// The table of sessions, with what is kept of them in this data folder.
fn sessions(
    key: &SealingKey,
    data_dir: &Path,
    memory: &MemoryBudget,
) -> Result<(Sessions, SessionRecordsTask), ServeError> {
    let (records, records_task) = SessionRecords::open(data_dir).map_err(|error| {
        ServeError::in_folder("the records of sessions cannot be opened", data_dir, &error)
    })?;
    let sessions = Sessions::new(SessionIds::new(key), records, memory.clone());
    Ok((sessions, records_task))
}

/// TCP for clients, and for operators who show that they are, behind the guard; the local socket for the owner of the data folder.
fn open_faces(
    (access, inbound, api, activity, instance): (&Access, &Inbound, &Api, &Activity, &InstanceId),
    listeners: Vec<TcpListener>,
    local: Option<LocalSocket>,
    closing: &CancellationToken,
) -> JoinSet<()> {
    let auth_layer = |routes: HttpRouter, operators: HttpRouter, reach: Reach| {
        Arc::new(AuthLayer {
            inbound: inbound.clone(),
            routes,
            operators,
            instance: instance.clone(),
            access: access.clone(),
            reach,
            refusals: RefusalLines::default(),
            activity: activity.clone(),
            closing: closing.clone(),
        })
    };
    let operators = operator_bodies::bounded(api.routes(), inbound.memory());
    let routes = inbound.routes().merge(api.health_routes());
    let routes = routes.merge(api.page_routes()).merge(page::routes());
    let routes = routes.merge(api.metrics_routes(activity.metrics()));
    let mut faces = JoinSet::new();
    let over_tcp = http::Served {
        auth_layer: auth_layer(routes, operators.clone(), Reach::Network),
        connections: ClientConnections::within(process::raise_descriptor_limit()),
        memory: inbound.memory().clone(),
        closing: closing.clone(),
    };
    for listener in listeners {
        faces.spawn(http::serve(listener, over_tcp.clone(), DRAIN));
    }
    if let Some(socket) = local {
        let over_socket = http::Served {
            auth_layer: auth_layer(HttpRouter::new(), operators, Reach::Local),
            // Programs of the operator's own.
            connections: over_tcp.connections.others(),
            ..over_tcp
        };
        faces.spawn(http::serve(socket, over_socket, DRAIN));
    }
    faces.spawn(see_off(inbound.clone(), closing.clone()));
    faces
}

/// Clients that are attached leave when their requests are answered, which may take as long as any other request; so may requests
/// whose stream their client can take up again.
async fn see_off(inbound: Inbound, closing: CancellationToken) {
    closing.cancelled().await;
    if timeout(DRAIN, inbound.all_left()).await.is_err() {
        tracing::warn!("clients and streams cut off at shutdown");
    }
}

impl DaemonTasks {
    /// Faces first, then what is behind them.
    pub(super) async fn shutdown(mut self) {
        self.closing.cancel();
        tokio::select! {
            () = join_all(&mut self.faces) => (),
            () = self.hurry.cancelled() => self.faces.abort_all(),
        }
        self.ending.cancel();
        let hurried = async {
            self.hurry.cancelled().await;
            tokio::time::sleep(LAST_MOMENT).await;
        };
        tokio::select! {
            () = join_all(&mut self.tasks) => (),
            () = hurried => self.tasks.abort_all(),
        }
        self.recording.cancel();
        if timeout(LAST_RECORDS, join_all(&mut self.records))
            .await
            .is_err()
        {
            tracing::warn!("the last records of the activity log were not written");
        }
        self.exporting.cancel();
        tokio::select! {
            () = join_all(&mut self.exports) => (),
            () = self.hurry.cancelled() => self.exports.abort_all(),
        }
    }
}

/// Waits for every task. One that panicked is in the log already.
async fn join_all(tasks: &mut JoinSet<()>) {
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(%error, "a task of the daemon failed");
        }
    }
}
