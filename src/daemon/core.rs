//! What a daemon is without its faces: its parts put together, and the tasks that keep them going.

use std::path::{Path, PathBuf};

use tokio::task::JoinSet;

use super::{
    DataLock, ServeError,
    background::{end_logins, hide_secrets, housekeeping, sweep, until},
    data_folder::FolderFiles,
    shared_file,
    span_export::SpanExport,
    tasks::{Ends, RunningTasks},
};
use crate::{
    access::{Access, AccessTask},
    activity::{Activity, ActivityTask},
    authorization::Logins,
    call_context::CallIds,
    catalog::{Catalog, CatalogTask, KnownServer},
    code_execution::Scripts,
    config::{Keeper, KeeperTask, Places, Settings},
    gate::{self, Gate},
    inbound::{Inbound, Sessions},
    management::Management,
    process::{ChildLedger, LoginPath},
    router::Router,
    sessions::{
        sealing::{KeptKey, SealingKey, SessionIds},
        session_records::{SessionRecords, SessionRecordsTask},
    },
    storage::DataFile,
    telemetry::logging,
    text::Secret,
    trust::approvals::Lock,
    upstream::{ConnectContext, Supervisor},
};

/// What the core is made of.
pub(super) struct CoreParts {
    pub(super) keeper: Keeper,
    pub(super) keeper_task: KeeperTask,
    pub(super) data_dir: PathBuf,
    pub(super) places: Places,
    pub(super) login_path: LoginPath,
    /// The program whose processes run scripts, if it is not this one.
    pub(super) script_program: Option<PathBuf>,
    pub(super) lock: DataLock,
    /// What is accepted, where a lock file says so.
    pub(super) lock_file: Option<Lock>,
}

/// The parts that faces and tasks share.
pub(super) struct Core {
    pub(super) keeper: Keeper,
    pub(super) places: Places,
    pub(super) login_path: LoginPath,
    /// The children of this daemon.
    pub(super) ledger: ChildLedger,
    pub(super) activity: Activity,
    pub(super) management: Management,
    pub(super) router: Router,
    pub(super) calls: CallIds,
    pub(super) sessions: Sessions,
    pub(super) access: Access,
    pub(super) inbound: Inbound,
    /// Freed last: the data folder is ours until the last child is gone.
    pub(super) files: FolderFiles,
}

/// The tasks of the core, before they run.
pub(super) struct CoreTasks {
    keeper: KeeperTask,
    logins: Logins,
    activity: ActivityTask,
    catalog: CatalogTask,
    supervisor: Supervisor,
    session_records: SessionRecordsTask,
    access: AccessTask,
}

impl Core {
    /// Puts the parts together. None of them does anything before [`CoreTasks::spawn`].
    pub(super) fn open(parts: CoreParts, ends: &Ends) -> Result<(Self, CoreTasks), ServeError> {
        let (keeper, data_dir) = (parts.keeper, parts.data_dir);
        let settings = keeper.settings();
        logging::hide(settings.secrets());
        let keys = Keys::open(&settings, &data_dir)?;
        let ledger = ChildLedger::open(&data_dir).map_err(|error| {
            let doing = "the ledger of child processes cannot be opened";
            ServeError::in_folder(doing, &data_dir, &error)
        })?;
        let (records, session_records) = SessionRecords::open(&data_dir).map_err(|error| {
            let doing = "the records of sessions cannot be opened";
            ServeError::in_folder(doing, &data_dir, &error)
        })?;
        let (activity, activity_task) = Activity::new(data_dir.clone(), keeper.subscribe());
        let logins = Logins::new(&data_dir);
        let (catalog, catalog_task) = open_catalog(&data_dir, &settings, parts.lock_file);
        let connect = ConnectContext {
            data_dir: data_dir.clone(),
            ledger: ledger.clone(),
            login_path: parts.login_path.clone(),
            activity: activity.clone(),
            logins: logins.clone(),
            keeper: Some(keeper.clone()),
        };
        let (upstreams, supervisor) = Supervisor::new(
            keeper.subscribe(),
            catalog.clone(),
            connect,
            ends.hurry.clone(),
        );
        let management = Management::new(
            keeper.clone(),
            catalog.clone(),
            upstreams.clone(),
            data_dir.clone(),
            activity.clone(),
            logins.clone(),
        );
        let router = Router::new(
            keeper.subscribe(),
            Gate::new(keeper.subscribe(), catalog.clone()),
            catalog,
            upstreams,
            activity.clone(),
            management.clone(),
            Scripts::run_by(parts.script_program),
        );
        let calls = CallIds::traced_by(activity.spans());
        let ids = SessionIds::new(&keys.of_sessions);
        let sessions = Sessions::new(ids, records, router.memory().clone());
        let api_key = Some(&keys.of_operators);
        let (access, access_task) = Access::new(keeper.subscribe(), api_key, Some(data_dir));
        let inbound = Inbound::new(
            access.clone(),
            router.clone(),
            calls.clone(),
            sessions.clone(),
            ends.closing.clone(),
        );
        let tasks = CoreTasks {
            keeper: parts.keeper_task,
            logins,
            catalog: catalog_task.recording(activity.clone()),
            activity: activity_task,
            supervisor,
            session_records,
            access: access_task,
        };
        let core = Self {
            keeper,
            places: parts.places,
            login_path: parts.login_path,
            ledger,
            activity,
            management,
            router,
            calls,
            sessions,
            access,
            inbound,
            files: FolderFiles::new(parts.lock, keys.kept),
        };
        Ok((core, tasks))
    }
}

impl CoreTasks {
    /// Starts the tasks, which end when `ends` says so.
    pub(super) fn spawn(self, core: &Core, ends: &Ends) -> RunningTasks {
        let ending = &ends.ending;
        let mut tasks = JoinSet::new();
        // What a daemon that was killed left behind goes first; new children may start meanwhile.
        tasks.spawn(sweep(core.ledger.clone()));
        let login_path = core.login_path.clone();
        tasks.spawn(async move { drop(login_path.get().await) });
        tasks.spawn(self.keeper.run(ending.clone()));
        let config_file = core.places.config_file.clone();
        tasks.spawn(shared_file::keep(config_file, ending.clone()));
        tasks.spawn(self.catalog.run(ending.clone()));
        let hiding = hide_secrets(core.keeper.subscribe());
        tasks.spawn(until(ending.clone(), hiding));
        tasks.spawn(end_logins(self.logins, ending.clone()));
        tasks.spawn(self.supervisor.run(ending.clone()));
        tasks.spawn(core.inbound.clone().announce_changes());
        tasks.spawn(until(ending.clone(), housekeeping(core.sessions.clone())));
        tasks.spawn(self.session_records.run(ending.clone()));
        let unanswered = core.router.clone().give_up_unanswered();
        tasks.spawn(until(ending.clone(), unanswered));
        tasks.spawn(self.access.run(ending.clone()));
        tasks.spawn(core.files.clone().keep(ending.clone()));
        let mut records = JoinSet::new();
        records.spawn(self.activity.run(ends.recording.clone()));
        let mut exports = JoinSet::new();
        let export = SpanExport::begin(core.activity.spans(), core.keeper.subscribe());
        exports.spawn(export.run(ends.exporting.clone()));
        RunningTasks {
            tasks,
            records,
            exports,
        }
    }
}

/// The catalog, which reads what is known of these servers.
fn open_catalog(
    data_dir: &Path,
    settings: &Settings,
    lock_file: Option<Lock>,
) -> (Catalog, CatalogTask) {
    let known = settings.listed_entries().map(|entry| KnownServer {
        name: entry.name.clone(),
        entry: entry.fingerprint.clone(),
        policy: gate::policy(settings, entry),
    });
    Catalog::open(data_dir, known.collect(), lock_file)
}

/// The keys of a daemon.
struct Keys {
    of_sessions: SealingKey,
    /// Counts where the settings have none.
    of_operators: Secret,
    /// Those that the data folder keeps.
    kept: Vec<KeptKey>,
}

impl Keys {
    /// The key of session ids is that of the settings, or one that the data folder keeps.
    fn open(settings: &Settings, data_dir: &Path) -> Result<Self, ServeError> {
        let keep = |file: DataFile| {
            KeptKey::of_folder(data_dir, file).map_err(|error| {
                let file = file.within(data_dir);
                let failure = format!("{} cannot be used", file.display());
                ServeError::in_folder(&failure, &file, &error)
            })
        };
        let api_key = keep(DataFile::ApiKey)?;
        let of_operators = api_key.secret().clone();
        let mut kept = vec![api_key];
        let of_sessions = if let Some(secret) = &settings.session_key {
            SealingKey::of(secret)
        } else {
            let session_key = keep(DataFile::SessionKey)?;
            let sealing = session_key.key();
            kept.push(session_key);
            sealing
        };
        Ok(Self {
            of_sessions,
            of_operators,
            kept,
        })
    }
}
